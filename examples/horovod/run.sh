#!/bin/sh
# Elastic Horovod on nodes of this machine: one joins after epoch 8, and one is killed when all three train.
#   run.sh PATH_OF_MUSTER
# horovodrun and python, with Horovod for PyTorch, must be on PATH.
set -eu
exec "$1" local --nodes 2 --nnodes 1:3 --framework mpi --lease 3s --chaos "add-node@epoch=8,kill-node:2@size=3" -- \
  horovodrun -np 2 --min-np 1 --max-np 3 --network-interfaces lo --host-discovery-script discover_hosts.sh \
  python "$(dirname "$0")/train.py" 30
