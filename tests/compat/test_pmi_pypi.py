"""MPI without mpirun, with MPICH 5.0.2 and Intel MPI 2021.18 from PyPI, and mpi4py."""
import os
import re
import subprocess

import harness

PMI = ["--framework", "mpi", "--mpi-launch", "pmi"]
SCRIPT = os.path.join(harness.SUPPORT, "mpi_rank.py")


class Ranks:
    """What is expected of every implementation."""

    def setUp(self):
        super().setUp()
        setup = subprocess.run(["sh", os.path.join(os.path.dirname(os.path.abspath(__file__)), "setup_mpi.sh"), self.name],
                               stdout=subprocess.PIPE, text=True)
        if setup.returncode != 0:
            self.skip_because("registry", "no %s from the package registry" % self.name)
        self.folder = setup.stdout.strip()

    def run_ranks(self, verb, *words):
        env = {"MPI4PY_LIBMPI": os.path.join(self.folder, "lib", "libmpi.so.12"), "PYTHONDONTWRITEBYTECODE": "1"}
        return self.run_muster(*verb, *PMI, "--", os.path.join(self.folder, "bin", "python"), SCRIPT, *words, env=env)

    def expect_world(self, finished, size):
        self.expect_code(finished, 0)
        said = re.findall(r"rank (\d+) of (\d+): sum (\d+), from (\d+)$", finished.out, re.MULTILINE)
        self.assertEqual(sorted(tuple(int(n) for n in found) for found in said),
                         [(rank, size, size * (size - 1) // 2, (rank - 1) % size) for rank in range(size)], finished)
        self.assertRegex(finished.out, self.version)

    def test_one_node(self):
        for ranks in (1, 2, 4):
            with self.subTest(ranks=ranks):
                self.expect_world(self.run_ranks(["run", "--nproc-per-node", ranks]), ranks)

    def test_several_nodes(self):
        for nodes in (2, 4):
            with self.subTest(nodes=nodes):
                self.expect_world(self.run_ranks(["local", "--nodes", nodes, "--nproc-per-node", 2]), 2 * nodes)

    def test_every_end_has_its_code_and_its_line(self):
        for how, code, line in (("exit3", 3, "exit code 3"), ("exit0", 1, "exit code 0 without MPI_Finalize"),
                                ("kill", 137, "SIGKILL"), ("abort7", 7, "MPI_Abort with code 7")):
            for verb in (["run", "--nproc-per-node", 2], ["local", "--nodes", 2, "--nproc-per-node", 1]):
                with self.subTest(how=how, verb=verb[0]):
                    finished = self.expect_code(self.run_ranks(verb, how, 1), code)
                    self.assertRegex(finished.err, "muster: rank 1 on .* failed first: " + line)


class Mpich(Ranks, harness.MusterTest):
    name = "mpich"
    version = r"MPICH Version:\s+5\.0\.2"


class Intel(Ranks, harness.MusterTest):
    name = "intel"
    version = r"Intel\(R\) MPI Library 2021\.18"
