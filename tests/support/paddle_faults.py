"""Data-parallel least squares under Paddle, in which one worker may do something at step 5 of the first attempt.

usage: paddle_faults.py [FAULT RANK]      kill, raise, late; forever: trains on"""
import os
import signal
import sys
import time

FAULT, WHO = (sys.argv[1], int(sys.argv[2])) if len(sys.argv) > 2 else ("", -1)
RANK, SIZE = int(os.environ["RANK"]), int(os.environ["WORLD_SIZE"])
if FAULT == "late" and RANK == WHO:
    time.sleep(5)

import numpy as np  # noqa: E402
import paddle  # noqa: E402
import paddle.distributed as dist  # noqa: E402

ROWS = 960


def do(fault):
    if fault == "kill":
        os.kill(os.getpid(), signal.SIGKILL)
    if fault == "raise":
        raise ValueError("on purpose")


def main():
    dist.init_parallel_env()
    assert (dist.get_rank(), dist.get_world_size()) == (RANK, SIZE)
    x = np.random.default_rng(0).integers(0, 32, (ROWS, 4)).astype(np.float32) / 32
    y = x @ np.array([1, 2, 3, 4], np.float32)
    own = slice(RANK * ROWS // SIZE, (RANK + 1) * ROWS // SIZE)
    x, y = x[own], y[own]
    weights, number = np.zeros(4, np.float32), 0
    while number < 150 or FAULT == "forever":
        gradient = paddle.to_tensor(2 * x.T @ (x @ weights - y) / ROWS)
        dist.all_reduce(gradient)
        weights = weights - 0.5 * gradient.numpy()
        number += 1
        if number == 5:
            print("rank %d trains" % RANK, flush=True)
            if os.environ["TORCHELASTIC_RESTART_COUNT"] == "0" and RANK == WHO:
                do(FAULT)
    print("rank %d of %d weights %s" % (RANK, SIZE, " ".join("%.2f" % weight for weight in weights)), flush=True)


main()
