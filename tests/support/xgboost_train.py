"""One model of XGBoost on rows that all processes make alike; every process takes its share of them. What goes wrong, and where, is
said by words:  xgboost_train.py [WHAT [RANK]]

Features have 32 values, fewer than there are bins, so that the cuts are the same however the rows are shared out: the model must be
that of one process."""
import os
import signal
import sys
import threading

import numpy
import xgboost
from xgboost import collective

WHAT = sys.argv[1] if len(sys.argv) > 1 else "train"
WHOM = int(sys.argv[2]) if len(sys.argv) > 2 else -1
RANK = int(os.environ.get("RANK", "0"))
FIRST = os.environ.get("TORCHELASTIC_RESTART_COUNT", "0") == "0"
ROUNDS = 5


def say(*words):
    print(*words, flush=True)


def wait_for_file(name):
    while not os.path.exists(os.path.join(os.environ["OUT"], name)):
        threading.Event().wait(0.02)


class Trouble(xgboost.callback.TrainingCallback):
    def after_iteration(self, model, epoch, evals_log):
        if epoch != 2 or not FIRST:
            return False
        if RANK == WHOM:
            if WHAT == "kill":
                os.kill(os.getpid(), signal.SIGKILL)
            if WHAT == "leave":
                os._exit(0)
            if WHAT == "raise":
                raise RuntimeError("on purpose")
            if WHAT == "signal":
                collective.signal_error()
        if WHAT == "pause":
            say("pauses", RANK)
            wait_for_file("go")
        if WHAT == "deaf":
            # It ends by no SIGTERM, and is in no collective when the other one is lost.
            signal.signal(signal.SIGTERM, signal.SIG_IGN)
            say("deaf", RANK)
            if RANK == WHOM:
                wait_for_file("go")
                os.kill(os.getpid(), signal.SIGKILL)
            threading.Event().wait(100)
        return False


def train(rows, labels):
    data = xgboost.DMatrix(rows, labels)
    return xgboost.train({"max_bin": 64, "tree_method": "hist", "nthread": 1}, data, ROUNDS, evals=[(data, "train")], callbacks=[Trouble()])


def main():
    random = numpy.random.default_rng(0)
    rows = random.integers(0, 32, (2000, 6)).astype("float32")
    labels = rows @ numpy.arange(6) + random.integers(0, 3, 2000)
    if WHAT == "single":
        numpy.save(os.path.join(os.environ["OUT"], "single.npy"), train(rows, labels).predict(xgboost.DMatrix(rows)))
        return
    if RANK == WHOM and WHAT == "late":
        say("late: tracker %s %s" % (os.environ["DMLC_TRACKER_URI"], os.environ["DMLC_TRACKER_PORT"]))
        wait_for_file("go")
    if RANK == WHOM and WHAT == "early":
        wait_for_file("go")
        sys.exit(0)
    if WHAT == "early":
        say("joins", RANK)
    for _ in range(3 if WHAT == "contexts" else 1):
        with collective.CommunicatorContext():
            rank, size = collective.get_rank(), collective.get_world_size()
            assert (rank, size) == (RANK, int(os.environ["WORLD_SIZE"])), (rank, size)
            model = train(rows[rank::size], labels[rank::size])
            numpy.save(os.path.join(os.environ["OUT"], "model-%d.npy" % rank), model.predict(xgboost.DMatrix(rows)))
            say("rank", rank, "of", size, "done")


main()
