#!/usr/bin/env bash
# An etcd says which of two nodes leads. The one that does is killed, and the other one goes on alone.
#   examples/nodes/etcd.sh [path of the muster binary] [port of the etcd] [another port for it]
# Needs etcd 3.4 or newer (Debian: etcd-server).
set -euo pipefail
here=$(dirname "$0")
muster=${1:-muster}
etcd=127.0.0.1:${2:-29480}
peers=http://127.0.0.1:${3:-29481}
for needed in "$muster" etcd; do command -v "$needed" >/dev/null || { echo "no $needed here (etcd is in Debian's etcd-server)" >&2; exit 1; }; done
folder=$(mktemp -d)
trap 'kill $(jobs -p) 2>/dev/null || true; exec >&- 2>&-; wait; rm -rf "$folder"' EXIT
exec > >(exec tee -i "$folder/printed") 2>&1  # which ends when we have closed our end

node() {  # NUMBER
  exec "$muster" run --nnodes 1:2 --rdzv-backend etcd --rdzv-endpoint "$etcd" --rdzv-id example --replace-wait 0s \
    --local-addr "127.0.1.$1" --node-name "node-$1" "$here/worker.sh" 20
}
wait_for() {  # TEXT
  for _ in {1..600}; do
    if grep -qs "$1" "$folder/printed"; then return; fi
    sleep 0.1
  done
  echo "nobody printed '$1' within a minute"
  exit 1
}

etcd --data-dir "$folder/etcd" --listen-client-urls "http://$etcd" --advertise-client-urls "http://$etcd" --listen-peer-urls "$peers" \
  --initial-advertise-peer-urls "$peers" --initial-cluster "default=$peers" >"$folder/etcd.log" 2>&1 &
node 1 &
leader=$!
wait_for 'etcd.elected'
node 2 &
other=$!
wait_for 'rank 0 of 2'
wait_for 'rank 1 of 2'
echo "killing node-1, which leads"
{ kill -KILL "$leader"; wait "$leader" || true; } 2>/dev/null
wait "$other"
