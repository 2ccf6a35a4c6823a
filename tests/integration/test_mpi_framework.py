"""`--framework mpi`: whole MPI jobs of C programs on nodes of this machine, with Debian's Open MPI 4.1 and MPICH 4.0, and what
becomes of them when something breaks. The tests are those of support/mpi_cases.py."""
import os
import shutil
import signal
import subprocess
import tempfile
import unittest

import mpi_cases
# The programs are those of examples/mpi and one that misbehaves as it is told.
from harness import BINARY, EXAMPLES, SUPPORT, MusterTest, free_port

PROGRAMS = {}  # (source, implementation) -> binary


def setUpModule():
    build_programs(PROGRAMS)


def build_programs(programs):
    """For a module's setUpModule."""
    folder = tempfile.mkdtemp(prefix="muster-mpi-programs-")
    unittest.addModuleCleanup(shutil.rmtree, folder, ignore_errors=True)
    os.chmod(folder, 0o755)
    for source in (os.path.join(EXAMPLES, "mpi", "ring.c"), os.path.join(SUPPORT, "mpi_faults.c")):
        for implementation in ("openmpi", "mpich"):
            name = os.path.basename(source)[:-2]
            binary = os.path.join(folder, "%s.%s" % (name, implementation))
            subprocess.run(["mpicc." + implementation, "-o", binary, source], check=True)
            programs[name, implementation] = binary


class OpenMpi:
    mpi, daemon, launcher = "openmpi", "orted", "/usr/bin/mpirun.openmpi"
    # It says so itself.
    exceptions = {"a_rank_leaves_without_finalize": {"cause": "MPI on node-1 failed first: mpirun.openmpi: exit code 1"}}


class Mpich:
    mpi, daemon, launcher = "mpich", "hydra_pmi_proxy", "/usr/bin/mpiexec.mpich"


class Compiled:
    def program(self, name):
        return [PROGRAMS[name, self.mpi]]


class OpenMpiJobs(Compiled, OpenMpi, mpi_cases.JobTests, MusterTest):
    pass


class MpichJobs(Compiled, Mpich, mpi_cases.JobTests, MusterTest):
    pass


@mpi_cases.with_faults
class OpenMpiFaults(Compiled, OpenMpi, mpi_cases.FaultTests, MusterTest):
    pass


@mpi_cases.with_faults
class MpichFaults(Compiled, Mpich, mpi_cases.FaultTests, MusterTest):
    pass


class LauncherTest(Compiled, OpenMpi, mpi_cases.MpiTest, MusterTest):
    """Launchers that lie, hang or are missing."""

    def fake(self, text):
        """A launcher that is none, in front of the real one on PATH."""
        os.mkdir(self.path("bin"))
        self.sh(text, name="bin/mpirun.openmpi")
        return {"PATH": self.path("bin") + ":/usr/bin:/bin"}

    def test_a_launcher_that_uses_no_node_and_says_0(self):
        finished = self.run_job("--", "true", env=self.fake("exit 0"))
        self.expect_end(finished, 205, r"MPI on node-1 failed first: mpirun.openmpi: it ended with 0, but 0 of 2 ranks were started, "
                                       r"none or too few on node-1, node-2")

    def test_a_launcher_that_uses_its_own_node_alone(self):
        run_one = 'while [ "$1" != -- ]; do shift; done; OMPI_COMM_WORLD_RANK=0 OMPI_COMM_WORLD_SIZE=2 exec %s rank "$@"' % BINARY
        finished = self.run_job("--", "true", env=self.fake(run_one))
        self.expect_end(finished, 205, r"MPI on node-1 failed first: mpirun.openmpi: .* 1 of 2 ranks .* on node-2")

    def test_a_launcher_that_hangs_after_all_its_ranks_ended(self):
        finished = self.run_job("--", *self.program("ring"), env=self.fake('/usr/bin/mpirun.openmpi "$@"; sleep 600'))
        self.expect_code(finished, 0)
        self.assertIn("mpi.launcher_hangs silent_s=5", finished.err)
        self.expect_nothing_left()

    def test_the_examples(self):
        for script in (["ring.sh", BINARY, "openmpi"], ["ring.sh", BINARY, "mpich"], ["allreduce.sh", BINARY]):
            finished = self.start_command([os.path.join(EXAMPLES, "mpi", script[0])] + script[1:]).finish()
            self.expect_code(finished, 0)
            with open(os.path.join(EXAMPLES, "mpi", "expected.txt")) as file:
                for pattern in file.read().splitlines():
                    self.assertRegex(finished.out, "(?m)" + pattern)

    def test_a_killed_agent_leaves_no_folder(self):
        # While it waits for others, and while it runs a job.
        waiting = self.start("run", "--framework", "mpi", "--nnodes", 2, "--rdzv-endpoint", "127.0.1.1:%d" % free_port(), "true")
        job = self.job(*self.faults("wait"))
        waiting.wait_for("round.waiting", "err")
        job.wait_for("rank=1 waits")
        self.assertEqual(len([name for name in os.listdir(self.temp) if name.startswith("muster-")]), 3)
        for process, command in self.marked().items():
            if "muster run " in command:
                os.kill(process, signal.SIGKILL)
        self.expect_nothing_left()

    def test_no_launcher(self):
        finished = self.run_job("--", "/bin/true", env={"PATH": self.dir})
        self.expect_end(finished, 127, r"MPI on node-1 failed first: could not be started: no launcher of Open MPI on PATH")

    def test_one_node_needs_no_framework(self):
        self.expect_code(self.run_muster("run", "mpirun.openmpi", "--allow-run-as-root", "-n", 1, "true"), 0)

    def test_other_machines_need_a_secret(self):
        finished = self.run_muster("run", "--framework", "mpi", "--nnodes", 2, "--rdzv-endpoint", "192.0.2.1", "true")
        self.expect_code(finished, 78)
        self.assertIn("needs a job secret", finished.last_error_line)


if __name__ == "__main__":
    unittest.main()
