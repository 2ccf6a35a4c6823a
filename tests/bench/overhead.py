"""What a launcher costs while its two workers sleep: memory, CPU time, wake-ups."""
import os
import time

from harness import CouldNotRun, descendants, helper, memory_kib, proc_file
from peers import launchers
from report import Budget, Metric

PSS = Metric("overhead", "PSS of the launcher at rest", "MiB", budgets=(Budget(3),))
PEAK = Metric("overhead", "peak RSS of the launcher", "MiB")
CPU = Metric("overhead", "CPU of the launcher at rest", "ms/min", budgets=(Budget(1),))
WAKE_UPS = Metric("overhead", "wake-ups of the launcher at rest", "1/s", budgets=(Budget(0.2),))
SETTLE_S = 2


def begin(bench, subject):
    """Starts it and waits until both workers are in main."""
    bench.forget_notes()
    process = bench.start((*subject.command, helper("stamp", "-static"), "sleep"))
    deadline = time.monotonic() + 30
    while len(bench.read_notes()) < 2:
        if time.monotonic() > deadline or process.poll() is not None:
            bench.stop(process)
            raise CouldNotRun(f"its workers did not start; {bench.last_words()}")
        time.sleep(0.05)
    return process


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


def run(bench, results):
    watched = []
    for subject in launchers(bench):
        # Memory is read one at a time: two launchers that share libraries would halve each other's PSS.
        try:
            process = begin(bench, subject)
        except CouldNotRun as error:
            bench.fail(subject.name, str(error))
            continue
        time.sleep(SETTLE_S)
        pids = family(process)
        results.add(PSS, subject, sum(memory_kib(pid, "Pss", "smaps_rollup") for pid in pids) / 1024)
        results.add(PEAK, subject, sum(memory_kib(pid, "VmHWM") for pid in pids) / 1024)
        bench.stop(process)
        watched.append(subject)
    # At rest they do not disturb each other, so all are watched over the same time.
    processes = [(subject, begin(bench, subject)) for subject in watched]
    time.sleep(SETTLE_S)
    looks = [(subject, family(process)) for subject, process in processes]
    before = [effort(pids) for _, pids in looks]
    seconds = 5 if bench.quick else 30
    time.sleep(seconds)
    for (subject, pids), (cpu, switches) in zip(looks, before):
        cpu_now, switches_now = effort(pids)
        results.add(CPU, subject, (cpu_now - cpu) / 1e6 * 60 / seconds)
        results.add(WAKE_UPS, subject, (switches_now - switches) / seconds)
    for _, process in processes:
        bench.stop(process)
