#!/usr/bin/env bash
# A training job of two nodes with two ranks each, all on this machine, that loses a node after epoch 3 and goes
# on with the other one from its checkpoint. A page shows it while it happens, and stays until Enter is pressed if
# this was started at a terminal. The last line says where the time went that the lost node cost.
#   examples/pytorch/run_nodes.sh [path of the muster binary]
# Uses python3 from PATH when that has PyTorch, else Debian's (python3-torch).
set -euo pipefail
here=$(dirname "$0")
muster=${1:-muster}

python=python3
if ! "$python" -c 'import importlib.util as u, sys; sys.exit(u.find_spec("torch") is None)' 2>/dev/null; then
  python=/usr/bin/python3
fi
folder=$(mktemp -d)
dashboard=
finish() {
  [[ -z $dashboard ]] || { kill "$dashboard" && wait "$dashboard"; } || true
  rm -rf "$folder"
}
trap finish EXIT

exec {said}< <(exec "$muster" dashboard --listen 127.0.0.1:0 --db "$folder/jobs.db")
dashboard=$!
read -r -u "$said" _ page
echo "+ $muster dashboard: watch it at $page"

command=("$muster" local --nodes 2 --chaos kill-node:2@epoch=3 --nnodes 1:2 --replace-wait 1s
  --nproc-per-node 2 --run-dir "$folder/journal" --report "webhook=${page}webhook"
  "$here/train.py" --checkpoint "$folder/digits.pt")
echo "+ PYTHON_EXEC=$python ${command[*]}"
PYTHON_EXEC=$python PYTHONPATH=$here/../progress "${command[@]}"

"$python" - "$folder/journal/node-1/events.jsonl" <<'TIMELINE'
import json
import sys

ORDER = ("detect", "decide", "stop", "rendezvous", "check", "spawn", "first_progress")
for line in map(json.loads, open(sys.argv[1])):
    if line["event"] == "restart.timeline":
        phases = ", ".join(f"{name.replace('_', ' ')} {line['phases'][name]:.2f}" for name in ORDER if name in line["phases"])
        print(f"timeline: {line['reason']}; {line['total_s']:.1f} s until it trained on: {phases}")
TIMELINE
if [[ -t 0 && -t 1 ]]; then
  read -r -p "$page stays until you press Enter "
fi
