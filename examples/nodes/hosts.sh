#!/usr/bin/env bash
# Three agents that find each other by a file of hosts. Their names, not the order in which they are started or
# listed, decide who has which rank: worker-9 comes before worker-10.
#   examples/nodes/hosts.sh [path of the muster binary] [port]
set -euo pipefail
here=$(dirname "$0")
muster=${1:-muster}
port=${2:-29477}
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT

printf '%s\n' "127.0.1.10:$port  # may lead" "127.0.1.9:$port   # may lead" "127.0.1.11:$port" >"$folder/hosts"
for number in 11 10 9; do
  "$muster" run --nnodes 3 --hosts "@$folder/hosts" --local-addr "127.0.1.$number" --node-name "worker-$number" \
    "$here/worker.sh" 5 &
done
wait
