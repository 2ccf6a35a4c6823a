"""What a launcher costs while its workers sleep: memory, CPU time, wake-ups. Alone with two workers, and as one of two nodes,
which send each other heartbeats."""
import os
import shutil
import time
from dataclasses import dataclass

from harness import CouldNotRun, Subject, descendants, free_port, helper, memory_kib, proc_file
from peers import launchers, new_torch
from report import Budget, Metric

SETTLE_S = 2
NODES = WORKERS = 2


class Rest:
    """The metrics of one kind of agent at rest."""

    def __init__(self, who, wake_ups):
        self.pss = Metric("overhead", f"PSS of {who} at rest", "MiB", budgets=(Budget(3),))
        self.peak = Metric("overhead", f"peak RSS of {who}", "MiB")
        self.cpu = Metric("overhead", f"CPU of {who} at rest", "ms/min", budgets=(Budget(1),))
        self.wake_ups = Metric("overhead", f"wake-ups of {who} at rest", "1/s", budgets=(Budget(wake_ups),))


ALONE = Rest("the launcher", 0.2)
OF_NODES = (Rest(f"the leader of {NODES} nodes", 2), Rest(f"another agent of {NODES} nodes", 2))


@dataclass(frozen=True)
class Job:
    """The commands of its agents, each with what is to be measured of it; the first one leads."""
    subject: Subject
    agents: tuple  # of (Rest, command)


def jobs(bench):
    for subject in launchers(bench):
        yield Job(subject, ((ALONE, subject.command),))
    if bench.muster.exists():
        yield Job(Subject("muster", "muster", ()), tuple(zip(OF_NODES, musters_of_nodes(bench))))
    if found := new_torch(bench):
        python, version = found
        yield Job(Subject(f"torchrun {version}", "peer", ()), tuple(zip(OF_NODES, torchruns_of_nodes(python))))


def musters_of_nodes(bench):
    """Each node has a binary of its own, as on two machines: of one file, each agent's PSS had half of what they share."""
    port = free_port()
    hosts = ",".join(f"127.0.1.{k}:{port}" for k in range(1, NODES + 1))
    for k in range(1, NODES + 1):
        binary = bench.scratch / f"node-{k}" / "muster"
        binary.parent.mkdir(exist_ok=True)
        shutil.copy2(bench.muster, binary)
        yield (binary, "run", f"--nnodes={NODES}", f"--rdzv-endpoint={hosts}", f"--local-addr=127.0.1.{k}", f"--node-name=node-{k}",
               f"--nproc-per-node={WORKERS}", "--no-python")


def torchruns_of_nodes(python):
    """Both share their libraries, which makes their PSS too small."""
    endpoint = f"127.0.1.1:{free_port()}"
    for k in range(1, NODES + 1):
        yield (python, "-m", "torch.distributed.run", f"--nnodes={NODES}", f"--nproc_per_node={WORKERS}", "--rdzv_backend=c10d",
               f"--rdzv_endpoint={endpoint}", f"--rdzv_conf=is_host={int(k == 1)}", "--rdzv_id=rest", f"--local_addr=127.0.1.{k}",
               "--no_python")


def begin(bench, job):
    """Starts its agents and waits until all workers are in main."""
    bench.forget_notes()
    processes = [bench.start((*command, helper("stamp", "-static"), "sleep")) for _, command in job.agents]
    deadline = time.monotonic() + 30
    while len(bench.read_notes()) < WORKERS * len(processes):
        if time.monotonic() > deadline or any(process.poll() is not None for process in processes):
            end(bench, processes)
            raise CouldNotRun(f"its workers did not start; {bench.last_words()}")
        time.sleep(0.05)
    return processes


def end(bench, processes):
    for process in processes:
        bench.stop(process)


def family(process):
    """The launcher and its helpers: all that is not a worker."""
    worker = helper("stamp", "-static")
    return [pid for pid in descendants(process.pid) if os.readlink(f"/proc/{pid}/exe") != worker]


def effort(pids):
    """(CPU ns, context switches) so far, of all threads."""
    cpu = switches = 0
    for pid in pids:
        for task in os.listdir(f"/proc/{pid}/task"):
            cpu += int(proc_file(pid, f"task/{task}/schedstat").split()[0])
            switches += sum(int(line.split()[1]) for line in proc_file(pid, f"task/{task}/status").splitlines()
                            if "ctxt_switches" in line)
    return cpu, switches


def measure_memory(bench, job, results):
    """One job at a time: two launchers that share libraries would halve each other's PSS."""
    processes = begin(bench, job)
    time.sleep(SETTLE_S)
    for (rest, _), process in zip(job.agents, processes):
        pids = family(process)
        results.add(rest.pss, job.subject, sum(memory_kib(pid, "Pss", "smaps_rollup") for pid in pids) / 1024)
        results.add(rest.peak, job.subject, sum(memory_kib(pid, "VmHWM") for pid in pids) / 1024)
    end(bench, processes)


def run(bench, results):
    watched = []
    for job in jobs(bench):
        try:
            measure_memory(bench, job, results)
            watched.append(job)
        except CouldNotRun as error:
            bench.fail(job.subject.name, str(error))
    # At rest they do not disturb each other, so all are watched over the same time.
    running = [(job, begin(bench, job)) for job in watched]
    time.sleep(SETTLE_S)
    looks = [(job.subject, rest, family(process))
             for job, processes in running for (rest, _), process in zip(job.agents, processes)]
    before = [effort(pids) for _, _, pids in looks]
    seconds = 5 if bench.quick else 30
    time.sleep(seconds)
    for (subject, rest, pids), (cpu, switches) in zip(looks, before):
        cpu_now, switches_now = effort(pids)
        results.add(rest.cpu, subject, (cpu_now - cpu) / 1e6 * 60 / seconds)
        results.add(rest.wake_ups, subject, (switches_now - switches) / seconds)
    for _, processes in running:
        end(bench, processes)
