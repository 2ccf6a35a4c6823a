"""MPI jobs over a real network stack: hosts with names of their own that nobody can resolve, and a job secret.

Open MPI alone runs MPI programs here: MPICH 4.0.2 of Debian 12 hangs in MPI_Finalize in most jobs of several hosts, whoever starts
it (UCX 1.13), so it runs a shell command."""
import os
import shutil
import subprocess
import tempfile
import time
import unittest

from harness import EXAMPLES, wait_until
from test_namespaces import NET, NamespaceTest


class HostsTest(NamespaceTest):
    def setUp(self):
        super().setUp()
        self.secret = self.write("secret", "correct horse battery staple")
        folder = tempfile.mkdtemp(prefix="muster-mpi-programs-")
        self.addCleanup(shutil.rmtree, folder, ignore_errors=True)
        self.ring = os.path.join(folder, "ring")
        subprocess.run(["mpicc.openmpi", "-o", self.ring, os.path.join(EXAMPLES, "mpi", "ring.c")], check=True)

    def name_host(self, name, address):
        """Nobody's name is known, not even the own."""

    def start_mpi(self, numbers, mpi, *words):
        for number in numbers:
            self.add_host(number)
        for number in numbers:
            self.start_agent(number, "--nnodes", len(numbers), "--framework", "mpi", "--mpi", mpi,
                             "--rdzv-endpoint", ",".join(NET + str(host) for host in numbers[:3]), *words,
                             env={"MUSTER_JOB_SECRET_FILE": self.secret})

    def test_open_mpi_on_four_hosts(self):
        self.start_mpi([1, 2, 3, 4], "openmpi", "--nproc-per-node", 2, "--", self.ring)
        finished = self.expect_code(self.agents[1].finish(), 0)
        self.assertIn("ring: 8 of 8 ranks", finished.out)
        self.assertIn('placement="8 ranks on 4 nodes: host-1:2, host-2:2, host-3:2, host-4:2"', finished.err)
        for number in (2, 3, 4):
            self.expect_code(self.agents[number].finish(), 0)

    def test_hydra_on_four_hosts(self):
        script = self.sh('echo "$PMI_RANK $(hostname)" >>"$OUT/ranks"')
        self.start_mpi([1, 2, 3, 4], "mpich", "--", script)
        for number in (1, 2, 3, 4):
            self.expect_code(self.agents[number].finish(), 0)
        self.assertEqual(sorted(self.read("ranks").splitlines()), ["0 host-1", "1 host-2", "2 host-3", "3 host-4"])

    def test_a_host_that_is_cut_off_ends_the_job(self):
        self.start_mpi([1, 2, 3], "openmpi", "--lease", "3s", "--replace-wait", "0s", "--rdzv-conf", "join_timeout=5",
                       "--", self.ring, "600")
        self.log_of(1, "mpi.ranks")
        self.agents[1].wait_for("ring: 3 of 3")
        self.cut(3)
        started = time.monotonic()
        finished = self.expect_code(self.agents[1].finish(), 69)
        self.assertLess(time.monotonic() - started, 30)
        self.assertRegex(finished.err, "node.lost reason=\"host-3 ")
        for number in (2, 3):
            self.assertNotEqual(self.agents[number].finish().code, 0)
        wait_until(lambda: not [line for line in self.marked().values() if self.ring in line or "orted" in line],
                   "no rank and no daemon is left", 10)


if __name__ == "__main__":
    unittest.main()
