"""The binary itself: its size, and how soon after its exec a store accepts connections."""
import os
from dataclasses import replace

from harness import Subject, free_port, helper
from report import Budget, Metric
from store_servers import stores

SIZE = Metric("binary", "size of the static binary", "MiB", budgets=(Budget(10),))
LISTENING = Metric("binary", "exec → store accepts connections", "ms", budgets=(Budget(2),))


def run(bench, results):
    floor = Subject("floor (epoll)", "floor", (helper("floor_epoll", "-static"),))
    for subject, path in ((Subject("muster", "muster", ()), bench.muster), (floor, floor.command[0])):
        if os.path.exists(path):
            results.add(SIZE, subject, os.path.getsize(path) / 2**20)

    def take(subject):
        port = str(free_port())
        command = [word.replace("{port}", port) for word in subject.command]
        return bench.measure(("until-open", port, *command)).wall_s * 1e3

    subjects = [replace(s, slow="TCPStore" in s.name) for s in stores(bench)]
    for subject, milliseconds, calm in bench.rounds(subjects, 5 if bench.quick else 20, take, warm=not bench.quick):
        results.add(LISTENING, subject, milliseconds, calm)
