#!/bin/sh
# One model on two nodes, one of whose workers is killed: run.sh MUSTER [PYTHON]
set -eu
muster="$1"
python="${2:-python3}"
here="$(cd "$(dirname "$0")" && pwd)"
MODEL_DIR="$(mktemp -d)"
export MODEL_DIR
trap 'rm -rf "$MODEL_DIR"' EXIT
"$muster" local --nodes 2 --nproc-per-node 2 --framework tensorflow --max-restarts 1 --grace-period 2s --chaos kill-rank:2@epoch=10 \
  -- "$python" "$here/train.py"
