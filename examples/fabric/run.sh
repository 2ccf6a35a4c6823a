#!/bin/sh
# What Muster would tell the network libraries on a recorded machine, and why: run.sh MUSTER
set -eu
muster="$1"
cd "$(dirname "$0")"
plan() {
  "$muster" env --explain --root machine --nnodes 2 --rdzv-endpoint gpu-7,gpu-8 "$@" | grep -E '^(#|NCCL_|GLOO_|UCX_|FI_)'
}

echo "== by itself"
plan

echo "== with the site's profile: what belongs to the switches"
plan --fabric-profile site.conf
