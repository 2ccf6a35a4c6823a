"""Starts what the runner runs. Everything that a program started ends with it, and all of it with the runner."""

import os
import signal
import subprocess
import tempfile
import threading
import time

CLEANS_UP_WITHIN_S = 10
alive = set()  # process groups
guard = threading.Lock()


def end_group(group):
    try:
        os.killpg(group, signal.SIGKILL)
    except ProcessLookupError:
        pass
    with guard:
        alive.discard(group)


def end_all():
    """Those that hear SIGTERM clean up after themselves."""
    with guard:
        groups = list(alive)
    deadline = time.monotonic() + CLEANS_UP_WITHIN_S
    for group in groups:
        try:
            os.killpg(group, signal.SIGTERM)
            while time.monotonic() < deadline:
                os.killpg(group, 0)
                time.sleep(0.05)
        except ProcessLookupError:
            pass
        end_group(group)


def describe_exit(code):
    if code is None:
        return "did not end in time"
    return f"ended by {signal.Signals(-code).name}" if code < 0 else f"exit {code}"


def start(argv, **how):
    process = subprocess.Popen([str(word) for word in argv], stdin=subprocess.DEVNULL, start_new_session=True, **how)
    with guard:
        alive.add(process.pid)
    return process


def run_program(argv, seconds, cwd, nice=True):
    """(exit code or None after a timeout, its output)."""
    with tempfile.TemporaryFile() as output:
        process = start((["nice"] if nice else []) + list(argv), stdout=output, stderr=subprocess.STDOUT, cwd=cwd)
        try:
            code = process.wait(seconds)
        except subprocess.TimeoutExpired:
            code = None
        end_group(process.pid)
        process.wait()
        output.seek(0)
        return code, output.read().decode(errors="replace")


def run_shown(argv, seconds, log, env=None, prefix=None):
    """(exit code, its output). Lines go to `log` as they come, and to stdout, unless there is a `prefix`: then each stands
    behind it."""
    log.parent.mkdir(parents=True, exist_ok=True)
    process = start(argv, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="replace", env=env)
    limit = threading.Timer(seconds, end_group, (process.pid,))
    limit.start()
    lines = []
    with process.stdout, open(log, "w", encoding="utf-8") as file:
        for line in process.stdout:
            file.write(line)
            file.flush()
            if prefix is None:
                print(line, end="", flush=True)
            lines.append(line)
    code = process.wait()
    timed_out = not limit.is_alive()
    limit.cancel()
    end_group(process.pid)
    return (None if timed_out else code), "".join(lines)


class Stopwatch:
    def __init__(self):
        self.begin = time.monotonic()

    def seconds(self):
        return time.monotonic() - self.begin
