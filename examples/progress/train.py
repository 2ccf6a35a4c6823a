"""A training loop that says how far it is, and fails four times on its way."""
import os
import sys

from muster_progress import report

STEPS = 40
checkpoint = os.path.join(sys.argv[1], "checkpoint")
first = int(open(checkpoint).read()) if os.path.exists(checkpoint) else 0

for step in range(first + 1, STEPS + 1):
    loss = 1.0 / step
    report(step, total=STEPS, epoch=(step - 1) // 10, loss=loss)
    if step in (10, 20, 30, 35):
        with open(checkpoint + ".new", "w") as file:
            file.write(str(step))
        os.replace(checkpoint + ".new", checkpoint)
        sys.exit("no shard for step %d" % (step + 1))
