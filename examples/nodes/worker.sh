#!/bin/sh
# A worker that says where it is in the job and works for a while. Told to end (SIGTERM), it "saves" first.
trap 'echo "saved by rank $RANK"; exit 0' TERM
echo "rank $RANK of $WORLD_SIZE, node rank $GROUP_RANK of $GROUP_WORLD_SIZE, after $TORCHELASTIC_RESTART_COUNT changes"
tenths=${1:-20}
while [ "$tenths" -gt 0 ]; do
  sleep 0.1
  tenths=$((tenths - 1))
done
