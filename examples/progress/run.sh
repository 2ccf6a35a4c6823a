#!/bin/sh
# A job that says how far it is, fails four times and is forgiven each time: run.sh MUSTER
set -eu
muster="$1"
here="$(cd "$(dirname "$0")" && pwd)"
folder="$(mktemp -d)"
trap 'rm -rf "$folder"' EXIT
# One restart, and the same failure three times would be a crash loop; but each attempt gets further than the one before it.
PYTHONPATH="$here" "$muster" run --max-restarts 1 --run-dir "$folder/journal" --log-level error \
  --no-python -- /usr/bin/python3 "$here/train.py" "$folder"
# What a program sees of it: the last word of each attempt.
grep '"event":"progress"' "$folder/journal/events.jsonl" |
  sed 's/.*"rank":\([0-9]*\),"step":\([0-9]*\),"total":\([0-9]*\).*"attempt":\([0-9]*\).*/\4 rank \1: step \2 of \3/' |
  awk '{ last[$1] = $0 } END { for (i = 0; i in last; ++i) print "attempt " last[i] }'
