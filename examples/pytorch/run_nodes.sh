#!/usr/bin/env bash
# A training job of two nodes with two ranks each, all on this machine, that loses a node after epoch 3 and goes
# on with the other one from its checkpoint.
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
trap 'rm -rf "$folder"' EXIT

command=("$muster" local --nodes 2 --chaos kill-node:2@epoch=3 --nnodes 1:2 --replace-wait 1s
  --nproc-per-node 2 "$here/train.py" --checkpoint "$folder/digits.pt")
echo "+ PYTHON_EXEC=$python ${command[*]}"
PYTHON_EXEC=$python "${command[@]}"
