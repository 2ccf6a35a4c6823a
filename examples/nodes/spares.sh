#!/usr/bin/env bash
# Three nodes for a job of two: the third waits. The second one is lost, and the spare takes its rank.
#   examples/nodes/spares.sh [path of the muster binary]
set -euo pipefail
"${1:-muster}" local --nodes 3 --chaos kill-node:2@round=1 --nnodes 2 --spares 1 "$(dirname "$0")/worker.sh"
