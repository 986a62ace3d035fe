#!/bin/sh
# images/s of `diml index add` on one NVIDIA card, from JPEG files to a durable gallery: of this build and, where it is named,
# of an older one, taking turns. Writes index_add.csv (a line for each run) and index_add.txt (medians) to a folder.
#
#   benchmarks/cuda/index_add.sh OUT [OLDER DIML]
#
# Needs build/cuda (cmake --preset cuda && cmake --build --preset cuda). IMAGES (4096), ROUNDS (3), PRECISION (bfloat16) and
# DEVICE (cuda) say what is measured, PHOTOS a folder of photos in place of generated ones, DIML another program in place of
# build/cuda/diml. About three minutes of the card's time. Without a card, `DIML=build/release/diml DEVICE=cpu
# PRECISION=float32 IMAGES=64 ROUNDS=1 benchmarks/cuda/index_add.sh OUT` goes the same way.
set -eu
[ $# -ge 1 ] || { sed -n '2,/^set /p' "$0" | sed -e '/^set /d' -e 's/^# \{0,1\}//' >&2; exit 2; }
for program in "${DIML:-build/cuda/diml}" ${2:+"$2"}; do
  [ -x "$program" ] || { echo "index_add.sh: $program is not there: cmake --build --preset cuda" >&2; exit 1; }
done
new=$(realpath "${DIML:-build/cuda/diml}")
old=${2:+$(realpath "$2")}
out=$(mkdir -p "$1" && cd "$1" && pwd)
images=${IMAGES:-4096}
device=${DEVICE:-cuda}
precision=${PRECISION:-bfloat16}
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
cd "$scratch"

if [ -n "${PHOTOS:-}" ]; then
  find "$(realpath "$PHOTOS")" -type f \( -iname '*.jpg' -o -iname '*.jpeg' -o -iname '*.png' \) | sort | head -n "$images" > all.txt
else
  "$new" critters --out critters --classes 64 --images-per-class $(((images + 63) / 64)) --size 256 > /dev/null
  find "$PWD/critters" -name '*.jpg' | sort | head -n "$images" > all.txt
fi
images=$(wc -l < all.txt)
[ "$images" -ge 2 ] || { echo "index_add.sh: $images photos: at least 2 are needed" >&2; exit 1; }
head -n 1 all.txt > one.txt
xargs -d '\n' cat < all.txt > /dev/null  # into the page cache
"$new" weights create resnet50 --dim 128 --out model.safetensors > /dev/null

# Seconds of a whole `index add` of a list to a gallery that has one photo.
timed_add() {  # timed_add PROGRAM LIST
  rm -rf gallery
  "$1" index build gallery --model model.safetensors --images first.txt --device "$device" --precision "$precision" > log.txt 2>&1 &&
    begin=$(date +%s.%N) &&
    "$1" index add gallery --images "$2" --device "$device" --precision "$precision" > log.txt 2>&1 &&
    end=$(date +%s.%N) || { cat log.txt >&2; exit 1; }
  echo "$begin $end" | awk '{ printf "%.3f", $2 - $1 }'
}

# The photo that a gallery begins with is none of those that are added.
sed 1d all.txt > more.txt
mv one.txt first.txt
sed -n 2p all.txt > one.txt
added=$(wc -l < more.txt)
echo "program,round,images,seconds,seconds_of_one_image" > "$out/index_add.csv"
for round in $(seq "${ROUNDS:-3}"); do
  for program in new ${old:+old}; do
    binary=$new
    [ "$program" = new ] || binary=$old
    one=$(timed_add "$binary" one.txt)
    all=$(timed_add "$binary" more.txt)
    echo "$program,$round,$added,$all,$one" | tee -a "$out/index_add.csv"
  done
done

# The start of the program (LibTorch, the card, the network) is that of adding one image.
{
  "$new" doctor | grep -iE '^ *(cuda|gpu|device|diml)' || true
  echo "images/s of diml index add, $added photos of ResNet-50, $device, $precision; medians of ${ROUNDS:-3} rounds"
  printf '%-8s %14s %18s\n' program "whole process" "without its start"
  for program in new ${old:+old}; do
    for by in 'n / s' '(n - 1) / (s - one)'; do
      awk -F, -v program="$program" "\$1 == program { n = \$3; s = \$4; one = \$5; printf \"%.1f\\n\", $by }" \
        "$out/index_add.csv" | sort -n | awk '{ all[NR] = $1 } END { print all[int((NR + 1) / 2)] }'
    done | xargs printf "%-8s %14s %18s\n" "$program"
  done
} | tee "$out/index_add.txt"
