#!/usr/bin/env bash
# Two nodes that share a secret, as a file that only its owner may read, and one that has another. That one is refused and
# ends with 78; the job does not notice.
#   examples/nodes/secret.sh [path of the muster binary] [port]
set -euo pipefail
here=$(dirname "$0")
muster=${1:-muster}
port=${2:-29479}
folder=$(mktemp -d)
trap 'kill $(jobs -p) 2>/dev/null || true; wait; rm -rf "$folder"' EXIT

umask 077  # so the files have mode 0600
for name in ours theirs; do
  head -c 32 /dev/urandom | base64 >"$folder/$name"
done

node() {  # NUMBER, SECRET
  export MUSTER_JOB_SECRET_FILE=$folder/$2
  exec "$muster" run --nnodes 2 --rdzv-endpoint "127.0.1.1:$port" --local-addr "127.0.1.$1" --node-name "node-$1" "$here/worker.sh" 5
}
node 1 ours &
first=$!
code=0
(node 3 theirs) || code=$?
echo "a node with another secret ended with $code"
node 2 ours &
wait $!
wait "$first"
