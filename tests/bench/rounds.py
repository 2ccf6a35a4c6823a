"""Rounds of many agents: all connect and join, all get their ranks; one fails, all stop, all get ranks again. The agents are
light clients in one process, the leader is an agent of Muster; the floor is a barrier with the same connections and frames."""
import itertools
import resource
import statistics
import subprocess
import time
from pathlib import Path

from harness import CPUS, CouldNotRun, Subject, free_port, helper, memory_kib, proc_file
from peers import new_torch
from report import Budget, Metric

COUNTS = (2, 16, 64, 256, 1000, 10000, 16384)
MANY = 256  # from here on an agent costs more than noise: sizes are compared
PEER_COUNTS = (16, 64)  # torchrun's handlers need a process each, and a time that grows with the square
FIRST = {n: Metric("rounds", f"{n} agents, released → last assignment", "ms", budgets=(Budget(1.5, "floor"),)) for n in COUNTS}
AGAIN = {n: Metric("rounds", f"{n} agents, stopped → last assignment of the next round", "ms", budgets=(Budget(1.5, "floor"),)) for n in COUNTS}
RATIO = {n: Metric("rounds", f"{n} agents, second round / first", "×", budgets=(Budget(0.3),)) for n in COUNTS}
CPU = {n: Metric("rounds", f"{n} agents, CPU of the leader, both rounds", "ms") for n in COUNTS}
RSS = {n: Metric("rounds", f"{n} agents, RSS of the leader", "MiB") for n in COUNTS}
BYTES = {n: Metric("rounds", f"{n} agents, bytes on the wire per agent and round", "B", budgets=(Budget(1024),)) for n in COUNTS}


def linear(few, many):
    return Metric("rounds", f"the leader's CPU per agent, {many} agents / {few}", "×", budgets=(Budget(1.5),))


def growth(few, many):
    return Metric("rounds", f"RSS of the leader, per agent from {few} to {many}", "KiB")


# One of torchrun's agents as far as the rendezvous goes: the time at which it had its ranks, twice.
HANDLER = """
import sys, time
from torch.distributed import TCPStore
from torch.distributed.elastic.rendezvous.c10d_rendezvous_backend import C10dRendezvousBackend
from torch.distributed.elastic.rendezvous.dynamic_rendezvous import create_handler
from torch.distributed.elastic.rendezvous import RendezvousParameters
port, count, index = map(int, sys.argv[1:4])
store = TCPStore("127.0.0.1", port, is_master=index == 0)
parameters = RendezvousParameters("c10d", f"127.0.0.1:{port}", "bench", count, count, local_addr="127.0.0.1")
handler = create_handler(store, C10dRendezvousBackend(store, "bench"), parameters)
print("ready", flush=True)
for _ in range(2):
    sys.stdin.readline()
    handler.next_rendezvous()
    print(time.monotonic_ns(), flush=True)
sys.stdin.readline()
"""


def cpu_ms(pid):
    """Of its one thread, counted in nanoseconds; /proc/PID/stat has ticks of 10 ms, more than a small round takes."""
    return int(proc_file(pid, "schedstat").split()[0]) / 1e6


def listens(port):
    """By /proc, because a connection would count as an agent of the floor."""
    wanted = f":{port:04X}"
    return any(line.split()[1].endswith(wanted) and line.split()[3] == "0A"
               for name in ("tcp", "tcp6") for line in Path(f"/proc/net/{name}").read_text().splitlines()[1:])


def served(bench, subject, count):
    """One run of `count` agents against a fresh server; (figures of the load, CPU in ms, RSS in MiB)."""
    port = free_port()
    command = [word.format(port=port, count=count, nodes=count + 1) for word in subject.command]
    server = bench.start(("taskset", "-c", CPUS[0], *command), cwd=bench.scratch)
    load = None
    try:
        deadline = time.monotonic() + 10
        while not listens(port):
            if server.poll() is not None or time.monotonic() > deadline:
                raise CouldNotRun(f"does not listen; {bench.last_words()}")
            time.sleep(0.02)
        time.sleep(0.2)  # its own agent has joined
        before = cpu_ms(server.pid)
        load = bench.start(("taskset", "-c", CPUS[-1], helper("roundload"), subject.protocol, port, count, "bench"),
                           stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        line = load.stdout.readline()
        if not line:
            raise CouldNotRun(f"the load ended; {bench.last_words()}")
        figures = {key: float(value) for key, value in (pair.split("=") for pair in line.split())}
        return figures, cpu_ms(server.pid) - before, memory_kib(server.pid, "VmRSS") / 1024
    finally:
        for process in filter(None, (load, server)):
            bench.stop(process)


def can_hold(count):
    """Whether processes started from now on may have a connection for each of `count` agents; root may raise the limit."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    needed = count + 256
    if hard != resource.RLIM_INFINITY and hard < needed:
        try:
            resource.setrlimit(resource.RLIMIT_NOFILE, (soft, needed))
        except (OSError, ValueError):
            return False
    return True


def compare_sizes(results, subject, spent, memory):
    """Linear in the number of agents: from each size to the next, and from the first of many to the last. `spent`: CPU,
    `memory`: RSS in MiB, samples by count."""
    sizes = [count for count in sorted(memory) if count >= MANY]
    pairs = list(itertools.pairwise(sizes))
    if len(pairs) > 1:
        pairs.append((sizes[0], sizes[-1]))
    for few, many in pairs:
        cpu, rss = ({n: statistics.median(samples[n]) for n in (few, many)} for samples in (spent, memory))
        results.add(linear(few, many), subject, cpu[many] / many / (cpu[few] / few), False)
        results.add(growth(few, many), subject, (rss[many] - rss[few]) * 1024 / (many - few), False)


def handlers(bench, subject, count):
    """Seconds of two rounds of `count` of torchrun's own rendezvous handlers, a process each."""
    port, agents = free_port(), []
    try:
        for index in range(count):
            # Importing torch as often as this would stop everything else under --real-time.
            agents.append(bench.start(("chrt", "--other", "0", *subject.command, port, count, index), stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True))
        for agent in agents:
            if agent.stdout.readline() != "ready\n":
                raise CouldNotRun(f"a handler ended; {bench.last_words()}")
        rounds = []
        for _ in range(2):
            start = time.monotonic_ns()
            for agent in agents:
                agent.stdin.write("go\n")
                agent.stdin.flush()
            rounds.append((max(int(agent.stdout.readline()) for agent in agents) - start) / 1e9)
        return rounds
    finally:
        for agent in agents:
            bench.stop(agent)


def run(bench, results):
    floor = Subject("floor (barrier, the same frames)", "floor", (helper("floor_barrier"), "{port}", "{count}", "all"), protocol="muster")
    bare = Subject("barrier of one frame each way", "variant", (helper("floor_barrier"), "{port}", "{count}", "one"), protocol="barrier")
    leader = Subject("muster", "muster", (
        str(bench.muster), "run", "--nnodes={nodes}", "--rdzv-endpoint=127.0.0.1:{port}", "--rdzv-id=bench", "--nproc-per-node=1",
        "--max-restarts=3", "--restart-backoff=0s", "--no-python", "sleep", "600"), protocol="muster")
    spent, memory = ({subject: {} for subject in (leader, floor, bare)} for _ in range(2))  # samples by count
    for count in COUNTS:
        if bench.quick and count > 1000:
            break
        if not can_hold(count):
            bench.leave_out(f"rounds of {count} agents", "the limit of open files (ulimit -Hn) is lower")
            continue
        take = lambda subject: served(bench, subject, count)
        for subject, (figures, cpu, rss), calm in bench.rounds((leader, floor, bare), 3 if bench.quick or count > 1000 else 7, take, warm=False):
            results.add(FIRST[count], subject, figures["first_s"] * 1e3, calm)
            results.add(AGAIN[count], subject, figures["second_s"] * 1e3, calm)
            results.add(RATIO[count], subject, figures["second_s"] / figures["first_s"], calm)
            results.add(CPU[count], subject, cpu, calm)
            results.add(RSS[count], subject, rss, calm)
            results.add(BYTES[count], subject, figures["bytes"] / 2, calm)
            spent[subject].setdefault(count, []).append(cpu)
            memory[subject].setdefault(count, []).append(rss)
    for subject in (leader, floor):
        compare_sizes(results, subject, spent[subject], memory[subject])
    found = new_torch(bench)
    if bench.quick or not found:
        return
    peer = Subject(f"c10d handlers of PyTorch {found[1]}", "peer", (found[0], "-c", HANDLER))
    for count in PEER_COUNTS:
        for subject, (first, second), calm in bench.rounds((peer,), 1, lambda subject: handlers(bench, subject, count), warm=False):
            results.add(FIRST[count], subject, first * 1e3, calm)
            results.add(AGAIN[count], subject, second * 1e3, calm)
