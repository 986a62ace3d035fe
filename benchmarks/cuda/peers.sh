#!/bin/sh
# diml's matcher and PyTorch on one NVIDIA card, taking turns: the authors' loop and a batched peer (float32, float16; eager
# and compiled) at 4x4x128 and 7x7x128, easy and hard grids. Writes peers.json and peers.md to a folder.
#
#   benchmarks/cuda/peers.sh OUT [peers.py's options]
#
# Needs build/cuda (cmake --preset cuda && cmake --build --preset cuda) and a python3 with PyTorch 2.x; BUILD and PYTHON name
# others. About four minutes of the card's time. Without a card, `BUILD=build/release PYTHON=/usr/bin/python3
# benchmarks/cuda/peers.sh OUT --device cpu --rounds 1` goes the same way on small collections.
set -eu
[ $# -ge 1 ] || { sed -n '2,/^set /p' "$0" | sed -e '/^set /d' -e 's/^# \{0,1\}//' >&2; exit 2; }
cd "$(dirname "$0")/../.."
out=$(mkdir -p "$1" && cd "$1" && pwd)
shift
build=${BUILD:-build/cuda}
for program in diml benchmarks/diml_pairs_per_second; do
  [ -x "$build/$program" ] || { echo "peers.sh: $build/$program is not there: cmake --build --preset cuda" >&2; exit 1; }
done
PYTHONUNBUFFERED=1 exec "${PYTHON:-python3}" benchmarks/cuda/peers.py --build "$build" --out "$out" "$@"
