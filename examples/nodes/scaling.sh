#!/usr/bin/env bash
# A job that begins on one node, grows to two and three as nodes come, and goes on with two when one is told to go.
#   examples/nodes/scaling.sh [path of the muster binary]
set -euo pipefail
"${1:-muster}" local --nodes 1 --chaos add-node@round=1,add-node@round=2,preempt-node:2@round=3 \
  --nnodes 1:3 --rdzv-conf last_call_timeout=1 --scale-up-interval 500ms --scale-up-quiet 500ms --replace-wait 500ms \
  "$(dirname "$0")/worker.sh" 40
