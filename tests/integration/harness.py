"""What every integration test stands on: starting the built binary, talking to it, and seeing to it
that nothing is left behind.

Each test gets a folder of its own (removed at its end) and an environment made from nothing, with a mark
that all processes it starts inherit. A process that still carries the mark when the test is over is a
leak: it is killed and the test fails.
"""
import fcntl
import functools
import mmap
import os
import pty
import random
import re
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import termios
import threading
import time
import unittest
import uuid

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
SUPPORT = os.path.join(ROOT, "tests", "support")
EXAMPLES = os.path.join(ROOT, "examples")
BINARY = os.path.abspath(os.environ.get("MUSTER_BINARY") or os.path.join(ROOT, "build", "release", "muster"))
TORCHRUN = os.path.join(os.path.dirname(BINARY), "torchrun")
MARK = "TEST_MARK"
PATIENCE_S = 60     # for what should take a moment; only a hang gets there
GONE_WITHIN_S = 5   # until processes that were killed have disappeared
PORTS = (10000, 29000)  # for free_port; below those that the kernel gives to who asks for any, which begin at 32768

# Why a test may be skipped. A skip for any other reason fails the run.
ALLOWED_SKIPS = {
    "namespaces": "no PID or mount namespaces here (needs root or user namespaces)",
    "time namespaces": "no time namespaces here",
    "cpus": "needs two CPUs",
    "memory cgroup": "no memory cgroup can be made here",
    "pytorch": "no Python with PyTorch found (MUSTER_TORCH_PYTHON names one)",
    "registry": "PyTorch 2.13 is not installed and the package registry cannot be reached",
    "root": "needs root",
}

sys.path.insert(0, SUPPORT)


@functools.lru_cache(maxsize=None)
def is_sanitized():
    """Whether the binary carries AddressSanitizer, which needs more memory and handles some signals."""
    with open(BINARY, "rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as content:
        return content.find(b"__asan_init") >= 0


def processes_with_mark(mark):
    """{pid: command line} of the processes whose environment holds the mark. Zombies have none."""
    wanted = ("%s=%s" % (MARK, mark)).encode()
    found = {}
    for name in os.listdir("/proc"):
        if not name.isdigit() or int(name) == os.getpid():
            continue
        try:
            with open("/proc/%s/environ" % name, "rb") as file:
                if wanted not in file.read().split(b"\0"):
                    continue
            with open("/proc/%s/cmdline" % name, "rb") as file:
                found[int(name)] = file.read().replace(b"\0", b" ").decode(errors="replace").strip()
        except OSError:
            pass
    return found


def wait_until(condition, what, timeout_s=PATIENCE_S):
    """The first true value of `condition()`; an AssertionError after the timeout, which tells `what`, a text or a function that gives one."""
    deadline = time.monotonic() + timeout_s
    while True:
        value = condition()
        if value:
            return value
        if time.monotonic() > deadline:
            raise AssertionError("not within %d s: %s" % (timeout_s, what() if callable(what) else what))
        time.sleep(0.01)


def stat_of(pid):
    """State letter, parent, group and session of a process; None when it is gone."""
    try:
        with open("/proc/%d/stat" % pid) as file:
            state, parent, group, session = file.read().rsplit(")", 1)[1].split()[:4]
    except (FileNotFoundError, ProcessLookupError):
        return None
    return state, int(parent), int(group), int(session)


def children_of(pid):
    found = []
    for name in os.listdir("/proc"):
        if name.isdigit():
            stat = stat_of(int(name))
            if stat and stat[1] == pid:
                found.append(int(name))
    return found


def is_alive(pid):
    stat = stat_of(pid)
    return stat is not None and stat[0] != "Z"


def reset_signals():
    """As after a login, whoever runs the tests: cron, nohup, a shell's background jobs."""
    for number in set(range(1, 65)) - {signal.SIGKILL, signal.SIGSTOP, 32, 33}:
        signal.signal(number, signal.SIG_DFL)
    signal.pthread_sigmask(signal.SIG_SETMASK, set())


def signals_of(mask):
    """The numbers in a mask of /proc/PID/status. Without 32 and 33, glibc's own: its posix_spawn, by which make starts us,
    leaves 32 ignored for good."""
    return {number for number in range(1, 65) if int(mask, 16) >> (number - 1) & 1} - {32, 33}


def grid(test):
    """Marks a test that only `make grid` runs. Of a class whose `gate_keeps` names some, all others are of the grid."""
    test.is_grid = True
    return test


lane = (0, 1)  # which of how many tests at a time this is; set by run.py
given_ports = set()  # of this lane


def free_port():
    """A port that was free on all addresses a moment ago, and that nobody else in this run gets. Port 0 is better wherever it can
    be had."""
    which, lanes = lane
    each = (PORTS[1] - PORTS[0]) // lanes
    while True:
        port = PORTS[0] + which * each + random.randrange(each)
        if port in given_ports:
            continue
        with socket.socket() as probe:
            try:
                probe.bind(("", port))
            except OSError:
                continue
        given_ports.add(port)
        return port


def loopback(number):
    """An address that no other test of this run uses, for those that listen on a fixed port. `number`: 1 to 254."""
    return "127.1.%d.%d" % (lane[0], number)


def short_host_name():
    return socket.gethostname().split(".")[0]


@functools.lru_cache(maxsize=None)
def unshare_command():
    """unshare with what it needs to make namespaces here; None when it cannot."""
    for command in (["unshare"], ["unshare", "--user", "--map-root-user"]):
        attempt = subprocess.run(command + ["--pid", "--fork", "--mount-proc", "true"], capture_output=True)
        if attempt.returncode == 0:
            return command
    return None


@functools.lru_cache(maxsize=None)
def full_folder(path):
    """Shell text for `mounts`: a folder that looks usable and in which nothing can be made."""
    return "mkdir -p '%s'; mount -t tmpfs -o nr_inodes=1,mode=1777 none '%s'" % (path, path)


def torch_python():
    """A Python that has PyTorch; None when there is none."""
    code = "import importlib.util, sys; sys.exit(importlib.util.find_spec('torch') is None)"
    for python in (os.environ.get("MUSTER_TORCH_PYTHON"), "/usr/bin/python3", shutil.which("python3")):
        if python and os.path.exists(python) and subprocess.run([python, "-c", code]).returncode == 0:
            return python
    return None


class Output:
    """What came out of a descriptor so far; a thread of its own reads it."""

    def __init__(self, fd):
        self.data = bytearray()
        self.changed = threading.Condition()
        self.thread = threading.Thread(target=self._read, args=(fd,), daemon=True)
        self.thread.start()

    def _read(self, fd):
        while True:
            try:
                chunk = os.read(fd, 65536)
            except OSError:  # a terminal whose other end is closed
                chunk = b""
            with self.changed:
                self.data += chunk
                self.changed.notify_all()
            if not chunk:
                os.close(fd)
                return

    def wait_for(self, pattern, timeout_s):
        """Until `pattern` is in it; the match, with all text from the start as its subject."""
        regex = re.compile(pattern, re.MULTILINE)
        deadline = time.monotonic() + timeout_s
        with self.changed:
            while True:
                more_may_come = self.thread.is_alive()
                match = regex.search(self.text())
                if match:
                    return match
                left = deadline - time.monotonic()
                if left <= 0 or not more_may_come:
                    raise AssertionError("%r did not come; there is:\n%s" % (pattern, self.text()))
                self.changed.wait(min(left, 0.5))

    def text(self):
        return bytes(self.data).decode(errors="backslashreplace")


class Finished:
    """The end of a process: exit code (128 + signal if it died of one) and what it printed."""

    def __init__(self, code, out, err):
        self.code = code
        self.out_bytes, self.err_bytes = out, err
        self.out = out.decode(errors="backslashreplace")
        self.err = err.decode(errors="backslashreplace")

    def __repr__(self):
        return "exit code %d\n--- stdout\n%s\n--- stderr\n%s\n---" % (self.code, self.out[-6000:], self.err[-6000:])

    @property
    def last_error_line(self):
        lines = [line for line in self.err.splitlines() if line.strip()]
        return lines[-1] if lines else ""


def describe_tree(pid):
    """A line for each process below that one, itself first: what they wait for when a test does in vain."""
    lines, pids = [], [pid]
    for each in pids:
        pids += children_of(each)
        try:
            with open("/proc/%d/cmdline" % each, "rb") as command, open("/proc/%d/wchan" % each) as waits:
                lines.append("%d below %d, %s in %s: %s" % (each, stat_of(each)[1], stat_of(each)[0], waits.read() or "?",
                                                           command.read().replace(b"\0", b" ").decode(errors="replace")[:300]))
        except (OSError, TypeError):
            pass
    return "\n".join(lines)


class Process:
    """A running command, usually the agent."""

    def __init__(self, popen, command, out=None, err=None):
        self.popen = popen
        self.command = command
        self.pid = popen.pid
        self.out = out
        self.err = err
        self._agent_pid = None

    def agent_pid(self):
        """Pid of the binary itself, also when it runs below unshare or another wrapper. ProcessLookupError: it has ended."""
        def look():
            if self.popen.poll() is not None:
                raise ProcessLookupError("has ended: %s" % self.command)
            candidates = [self.pid]
            for pid in candidates:
                try:
                    if os.path.samefile("/proc/%d/exe" % pid, BINARY):
                        return pid
                except OSError:
                    pass
                candidates += children_of(pid)
            return None
        if self._agent_pid is None:
            self._agent_pid = wait_until(look, "the binary runs below pid %d" % self.pid)
        return self._agent_pid

    def signal(self, number):
        os.kill(self.agent_pid(), number)

    def wait_for(self, pattern, stream="out", timeout_s=PATIENCE_S):
        try:
            return getattr(self, stream).wait_for(pattern, timeout_s)
        except AssertionError as error:
            other = {"out": "err", "err": "out"}[stream]
            if getattr(self, other) is None:
                raise
            raise AssertionError("%s\n--- std%s\n%s" % (error, other, getattr(self, other).text()[-6000:])) from None

    def finish(self, timeout_s=PATIENCE_S):
        """Waits for the end of the process and of its output."""
        try:
            code = self.popen.wait(timeout_s)
        except subprocess.TimeoutExpired:
            raise AssertionError("still running after %d s: %s\n%s\n%s" % (timeout_s, self.command, self._printed(), describe_tree(self.pid)))
        for output in (self.out, self.err):
            if output is not None:
                output.thread.join(GONE_WITHIN_S)
                if output.thread.is_alive():
                    raise AssertionError("somebody holds the output of %s open after its end" % self.command)
        return Finished(code if code >= 0 else 128 - code, *self._printed())

    def _printed(self):
        return tuple(bytes(output.data) if output else b"" for output in (self.out, self.err))


class MusterTest(unittest.TestCase):
    """Base of all tests. `self.dir` is the test's folder, also $OUT in everything it starts."""

    maxDiff = 4000

    def setUp(self):
        self.dir = tempfile.mkdtemp(prefix="muster-test-")
        self.temp = os.path.join(self.dir, "tmp")
        os.mkdir(self.temp)
        self.mark = uuid.uuid4().hex
        self.started = []
        self.addCleanup(self._leave_nothing)

    def _leave_nothing(self):
        for process in self.started:
            if process.popen.poll() is None:
                process.popen.kill()
                process.popen.wait()
        deadline = time.monotonic() + GONE_WITHIN_S
        looks = 0  # in a row that saw nothing; in the middle of an exec a process shows no environment
        left = {}
        while looks < 2 and time.monotonic() < deadline:
            left = processes_with_mark(self.mark)
            looks = 0 if left else looks + 1
            time.sleep(0.02)
        for pid in left:
            try:
                os.kill(pid, signal.SIGKILL)
            except ProcessLookupError:
                pass
        shutil.rmtree(self.dir, ignore_errors=True)
        if left:
            self.fail("left behind: %s" % left)

    def skip_because(self, reason, detail=""):
        assert reason in ALLOWED_SKIPS, reason
        self.skipTest("%s: %s" % (reason, detail or ALLOWED_SKIPS[reason]))

    # -- what to start

    def path(self, *parts):
        return os.path.join(self.dir, *parts)

    def write(self, name, content, mode=0o644):
        path = self.path(name)
        with open(path, "wb") as file:
            file.write(content if isinstance(content, bytes) else content.encode())
        os.chmod(path, mode)
        return path

    def read(self, name):
        with open(self.path(name), "rb") as file:
            return file.read().decode(errors="backslashreplace")

    def exists(self, name):
        return os.path.exists(self.path(name))

    def sh(self, text, name="worker"):
        """A shell script as a program. In a file: in arguments, `$$` and `$local_rank` have a meaning."""
        return self.write(name, "#!/bin/sh\n" + text + "\n", 0o755)

    def py(self, text, name="worker.py"):
        return self.write(name, text)

    def environment(self, extra=None):
        """Made from nothing, so that a test does not depend on who runs it."""
        result = {"PATH": "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin", "HOME": self.dir,
                  "LANG": "C.UTF-8", "TMPDIR": self.temp, "OUT": self.dir, MARK: self.mark}
        for name in ("ASAN_OPTIONS", "UBSAN_OPTIONS", "LSAN_OPTIONS"):
            if name in os.environ:
                result[name] = os.environ[name]
        result.update(extra or {})
        return {name: value for name, value in result.items() if value is not None}

    # -- starting it

    def start_command(self, command, env=None, cwd=None, input=None, stdin=None, stdout=None, stderr=None,
                      pass_fds=(), before_exec=None):
        """Starts any command. stdout and stderr are collected unless somewhere else is given."""
        pipes = []
        ends = {}
        for name, given in (("out", stdout), ("err", stderr)):
            if given is None:
                reader, writer = os.pipe()
                pipes.append((name, reader, writer))
                ends[name] = writer
            else:
                ends[name] = given
        if input is not None:
            stdin = open(self.write("stdin-%s" % uuid.uuid4().hex, input), "rb")

        def prepare():
            reset_signals()
            if before_exec is not None:
                before_exec()
        popen = subprocess.Popen(command, env=self.environment(env), cwd=cwd or self.dir,
                                 stdin=subprocess.DEVNULL if stdin is None else stdin, stdout=ends["out"],
                                 stderr=ends["err"], start_new_session=True, pass_fds=pass_fds, preexec_fn=prepare)
        if input is not None:
            stdin.close()
        for _, _, writer in pipes:
            os.close(writer)
        process = Process(popen, command, **{name: Output(reader) for name, reader, _ in pipes})
        self.started.append(process)
        return process

    def command(self, arguments, as_torchrun=False, pid1=False, mounts=None):
        """The command line of the binary. `pid1`: as PID 1 of a namespace. `mounts`: shell text that runs
        before it in a mount namespace of its own."""
        words = [TORCHRUN if as_torchrun else BINARY] + [str(word) for word in arguments]
        if mounts is not None:
            words = ["sh", "-ec", mounts + '\nexec "$@"', "sh"] + words
        if pid1 or mounts is not None:
            unshare = unshare_command()
            if unshare is None:
                self.skip_because("namespaces")
            words = unshare + (["--mount", "--propagation", "private"] if mounts is not None else []) + (
                ["--pid", "--fork", "--kill-child", "--mount-proc"] if pid1 else []) + words
        return words

    def start(self, *arguments, as_torchrun=False, pid1=False, mounts=None, **how):
        return self.start_command(self.command(arguments, as_torchrun, pid1, mounts), **how)

    def run_muster(self, *arguments, timeout_s=PATIENCE_S, **how):
        return self.start(*arguments, **how).finish(timeout_s)

    def start_on_terminal(self, command, env=None, owned=True):
        """Starts a command as the leader of a session on a new terminal, which is that session's unless `owned` is False.
        `type` into the result; `terminal` is its other end."""
        master, slave = pty.openpty()

        def take_terminal():
            reset_signals()
            os.setsid()
            if owned:
                fcntl.ioctl(0, termios.TIOCSCTTY, 0)
        popen = subprocess.Popen(command, env=self.environment(env), cwd=self.dir, stdin=slave, stdout=slave,
                                 stderr=slave, preexec_fn=take_terminal)
        os.close(slave)
        process = Process(popen, command, out=Output(os.dup(master)))
        process.terminal = master
        process.type = lambda text: os.write(master, text.encode())
        self.addCleanup(os.close, master)
        self.started.append(process)
        return process

    # -- looking at it

    def expect_code(self, finished, code):
        self.assertEqual(finished.code, code, finished)
        return finished

    def expect_lines(self, patterns, text):
        """Each regular expression is found in a line of its own, in this order."""
        lines = iter(text.splitlines())
        for pattern in patterns:
            if not any(re.search(pattern, line) for line in lines):
                self.fail("no (further) line matches %r in:\n%s" % (pattern, text))

    def marked(self):
        return processes_with_mark(self.mark)
