"""Training with LightGBM, in which one worker may do something in round 5 of the first attempt.

usage: lightgbm_faults.py [FAULT RANK]      kill, raise, early, late; forever: trains on
                          sklearn          with a class of scikit-learn, twice"""
import os
import signal
import sys
import time

FAULT, WHO = (sys.argv[1], int(sys.argv[2])) if len(sys.argv) > 2 else ("", -1)
RANK, SIZE = int(os.environ.get("RANK", 0)), int(os.environ.get("WORLD_SIZE", 1))
if FAULT == "late" and RANK == WHO:
    time.sleep(5)

import lightgbm  # noqa: E402
import numpy  # noqa: E402


def step(state):
    if state.iteration == 0:
        print("rank %d trains" % RANK, flush=True)
    if state.iteration != 5 or RANK != WHO or os.environ.get("TORCHELASTIC_RESTART_COUNT") != "0":
        return
    if FAULT == "kill":
        os.kill(os.getpid(), signal.SIGKILL)
    if FAULT == "raise":
        raise ValueError("on purpose")
    if FAULT == "early":
        os._exit(0)


def main():
    random = numpy.random.default_rng(0)
    x = random.integers(0, 32, (4000, 5)).astype(float)
    y = x @ numpy.arange(1, 6) + random.normal(size=4000)
    own_x, own_y = x[RANK::SIZE], y[RANK::SIZE]
    if "sklearn" in sys.argv:
        models = [lightgbm.LGBMRegressor(n_estimators=10, num_leaves=15, verbose=-1).fit(own_x, own_y) for _ in range(2)]
        print("threads %d" % models[0]._process_n_jobs(None))
    else:
        rounds = 10 ** 7 if FAULT == "forever" else 20
        models = [lightgbm.train({"objective": "regression", "num_leaves": 15, "verbose": -1}, lightgbm.Dataset(own_x, own_y), rounds,
                                 callbacks=[step])]
    for model in models:
        print("rank %d of %d predicts %s" % (RANK, SIZE, " ".join("%.3f" % value for value in model.predict(x[:5]))), flush=True)


main()
