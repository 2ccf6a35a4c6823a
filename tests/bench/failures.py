"""What several nodes do about a fault, on loopback addresses of one machine: a node is lost, the leader is lost, a worker
fails. Each node is an agent with one worker that ends as soon as it is told to, so all that is left is Muster's time."""
import os
import signal
import time

from harness import CouldNotRun, Subject, free_port, helper
from peers import floor
from report import Budget, Metric

STOPPED = Metric("failures", "a node of 3 is killed → the others' workers told to stop", "ms", budgets=(Budget(100),))
LOST = Metric("failures", "a node of 3 is killed → the others' workers in main again", "ms", budgets=(Budget(100),))
TAKE_OVER = Metric("failures", "the leader's node of 3 is killed → the others' workers in main again", "ms", budgets=(Budget(100),))
RESTART = Metric("failures", "a worker exits 1 → the last of 2 nodes' successors in main", "ms", budgets=(Budget(2, "floor"),))
LEASE_S = 2  # the shortest
SILENT, SILENT_LEADER = (Metric("failures", f"{who} of 3 falls silent, lease {LEASE_S} s → the others' workers in main again", "ms",
                                budgets=(Budget(LEASE_S * 1000 + 200),)) for who in ("a node", "the leader's node"))
START_S = 20


class Job:
    """Agents of one job; the first one leads. Ended with the `with`."""

    def __init__(self, bench, nodes, nnodes, worker, *flags):
        self.bench, self.agents = bench, []
        port = free_port()
        hosts = ",".join(f"127.0.1.{k}:{port}" for k in range(1, nodes + 1))
        bench.forget_notes()
        for k in range(1, nodes + 1):
            self.agents.append(bench.start((
                bench.muster, "run", f"--nnodes={nnodes}", f"--rdzv-endpoint={hosts}", f"--local-addr=127.0.1.{k}", f"--node-name=node-{k}",
                "--nproc-per-node=1", "--max-restarts=1", "--restart-backoff=0s", "--replace-wait=0s", *flags, "--no-python", *worker)))

    def __enter__(self):
        return self

    def __exit__(self, *_):
        for agent in self.agents:
            self.bench.stop(agent)

    def wait_for(self, word, count, since_ns=0):
        """Seconds after `since_ns` of the first `count` such notes."""
        deadline = time.monotonic() + START_S
        while True:
            times = [t for t, w, _ in self.bench.read_notes(since_ns) if w == word and t > 0]
            if len(times) >= count:
                return times[:count]
            if time.monotonic() > deadline:
                raise CouldNotRun(f"'{word}' {len(times)} times instead of {count}; {self.bench.last_words()}")
            time.sleep(0.005)


def kill_one(bench, victim):
    """Seconds from the death of an agent of three to the workers' stop and to their successors."""
    with Job(bench, 3, "2:3", (helper("stamp", "-static"), "untilstopped")) as job:
        job.wait_for("main", 3)
        time.sleep(0.2)  # the round is known to run everywhere
        killed_ns = time.monotonic_ns()
        os.kill(job.agents[victim].pid, signal.SIGKILL)
        return max(job.wait_for("stop", 2, killed_ns)), max(job.wait_for("main", 2, killed_ns))


def silence_one(bench, victim):
    """Seconds from when an agent of three stands still to the successors of the others' workers."""
    with Job(bench, 3, "2:3", (helper("stamp", "-static"), "untilstopped"), f"--lease={LEASE_S}s") as job:
        job.wait_for("main", 3)
        time.sleep(2)  # heartbeats
        silent_ns = time.monotonic_ns()
        os.kill(job.agents[victim].pid, signal.SIGSTOP)
        try:
            return max(job.wait_for("main", 2, silent_ns))
        finally:
            os.kill(job.agents[victim].pid, signal.SIGKILL)


def restart_two(bench, subject):
    """Seconds from the failure of rank 0 to the last of two successors: two agents, or the floor's two workers."""
    worker = (helper("stamp", "-static"), "failfirst", "0.2")
    if subject.role == "floor":
        notes = bench.measure((*subject.command, *worker)).notes
    else:
        with Job(bench, 2, "2", worker) as job:
            job.wait_for("main", 4)
            notes = bench.read_notes()
    fail = next(t for t, word, _ in notes if word == "fail")
    return max(t for t, word, _ in notes if word == "main") - fail


def run(bench, results):
    muster = Subject("muster", "muster", (str(bench.muster),))
    for _, (stopped, lost), calm in bench.rounds((muster,), 5 if bench.quick else 15, lambda _: kill_one(bench, 2)):
        results.add(STOPPED, muster, stopped * 1e3, calm)
        results.add(LOST, muster, lost * 1e3, calm)
    for _, (_, lost), calm in bench.rounds((muster,), 5 if bench.quick else 15, lambda _: kill_one(bench, 0)):
        results.add(TAKE_OVER, muster, lost * 1e3, calm)
    for metric, victim in ((SILENT, 2), (SILENT_LEADER, 0)):
        for _, seconds, calm in bench.rounds((muster,), 3, lambda _: silence_one(bench, victim), warm=False):
            results.add(metric, muster, seconds * 1e3, calm)
    for subject, seconds, calm in bench.rounds((muster, floor(restarts=1)), 5 if bench.quick else 15, lambda each: restart_two(bench, each)):
        results.add(RESTART, subject, seconds * 1e3, calm)
