"""The way between two network namespaces over libfabric's tcp provider: muster-probe beside libfabric's own fi_pingpong, and for the
rate beside iperf3, which is plain TCP. All are bounded by the same pair of virtual interfaces. And what it takes to plan the network of
a large machine, and to check this one."""
import json
import shutil
import subprocess
import sys
import time

from harness import CPUS, ROOT, CouldNotRun, Subject
from report import Budget, Metric

sys.path.append(str(ROOT / "tests" / "support"))
import machine_tree  # noqa: E402

HOSTS = ("10.78.0.1", "10.78.0.2")
PROVIDER = "tcp;ofi_rxm"
PINGS = 2000
LARGE = 1 << 20
MACHINE = "oci-h100-pod"  # 16 RDMA devices, 8 GPUs
PLAN = Metric("fabric", "planning a pod with 16 RDMA devices and 8 GPUs: beside a plain muster env", "ms", budgets=(Budget(5),))
START = Metric("fabric", "a start where there is nothing to plan: beside --no-fabric-env", "ms", budgets=(Budget(1),))
CHECKS = Metric("fabric", "muster doctor of this machine, without peers", "ms", budgets=(Budget(300),))
LATENCY = Metric("fabric", "half of a round trip of 8 bytes, libfabric over tcp", "µs")
RATE = Metric("fabric", "messages of 1 MiB, one direction", "GB/s", higher=True)
SECONDS = 20  # for any one of them
PROBE_PORT, IPERF_PORT, FI_PORT = 29499, 29498, 47592  # the last one is fi_pingpong's own choice
LISTEN = "0A"  # in /proc/net/tcp


class Pair:
    """Two namespaces, each kept by a process, with an interface in each."""

    def __init__(self, bench):
        self.bench = bench
        self.holders = [bench.start(("unshare", "--net", "sleep", "1000")) for _ in HOSTS]
        for number, holder in enumerate(self.holders):
            self._await_namespace(holder)
            if number:
                self._ip(holder, "ip link add eth0 type veth peer name eth0 netns %d" % self.holders[0].pid)
        for host, holder in zip(HOSTS, self.holders):
            self._ip(holder, "ip link set lo up && ip addr add %s/24 dev eth0 && ip link set eth0 up" % host)
        for holder in self.holders:
            self._await_link(holder)

    def _await_namespace(self, holder):
        deadline = time.monotonic() + 5
        while subprocess.run(("readlink", "/proc/%d/ns/net" % holder.pid), capture_output=True).stdout == \
                subprocess.run(("readlink", "/proc/self/ns/net"), capture_output=True).stdout:
            if time.monotonic() > deadline:
                raise CouldNotRun("no network namespace: needs root")
            time.sleep(0.01)

    def _await_link(self, holder):
        """The kernel says a moment later that both ends are up, and libfabric takes no interface before."""
        deadline = time.monotonic() + 5
        while json.loads(self._ip(holder, "ip -j link show eth0"))[0]["operstate"] != "UP":
            if time.monotonic() > deadline:
                raise CouldNotRun("the pair of interfaces does not come up")
            time.sleep(0.01)

    def _ip(self, holder, commands):
        done = subprocess.run(("nsenter", "-t", str(holder.pid), "-n", "sh", "-ec", commands), capture_output=True, text=True)
        if done.returncode:
            raise CouldNotRun(done.stderr.strip())
        return done.stdout

    def start(self, side, command, **options):
        """On a CPU of its own: side 0 listens, side 1 calls."""
        return self.bench.start(("nsenter", "-t", self.holders[side].pid, "-n", "taskset", "-c", CPUS[0 if side == 0 else -1], *command), **options)

    def _await_listener(self, listener, port):
        deadline = time.monotonic() + SECONDS
        while not self._listens(port):
            if listener.poll() is not None or time.monotonic() > deadline:
                raise CouldNotRun(f"nobody listens on port {port}; {self.bench.last_words()}")
            time.sleep(0.01)

    def _listens(self, port):
        for name in ("tcp", "tcp6"):
            with open(f"/proc/{self.holders[0].pid}/net/{name}") as table:
                rows = [line.split() for line in table.readlines()[1:]]
            if any(row[1].endswith(f":{port:04X}") and row[3] == LISTEN for row in rows):
                return True
        return False

    def exchange(self, port, listen, call):
        """What the calling side prints, which calls as soon as somebody listens on that port."""
        listener = self.start(0, listen)
        caller = None
        try:
            self._await_listener(listener, port)
            caller = self.start(1, call, stdout=subprocess.PIPE, text=True)
            out, _ = caller.communicate(timeout=SECONDS)
            if caller.returncode:
                raise CouldNotRun(f"{call[0]} ends with {caller.returncode}; {self.bench.last_words()}")
            return out
        except subprocess.TimeoutExpired:
            raise CouldNotRun(f"{call[0]}: no end within {SECONDS} s") from None
        finally:
            for process in filter(None, (caller, listener)):
                self.bench.stop(process)

    def close(self):
        for holder in self.holders:
            self.bench.stop(holder)


def probe(bench, pair):
    """(µs, GB/s)"""
    command = (str(bench.muster.parent / "muster-probe"), "pingpong", "--provider", PROVIDER)
    facts = json.loads(pair.exchange(PROBE_PORT, (*command, "--listen", "--port", PROBE_PORT), (*command, f"{HOSTS[0]}:{PROBE_PORT}")))
    return facts["latency_us"]["p50"], facts["bytes_per_s_to_peer"] / 1e9


def fi_pingpong(bench, pair):
    """The same. It prints a mean, and counts what goes in both directions one after the other, so the rate is without a window."""
    found = []
    for size, times in ((8, PINGS), (LARGE, 200)):
        command = ("fi_pingpong", "-p", PROVIDER, "-e", "rdm", "-I", str(times), "-S", str(size))
        words = pair.exchange(FI_PORT, command, (*command, HOSTS[0])).splitlines()[-1].split()
        found.append((float(words[6]), float(words[5]) / 1e3))
    return found[0][0], found[1][1]


def iperf3(bench, pair):
    """It knows no latency."""
    out = pair.exchange(IPERF_PORT, ("iperf3", "-s", "-1", "-p", IPERF_PORT), ("iperf3", "-c", HOSTS[0], "-p", IPERF_PORT, "-t", "1", "-l", str(LARGE), "-J"))
    return None, json.loads(out)["end"]["sum_received"]["bits_per_second"] / 8e9


def subjects(bench):
    if (bench.muster.parent / "muster-probe").exists():
        yield Subject("muster-probe", "muster", (probe,))
    else:
        bench.leave_out("muster-probe", "not built (libfabric-dev)")
    for take, name, role, package in ((fi_pingpong, "fi_pingpong", "peer", "libfabric-bin"), (iperf3, "iperf3, plain TCP", "floor", "iperf3")):
        if shutil.which(take.__name__):
            yield Subject(name, role, (take,))
        else:
            bench.leave_out(name, f"{package} is not installed")


def of_one_node(bench, results):
    """Whole processes, from exec to end: what each takes longer than another one, which runs right before it."""
    root = bench.scratch / MACHINE
    machine_tree.unpack(str(ROOT / "tests" / "data" / "machines" / "fabric" / (MACHINE + ".tree")), str(root))
    alone = (bench.muster, "run", "--standalone", "--nproc-per-node", "1", "--no-python")
    # 1: doctor has found something.
    rows = {
        Subject("muster env", "muster", (bench.muster, "env", "--nnodes", "2", "--root", root)): (PLAN, (bench.muster, "env")),
        Subject("muster run", "muster", (*alone, "true")): (START, (*alone, "--no-fabric-env", "true")),
        Subject("muster doctor", "muster", ("sh", "-c", '"$0" doctor || [ $? = 1 ]', bench.muster)): (CHECKS, None),
    }

    def measure(subject):
        before = rows[subject][1]
        floor = bench.measure(before).wall_s if before else 0
        return (bench.measure(subject.command).wall_s - floor) * 1e3

    for subject, ms, calm in bench.rounds(rows, 10 if bench.quick else 100, measure):
        results.add(rows[subject][0], subject, ms, calm)


def run(bench, results):
    of_one_node(bench, results)
    try:
        pair = Pair(bench)
    except CouldNotRun as error:
        return bench.leave_out("fabric", str(error))
    try:
        for subject, (micros, rate), calm in bench.rounds(subjects(bench), 3 if bench.quick else 15, lambda each: each.command[0](bench, pair)):
            if micros is not None:
                results.add(LATENCY, subject, micros, calm)
            results.add(RATE, subject, rate, calm)
    finally:
        pair.close()
