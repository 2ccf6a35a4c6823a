#!/bin/sh
# Ten independent runs on two nodes: run.sh MUSTER
set -eu
muster="$1"
here="$(cd "$(dirname "$0")" && pwd)"
folder="$(mktemp -d)"
trap 'rm -rf "$folder"' EXIT
"$muster" local --nodes 2 --nproc-per-node 2 --framework plain --runs 10 --parallelism 3 --max-restarts 1 --restart-scope worker \
  -- /usr/bin/python3 "$here/count.py" "$folder" 20000
awk '{ inside += $1 } END { printf "%d runs: pi is about %.2f\n", NR, 4 * inside / (NR * 20000) }' "$folder"/count-*
