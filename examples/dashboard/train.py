"""A training loop that goes on from where it was, tells its steps in its log, and fails once on rank 1: train.py FOLDER."""
import json
import math
import os
import sys
import time

STEPS = 40
saved = os.path.join(sys.argv[1], "step")
rank = int(os.environ["RANK"])
first = int(os.environ["TORCHELASTIC_RESTART_COUNT"]) == 0

step = 0
if os.path.exists(saved):
    with open(saved) as file:
        step = int(file.read())
while step < STEPS:
    step += 1
    if rank == 0:
        print(json.dumps({"step": step, "total": STEPS, "loss": round(2.3 * math.exp(-step / 12) + 0.1, 4)}), flush=True)
        with open(saved + ".new", "w") as file:
            file.write(str(step))
        os.replace(saved + ".new", saved)
    if rank == 1 and first and step == 8:
        raise ValueError("no data in shard 7")
    time.sleep(0.12)
