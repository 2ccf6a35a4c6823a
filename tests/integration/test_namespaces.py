"""Jobs of many nodes over a real network stack: what may happen to hosts (support/namespace_cases.py) with Debian's PyTorch, on as few
hosts as show it. tests/compat does the same with the current one, on more."""
import json
import os
import re
import signal
import subprocess
import time

import namespace_cases
from harness import EXAMPLES, torch_python, wait_until
from namespace_hosts import DNS, ELASTIC, ENDPOINT, NET, WORKER, NamespaceTest


class Light:
    def light_worker(self):
        return [self.sh(WORKER)]


class LossTest(Light, namespace_cases.Loss, NamespaceTest):
    numbers = (1, 2, 3)


class FrozenTest(Light, namespace_cases.Frozen, NamespaceTest):
    numbers = (1, 2, 3)


class LeaderTest(Light, namespace_cases.Leader, NamespaceTest):
    numbers = (1, 2, 3, 4)


class ChangeTest(Light, namespace_cases.Change, NamespaceTest):
    numbers = (1, 2, 3)


class DnsTest(Light, namespace_cases.Dns, NamespaceTest):
    numbers = (1, 2)


class ServiceTest(Light, NamespaceTest):
    """A headless service, `dns:NAME`: who it has changes while agents look."""

    def start_dns(self):
        self.set_addresses()
        self.DNS_ARGUMENTS = ("0", "@" + self.path("zone"))
        super().start_dns()

    def set_addresses(self, *numbers):
        """Of these hosts; none = the name is not there. Always a whole file."""
        self.write("zone.new", "".join("workers.jobs.cluster=%s%d\n" % (NET, number) for number in numbers))
        os.rename(self.path("zone.new"), self.path("zone"))

    def start_members(self, *numbers, lease="3s", nodes="2"):
        self.add_hosts(numbers)
        for number in numbers:
            self.start_agent(number, "--nnodes", nodes, "--rdzv-endpoint", "dns:workers.jobs.cluster", "--lease", lease, *ELASTIC,
                             *self.light_worker())

    def test_a_service_whose_pods_come_one_after_the_other(self):
        self.start_members(1, 2)
        for number in (1, 2):
            self.log_of(number, r"discovery\.waiting .*workers\.jobs\.cluster.*NXDOMAIN")
        self.set_addresses(2)
        self.log_of(1, r"discovery\.waiting .*too few addresses")
        self.set_addresses(1, 2)  # of which each node is told the other one first
        self.wait_for_round(0, 1, 2)
        self.assertEqual([host for _, _, _, host in self.places(0)], ["host-1", "host-2"])
        self.end_job(1, 2)

    def test_addresses_of_pods_that_are_gone_are_given_up(self):
        """At first the service has those of another job; later the leader is replaced by a pod with another address."""
        self.set_addresses(8, 9)
        self.start_members(1, 2, lease="30s")
        for number in (1, 2):
            self.log_of(number, r"discovery\.changed candidates=%s8:29400,%s9:29400" % (re.escape(NET), re.escape(NET)))
        self.set_addresses(1, 2)
        self.wait_for_round(0, 1, 2)
        self.agents[1].signal(signal.SIGKILL)
        self.agents[1].finish()
        self.set_addresses(3, 2)
        self.start_members(3, lease="30s")
        self.wait_for_round(1, 2, 3)
        self.assertEqual([host for _, _, _, host in self.places(1)], ["host-3", "host-2"])
        self.end_job(2, 3)

    def test_pods_with_lower_addresses_join_the_job_that_runs(self):
        """All three that may lead by the service's new addresses are new."""
        self.set_addresses(5, 6)
        self.start_members(5, 6, nodes="2:5")
        self.wait_for_round(0, 5, 6)
        self.set_addresses(1, 2, 3, 5, 6)
        self.start_members(1, 2, 3, nodes="2:5")
        last = wait_until(lambda: next((k for k in (1, 2, 3) if len(self.places(k)) == 5), None), "a round of five", 90)
        self.wait_for_round(last, 1, 2, 3, 5, 6)
        self.end_job(1, 2, 3, 5, 6)


class OwnNameTest(Light, NamespaceTest):
    """Where a pod's name is not known to itself, as that of one which is not ready yet."""
    # Says where node rank 0 is, and whether its store answers there.
    SEES = ('/usr/bin/python3 -c \'import os, socket\n'
            'with socket.create_connection((os.environ["MASTER_ADDR"], int(os.environ["MASTER_PORT"])), 10) as store:\n'
            '    store.sendall(b"\\x00\\xce\\xf7\\x85\\x3c" + b"\\x0d" + (1234).to_bytes(4, "little"))  # VALIDATE, PING\n'
            '    print(os.environ["MASTER_ADDR"], store.recv(4) == (1234).to_bytes(4, "little"), os.environ["GLOO_SOCKET_IFNAME"])\n'
            '\' >>"$OUT/masters.$RANK"\n')

    def start_nameless(self, endpoint, own="", link="up"):
        """Two nodes; neither finds the name of its own host, but for what `own` says of it."""
        for number in (1, 2):
            self.hosts = self.write("hosts.%d" % number, "127.0.0.1 localhost\n")
            self.add_host(number)
            other = 3 - number
            self.write("hosts.%d" % number, "127.0.0.1 localhost\n%s%d host-%d\n" % (NET, other, other)
                       + (own and "%s host-%d\n" % (own, number)))
            self.set_link(number, link)
        for number in (1, 2):
            self.start_agent(number, "--nnodes", "2", "--rdzv-endpoint", endpoint, *ELASTIC, self.sh(self.SEES + WORKER))

    def set_link(self, number, state):
        subprocess.run(["nsenter", "-t", str(self.holders[number]), "-n", "ip", "link", "set", "eth0", state], check=True)

    def expect_round(self):
        """Each node knows under which address the others reach it."""
        self.wait_for_round(0, 1, 2)
        for rank in (0, 1):
            self.assertEqual(self.read("masters.%d" % rank), NET + "1 True eth0\n")
        asked = subprocess.run(["nsenter", "-t", str(self.holders[2]), "-n", "-u", "-m", "--"] + self.command(["status", "--json", NET + "2"]),
                               check=True, capture_output=True)
        nodes = json.loads(asked.stdout)["nodes"]
        self.assertEqual([(node["name"], node["host"]) for node in nodes], [("host-1", NET + "1"), ("host-2", NET + "2")])
        self.end_job(1, 2)

    def test_nodes_that_are_listed_by_their_names(self):
        self.start_nameless("host-1,host-2")
        self.expect_round()
        self.assertIn("NXDOMAIN host-1", self.dns.out.text())  # it asked for its own

    def test_nodes_that_are_listed_by_their_addresses(self):
        self.start_nameless("%s1,%s2" % (NET, NET))
        self.expect_round()

    def test_names_that_mean_loopback_to_themselves(self):
        """As Debian's installer writes them."""
        self.start_nameless("host-1,host-2", own="127.0.1.1")
        self.expect_round()

    def test_a_network_that_comes_after_the_leader(self):
        self.start_nameless("host-1,host-2", own="127.0.1.1", link="down")
        self.log_of(1, "leader.take_over")
        for number in (1, 2):
            self.set_link(number, "up")
        self.expect_round()


class StrangerTest(Light, namespace_cases.Strangers, NamespaceTest):
    numbers = (1, 2, 3)


class LeakTest(Light, namespace_cases.Leaks, NamespaceTest):
    numbers = (1, 2)

    def restarting_worker(self):
        return [self.sh(self.WORKER)]


class ClockTest(Light, NamespaceTest):
    def test_clocks_an_hour_apart(self):
        """The monotonic ones; no message holds a time of day (tests/unit/elastic: records travel with their age)."""
        if subprocess.run(["unshare", "--time", "--fork", "--monotonic", "3600", "true"], capture_output=True).returncode != 0:
            self.skip_because("time namespaces")
        self.add_hosts((1, 2, 3))
        for number in (1, 2, 3):
            self.start_agent(number, "--nnodes", "2:3", "--rdzv-endpoint", ENDPOINT, *ELASTIC, *self.light_worker(),
                             clock_offset_s=3600 if number == 1 else 0)
        self.wait_for_round(0, 1, 2, 3)
        time.sleep(3.5)  # nothing happens; a silent node is a suspect after 3 s
        self.assertNotIn("node.suspect", self.agents[1].err.text())
        self.agents[1].signal(signal.SIGKILL)
        self.wait_for_round(1, 2, 3)
        self.end_job(2, 3)


class FirstRoundTest(Light, NamespaceTest):
    def test_a_job_that_began_small_is_not_begun_again_where_it_cannot_be_seen(self):
        """All others refused when the first node began alone. They cannot know that, once it is cut off."""
        self.add_hosts((1, 2, 3))
        self.start_job([1], "1:3", "--lease", "3s", worker=self.light_worker())
        self.wait_for_round(0, 1)
        self.cut(1)
        self.start_job([2, 3], "1:3", "--lease", "3s", worker=self.light_worker())
        waits = "quorum.missing .*2 of at most 3 nodes are here; an endpoint that is silent may lead the others, of whom 1 is enough"
        said = lambda pattern: re.search(pattern, self.agents[2].err.text() + self.agents[3].err.text())
        wait_until(lambda: said(waits), "who may not begin", timeout_s=40)
        wait_until(lambda: said("leader.end .*no quorum for a lease: 2 of at most 3"), "who could not for a lease", timeout_s=40)
        self.wait_for_round(0, 1)
        self.join(1)
        last = wait_until(lambda: next((k for k in (1, 2) if len(self.places(k)) == 3), None), "a round of three", 60)
        self.wait_for_round(last, 1, 2, 3)
        self.end_job(1, 2, 3)


class UnreachableTest(NamespaceTest):
    """Endpoints that are addresses, but of nobody whom a packet can reach. Nothing comes back, so that only time tells."""

    def expect_end(self, endpoint, problem, route=None):
        self.add_host(1)
        if route:
            subprocess.run(["nsenter", "-t", str(self.holders[1]), "-n", "ip", "route", "add"] + route.split(), check=True, capture_output=True)
        agent = self.start_agent(1, "--nnodes", "2", "--rdzv-endpoint", endpoint, "--rdzv-conf", "join_timeout=8", self.sh("exit 0"))
        finished = self.expect_code(agent.finish(), 69)
        self.assertRegex(finished.last_error_line, r"muster: no leader within 8 s: %s:\d+ \(.*%s" % (re.escape(endpoint), problem))
        self.assertRegex(finished.err, r"discovery\.waiting state=.waiting for 1 of 1: %s \(" % re.escape(endpoint))

    def test_an_endpoint_behind_a_router_that_drops_all(self):
        self.expect_end("10.99.0.1", "no answer|timed out", "10.99.0.0/16 via %s" % DNS)

    def test_an_endpoint_to_which_no_route_leads(self):
        self.expect_end("10.98.0.1", "Network is unreachable")

    def test_an_endpoint_that_is_no_host_of_this_network(self):
        self.expect_end(NET + "200", "No route to host|no answer|timed out")


class TorchTest(NamespaceTest):
    def test_training_goes_on_without_a_killed_node(self):
        python = torch_python()
        if python is None:
            self.skip_because("pytorch")
        self.add_hosts((1, 2))
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
