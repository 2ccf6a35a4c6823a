"""--health-check: a node that is not fit stays out of the rounds of its job, is named, and comes back; a spare takes its place."""
import subprocess

from harness import MusterTest, free_port
from namespace_hosts import NET, NamespaceTest

SMALL = "mount -t tmpfs -o size=1m none /dev/shm"
LARGE = "mount -t tmpfs -o size=4g none /dev/shm"


class LocalHealth(MusterTest):
    """The fault is a /dev/shm of 1 MiB, which is an error of the catalogue for two workers."""

    def setUp(self):
        super().setUp()
        probe = ["unshare", "--mount", "sh", "-c", SMALL]
        if subprocess.run(probe, capture_output=True).returncode != 0:
            self.skip_because("namespaces", "mounts need root")
        self.endpoint = "127.0.0.1:%d" % free_port()
        self.worker = self.sh('echo "$RANK of $WORLD_SIZE on $NODE"\n')

    def start_node(self, name, *flags, unfit=False, nodes="2"):
        words = self.command(("run", "--nnodes", nodes, "--nproc-per-node", "2", "--node-name", name, "--health-check", "local",
                              "--rdzv-endpoint", self.endpoint) + flags + ("--no-python", self.worker))
        return self.start_command(self.with_shared_memory(SMALL if unfit else LARGE, words), env={"NODE": name})

    def with_shared_memory(self, mount, words):
        return ["unshare", "--mount", "--", "sh", "-c", mount + '; exec "$@"', "sh"] + words

    def test_a_spare_takes_the_place_of_a_node_that_is_not_fit(self):
        flags = ("--spares", "1", "--health-cooldown", "1h")
        fit = self.start_node("a", *flags)
        fit.wait_for("job.start", "err")
        unfit = self.start_node("b", *flags, unfit=True)
        fit.wait_for("node.unfit .*b is not fit: shm_size: /dev/shm has 1 MiB for 2 workers.*; out for 60 min 0 s", "err")
        spare = self.start_node("c", *flags)
        nodes = [fit.finish(), spare.finish(), unfit.finish()]
        for node in nodes:
            self.expect_code(node, 0)
        self.assertEqual(sorted(nodes[1].out.splitlines()), ["[c:2] 2 of 4 on c", "[c:3] 3 of 4 on c"])
        self.assertNotIn("on b", nodes[2].out)
        self.expect_lines([r"W health.finding .*id=shm_size .*remedy=.mount an emptyDir"], nodes[2].err)

    def test_it_comes_back_when_it_is_fit_and_costs_no_restart(self):
        fit = self.start_node("a", "--health-cooldown", "1s")
        unfit = self.start_node("b", "--health-cooldown", "1s", unfit=True)
        unfit.wait_for("health.finding", "err")
        subprocess.run(["nsenter", "--target", str(unfit.agent_pid()), "--mount", "mount", "-o", "remount,size=4g", "/dev/shm"], check=True)
        first, second = fit.finish(), unfit.finish()
        self.expect_code(first, 0)
        self.expect_code(second, 0)
        self.expect_lines([r"\[b:3\] 3 of 4 on b"], second.out)

    def test_a_job_that_waits_for_it_in_vain_says_why(self):
        flags = ("--health-cooldown", "1h", "--rdzv-conf", "join_timeout=8")
        fit = self.start_node("a", *flags)
        fit.wait_for("job.start", "err")
        unfit = self.start_node("b", *flags, unfit=True)
        for node in (fit.finish(), unfit.finish()):
            self.expect_code(node, 69)
            self.assertRegex(node.last_error_line, "no round within 8 s: .*b is not fit, and out for .*shm_size")

    def test_one_node_is_left_to_whoever_may_start_it_elsewhere(self):
        words = self.command(("run", "--nproc-per-node", "2", "--health-check", "local", "--no-python", self.worker))
        ended = self.start_command(self.with_shared_memory(SMALL, words)).finish()
        self.expect_code(ended, 75)
        self.assertEqual(ended.out, "")
        self.assertRegex(ended.last_error_line, "^muster: this node is not fit: shm_size")

    def test_a_fit_node_runs_as_without(self):
        words = self.command(("run", "--nproc-per-node", "2", "--health-check", "pairs", "--no-python", self.worker))
        ended = self.start_command(self.with_shared_memory(LARGE, words)).finish()
        self.expect_code(ended, 0)
        self.assertNotIn("health.", ended.err)

    def test_wrong_values(self):
        for flags, says in ((("--health-check", "all"), "none of off, local, pairs"),
                            (("--health-cooldown", "0"), "must be from 1 s to 60 min 0 s"),
                            (("--health-cooldown", "2h"), "must be from 1 s to 60 min 0 s")):
            ended = self.run_muster("run", *flags, "--no-python", self.worker)
            self.expect_code(ended, 64)
            self.assertIn(says, ended.last_error_line)


class PairsHealth(NamespaceTest):
    """Hosts behind a bridge, of which one has a bad cable or bad routes."""
    WORKER = ["--no-python", "sh", "-c", 'echo "$RANK of $WORLD_SIZE"']

    def start_hosts(self, numbers, nodes, *flags):
        for number in numbers:
            self.start_agent(number, "--nnodes", nodes, "--rdzv-endpoint", "host-1", "--health-check", "pairs", *flags, *self.WORKER)

    def on_host(self, number, *words):
        subprocess.run(["nsenter", "-t", str(self.holders[number]), "-n"] + list(words), check=True, capture_output=True)

    def add_links(self, rates):
        """Hosts 1, 2, ... with links of so many Mbit/s. Without a limit they would be as fast as a busy machine lets them be just then."""
        for number, rate in enumerate(rates, 1):
            self.add_host(number)
            self.on_host(number, "tc", "qdisc", "add", "dev", "eth0", "root", "tbf", "rate", "%dmbit" % rate, "burst", "32kb",
                         "latency", "50ms")

    def lose_way(self, number, *others):
        for other in others:
            self.on_host(number, "ip", "route", "add", "blackhole", "%s%d" % (NET, other))

    def test_a_slow_host_is_named_and_a_spare_takes_its_place(self):
        self.add_links((200, 200, 10, 200))
        flags = ("--spares", "1", "--health-cooldown", "1h")
        self.start_hosts((1, 2, 3), "3", *flags)
        self.log_of(1, "node.unfit .*host-3.* is not fit: bw_pair: host-3")
        self.start_hosts((4,), "3", *flags)
        for number in (1, 2, 3, 4):
            self.expect_code(self.agents[number].finish(), 0)
        self.assertEqual(self.agents[3].out.text(), "")
        self.assertIn("of 3", self.agents[4].out.text())

    def test_a_host_that_reaches_only_the_first_is_named(self):
        self.add_links((200, 200, 200, 200))
        self.lose_way(3, 2, 4)
        self.start_hosts((1, 2, 3, 4), "4", "--health-cooldown", "1h", "--rdzv-conf", "join_timeout=8")
        self.log_of(1, "node.unfit .*host-3.* is not fit: firewall: host-3")
        for number in (1, 2, 3, 4):
            self.expect_code(self.agents[number].finish(), 69)
            self.assertEqual(self.agents[number].out.text(), "")

    def test_a_link_is_told_and_nobody_left_out(self):
        self.add_links((200, 200, 200, 200))
        self.lose_way(2, 3)
        self.start_hosts((1, 2, 3, 4), "4")
        for number in (1, 2, 3, 4):
            self.expect_code(self.agents[number].finish(), 0)
        self.assertRegex(self.agents[1].err.text(), "W health.finding .*id=firewall .*the link between host-2 and host-3")
