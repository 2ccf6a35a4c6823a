#!/usr/bin/env bash
# Two nodes on this machine with two workers each train one model of XGBoost.
#   examples/xgboost/run.sh [path of the muster binary]
# Uses python3 from PATH when that has XGBoost, else Debian's (python3-xgboost).
set -euo pipefail
here=$(dirname "$0")
muster=${1:-muster}

python=${PYTHON_EXEC:-python3}
if ! "$python" -c 'import importlib.util as u, sys; sys.exit(u.find_spec("xgboost") is None)' 2>/dev/null; then
  python=/usr/bin/python3
fi
command=("$muster" local --nodes 2 --nproc-per-node 2 --framework xgboost "$here/train.py")
echo "+ PYTHON_EXEC=$python ${command[*]}"
PYTHON_EXEC=$python "${command[@]}"
