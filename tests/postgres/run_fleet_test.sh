#!/usr/bin/env bash
# Three servers of a gallery in PostgreSQL behind a proxy, one of them killed again and again:
#   run_fleet_test.sh DIML SERVER_FLEET CONFIGURATION ADDRESS_FILE FOLDER [SECONDS] [CLIENTS] [EVERY]
# Ends with 77 where there is no database server, or no proxy.
set -euo pipefail
diml=$1 server_fleet=$2 configuration=$3 address_file=$4 folder=$5
shift 5
if [ ! -f "$address_file" ]; then
  echo "no PostgreSQL server runs for the tests: install postgresql, and run them with ctest"
  exit 77
fi
rm -rf "$folder"
mkdir -p "$folder"
cd "$folder"
read -r address <"$address_file"
gallery="${address%%\?*}fleet-$(basename "$folder")-$$?${address#*\?}"
"$diml" generate --images 1000 --classes 100 --grid 4 --dim 64 --out grids >/dev/null
"$diml" index build "$gallery" --embeddings grids >/dev/null
"$server_fleet" "$diml" "$gallery" "$configuration" "$@"
"$diml" index verify "$gallery"
