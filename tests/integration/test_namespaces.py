"""Jobs of many nodes over a real network stack: each host is a network namespace behind one bridge, with a host
name, an address and an /etc/hosts of its own. Hosts are killed, paused, cut off, replaced and misled.

A namespace lives as long as the process that holds it, and those are children of the test: nothing is left on the
machine, however a test ends."""
import contextlib
import os
import signal
import subprocess
import time

from harness import EXAMPLES, SUPPORT, MusterTest, children_of, torch_python, wait_until

NET = "10.77.0."
DNS = NET + "254"
ELASTIC = ("--replace-wait", "0s", "--scale-up-interval", "0s", "--scale-up-quiet", "0s",
           "--rdzv-conf", "last_call_timeout=2,join_timeout=60")
# Says where it runs, then works until the test has seen enough; for what does not touch running workers. The others are PyTorch's.
WORKER = ('echo "$RANK $GROUP_RANK $WORLD_SIZE $(hostname)" >>"$OUT/places.$TORCHELASTIC_RESTART_COUNT"\n'
          'while [ ! -e "$OUT/end" ]; do sleep 0.1; done')


class NamespaceTest(MusterTest):
    DNS_ARGUMENTS = ("0",)  # of support/dns_server.py: every name that is not in /etc/hosts is NXDOMAIN

    def setUp(self):
        super().setUp()
        probe = ["unshare", "--net", "--uts", "--mount", "ip", "link", "add", "b0", "type", "bridge"]
        if os.geteuid() != 0 or subprocess.run(probe, capture_output=True).returncode != 0:
            self.skip_because("namespaces", "network namespaces need root")
        self.hosts = self.write("hosts.etc", "127.0.0.1 localhost\n")
        self.resolv = self.write("resolv.etc", "nameserver %s\noptions timeout:1\n" % DNS)
        self.holders = {}
        self.hub = self.hold("hub", "ip link add b0 type bridge; ip addr add %s/24 dev b0; ip link set b0 up" % DNS)
        self.dns = self.start_command(["nsenter", "-t", str(self.hub), "-n", "python3", os.path.join(SUPPORT, "dns_server.py"), DNS]
                                      + list(self.DNS_ARGUMENTS))
        self.dns.wait_for("listening")
        self.agents = {}

    # -- hosts

    def hold(self, name, commands):
        """A process in namespaces of its own, in which `commands` have been run; its pid."""
        script = ("hostname %s; mount --bind %s /etc/hosts; mount --bind %s /etc/resolv.conf; ip link set lo up; %s; "
                  "echo ready; exec sleep 1000") % (name, self.hosts, self.resolv, commands)
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

    def training(self):
        """The words of a worker that reduces with the others of its round, over gloo, until the test has seen enough."""
        python = torch_python()
        if python is None:
            self.skip_because("pytorch")
        return ["--no-python", python, "-u", os.path.join(SUPPORT, "elastic_gloo.py")]

    def start_job(self, numbers, nodes, *flags, worker=None, endpoint="host-1,host-2,host-3"):
        """`worker`: a shell script; None = training()."""
        for number in numbers:
            if number not in self.holders:
                self.add_host(number)
        self.program = [self.sh(worker)] if worker else self.training()
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

    def log_of(self, number, pattern, timeout_s=40):
        return self.agents[number].wait_for(pattern, "err", timeout_s)

    def pause(self, number):
        """The whole node stands still."""
        tree = [self.agents[number].agent_pid()]
        for pid in tree:
            os.kill(pid, signal.SIGSTOP)
            tree += children_of(pid)
        return tree


class LossTest(NamespaceTest):
    def test_a_killed_node_is_noticed_at_once(self):
        self.start_job([1, 2, 3, 4], "2:4")
        self.wait_for_round(0, 1, 2, 3, 4)
        killed = time.monotonic()
        self.agents[4].signal(signal.SIGKILL)
        self.log_of(1, "node.lost .*host-4")
        self.assertLess(time.monotonic() - killed, 20, self.agents[1].err.text()[-3000:])  # the lease is 30 s
        self.wait_for_round(1, 1, 2, 3)
        self.assertEqual([node for _, node, _, _ in self.places(1)], [0, 1, 2])
        self.end_job(1, 2, 3)

    def test_a_pause_of_8_s_is_sat_out(self):
        self.start_job([1, 2, 3], "2:4")
        self.wait_for_round(0, 1, 2, 3)
        tree = self.pause(3)
        self.log_of(1, "node.suspect .*host-3")
        time.sleep(5)  # the rest of the 8 s
        for pid in tree:
            with contextlib.suppress(ProcessLookupError):  # it had ended as the pause began; its parent reaps it now
                os.kill(pid, signal.SIGCONT)
        self.log_of(1, "node.back .*host-3")
        self.end_job(1, 2, 3)
        self.assertFalse(self.exists("places.1"))

    def test_a_cut_of_10_s_is_sat_out(self):
        self.start_job([1, 2, 3], "2:4")
        self.wait_for_round(0, 1, 2, 3)
        self.cut(3)
        self.log_of(1, "node.suspect .*host-3")
        time.sleep(7)  # the rest of the 10 s
        self.join(3)
        self.log_of(1, "node.back .*host-3")
        self.end_job(1, 2, 3)
        self.assertFalse(self.exists("places.1"))

    def test_a_short_lease_acts_on_a_cut_and_takes_the_node_back(self):
        self.start_job([1, 2, 3, 4], "2:4", "--lease", "3s")
        self.wait_for_round(0, 1, 2, 3, 4)
        self.cut(4)
        self.log_of(4, "member.fenced")
        self.wait_for_round(1, 1, 2, 3)
        self.join(4)
        self.wait_for_round(2, 1, 2, 3, 4)
        self.assertEqual([node for _, node, _, host in self.places(2) if host == "host-4"], [3])
        self.end_job(1, 2, 3, 4)


class LeaderTest(NamespaceTest):
    def test_the_leaders_host_is_cut_off(self):
        self.start_job([1, 2, 3, 4], "2:4", "--lease", "3s")
        self.wait_for_round(0, 1, 2, 3, 4)
        self.cut(1)
        self.log_of(1, "member.fenced")
        self.log_of(2, "leader.take_over")
        self.wait_for_round(1, 2, 3, 4)
        self.end_job(2, 3, 4)
        self.agents[1].signal(signal.SIGKILL)

    def test_the_leader_is_killed_twice_in_a_row(self):
        self.start_job([1, 2, 3, 4], "2:4")
        self.wait_for_round(0, 1, 2, 3, 4)
        self.agents[1].signal(signal.SIGKILL)
        self.wait_for_round(1, 2, 3, 4)
        self.agents[2].signal(signal.SIGKILL)
        self.log_of(3, "leader.take_over")
        self.wait_for_round(2, 3, 4)
        self.end_job(3, 4)


class ChangeTest(NamespaceTest):
    def test_two_nodes_grow_to_four_and_shrink_to_three(self):
        self.start_job([1, 2], "2:4")
        self.wait_for_round(0, 1, 2)
        for number in (3, 4):
            self.add_host(number)
        for number in (3, 4):
            self.start_agent(number, "--nnodes", "2:4", "--rdzv-endpoint", "host-1,host-2,host-3", *ELASTIC, *self.program)
        # One may come before the other.
        last = wait_until(lambda: next((k for k in (1, 2, 3) if len(self.places(k)) == 4), None), "a round of four", 90)
        self.wait_for_round(last, 1, 2, 3, 4)
        self.agents[2].signal(signal.SIGTERM)
        self.expect_code(self.agents[2].finish(), 143)
        self.wait_for_round(last + 1, 1, 3, 4)
        self.end_job(1, 3, 4)

    def test_a_replacement_with_the_same_name_and_another_address_takes_the_rank(self):
        self.start_job([1, 2, 3], "3", "--replace-wait", "30s", endpoint="host-1,host-2")
        self.wait_for_round(0, 1, 2, 3)
        self.agents[2].signal(signal.SIGKILL)
        self.log_of(1, "node.lost .*host-2")
        self.add_host(12, name="host-2")
        self.start_agent(12, "--nnodes", "3", "--rdzv-endpoint", "host-1,host-2", *ELASTIC, *self.program)
        self.wait_for_round(1, 1, 2, 3)
        self.assertEqual([host for _, _, _, host in self.places(1)], ["host-1", "host-2", "host-3"])
        time.sleep(3)  # the next heartbeats tell every node that the round runs on all of them
        # The address is looked up at each dial: the replacement leads when the first one goes.
        self.agents[1].signal(signal.SIGKILL)
        self.log_of(12, "leader.take_over")
        self.add_host(11, name="host-1")
        self.start_agent(11, "--nnodes", "3", "--rdzv-endpoint", "host-1,host-2", *ELASTIC, *self.program)
        self.wait_for_round(2, 1, 2, 3)
        self.end_job(11, 12, 3)


class ClockTest(NamespaceTest):
    def test_clocks_an_hour_apart(self):
        """The monotonic ones; no message holds a time of day (tests/unit/elastic: records travel with their age)."""
        if subprocess.run(["unshare", "--time", "--fork", "--monotonic", "3600", "true"], capture_output=True).returncode != 0:
            self.skip_because("namespaces", "no time namespaces here")
        for number in (1, 2, 3):
            self.add_host(number)
        script = self.sh(WORKER)
        for number in (1, 2, 3):
            self.start_agent(number, "--nnodes", "2:3", "--rdzv-endpoint", "host-1,host-2,host-3", *ELASTIC, script,
                             clock_offset_s=3600 if number == 1 else 0)
        self.wait_for_round(0, 1, 2, 3)
        time.sleep(4)  # longer than until a silent node is a suspect
        self.assertNotIn("node.suspect", self.agents[1].err.text())
        self.agents[1].signal(signal.SIGKILL)
        self.wait_for_round(1, 2, 3)
        self.end_job(2, 3)


class DnsTest(NamespaceTest):
    # Known from 5 s after the first question, in a search domain.
    DNS_ARGUMENTS = ("5", "worker-0.jobs.cluster=%s1" % NET, "worker-1.jobs.cluster=%s2" % NET)

    def test_names_that_dns_does_not_know_for_5_s(self):
        with open(self.resolv, "a") as file:
            file.write("search jobs.cluster\n")
        self.start_job([1, 2], "2", endpoint="worker-[0-1]", worker=WORKER)
        self.log_of(1, r"discovery.waiting state=.waiting for . of 2: .*worker-. \(NXDOMAIN\)")
        self.wait_for_round(0, 1, 2)
        self.end_job(1, 2)
        self.assertIn("NXDOMAIN worker-0.jobs.cluster", self.dns.out.text())
        self.assertIn("answered worker-0.jobs.cluster", self.dns.out.text())


class StrangerTest(NamespaceTest):
    def test_a_wrong_secret_does_not_get_in(self):
        for number in (1, 2, 3):
            self.add_host(number)
        flags = ("--nnodes", "2", "--rdzv-endpoint", "host-1", *ELASTIC, self.sh(WORKER))
        right = {"MUSTER_JOB_SECRET_FILE": self.write("right", "0123456789abcdef0123456789abcdef\n")}
        wrong = {"MUSTER_JOB_SECRET_FILE": self.write("wrong", "fedcba9876543210fedcba9876543210\n")}
        self.start_agent(1, *flags, env=right)
        self.log_of(1, "round.waiting")
        self.start_agent(3, *[flag.replace("join_timeout=60", "join_timeout=5") for flag in flags], env=wrong)
        refused = self.expect_code(self.agents[3].finish(), 78)
        self.assertIn("secret", refused.last_error_line)
        self.log_of(1, "link.dropped peer=%s3:.*secret" % NET)
        self.start_agent(2, *flags, env=right)
        self.wait_for_round(0, 1, 2)
        self.end_job(1, 2)

    def test_two_jobs_that_cross_on_one_endpoint(self):
        for number in (1, 2, 3, 4):
            self.add_host(number)
        flags = ("--nnodes", "2", "--rdzv-endpoint", "host-1", *ELASTIC)
        script = self.sh(WORKER)
        self.start_agent(1, "--rdzv-id", "one", *flags, script)
        self.log_of(1, "round.waiting")
        for number in (3, 4):
            self.start_agent(number, "--rdzv-id", "two", *flags, script)
        for number in (3, 4):
            finished = self.expect_code(self.agents[number].finish(), 78)
            self.assertRegex(finished.last_error_line, "has the run id 'two', the job at this endpoint 'one'")
        self.start_agent(2, "--rdzv-id", "one", *flags, script)
        self.wait_for_round(0, 1, 2)
        self.end_job(1, 2)


class LeakTest(NamespaceTest):
    # Fails 20 times, each time otherwise: the same failure again and again would be a crash loop.
    WORKER = ('echo "$RANK" >>"$OUT/started.$TORCHELASTIC_RESTART_COUNT"\n'
              'while [ "$(wc -l <"$OUT/started.$TORCHELASTIC_RESTART_COUNT")" -lt 2 ]; do sleep 0.02; done\n'
              'case "$TORCHELASTIC_RESTART_COUNT" in\n'
              '3|20) touch "$OUT/pause.$TORCHELASTIC_RESTART_COUNT"\n'
              '  while [ ! -e "$OUT/measured.$TORCHELASTIC_RESTART_COUNT" ]; do sleep 0.05; done;;\n'
              "esac\n"
              'sleep 1000 & [ "$TORCHELASTIC_RESTART_COUNT" = 20 ] && exit 0\n'
              '[ "$RANK" = 1 ] && exit $((10 + TORCHELASTIC_RESTART_COUNT))\nsleep 1000')

    def measure(self, attempt):
        wait_until(lambda: self.exists("pause.%d" % attempt), "attempt %d" % attempt)
        found = {}
        for number, agent in self.agents.items():
            pid = agent.agent_pid()
            with open("/proc/%d/status" % pid) as file:
                memory = int(next(line for line in file if line.startswith("VmRSS")).split()[1])
            found[number] = (len(os.listdir("/proc/%d/fd" % pid)), memory)
        processes = len(self.marked())
        self.write("measured.%d" % attempt, "")
        return found, processes

    def test_20_restarts_in_a_row_leave_nothing(self):
        self.start_job([1, 2], "2", "--max-restarts", "20", worker=self.WORKER, endpoint="host-1")
        early, processes_early = self.measure(3)
        late, processes_late = self.measure(20)
        for number in self.agents:
            self.expect_code(self.agents[number].finish(), 0)
            self.assertLessEqual(late[number][0], early[number][0] + 2, "descriptors: %s, then %s" % (early, late))
            self.assertLess(late[number][1], early[number][1] + 2048, "memory in KiB: %s, then %s" % (early, late))
        # A shell more or less that sleeps between two looks.
        self.assertLessEqual(processes_late, processes_early + 4)


class TorchTest(NamespaceTest):
    def test_training_goes_on_without_a_killed_node(self):
        python = torch_python()
        if python is None:
            self.skip_because("pytorch")
        for number in (1, 2):
            self.add_host(number)
        checkpoint = self.path("model.pt")
        train = [os.path.join(EXAMPLES, "pytorch", "train.py"), "--epochs", "40", "--checkpoint", checkpoint]
        for number in (1, 2):
            self.start_agent(number, "--nnodes", "1:2", "--rdzv-endpoint", "host-1,host-2", *ELASTIC, *train,
                             env={"PYTHON_EXEC": python})
        self.agents[1].wait_for("epoch 3 accuracy", timeout_s=90)
        self.agents[2].signal(signal.SIGKILL)
        finished = self.expect_code(self.agents[1].finish(timeout_s=120), 0)
        self.expect_lines(["resumed after epoch", "final accuracy 0.9"], finished.out)


if __name__ == "__main__":
    import unittest
    unittest.main()
