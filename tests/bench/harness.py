"""What every benchmark needs: the C helpers, calm samples on a noisy machine, processes that are
measured and surely ended. Standard library only."""
import os
import random
import signal
import socket
import subprocess
import sys
import time
from dataclasses import dataclass, field
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
SOURCES = Path(__file__).resolve().parent / "src"
BUILD = ROOT / "build" / "bench"
CPUS = sorted(os.sched_getaffinity(0))
DISTURBED_GAP_US = 1500  # a CPU that was away for longer than this was taken from us
WAIT_S, PATIENCE_S = 2, 100  # longest wait for calm before one sample, and in one whole run
RUN_LIMIT_S = 120        # no measured command takes longer; a launcher that hangs is reported


class CouldNotRun(Exception):
    """A subject that is installed failed; the text says how."""


@dataclass(frozen=True)
class Subject:
    """One of the compared: a launcher or a store. `slow` ones take part in every fifth round."""
    name: str
    role: str  # muster, floor (what the machine allows), peer; stand-in, variant: shown, but nothing is judged by them
    command: tuple
    slow: bool = False
    poll_s: float = 0.1    # the launcher looks at its workers this often
    protocol: str = "torch2"


@dataclass
class Run:
    """One measured command: times in seconds from its exec."""
    exec_ns: int
    wall_s: float
    cpu_s: float
    notes: list = field(default_factory=list)  # (seconds from exec, word, rank), in order of time

    def times(self, word):
        return [t for t, w, _ in self.notes if w == word]


def helper(name, *flags):
    """Path of src/<name>.c built with cc; rebuilt when any source is newer."""
    binary = BUILD / name
    if not binary.exists() or binary.stat().st_mtime < max(f.stat().st_mtime for f in SOURCES.iterdir()):
        BUILD.mkdir(parents=True, exist_ok=True)
        source = str(SOURCES / f"{name}.c")
        subprocess.run(["cc", "-O2", "-Wall", "-Wextra", "-pthread", "-o", str(binary), source, *flags], check=True)
    return str(binary)


def proc_file(pid, name):
    return Path(f"/proc/{pid}/{name}").read_text()


def memory_kib(pid, key, name="status"):
    return next(int(line.split()[1]) for line in proc_file(pid, name).splitlines() if line.startswith(key + ":"))


def descendants(pid):
    """pid and everything it started, as far as still its descendants."""
    children, found = {}, [pid]
    for entry in filter(str.isdigit, os.listdir("/proc")):
        try:
            parent = int(proc_file(entry, "stat").rsplit(")", 1)[1].split()[1])
        except OSError:
            continue  # it ended while we looked
        children.setdefault(parent, []).append(int(entry))
    for each in found:
        found.extend(children.get(each, []))
    return found


def free_port():
    """A port below the ephemeral range, so that no client socket sits on it."""
    while True:
        with socket.socket() as s:
            try:
                s.bind(("0.0.0.0", random.randrange(12000, 30000)))
                return s.getsockname()[1]
            except OSError:
                pass


class Bench:
    """One run of the benchmarks: options, scratch directory, notices, and how samples are taken."""

    def __init__(self, muster, quick, scratch):
        self.muster, self.quick, self.scratch = muster, quick, scratch
        self.patience_s = 0 if quick else PATIENCE_S
        self.missing, self.failures = {}, []
        self.running, self.best_rate = [], 1.0

    def close(self):
        for process in list(self.running):
            self.stop(process)

    def leave_out(self, name, why):
        if name not in self.missing:
            self.missing[name] = why
            print(f"LEFT OUT: {name}: {why}", file=sys.stderr, flush=True)

    def fail(self, name, why):
        self.failures.append(f"{name}: {why}")
        print(f"COULD NOT RUN: {name}: {why}", file=sys.stderr, flush=True)

    # -- processes ---------------------------------------------------------------------------
    def environment(self):
        return dict(os.environ, BENCH_NOTES=str(self.scratch / "notes"), OMP_NUM_THREADS="1")

    def start(self, command, **options):
        """Starts `command` in a session of its own, to be ended by stop() at the latest at the end. `env`: further variables."""
        options.setdefault("stdout", subprocess.DEVNULL)
        environment = dict(self.environment(), **options.pop("env", {}))
        with open(self.scratch / "stderr", "wb") as errors:
            process = subprocess.Popen([str(c) for c in command], stderr=errors, env=environment,
                                       start_new_session=True, **options)
        self.running.append(process)
        return process

    def stop(self, process):
        """SIGTERM, for launchers that must take their workers along; then SIGKILL to all it started."""
        family = descendants(process.pid) if process.poll() is None else []
        if family:
            process.terminate()
            try:
                process.wait(3)
            except subprocess.TimeoutExpired:
                pass
        for pid in family:
            try:
                os.kill(pid, signal.SIGKILL)
            except ProcessLookupError:
                pass
        process.wait()
        if process in self.running:
            self.running.remove(process)

    def last_words(self):
        lines = (self.scratch / "stderr").read_text(errors="replace").strip().splitlines()
        return " | ".join(lines[-3:]) or "nothing on stderr"

    def forget_notes(self):
        (self.scratch / "notes").unlink(missing_ok=True)

    def read_notes(self, since_ns=0):
        file = self.scratch / "notes"
        lines = [line.split() for line in file.read_text().splitlines()] if file.exists() else []
        return sorted(((int(ns) - since_ns) / 1e9, word, rank) for ns, word, rank in lines)

    def measure(self, command, **options):
        """Runs `command` to its end and returns a Run. Raises CouldNotRun when it fails or hangs."""
        self.forget_notes()
        report = self.scratch / "timed"
        process = self.start([helper("timed", "-static"), report, *command], **options)
        try:
            process.wait(RUN_LIMIT_S)
        except subprocess.TimeoutExpired:
            raise CouldNotRun(f"no end within {RUN_LIMIT_S} s; {self.last_words()}") from None
        finally:
            self.stop(process)
        exec_ns, end_ns, cpu_us, status = map(int, report.read_text().split())
        if status:
            raise CouldNotRun(f"wait status {status:#x}; {self.last_words()}")
        return Run(exec_ns, (end_ns - exec_ns) / 1e9, cpu_us / 1e6, self.read_notes(exec_ns))

    # -- samples -----------------------------------------------------------------------------
    def calm(self):
        """Did every CPU run undisturbed, and as fast as we have seen it, for 10 ms just now?"""
        looked = subprocess.run([helper("calib")], capture_output=True, text=True, check=True).stdout
        rate, gap_us = map(float, looked.split())
        self.best_rate = max(self.best_rate, rate)
        return gap_us < DISTURBED_GAP_US and rate > 0.8 * self.best_rate

    def sample(self, take):
        """(take(), was the machine calm just before and after). Waits for calm, and takes a disturbed sample
        once more, as long as this run's patience lasts: a machine that is busy throughout is measured busy."""
        start = time.monotonic()
        while not (calm := self.calm()) and time.monotonic() - start < min(self.patience_s, WAIT_S):
            time.sleep(0.2)
        self.patience_s -= time.monotonic() - start
        again = time.monotonic()
        value = take()
        calm = calm and self.calm()
        if not calm and self.patience_s > 0:
            value, calm = take(), self.calm()
            self.patience_s -= (time.monotonic() - again) / 2
        return value, calm

    def rounds(self, subjects, count, take, warm=True):
        """Yields (subject, take(subject), calm), the subjects interleaved round by round. One that
        fails is reported and left out of the further rounds."""
        subjects = list(subjects)
        for number in range(-1 if warm else 0, count):  # round -1 warms the page cache
            for subject in list(subjects):
                if subject.slow and number % 5:
                    continue
                try:
                    value, calm = self.sample(lambda: take(subject))
                except (CouldNotRun, OSError, ValueError) as error:
                    self.fail(subject.name, str(error))
                    subjects.remove(subject)
                    continue
                if number >= 0:
                    yield subject, value, calm
