#!/usr/bin/env bash
# A job of two nodes, and a third one that waits. When it does the second one is lost, and the spare takes its rank.
#   examples/nodes/spares.sh [path of the muster binary]
set -euo pipefail
"${1:-muster}" local --nodes 2 --chaos "add-node@round=1,kill-node:2@spare of round=1" --nnodes 2 --spares 1 \
  "$(dirname "$0")/worker.sh" 40
