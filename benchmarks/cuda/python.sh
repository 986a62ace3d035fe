#!/bin/sh
# The Python package on a machine with an NVIDIA GPU: builds its extension with CUDA for the python3 that has PyTorch, runs
# the tests of tensors there, shows with PyTorch's profiler that no grid is copied through the host, and prints pairs/s
# beside the ladder's. Writes tests.txt, ladder.txt, python.txt, python.json, trace.json.gz (a training step) to a folder.
#
#   benchmarks/cuda/python.sh OUT
#
# PYTHON names another python3, BUILD another build folder, LADDER a cuda_ladder that is built already. LibTorch is not needed:
# the extension does not link it. pybind11 is Debian's, or the one within PyTorch. About four minutes, half of it the build.
set -eu
[ $# -eq 1 ] || { sed -n '2,/^set /p' "$0" | sed -e '/^set /d' -e 's/^# \{0,1\}//' >&2; exit 2; }
cd "$(dirname "$0")/../.."
root=$PWD
out=$(mkdir -p "$1" && cd "$1" && pwd)
python=$(command -v "${PYTHON:-python3}")
build=${BUILD:-build/python}
pybind11=$("$python" -c 'import os, torch; print(os.path.join(os.path.dirname(torch.__file__), "include"))')
[ -f /usr/include/pybind11/pybind11.h ] && pybind11=/usr/include
failed=""

cmake -S . -B "$build" -G Ninja -DCMAKE_BUILD_TYPE=Release -DDIML_CUDA=ON -DDIML_PYTHON=ON -DDIML_TORCH=OFF -DDIML_CLI=OFF \
  -DDIML_TESTS=OFF -DDIML_PYTHON3="$python" -DDIML_PYBIND11_INCLUDE="$pybind11" > "$out/configure.txt" 2>&1 ||
  { tail -n 30 "$out/configure.txt"; exit 1; }
cmake --build "$build" --target diml_python diml_python_files -j "$(nproc)" > "$out/build.txt" 2>&1 ||
  { grep -E "error|FAILED" -A 5 "$out/build.txt" | head -n 60; exit 1; }
export PYTHONPATH="$root/$build/python" PYTHONDONTWRITEBYTECODE=1 PYTHONUNBUFFERED=1
"$python" -c 'import diml, torch; print("torch", torch.__version__, "diml", diml.__version__, diml.features(), diml.backends())'
if ldd "$build"/python/diml/_diml*.so | grep -E "libtorch|libc10"; then
  failed="$failed linked-with-LibTorch"
fi

echo "== tests"
(cd python/tests && "$python" -m unittest -v torch_cuda_test torch_test torch_search_test pml_test) > "$out/tests.txt" 2>&1 ||
  failed="$failed tests"
grep -E "^(FAIL|ERROR)|Error|skipped|^Ran|^OK|^FAILED" "$out/tests.txt" || true

echo "== ladder"
ladder=${LADDER:-}
if [ -z "$ladder" ]; then
  # A part of the benchmarks, which need Google Benchmark; without it the ladder of another build, or none.
  cmake --build "$build" --target cuda_ladder -j "$(nproc)" >> "$out/build.txt" 2>&1 && ladder=$build/benchmarks/cuda_ladder
  [ -n "$ladder" ] || { [ -x build/cuda/benchmarks/cuda_ladder ] && ladder=build/cuda/benchmarks/cuda_ladder; } || true
fi
if [ -n "$ladder" ]; then
  "$ladder" > "$out/ladder.txt" 2>&1 || failed="$failed ladder"
  cat "$out/ladder.txt"
else
  echo "cuda_ladder is not built here: the rates of the calls from Python are compared with nothing"
fi

echo "== pairs per second"
"$python" benchmarks/cuda/python_on_card.py ${ladder:+--ladder "$out/ladder.txt"} --out "$out" > "$out/python.txt" 2>&1 ||
  failed="$failed pairs-per-second-or-copies"
cat "$out/python.txt"
[ -z "$failed" ] || { echo "failed:$failed"; exit 1; }
