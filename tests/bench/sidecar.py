"""What it takes the sidecar to tell 10,000 events that wait in a journal, to a receiver on this machine: over HTTP, and over TLS."""
import shutil
import sys
import tempfile
import time

from harness import ROOT, Subject, memory_kib
from report import Budget, Metric

sys.path.insert(0, str(ROOT / "tests" / "support"))
from report_receiver import Authority, Journal, Receiver  # noqa: E402

EVENTS = 10_000
TOLD = Metric("sidecar", f"{EVENTS} events told", "s")
PEAK = Metric("sidecar", f"peak RSS, {EVENTS} events", "MiB", budgets=(Budget(8),))
ANONYMOUS = Metric("sidecar", "of the RSS behind them anonymous", "MiB")


def tell(bench, secure):
    """(seconds from the start, peak RSS, anonymous RSS), in MiB."""
    folder = tempfile.mkdtemp(dir=bench.scratch)
    authority = Authority(folder, "authority") if secure else None
    receiver = Receiver(context=authority.context() if secure else None)
    journal = Journal(folder + "/run")
    try:
        journal.say_all([("worker.exit", {"rank": rank, "last_lines": ["x" * 50]}) for rank in range(EVENTS)])
        command = (bench.muster, "sidecar", "--run-dir", folder + "/run", "--report", "webhook=" + receiver.url())
        start = time.monotonic()
        process = bench.start((*command, "--ca-file", authority.path) if secure else command)
        receiver.wait_for_event("worker.exit", EVENTS)
        seconds = time.monotonic() - start
        memory = [memory_kib(process.pid, key) / 1024 for key in ("VmHWM", "RssAnon")]
        bench.stop(process)
        return (seconds, *memory)
    finally:
        journal.let_go()
        receiver.close()
        shutil.rmtree(folder)


def run(bench, results):
    if not bench.muster.exists():
        return
    subjects = [Subject(f"muster sidecar, {way}", role, ()) for way, role in (("HTTP", "muster"), ("TLS", "variant"))]
    for subject, taken, calm in bench.rounds(subjects, 2 if bench.quick else 5, lambda each: tell(bench, each.role == "variant"), warm=False):
        for metric, value in zip((TOLD, PEAK, ANONYMOUS), taken):
            results.add(metric, subject, value, calm)
