"""Data-parallel least squares under JAX, in which one process may do something at step 20 of the first attempt.

usage: jax_faults.py [FAULT RANK]      kill, raise, exit, early, late; forever: trains on"""
import os
import signal
import sys
import time

FAULT, WHO = (sys.argv[1], int(sys.argv[2])) if len(sys.argv) > 2 else ("", -1)
if FAULT == "late" and os.environ["RANK"] == str(WHO):
    time.sleep(5)

import jax  # noqa: E402

jax.distributed.initialize()

import numpy as np  # noqa: E402
from jax.sharding import Mesh, NamedSharding, PartitionSpec  # noqa: E402

ROWS = 960


def do(fault):
    if fault == "kill":
        os.kill(os.getpid(), signal.SIGKILL)
    if fault == "raise":
        raise ValueError("on purpose")
    if fault in ("exit", "early"):
        sys.exit(7 if fault == "exit" else 0)


def main():
    rank, size = jax.process_index(), jax.process_count()
    x = np.random.default_rng(0).integers(0, 32, (ROWS, 4)).astype(np.float32) / 32
    y = x @ np.array([1, 2, 3, 4], np.float32)
    over_rows = NamedSharding(Mesh(np.array(jax.devices()), ("rows",)), PartitionSpec("rows"))
    x, y = (jax.make_array_from_process_local_data(over_rows, a[rank * ROWS // size:(rank + 1) * ROWS // size]) for a in (x, y))
    step = jax.jit(lambda w, x, y: w - 0.5 * jax.grad(lambda w: ((x @ w - y) ** 2).mean())(w))
    weights, number = np.zeros(4, np.float32), 0
    while number < 200 or FAULT == "forever":
        weights = jax.block_until_ready(step(weights, x, y))
        number += 1
        if number == 20:
            print("rank %d trains" % rank, flush=True)
            if rank == WHO and os.environ.get("TORCHELASTIC_RESTART_COUNT") == "0":
                do(FAULT)
    print("rank %d of %d weights %s" % (rank, size, " ".join("%.4f" % w for w in np.asarray(weights))), flush=True)


main()
