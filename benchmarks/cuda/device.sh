#!/bin/sh
# Checks a machine with an NVIDIA GPU: the preset cuda builds, the tests pass, and training and
# embedding are as fast as docs/cuda.md says. Writes the figures to a folder as JSON.
#
#   benchmarks/cuda/device.sh OUT [DATASET ROOT]
#
# With a data set (`cub200 /data/CUB_200_2011`) training and embedding also start from its files.
# SKIP="tests sanitizer" leaves those out; STEPS and ROUNDS say how long to measure.
set -eu
cd "$(dirname "$0")/../.."
out=$(mkdir -p "$1" && cd "$1" && pwd)
dataset=${2:-}
root=${3:-}
skip=${SKIP:-}
diml=build/cuda/diml
model=build/cuda/bench_resnet50.safetensors

# Failures are reported at the end; the other steps still run.
failed=""
measure() {
  name=$1
  shift
  echo "== $name: diml $*"
  "$diml" "$@" > "$out/$name.txt" 2>&1 || failed="$failed $name"
  tail -n 12 "$out/$name.txt"
}

cmake --preset cuda > "$out/configure.txt" 2>&1 || { tail -n 20 "$out/configure.txt"; exit 1; }
grep "diml " "$out/configure.txt"
cmake --build --preset cuda -j "$(nproc)" > "$out/build.txt" 2>&1 ||
  { grep -E "error|FAILED" -A 5 "$out/build.txt" | head -n 60; exit 1; }

case " $skip " in
  *" tests "*) ;;
  *)
    ctest --preset cuda -LE slow -j 4 > "$out/tests.txt" 2>&1 || failed="$failed tests"
    tail -n 15 "$out/tests.txt"
    ;;
esac

"$diml" doctor | tee "$out/doctor.txt"
[ -f "$model" ] || "$diml" weights create resnet50 --dim 128 --out "$model"

# The kernels, each tested before it is timed; then an evaluation of Stanford Online Products' size,
# re-ranked and with every pair matched.
build/cuda/benchmarks/cuda_ladder > "$out/ladder.txt" 2>&1 || failed="$failed ladder"
cat "$out/ladder.txt"
sop=$(mktemp -d)/sop
trap 'rm -rf "$(dirname "$sop")"' EXIT
"$diml" generate --images 60502 --classes 11316 --out "$sop"
for storage in float32 float16; do
  for depth in 0,100 0,all; do
    start=$(date +%s.%N)
    measure "evaluate_${storage}_$depth" evaluate --cells "$sop.cells.npy" --globals "$sop.globals.npy" \
      --labels "$sop.labels.npy" --rerank "$depth" --storage "$storage" --json "$out/evaluate_${storage}_$depth.json"
    echo "$start $(date +%s.%N)" | awk '{ printf "%.2f s from start to end\n", $2 - $1 }' |
      tee -a "$out/evaluate_${storage}_$depth.txt"
  done
done
case " $skip " in
  *" sanitizer "*) ;;
  *)
    if command -v compute-sanitizer > /dev/null; then
      check() {
        tool=$1
        shift
        compute-sanitizer --tool "$tool" --error-exitcode 1 "$@" >> "$out/sanitizer.txt" 2>&1 || failed="$failed $tool"
      }
      agreement=build/cuda/tests/agreement/agreement_test
      search=build/cuda/tests/search/search_test
      check memcheck $agreement --gtest_filter='Of/Agreement.WithTheReference/cuda'
      check memcheck $search --gtest_filter='CudaRetrieval.AQuerys*:CudaRetrieval.AnExcluded*:CudaRetrieval.Ranking*'
      check racecheck $agreement --gtest_filter='Of/Agreement.WithTheReference/cuda'
      check racecheck $search --gtest_filter='CudaRetrieval.AnExcluded*'
      grep "SUMMARY" "$out/sanitizer.txt"
    fi
    ;;
esac

rounds=${ROUNDS:-5}
steps=${STEPS:-40}
measure embed_bfloat16 bench network --model "$model" --device cuda --precision bfloat16 --rounds "$rounds" \
  --json "$out/embed_bfloat16.json"
measure train_bfloat16 bench train --backbone resnet50 --batch 112 --device cuda --precision bfloat16 \
  --steps "$steps" --epochs 4 --json "$out/train_bfloat16.json"
measure train_ms bench train --backbone resnet50 --batch 112 --device cuda --precision bfloat16 --loss ms \
  --steps "$steps" --epochs 4 --json "$out/train_ms.json"
if [ -n "$dataset" ]; then
  measure embed_files bench network --model "$model" --device cuda --precision bfloat16 --dataset "$dataset" \
    --root "$root" --rounds "$rounds" --json "$out/embed_files.json"
  measure train_files bench train --backbone resnet50 --batch 112 --device cuda --precision bfloat16 \
    --dataset "$dataset" --root "$root" --epochs 4 --json "$out/train_files.json"
  # Every epoch decodes the files again.
  measure train_no_cache bench train --backbone resnet50 --batch 112 --device cuda --precision bfloat16 \
    --dataset "$dataset" --root "$root" --measures global --cache-mb 0 --epochs 3 --json "$out/train_no_cache.json"
fi
[ -z "$failed" ] || { echo "failed:$failed"; exit 1; }
