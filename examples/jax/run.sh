#!/bin/sh
# Two nodes of this machine with two processes each fit one model.
#   run.sh PATH_OF_MUSTER [ARGUMENT OF train.py...]
# python3 on PATH, or the one of an active virtual environment, must have JAX.
set -eu
muster="$1"
shift
exec "$muster" local --nodes 2 --nproc-per-node 2 --framework jax "$(dirname "$0")/train.py" "$@"
