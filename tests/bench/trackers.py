"""XGBoost's workers join their tracker, in both of its protocols: light clients in one process against an agent of Muster, and against
upstream's trackers, which are measured with as many as they take in reasonable time."""
import statistics
import subprocess
import time
from pathlib import Path

from harness import CPUS, CouldNotRun, Subject, free_port, helper
from peers import SYSTEM_PYTHON
from report import Budget, Metric
from rounds import can_hold, cpu_ms, listens

COUNTS = (64, 256, 1000)
MANY = 1000  # for which upstream's classic tracker takes minutes
WIRES = ("classic", "json")
JOIN = {(wire, n): Metric("trackers", f"{n} workers join, {wire} protocol", "ms",
                          budgets=(Budget(0.05, "peer"),) if n == 256 else ()) for wire in WIRES for n in COUNTS}
CPU = {(wire, n): Metric("trackers", f"CPU of the tracker, {n} workers join and leave, {wire} protocol", "ms") for wire in WIRES for n in COUNTS}
LINEAR = {wire: Metric("trackers", f"time per worker, {COUNTS[-1]} workers / {COUNTS[0]}, {wire} protocol", "×", budgets=(Budget(1.5),)) for wire in WIRES}

CLASSIC = """
import sys
from xgboost.tracker import RabitTracker
count, port = int(sys.argv[1]), int(sys.argv[2])
tracker = RabitTracker(host_ip="127.0.0.1", n_workers=count, port=port, sortby="task")
tracker.start(count)
tracker.join()
"""
JSON = """
import sys
from xgboost.tracker import RabitTracker
count, port = int(sys.argv[1]), int(sys.argv[2])
tracker = RabitTracker(count, "127.0.0.1", port, sortby="task")
tracker.start()
tracker.wait_for()
"""
NEWER = Path.home() / ".cache" / "muster" / "compat-xgboost-3.2" / "bin" / "python"


def subjects(bench, wire):
    if bench.muster.exists():
        # The agent's own workers do nothing: those of the load stand for them.
        yield Subject("muster", "muster", (str(bench.muster), "run", "--nproc-per-node", "{count}", "--master-port", "{port}", "--xgboost-hook", "off",
                                           "--framework", "xgboost", "--no-python", "sleep", "1000"), protocol=wire)
    python = SYSTEM_PYTHON if wire == "classic" else str(NEWER)
    if subprocess.run((python, "-c", "import xgboost"), capture_output=True).returncode != 0:
        return bench.leave_out("XGBoost's own tracker, " + wire, f"no XGBoost for {python}")
    version = subprocess.run((python, "-c", "import xgboost; print(xgboost.__version__)"), capture_output=True, text=True).stdout.strip()
    yield Subject("XGBoost %s" % version, "peer", (python, "-c", CLASSIC if wire == "classic" else JSON, "{count}", "{port}"), protocol=wire,
                  slow=wire == "classic")


def joined(bench, subject, count):
    """Milliseconds from the first connection until the last worker has its place, and the tracker's CPU in ms."""
    port = free_port()
    command = [word.format(count=count, port=port) for word in subject.command]
    server = bench.start(("taskset", "-c", CPUS[0], *command), cwd=bench.scratch)
    load = None
    try:
        deadline = time.monotonic() + 30
        while not listens(port):
            if server.poll() is not None or time.monotonic() > deadline:
                raise CouldNotRun(f"does not listen; {bench.last_words()}")
            time.sleep(0.02)
        time.sleep(0.5 + count / 500)  # the agent starts that many workers
        load = bench.start(("taskset", "-c", CPUS[-1], helper("trackerload"), subject.protocol, port, count), stdin=subprocess.PIPE,
                           stdout=subprocess.PIPE, text=True)
        before = cpu_ms(server.pid)
        load.stdin.write("go\n")
        load.stdin.flush()
        line = load.stdout.readline()
        if not line.startswith("join_ms="):
            raise CouldNotRun(f"the load ended; {bench.last_words()}")
        # Upstream's may have ended with its last worker.
        return float(line.split("=")[1]), cpu_ms(server.pid) - before if server.poll() is None else None
    finally:
        for process in filter(None, (load, server)):
            bench.stop(process)


def run(bench, results):
    for wire in WIRES:
        found, times = list(subjects(bench, wire)), {}
        for count in COUNTS:
            if not can_hold(2 * count):
                bench.leave_out(f"{count} workers", "the limit of open files is too low")
                continue
            samples = 3 if bench.quick else 7
            compared = [subject for subject in found if subject.role == "muster" or wire == "json" or count < MANY]
            for subject, (join_ms, spent), calm in bench.rounds(compared, samples, lambda subject: joined(bench, subject, count), warm=False):
                results.add(JOIN[wire, count], subject, join_ms, calm)
                if subject.role == "muster":
                    results.add(CPU[wire, count], subject, spent, calm)
                    times.setdefault(count, []).append(join_ms)
        if {COUNTS[0], COUNTS[-1]} <= times.keys():
            few, many = (statistics.median(times[count]) / count for count in (COUNTS[0], COUNTS[-1]))
            results.add(LINEAR[wire], found[0], many / few, False)
