"""Each worker has every n-th row, and all grow the same trees: lightgbm.train() is told nothing of the other workers.

Features have few values, so that the bins, and with them the trees, do not depend on the number of workers."""
import argparse
import os

import lightgbm
import numpy


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--rounds", type=int, default=30)
    parser.add_argument("--model", help="where rank 0 saves it")
    arguments = parser.parse_args()
    rank, size = int(os.environ.get("RANK", 0)), int(os.environ.get("WORLD_SIZE", 1))

    random = numpy.random.default_rng(0)
    features = random.integers(0, 32, (4000, 5)).astype(float)
    target = features @ numpy.arange(1, 6) + random.normal(size=4000)
    rows = lightgbm.Dataset(features[rank::size], target[rank::size])
    parameters = {"objective": "regression", "num_leaves": 15, "verbose": -1}
    model = lightgbm.train(parameters, rows, arguments.rounds)

    error = numpy.sqrt(numpy.mean((model.predict(features) - target) ** 2))
    print("rank %d of %d: error over all rows %.4f" % (rank, size, error), flush=True)
    if rank == 0 and arguments.model:
        model.save_model(arguments.model)


if __name__ == "__main__":
    main()
