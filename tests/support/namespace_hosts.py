"""Hosts for tests: each is a network namespace behind one bridge, with a host name, an address and an /etc/hosts of its own.
What happens to them is in namespace_cases.py.

A namespace lives as long as the process that holds it, and those are children of the test: nothing is left on the
machine, however a test ends."""
import contextlib
import datetime
import os
import re
import signal
import subprocess
import time

from harness import SUPPORT, MusterTest, children_of, torch_python, wait_until

NET = "10.77.0."
DNS = NET + "254"
ELASTIC = ("--replace-wait", "0s", "--scale-up-interval", "0s", "--scale-up-quiet", "0s",
           "--rdzv-conf", "last_call_timeout=2,join_timeout=60")
ENDPOINT = "host-1,host-2,host-3"
# Says where it runs, then works until the test has seen enough; for what does not touch running workers.
WORKER = ('echo "$RANK $GROUP_RANK $WORLD_SIZE $(hostname)" >>"$OUT/places.$TORCHELASTIC_RESTART_COUNT"\n'
          'while [ ! -e "$OUT/end" ]; do sleep 0.1; done')


class NamespaceTest(MusterTest):
    DNS_ARGUMENTS = ("0",)  # of dns_server.py: every name that is not in /etc/hosts is NXDOMAIN
    first_mounts = "true"   # shell commands, in every namespace before anything else
    NEEDED = "pytorch"      # why training() is skipped without python()

    def setUp(self):
        super().setUp()
        probe = ["unshare", "--net", "--uts", "--mount", "ip", "link", "add", "b0", "type", "bridge"]
        if os.geteuid() != 0 or subprocess.run(probe, capture_output=True).returncode != 0:
            self.skip_because("namespaces", "network namespaces need root")
        self.hosts = self.write("hosts.etc", "127.0.0.1 localhost\n")
        self.resolv = self.write("resolv.etc", "nameserver %s\noptions timeout:1\n" % DNS)
        self.holders = {}
        # Without an address of its own the bridge would change to another one when a host is cut off: DNS would be lost for seconds.
        self.hub = self.hold("hub", "ip link add b0 address 02:00:00:00:00:01 type bridge; ip addr add %s/24 dev b0; ip link set b0 up" % DNS)
        self.start_dns()
        self.agents = {}

    def start_dns(self):
        self.dns = self.start_command(["nsenter", "-t", str(self.hub), "-n", "python3", os.path.join(SUPPORT, "dns_server.py"), DNS]
                                      + list(self.DNS_ARGUMENTS))
        self.dns.wait_for("listening")

    # -- hosts

    def hold(self, name, commands):
        """A process in namespaces of its own, in which `commands` have been run; its pid."""
        script = ("%s; hostname %s; mount --bind %s /etc/hosts; mount --bind %s /etc/resolv.conf; ip link set lo up; %s; "
                  "echo ready; exec sleep 1000") % (self.first_mounts, name, self.hosts, self.resolv, commands)
        holder = self.start_command(["unshare", "--net", "--uts", "--mount", "sh", "-ec", script])
        holder.wait_for("ready")
        return holder.pid

    def in_hub(self, *words):
        subprocess.run(["nsenter", "-t", str(self.hub), "-n"] + list(words), check=True, capture_output=True)

    def add_host(self, number, address=None, name=None):
        """Host k is called host-k and has 10.77.0.k, unless told otherwise."""
        name = name or "host-%d" % number
        pid = self.hold(name, "true")
        self.in_hub("ip", "link", "add", "v%d" % number, "type", "veth", "peer", "name", "eth0", "netns", str(pid))
        self.in_hub("ip", "link", "set", "v%d" % number, "master", "b0", "up")
        subprocess.run(["nsenter", "-t", str(pid), "-n", "sh", "-ec", "ip addr add %s%d/24 dev eth0; ip link set eth0 up"
                        % (NET, address or number)], check=True)
        self.holders[number] = pid
        self.name_host(name, address or number)

    def name_host(self, name, address):
        """In place, because it is mounted: all hosts see it."""
        lines = [line for line in self.read("hosts.etc").splitlines() if not line.endswith(" " + name)]
        with open(self.hosts, "w") as file:
            file.write("\n".join(lines + ["%s%d %s" % (NET, address, name)]) + "\n")

    def cut(self, number):
        """The cable: nothing passes, and neither end is told."""
        self.in_hub("ip", "link", "set", "v%d" % number, "nomaster")

    def join(self, number):
        self.in_hub("ip", "link", "set", "v%d" % number, "master", "b0")

    # -- agents

    def start_agent(self, number, *arguments, env=None, clock_offset_s=0):
        words = ["nsenter", "-t", str(self.holders[number]), "-n", "-u", "-m", "--"]
        if clock_offset_s:
            words += ["unshare", "--time", "--fork", "--kill-child", "--monotonic", str(clock_offset_s), "--boottime", str(clock_offset_s)]
        agent = self.start_command(words + self.command(("run",) + arguments), env=env)
        self.agents[number] = agent
        return agent

    def python(self):
        """One with PyTorch; None = there is none."""
        return torch_python()

    def training(self, script="elastic_gloo.py"):
        """The words of a worker that reduces with the others of its round, over gloo, until the test has seen enough."""
        python = self.python()
        if not python:
            self.skip_because(self.NEEDED)
        return ["--no-python", python, "-u", os.path.join(SUPPORT, script)]

    def add_hosts(self, numbers):
        for number in numbers:
            self.add_host(number)

    def start_job(self, numbers, nodes, *flags, worker=None, endpoint=ENDPOINT):
        """`worker`: its words; None = training()."""
        self.add_hosts(number for number in numbers if number not in self.holders)
        self.program = worker or self.training()
        for number in numbers:
            self.start_agent(number, "--nnodes", nodes, "--rdzv-endpoint", endpoint, *ELASTIC, *flags, *self.program)

    def places(self, attempt):
        """(rank, node rank, world size, host) of the workers of an attempt, by rank."""
        name = "places.%d" % attempt
        lines = [line.split() for line in self.read(name).splitlines()] if self.exists(name) else []
        return sorted((int(rank), int(node), int(world), host) for rank, node, world, host in lines)

    def wait_for_round(self, attempt, *numbers):
        """All of these hosts, and no other, run that attempt."""
        wanted = sorted("host-%d" % number for number in numbers)
        try:
            wait_until(lambda: len(self.places(attempt)) >= len(wanted), "attempt %d on %s" % (attempt, wanted), timeout_s=90)
        except AssertionError as error:
            raise AssertionError("%s\n%s" % (error, "\n".join(agent.err.text()[-3000:] for agent in self.agents.values())))
        self.assertEqual(sorted(host for _, _, _, host in self.places(attempt)), wanted)
        self.assertEqual({world for _, _, world, _ in self.places(attempt)}, {len(wanted)})

    def end_job(self, *numbers):
        self.write("end", "")
        for number in numbers:
            self.expect_code(self.agents[number].finish(), 0)

    def logged_at(self, number, pattern):
        """When that agent logged the first line that matches, on the clock of time.time(); all hosts are this machine."""
        line = re.search(r"^(?:\[[^]]*\] )?(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d+)Z . .*(?:%s)" % pattern, self.agents[number].err.text(), re.MULTILINE)
        self.assertTrue(line, pattern)
        return datetime.datetime.fromisoformat(line[1] + "+00:00").timestamp()

    def workers_of(self, number):
        """The processes of the job's program below that host's agent."""
        pids, programs = [self.agents[number].agent_pid()], self.marked()
        for pid in pids:
            pids += children_of(pid)
        return [pid for pid in pids if programs.get(pid, "").startswith(self.program[1])]

    def log_of(self, number, pattern, timeout_s=40):
        return self.agents[number].wait_for(pattern, "err", timeout_s)

    def pause(self, number):
        """The whole node stands still."""
        tree = [self.agents[number].agent_pid()]
        for pid in tree:
            os.kill(pid, signal.SIGSTOP)
            tree += children_of(pid)
        self.addCleanup(self.wake, tree)  # a guardian that stands still would outlive a test that fails meanwhile
        return tree

    def wake(self, tree):
        """What pause() returned; the workers before their agent."""
        for pid in reversed(tree):
            with contextlib.suppress(ProcessLookupError):  # it had ended as the pause began; its parent reaps it now
                os.kill(pid, signal.SIGCONT)
