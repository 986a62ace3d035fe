#!/usr/bin/env bash
# Runs every command of docs/first-hour.md, in order, in an empty folder: first_hour.sh DIML PAGE
set -euo pipefail

command -v npm >/dev/null || { echo "first_hour.sh: npm is missing, so the weights cannot be had" && exit 77; }
program=$(realpath "$1")
page=$(realpath "$2")
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"

# A server runs until it is stopped: it is asked for its page, then stopped as a user would, by an interrupt.
serve_once() {
  "$program" "$@" --port 0 >serve.log 2>&1 &
  local server=$! address=
  for _ in $(seq 300); do
    address=$(grep -o 'http://127.0.0.1:[0-9]*' serve.log | head -n 1) || true
    [ -z "$address" ] || break
    kill -0 "$server" || break
    sleep 0.1
  done
  [ -n "$address" ] || { cat serve.log && return 1; }
  exec 3<>"/dev/tcp/127.0.0.1/${address##*:}"
  printf 'GET / HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: close\r\n\r\n' >&3
  grep -q '<title>' <&3
  exec 3>&-
  kill -INT "$server"
  wait "$server"
}

diml() {
  if [ "$1" = serve ]; then serve_once "$@"; else "$program" "$@"; fi
}

commands=$(awk '/^```sh$/ { inside = 1; next } /^```$/ { inside = 0 } inside' "$page")
[ "$(grep -c '^diml ' <<<"$commands")" -ge 10 ] || { echo "$page: the commands were not found" >&2 && exit 1; }
while read -r line; do
  echo "\$ $line"
  eval "$line" </dev/null
done <<<"$commands"

# What the page promises is there.
for file in hits.html hits.csv queries.csv queries.html why.html why.pdf features.cells.npy run/best.safetensors; do
  [ -s "$file" ] || { echo "first_hour.sh: $file is missing" >&2 && exit 1; }
done
