#!/usr/bin/env bash
# Two nodes that are told their ranks, as with torchrun's static rendezvous: node rank 0 leads and has the master's port, and
# it may come last. The ranks count, not the names.
#   examples/nodes/static.sh [path of the muster binary] [port]
# As torchrun: torchrun --nnodes 2 --node_rank 1 --master_addr 127.0.1.1 --master_port 29478 train.py
set -euo pipefail
here=$(dirname "$0")
muster=${1:-muster}
port=${2:-29478}
trap 'kill $(jobs -p) 2>/dev/null || true; wait' EXIT

node() {  # NODE RANK, NAME, ADDRESS
  exec "$muster" run --nnodes 2 --rdzv-backend static --master-addr 127.0.1.1 --master-port "$port" \
    --node-rank "$1" --node-name "$2" --local-addr "$3" "$here/worker.sh" 5
}
node 1 alpha 127.0.1.2 &
other=$!
node 0 omega 127.0.1.1 &
wait $!
wait "$other"
