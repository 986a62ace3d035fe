#!/usr/bin/env bash
# 64 clients for a while, or a siege: run_load_test.sh DIML SERVER_LOAD FOLDER [SECONDS] [CLIENTS]
set -euo pipefail
diml=$1 server_load=$2 folder=$3 seconds=${4:-5} clients=${5:-64}
rm -rf "$folder"
mkdir -p "$folder"
cd "$folder"
"$diml" critters --out critters --classes 20 --images-per-class 20 >/dev/null
"$diml" weights create small --out small.safetensors >/dev/null
"$diml" index build gallery.diml --model small.safetensors --dataset critters --root critters --split all >/dev/null
"$server_load" "$diml" gallery.diml "$(find critters -name '*.jpg' | sort | head -n 1)" "$seconds" "$clients"
"$diml" index verify gallery.diml
