#!/bin/sh
# Usage: run.sh MUSTER. Runs a job of two nodes whose events go to a receiver, and prints what that knows.
set -eu
muster=$1
here=$(cd "$(dirname "$0")" && pwd)
out=$(mktemp -d)
mkfifo "$out/port"
python3 "$here/receiver.py" > "$out/port" &
receiver=$!
trap 'kill $receiver; rm -r "$out"' EXIT
read -r port < "$out/port"
"$muster" local --nodes 2 --max-restarts 1 --report "webhook=http://127.0.0.1:$port/" --no-python "$here/train.sh" > "$out/log" 2>&1
python3 -c "import urllib.request; print(urllib.request.urlopen('http://127.0.0.1:$port/').read().decode(), end='')"
