"""Two trivial workers: exec of the launcher -> first and last worker in main -> launcher gone."""
from harness import CouldNotRun, helper
from peers import launchers
from report import Budget, Metric

FIRST = Metric("launch", "exec → first worker in main", "ms")
LAST = Metric("launch", "exec → last of 2 workers in main", "ms", budgets=(Budget(1.5, "floor"),))
WALL = Metric("launch", "wall of the whole trivial job", "ms", budgets=(Budget(2, "floor"),))
CPU = Metric("launch", "CPU of launcher and workers", "ms")


def run(bench, results):
    worker = (helper("stamp", "-static"), "exit")

    def take(subject):
        ran = bench.measure((*subject.command, *worker))
        if len(ran.times("main")) != 2:
            raise CouldNotRun(f"{len(ran.times('main'))} workers started instead of 2; {bench.last_words()}")
        return ran

    for subject, ran, calm in bench.rounds(launchers(bench), 5 if bench.quick else 30, take, warm=not bench.quick):
        first, last = ran.times("main")
        for metric, seconds in ((FIRST, first), (LAST, last), (WALL, ran.wall_s), (CPU, ran.cpu_s)):
            results.add(metric, subject, seconds * 1e3, calm)
