"""What it costs the agent to recognise how far workers are: two of them print 25,000 lines a second each, through a prefixer that looks
at nothing (the floor) and through Muster, which finds in them nothing, a bar in each, or an object in each; and keeps a journal."""
import time

from harness import CouldNotRun, Subject, helper, proc_file
from peers import WORKERS
from report import Budget, Metric

RATE = 25_000  # lines a second of each worker
FORMS = ("words", "bar", "json")
TICKS_PER_S = 100
COST = Metric("progress", f"CPU of the launcher, {2 * RATE} lines/s", "% of a core", budgets=(Budget(15),))


def subjects(bench):
    yield Subject("floor (epoll, prefix per line), bar", "floor", (helper("logpass"), str(WORKERS), helper("loggen"), "pace", "bar"))
    if not bench.muster.exists():
        return
    run = (str(bench.muster), "run", "--nproc-per-node", WORKERS)
    for form in FORMS:
        worker = ("--no-python", helper("loggen"), "pace", form)
        yield Subject(f"muster, {form}", "muster", (*run, *worker))
        yield Subject(f"muster, {form}, journal", "variant", (*run, "--run-dir", str(bench.scratch / "journal"), *worker))


def cpu_s(pid):
    """Of the process alone, in seconds; none once it is gone."""
    try:
        user, system = proc_file(pid, "stat").rsplit(")", 1)[1].split()[11:13]
    except OSError:
        return None
    return (int(user) + int(system)) / TICKS_PER_S


def cost(bench, subject, seconds):
    """The share of a core that the launcher has while its workers print."""
    process = bench.start((*subject.command, RATE, seconds + 2))
    try:
        time.sleep(1)
        begin = cpu_s(process.pid)
        time.sleep(seconds)
        end = cpu_s(process.pid)
        if process.poll() is not None or begin is None or end is None:
            raise CouldNotRun(f"it ended; {bench.last_words()}")
        return 100 * (end - begin) / seconds
    finally:
        bench.stop(process)


def run(bench, results):
    seconds = 2 if bench.quick else 8
    for subject, share, calm in bench.rounds(list(subjects(bench)), 2 if bench.quick else 5, lambda each: cost(bench, each, seconds), warm=False):
        results.add(COST, subject, share, calm)
