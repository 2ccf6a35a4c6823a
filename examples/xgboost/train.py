"""Handwritten digits with XGBoost, one model by all workers together.

There is no bootstrap code in here: no tracker, no address, no rank. `CommunicatorContext()` finds the tracker that the launcher
serves, and every worker takes its share of the images.
"""
import gzip
import os

import numpy
import xgboost
from xgboost import collective

DATA = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "pytorch", "data", "digits.csv.gz")
TEST_IMAGES = 360
ROUNDS = 10


def load_digits():
    """(images, labels), shuffled alike in every worker."""
    with gzip.open(DATA, "rt") as file:
        rows = numpy.array([[int(cell) for cell in line.split(",")] for line in file], dtype="float32")
    numpy.random.default_rng(0).shuffle(rows)
    return rows[:, :-1], rows[:, -1]


def main():
    images, labels = load_digits()
    with collective.CommunicatorContext():
        rank, workers = collective.get_rank(), collective.get_world_size()
        # Data must be made inside the context: all workers agree on the bins.
        mine = slice(TEST_IMAGES + rank, None, workers)
        training = xgboost.DMatrix(images[mine], labels[mine])
        parameters = {"objective": "multi:softmax", "num_class": 10, "max_depth": 4}
        model = xgboost.train(parameters, training, ROUNDS, evals=[(training, "train")])
        answers = model.predict(xgboost.DMatrix(images[:TEST_IMAGES]))
        if rank == 0:
            accuracy = float((answers == labels[:TEST_IMAGES]).mean())
            print("%d workers, accuracy %.4f" % (workers, accuracy), flush=True)


if __name__ == "__main__":
    main()
