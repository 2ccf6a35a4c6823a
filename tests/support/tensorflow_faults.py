"""Data-parallel least squares under MultiWorkerMirroredStrategy, in which one worker may do something at step 5 of the first attempt.

usage: tensorflow_faults.py [FAULT RANK]      kill, raise, early, late; forever: trains on"""
import json
import os
import signal
import sys
import time

FAULT, WHO = (sys.argv[1], int(sys.argv[2])) if len(sys.argv) > 2 else ("", -1)
RANK, SIZE = int(os.environ["RANK"]), int(os.environ["WORLD_SIZE"])
FIRST = os.environ["TORCHELASTIC_RESTART_COUNT"] == "0"
if FAULT == "late" and RANK == WHO:
    time.sleep(5)
os.environ["TF_CPP_MIN_LOG_LEVEL"] = "2"

import numpy as np  # noqa: E402
import tensorflow as tf  # noqa: E402

ROWS = 960


def do(fault):
    if fault == "kill":
        os.kill(os.getpid(), signal.SIGKILL)
    if fault == "raise":
        raise ValueError("on purpose")
    if fault == "early":
        sys.exit(0)


def main():
    strategy = tf.distribute.MultiWorkerMirroredStrategy()
    assert strategy.num_replicas_in_sync == SIZE, json.loads(os.environ["TF_CONFIG"])
    x = np.random.default_rng(0).integers(0, 32, (ROWS, 4)).astype(np.float32) / 32
    y = x @ np.array([1, 2, 3, 4], np.float32)
    own = slice(RANK * ROWS // SIZE, (RANK + 1) * ROWS // SIZE)
    x, y = tf.constant(x[own]), tf.constant(y[own])

    @tf.function
    def gradient(weights):
        def of_one():
            error = tf.linalg.matvec(x, weights) - y
            return 2 * tf.linalg.matvec(x, error, transpose_a=True)

        return strategy.reduce(tf.distribute.ReduceOp.SUM, strategy.run(of_one), axis=None) / ROWS

    weights = tf.zeros(4)
    number = 0
    while number < 150 or FAULT == "forever":
        weights -= 0.5 * gradient(weights)
        number += 1
        if number == 5:
            print("rank %d trains" % RANK, flush=True)
            if FIRST and RANK == WHO:
                do(FAULT)
    print("rank %d of %d weights %s" % (RANK, SIZE, " ".join("%.2f" % weight for weight in weights.numpy())), flush=True)


main()
