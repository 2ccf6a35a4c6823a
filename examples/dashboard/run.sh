#!/bin/sh
# A dashboard, and a job that loses a node and a rank: run.sh MUSTER [FOLDER]. With a FOLDER everything stays there, and the dashboard
# stays up until Ctrl-C; without one the script shows by the API what the page would show, and clears up.
set -eu
muster="$1"
here="$(cd "$(dirname "$0")" && pwd)"
folder="${2:-$(mktemp -d)}"
dashboard=""
finish() {
  [ -z "$dashboard" ] || kill "$dashboard" 2>/dev/null || true
  wait
  [ $# = 0 ] || rm -rf "$folder"
}
if [ -n "${2:-}" ]; then trap 'finish' EXIT; else trap 'finish clear' EXIT; fi
trap 'exit 130' INT TERM

"$muster" dashboard --listen "127.0.0.1:${PORT:-0}" --db "$folder/jobs.db" > "$folder/address" &
dashboard=$!
until grep -q '^dashboard ' "$folder/address"; do sleep 0.05; done
url="$(sed -n 's/^dashboard //p' "$folder/address")"
echo "dashboard: $url"

# Rank 1 fails once; later, when rank 0 prints "epoch 2", node 3 is killed.
"$muster" local --nodes 3 --nnodes 2:3 --replace-wait 1s --max-restarts 2 --rdzv-id digits --run-dir "$folder/run" \
  --report "webhook=${url}webhook" --chaos kill-node:3@epoch=2 --log-level warning --no-python -- \
  /usr/bin/python3 "$here/train.py" "$folder" || true
/usr/bin/python3 "$here/show.py" "$url" digits
if [ -n "${2:-}" ]; then wait "$dashboard"; fi
