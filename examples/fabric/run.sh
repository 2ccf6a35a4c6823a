#!/bin/sh
# What Muster would tell the network libraries on a recorded machine, and why: run.sh MUSTER
set -eu
muster="$1"
here="$(cd "$(dirname "$0")" && pwd)"
plan() {
  "$muster" env --explain --root "$here/machine" --nnodes 2 --rdzv-endpoint gpu-7,gpu-8 "$@" | grep -E '^(#|NCCL_|GLOO_|UCX_|FI_)'
}

echo "== by itself"
plan

echo "== with the site's profile: what belongs to the switches"
plan --fabric-profile "$here/site.conf"
