"""Rank 0 of two workers exits 1 on its first attempt -> both workers of the second attempt in main."""
import random

from harness import CouldNotRun, helper
from peers import floor, musters, torchruns
from report import Budget, Metric

RESTART = Metric("restart", "worker exits 1 → last successor in main", "ms", budgets=(Budget(2, "floor"),))


def run(bench, results):
    flags = ("--max_restarts", "1")
    subjects = [*musters(bench, *flags), floor(restarts=1), *torchruns(bench, *flags)]

    def take(subject):
        # Spread over one polling interval, so that the phase against the launcher's polling is even.
        after = 0.05 + random.uniform(0, subject.poll_s)
        ran = bench.measure((*subject.command, helper("stamp", "-static"), "failfirst", f"{after:.3f}"))
        mains, fails = ran.times("main"), ran.times("fail")
        if len(mains) != 4 or len(fails) != 1:
            raise CouldNotRun(f"{len(mains)} starts instead of 4; {bench.last_words()}")
        return (mains[-1] - fails[0]) * 1e3

    for subject, milliseconds, calm in bench.rounds(subjects, 5 if bench.quick else 20, take, warm=not bench.quick):
        results.add(RESTART, subject, milliseconds, calm)
