#!/usr/bin/env bash
# Three nodes, one of which is told to go, as when a cloud takes back a spot machine. Its worker saves, the node leaves with
# 143, and the other two go on from what was saved.
#   examples/nodes/preemption.sh [path of the muster binary]
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
"${1:-muster}" local --nodes 3 --chaos preempt-node:3@step=10 --nnodes 2:3 --preempt-signal USR1 --grace-period 10s --replace-wait 0s \
  "$(dirname "$0")/steps.sh" "$folder/checkpoint"
