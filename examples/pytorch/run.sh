#!/usr/bin/env bash
# A training job of two ranks in which rank 1 dies in epoch 3 and the job goes on from its checkpoint.
#   examples/pytorch/run.sh [path of the muster binary]
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

command=("$muster" run --nproc-per-node 2 --max-restarts 2 "$here/train.py"
  --checkpoint "$folder/digits.pt" --kill-rank 1 --kill-epoch 3)
echo "+ PYTHON_EXEC=$python ${command[*]}"
PYTHON_EXEC=$python "${command[@]}"
