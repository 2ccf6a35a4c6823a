"""Counts random points within the circle: one of many runs, each with another seed."""
import os
import random
import sys

folder, points = sys.argv[1], int(sys.argv[2])
run = os.environ["MUSTER_RUN_INDEX"]
tried = os.path.join(folder, "tried-%s" % run)
if run == "3" and not os.path.exists(tried):
    open(tried, "w").close()
    sys.exit("run 3 fails when it is tried first")
source = random.Random(int(run))
inside = sum(source.random() ** 2 + source.random() ** 2 < 1 for _ in range(points))
with open(os.path.join(folder, "count-%s" % run), "w") as file:
    file.write("%d\n" % inside)
print("run %s: %d of %d points" % (run, inside, points))
