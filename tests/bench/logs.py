"""Log forwarding: two workers flood stdout; how fast and at what CPU cost do whole lines arrive behind the
launcher, and how late is a single line? The sink checks every line's sequence number and content."""
import subprocess
from dataclasses import replace

from harness import CouldNotRun, Subject, helper
from peers import WORKERS, mpis, musters, torchruns
from report import Budget, Metric

LINE_BYTES = 100
SHAPES = ((1, 400_000), (64, 1_000_000))  # lines per write (1 is what print does), lines per worker
DAMAGED = Metric("logs", "lines lost, cut, mixed or out of order, worst run", "lines", budgets=(Budget(0),))
DELAY = Metric("logs", "line latency, p50", "us", budgets=(Budget(1000),))
DELAY_99 = Metric("logs", "line latency, p99", "us")


def subjects(bench):
    floor = Subject("floor (epoll, prefix per line)", "floor", (helper("logpass"), WORKERS))
    tee = ("--tee", "3", "--log_dir", str(bench.scratch / "logs"))  # torchrun prefixes lines only when it also files them
    slow = torchruns(bench, *tee, default_polling=False)
    ours = list(musters(bench, as_torchrun=tee))
    ours[1:] = [replace(s, name=f"{s.name}, --tee 3", role="variant") for s in ours[1:]]  # it does more than the floor
    return [*ours, floor, *mpis(bench, ("-prepend-rank",), ("--tag-output",)), *slow]


def forward(bench, subject, *worker):
    """(Run, what the sink saw) of one job whose workers run loggen with these arguments."""
    sink = subprocess.Popen([helper("logsink")], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    try:
        ran = bench.measure((*subject.command, helper("loggen"), *map(str, worker)), stdout=sink.stdin)
    finally:
        said = sink.communicate()[0]  # closes its input first, so it comes to an end
    return ran, {key: float(value) for key, value in (pair.split("=") for pair in said.split())}


def flood(bench, results, compared, batch, lines, worst):
    """Keeps in `worst` the greatest number of damaged lines of any one run: a median would hide rare ones."""
    rate = Metric("logs", f"forwarded with prefix, {batch} lines per write", "MB/s", True, (Budget(0.9, "floor"),))
    cpu = Metric("logs", f"CPU of launcher and workers, {batch} lines per write", "s/GB", False, (Budget(1.2, "floor"),))
    gigabytes = 2 * lines * LINE_BYTES / 1e9
    start_cost = {}  # CPU of a job whose workers say nothing: importing torch is not forwarding

    def take(subject):
        if subject not in start_cost:
            start_cost[subject] = forward(bench, subject, "flood", 0, batch)[0].cpu_s
        ran, seen = forward(bench, subject, "flood", lines, batch)
        if len(ran.times("begin")) != 2:
            raise CouldNotRun(f"its workers did not start; {bench.last_words()}")
        if seen["prefixed"] == 0:
            raise CouldNotRun("no line came with a prefix")
        elapsed = (seen["last_ns"] - ran.exec_ns) / 1e9 - ran.times("begin")[0]
        lost = abs(2 * lines - seen["lines"])
        return gigabytes * 1e3 / elapsed, (ran.cpu_s - start_cost[subject]) / gigabytes, seen["damaged"] + lost

    count = 2 if bench.quick else 5
    for subject, (megabytes_per_s, cpu_s, damaged), calm in bench.rounds(compared, count, take, warm=False):
        results.add(rate, subject, megabytes_per_s, calm)
        results.add(cpu, subject, cpu_s, calm)
        worst[subject] = max(damaged, worst.get(subject, 0))


def run(bench, results):
    compared, worst = subjects(bench), {}
    for batch, lines in SHAPES:
        flood(bench, results, compared, batch, lines // (8 if bench.quick else 1), worst)
        if bench.quick:
            compared = [s for s in compared if not s.slow]
    for subject, damaged in worst.items():
        results.add(DAMAGED, subject, damaged)

    def tick(subject):
        return forward(bench, subject, "tick", 50 if bench.quick else 200)[1]

    for subject, seen, calm in bench.rounds(compared, 1 if bench.quick else 5, tick, warm=False):
        results.add(DELAY, subject, seen["p50_us"], calm)
        results.add(DELAY_99, subject, seen["p99_us"], calm)
