"""Jobs of many nodes with PyTorch 2.13, and what its own launcher does in the same situations.

Every node is a PID namespace, so that losing one loses all that it ran, whoever launched it. Asserted is
what Muster does; torchrun's figures are printed beside it.
"""
import os
import signal
import time

import harness
import torch_cases

BOUND_S = 60    # what has not recovered by then is said not to
WORKER = os.path.join(torch_cases.SCRIPTS, "elastic_gloo.py")


class Nodes213(torch_cases.TorchBase):
    python = property(lambda self: os.environ.get("MUSTER_COMPAT_PYTHON"))

    def setUp(self):
        if not self.python:
            self.skip_because("registry")
        super().setUp()


class Collectives(Nodes213):
    def test_every_collective_over_two_nodes(self):
        finished = self.run_torch("local", "--nodes", 2, "--nproc-per-node", 2, os.path.join(torch_cases.SCRIPTS, "torch_collectives.py"))
        self.assertIn("collectives ok", finished.out)

    def test_the_example_over_two_nodes(self):
        finished = self.run_torch("local", "--nodes", 2, "--nproc-per-node", 2, os.path.join(torch_cases.EXAMPLE, "train.py"))
        self.assertRegex(finished.out, r"(?m)^\[node-1:0\] final accuracy 0\.9\d{3}$")


class Launcher:
    """Starts nodes of one job, one worker each."""

    def __init__(self, test, folder):
        self.test = test
        self.folder = test.path(folder)
        os.mkdir(self.folder)
        self.port = harness.free_port()
        self.nodes = {}

    def start(self, number, nodes, *flags):
        words = harness.unshare_command() + ["--pid", "--fork", "--kill-child", "--mount-proc"] + self.command(number, nodes) + [
            "--nnodes", nodes, "--nproc-per-node", "1", "--max-restarts", "5", "--rdzv-id", "job", "--rdzv-backend", "c10d",
            "--rdzv-conf", "last_call_timeout=1,join_timeout=%d" % (2 * BOUND_S)] + [str(flag) for flag in flags] + [WORKER]
        env = {"OUT": self.folder, "PYTHON_EXEC": self.test.python, "PYTHONDONTWRITEBYTECODE": "1", "NODE": str(number)}
        self.nodes[number] = self.test.start_command(words, env=env)

    def processes(self, number, rank=None):
        """Everything that a node runs; with a rank, that worker only."""
        wanted = {b"OUT=" + self.folder.encode(), b"NODE=%d" % number}
        if rank is not None:
            wanted.add(b"RANK=%d" % rank)
        found = []
        for pid in self.test.marked():
            try:
                with open("/proc/%d/environ" % pid, "rb") as file:
                    if wanted <= set(file.read().split(b"\0")):
                        found.append(pid)
            except OSError:
                pass  # it ended meanwhile
        return found

    def lose(self, number):
        """The whole machine, as far as anybody can tell."""
        self.nodes[number].popen.kill()
        self.nodes[number].finish()

    def formed_after(self, start, world):
        """When the first whole group of that size after `start` had reduced; None = there is none yet."""
        path = os.path.join(self.folder, "groups")
        times = {}
        if os.path.exists(path):
            with open(path) as file:
                for size, rank, when in (line.split() for line in file.read().splitlines()):
                    if int(size) == world and float(when) > start:
                        times.setdefault(int(rank), float(when))
        return max(times.values()) if len(times) == world else None

    def wait_for(self, world, start=0.0, bound_s=BOUND_S):
        """How long it took; None = not within the bound."""
        deadline = time.monotonic() + bound_s
        while time.monotonic() < deadline:
            formed = self.formed_after(start, world)
            if formed:
                return formed - start
            time.sleep(0.05)
        return None

    def end(self):
        """Lets the workers finish, and after a while everything else."""
        with open(os.path.join(self.folder, "end"), "w"):
            pass
        deadline = time.monotonic() + 10
        while time.monotonic() < deadline and any(node.popen.poll() is None for node in self.nodes.values()):
            time.sleep(0.05)
        for node in self.nodes.values():
            if node.popen.poll() is None:
                node.popen.kill()
            node.finish()


class Muster(Launcher):
    name = "muster"

    def command(self, number, nodes):
        endpoints = ",".join("127.0.1.%d:%d" % (k, self.port) for k in (1, 2))
        return [harness.BINARY, "run", "--rdzv-endpoint", endpoints, "--local-addr", "127.0.1.%d" % number,
                "--node-name", "node-%d" % number, "--scale-up-interval", "100ms", "--scale-up-quiet", "100ms",
                "--replace-wait", "0s", "--lease", "5s"]


class Torchrun(Launcher):
    name = "torchrun 2.13"

    def command(self, number, nodes):
        # It takes agents of the same address and pid for one, and in a namespace pids are the same. Killed, it leaves its log folder.
        return ["env", "TMPDIR=" + self.folder, self.test.python, "-m", "torch.distributed.run", "--rdzv-endpoint", "127.0.0.1:%d" % self.port,
                "--local-addr", "127.0.0.%d" % number]


class UnsharedTorchrun(Torchrun):
    """Each attempt has a store of its own, which torchrun can be asked for."""
    name = "its store unshared"

    def command(self, number, nodes):
        return ["env", "TORCH_DISABLE_SHARE_RDZV_TCP_STORE=1"] + super().command(number, nodes)


class Recovery(Nodes213):
    """From the moment of the change until all workers have reduced together again."""
    gate_keeps = ("test_restart",)

    def setUp(self):
        super().setUp()
        if harness.unshare_command() is None:
            self.skip_because("namespaces")

    def compare(self, what, scenario):
        seconds = {}
        for launcher in (Muster(self, "muster"), Torchrun(self, "torchrun"), UnsharedTorchrun(self, "unshared")):
            seconds[launcher.name] = scenario(launcher)
            launcher.end()
        cells = ["%s %s" % (name, "%.1f s" % taken if taken is not None else "not within %d s" % BOUND_S)
                 for name, taken in seconds.items()]
        print("    | %-26s | %s |" % (what, " | ".join(cells)), flush=True)
        self.assertIsNotNone(seconds["muster"], what)

    def start_two(self, launcher, nodes):
        for number in (1, 2):
            launcher.start(number, nodes)
        self.assertIsNotNone(launcher.wait_for(2), launcher.name + " does not start")

    def test_scale_up(self):
        def scenario(launcher):
            launcher.start(1, "1:2")
            self.assertIsNotNone(launcher.wait_for(1), launcher.name + " does not start")
            changed = time.monotonic()
            launcher.start(2, "1:2")
            return launcher.wait_for(2, changed)
        self.compare("scale-up from 1 to 2 nodes", scenario)

    def test_replacement(self):
        def scenario(launcher):
            self.start_two(launcher, "2")
            changed = time.monotonic()
            launcher.lose(2)
            launcher.start(2, "2")
            return launcher.wait_for(2, changed)
        self.compare("a node is replaced", scenario)

    def test_restart(self):
        def scenario(launcher):
            self.start_two(launcher, "2")
            changed = time.monotonic()
            for pid in launcher.processes(1, rank=0) + launcher.processes(2, rank=0):
                os.kill(pid, signal.SIGKILL)
            return launcher.wait_for(2, changed)
        self.compare("a worker dies on 2 nodes", scenario)

    def test_silent_loss(self):
        def scenario(launcher):
            self.start_two(launcher, "1:2")
            changed = time.monotonic()
            for pid in launcher.processes(2):
                os.kill(pid, signal.SIGSTOP)
            return launcher.wait_for(1, changed)
        self.compare("a node falls silent", scenario)
