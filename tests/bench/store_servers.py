"""The stores that are compared, and one running server with its load generator."""
import os
import shutil
import socket
import subprocess
import time
from pathlib import Path

from harness import CPUS, CouldNotRun, Subject, free_port, helper, memory_kib
from peers import SYSTEM_PYTHON, debian_torch, new_torch

TORCH_SERVER = """
import sys, time
from datetime import timedelta
from torch.distributed import TCPStore
backend = {} if sys.argv[2] == "only" else dict(use_libuv=sys.argv[2] == "libuv")
store = TCPStore("127.0.0.1", int(sys.argv[1]), None, True, timedelta(seconds=900), False, **backend)
time.sleep(1e6)
"""
# Runs a command where names are looked up as given in $1 (files or dns), the only DNS server being $2.
LOOKUP = """
mount --make-rprivate / && echo "hosts: $1" > "$3/nsswitch" && echo "nameserver $2" > "$3/resolv" &&
mount --bind "$3/nsswitch" /etc/nsswitch.conf && mount --bind "$3/resolv" /etc/resolv.conf && shift 3 && exec "$@"
"""
SILENT_DNS = "127.53.53.53"  # a loopback address where a socket takes every question and answers none


def with_lookup(bench, hosts):
    return ("unshare", "--mount", "sh", "-c", LOOKUP, "sh", hosts, SILENT_DNS, str(bench.scratch))


def torch_stores(bench):
    """In each command the word {port} stands for the port."""
    if debian_torch(bench):
        yield Subject("TCPStore 1.13", "peer", (SYSTEM_PYTHON, "-c", TORCH_SERVER, "{port}", "only"), protocol="torch1")
    if found := new_torch(bench):
        python, version = found
        for backend in ("libuv", "legacy"):
            yield Subject(f"TCPStore {version}, {backend}", "peer", (python, "-c", TORCH_SERVER, "{port}", backend))


def stores(bench):
    if bench.muster.exists():
        yield Subject("muster", "muster", (str(bench.muster), "store", "--port", "{port}"))
    yield Subject("floor (epoll)", "floor", (helper("floor_epoll", "-static"), "{port}"))
    if Path("/usr/include/uv.h").exists():
        yield Subject("floor (libuv)", "stand-in", (helper("floor_uv", "-luv"), "{port}"))
    else:
        bench.leave_out("floor (libuv)", "libuv1-dev is not installed")
    yield from torch_stores(bench)
    if shutil.which("redis-server"):
        yield Subject("redis", "peer", ("redis-server", "--port", "{port}", "--bind", "127.0.0.1", "--save", "",
                                        "--appendonly", "no", "--protected-mode", "no", "--maxclients", "15000"), protocol="redis")
    else:
        bench.leave_out("redis", "redis-server is not installed")


class Server:
    """A store on the first CPU; its load comes from the last one."""

    def __init__(self, bench, subject, prefix=()):
        self.bench, self.subject, self.port = bench, subject, free_port()
        command = [word.replace("{port}", str(self.port)) for word in subject.command]
        self.process = bench.start((*prefix, "taskset", "-c", CPUS[0], *command), cwd=bench.scratch)
        deadline = time.monotonic() + 30
        while not self.accepts():
            if self.process.poll() is not None or time.monotonic() > deadline:
                self.stop()
                raise CouldNotRun(f"does not listen; {bench.last_words()}")
            time.sleep(0.02)

    def accepts(self):
        with socket.socket() as s:
            return s.connect_ex(("127.0.0.1", self.port)) == 0

    def load(self, *arguments):
        """Starts the load generator; its line of answers is read by figures()."""
        command = ("taskset", "-c", CPUS[-1], helper("storeload"), self.subject.protocol, self.port, *arguments)
        return self.bench.start(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)

    def figures(self, load):
        line = load.stdout.readline()
        if not line:
            raise CouldNotRun(f"no answer from the load generator; {self.bench.last_words()}")
        return {key: float(value) for key, value in (pair.split("=") for pair in line.split())}

    def ask(self, *arguments):
        load = self.load(*arguments)
        try:
            return self.figures(load)
        finally:
            self.release(load)

    def release(self, load):
        """Lets the load generator go: it ends with its stdin."""
        load.stdin.close()
        self.bench.stop(load)
        load.stdout.close()

    def resident_kib(self):
        return memory_kib(self.process.pid, "VmRSS")

    def stop(self):
        self.bench.stop(self.process)


def start_all(bench, subjects):
    """{subject: Server}; those that do not start are reported."""
    servers = {}
    for subject in subjects:
        try:
            servers[subject] = Server(bench, subject)
        except CouldNotRun as error:
            bench.fail(subject.name, str(error))
    return servers


def silent_dns():
    """A bound socket that answers nothing, or None where port 53 is not ours to bind."""
    s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    try:
        s.bind((SILENT_DNS, 53))
    except OSError:
        s.close()
        return None
    return s if os.geteuid() == 0 else None
