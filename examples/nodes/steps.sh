#!/bin/sh
# A worker that counts to 40. Told that its node will go (SIGUSR1), it saves how far it is; started again, it goes on from there.
#   steps.sh CHECKPOINT
trap 'echo "$step" >"$1.new"; mv "$1.new" "$1"; echo "saved step $step"; exit 0' USR1
step=$(cat "$1" 2>/dev/null || echo 0)
echo "rank $RANK of $WORLD_SIZE goes on from step $step, after $TORCHELASTIC_RESTART_COUNT changes"
while [ "$step" -lt 40 ]; do
  sleep 0.1
  step=$((step + 1))
  [ "$RANK" != $((WORLD_SIZE - 1)) ] || echo "step $step"  # one tells, the last
done
