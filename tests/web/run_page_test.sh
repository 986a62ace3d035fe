#!/usr/bin/env bash
# The page in Debian's Chromium: run_page_test.sh DIML FOLDER. FOLDER keeps the screenshots. Exit code 77: it cannot run
# here; the output says why.
set -euo pipefail
diml=$1 folder=$2
here=$(cd "$(dirname "$0")" && pwd)

skip() {
  echo "skipped: $1"
  exit 77
}
command -v chromium >/dev/null || skip "there is no chromium: apt-get install chromium"
command -v node >/dev/null || skip "there is no node: apt-get install nodejs npm"
[ "$(node -p 'parseInt(process.versions.node)')" -ge 18 ] || skip "node is older than 18"

mkdir -p "$folder"
cp "$here"/package.json "$here"/package-lock.json "$here"/*.mjs "$folder"
cd "$folder"
if [ ! -f node_modules/playwright-core/package.json ]; then
  command -v npm >/dev/null || skip "there is no npm: apt-get install npm"
  npm ci --silent --no-audit --no-fund >npm.log 2>&1 || skip "npm cannot fetch playwright-core: $(tail -n 1 npm.log)"
fi

rm -rf critters gallery.diml own-*.diml screenshots
mkdir screenshots
"$diml" critters --out critters --classes 12 --images-per-class 8 >/dev/null
"$diml" weights create small --out small.safetensors >/dev/null
"$diml" index build gallery.diml --model small.safetensors --dataset critters --root critters --split all >/dev/null
# Pages that are files: why two match, what re-ranking changes, and hits.
"$diml" explain critters/images/001.Critter/critter_00000{1,2}.jpg --model small.safetensors --out why.html >/dev/null
"$diml" evaluate --model small.safetensors --dataset critters --root critters --html queries.html >/dev/null
"$diml" search gallery.diml critters/images/001.Critter --top 4 --html hits.html >/dev/null
exec node --test-reporter=spec page_test.mjs "$diml"
