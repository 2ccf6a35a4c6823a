"""The scripts of examples/nodes, as its README says. Those of examples/pytorch are in test_pytorch.py."""
import os
import re

import harness

NODES = os.path.join(harness.EXAMPLES, "nodes")


class NodesTest(harness.MusterTest):
    def run_script(self, name, *arguments):
        started = self.start_command([os.path.join(NODES, name), harness.BINARY] + [str(word) for word in arguments])
        finished = self.expect_code(started.finish(), 0)
        # An agent that is killed before its guardian began leaves the folder of its error files, empty.
        left = [name for name in os.listdir(self.temp) if not name.startswith("torchelastic_") or os.listdir(os.path.join(self.temp, name))]
        self.assertEqual(left, [])
        return finished

    def expect_all(self, finished, expectations):
        """A line for each pattern; rounds in their order, workers of one round in any."""
        with open(os.path.join(NODES, expectations)) as file:
            for pattern in file.read().splitlines():
                self.assertRegex(finished.out, "(?m)" + pattern)
        rounds = [int(changes) for changes in re.findall(r"(?m)after (\d+) changes$", finished.out)]
        self.assertEqual(rounds, sorted(rounds), finished)

    def test_hosts(self):
        self.expect_all(self.run_script("hosts.sh", harness.free_port()), "expected_hosts.txt")

    def test_etcd(self):
        self.expect_all(self.run_script("etcd.sh", harness.free_port(), harness.free_port()), "expected_etcd.txt")

    def test_static(self):
        self.expect_all(self.run_script("static.sh", harness.free_port()), "expected_static.txt")

    def test_secret(self):
        finished = self.run_script("secret.sh", harness.free_port())
        self.expect_all(finished, "expected_secret.txt")
        self.assertRegex(finished.err, r"(?m)^\[node-3\] muster: .*: job secret differs$")

    def test_preemption(self):
        finished = self.run_script("preemption.sh")
        self.expect_all(finished, "expected_preemption.txt")
        self.assertRegex(finished.last_error_line, "ended with 0 after .*; node 1: exit code 0, node 2: exit code 0, node 3: exit code 143$")

    def test_spares(self):
        self.expect_all(self.run_script("spares.sh"), "expected_spares.txt")

    def test_scaling(self):
        self.expect_all(self.run_script("scaling.sh"), "expected_scaling.txt")
