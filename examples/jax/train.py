"""Data-parallel logistic regression: each process has its share of the rows, and all fit one model together.

jax.distributed.initialize() is the whole bootstrap."""
import argparse

import jax

jax.distributed.initialize()

import jax.numpy as jnp  # noqa: E402  (no device may be touched before)
import numpy as np  # noqa: E402
from jax.sharding import Mesh, NamedSharding, PartitionSpec  # noqa: E402

ROWS = 6000  # divisible by 1 to 6 devices


def data():
    random = np.random.default_rng(0)
    features = random.normal(size=(ROWS, 8)).astype(np.float32)
    labels = (features @ np.linspace(-2, 2, 8) + random.normal(size=ROWS) > 0).astype(np.float32)
    return features, labels


def loss(weights, features, labels):
    logits = features @ weights
    return jnp.mean(jnp.logaddexp(0, logits) - labels * logits)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--steps", type=int, default=100)
    parser.add_argument("--fail-rank", type=int, help="this process raises in the middle")
    arguments = parser.parse_args()
    me, all_of_us = jax.process_index(), jax.process_count()

    over_rows = NamedSharding(Mesh(np.array(jax.devices()), ("rows",)), PartitionSpec("rows"))
    mine = slice(me * ROWS // all_of_us, (me + 1) * ROWS // all_of_us)
    features, labels = (jax.make_array_from_process_local_data(over_rows, rows[mine]) for rows in data())
    weights = jnp.zeros(8)
    step = jax.jit(lambda w, x, y: w - jax.grad(loss)(w, x, y))
    for number in range(1, arguments.steps + 1):
        weights = step(weights, features, labels)
        if number % 20 == 0:
            error = float(jax.jit(loss)(weights, features, labels))
            if me == 0:
                print("step %d loss %.4f, %d processes" % (number, error, all_of_us), flush=True)
        if me == arguments.fail_rank and number == arguments.steps // 2:
            raise ValueError("process %d fails on purpose" % me)
    if me == 0:
        print("weights", " ".join("%.2f" % weight for weight in weights), flush=True)


if __name__ == "__main__":
    main()
