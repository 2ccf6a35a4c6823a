"""`--framework mpi`: whole MPI jobs of C programs on nodes of this machine, with Debian's Open MPI 4.1 and MPICH 4.0, and what
becomes of them when something breaks. Each cell of the matrix has its exit code and the line that names the cause."""
import hashlib
import os
import shutil
import signal
import subprocess
import tempfile
import time
import unittest

# The programs are those of examples/mpi and one that misbehaves as it is told.
from harness import BINARY, EXAMPLES, SUPPORT, MusterTest, wait_until

PROGRAMS = {}  # (source, implementation) -> binary


def setUpModule():
    folder = tempfile.mkdtemp(prefix="muster-mpi-programs-")
    unittest.addModuleCleanup(shutil.rmtree, folder, ignore_errors=True)
    for source in (os.path.join(EXAMPLES, "mpi", "ring.c"), os.path.join(SUPPORT, "mpi_faults.c")):
        for implementation in ("openmpi", "mpich"):
            name = os.path.basename(source)[:-2]
            binary = os.path.join(folder, "%s.%s" % (name, implementation))
            subprocess.run(["mpicc." + implementation, "-o", binary, source], check=True)
            PROGRAMS[name, implementation] = binary


class MpiTest(MusterTest):
    """The tests of both implementations; they differ in how their daemons are called."""
    implementation = None
    daemon = None
    launcher = None

    def job(self, *words, nodes=2, **how):
        return self.start("local", "--nodes", nodes, "--framework", "mpi", "--mpi", self.implementation, *words, **how)

    def run_job(self, *words, **how):
        return self.job(*words, **how).finish()

    def program(self, name):
        return PROGRAMS[name, self.implementation]

    def faults(self, *words):
        return ["--", self.program("mpi_faults"), *words]

    def expect_end(self, finished, code, cause):
        self.expect_code(finished, code)
        self.assertRegex(finished.err, r"(?m)^(\[node-\d\] )?muster: %s" % cause)
        self.expect_nothing_left()

    def expect_nothing_left(self):
        wait_until(lambda: not self.marked(), "nothing is left", 10)
        self.assertEqual([name for name in os.listdir(self.temp) if name.startswith("muster-mpi")], [])

    def pid_of_daemon(self, job, node):
        return int(job.wait_for(r"\[%s\].* rsh.start .*program=%s pid=(\d+)" % (node, self.daemon), "err").group(1))

    def pid_of_launcher(self):
        found = [pid for pid, command in self.marked().items() if command.startswith(self.launcher)]
        self.assertEqual(len(found), 1, self.marked())
        return found[0]


class JobTests:
    def test_a_ring_over_three_nodes(self):
        finished = self.expect_code(self.run_job("--nproc-per-node", 2, "--", self.program("ring"), nodes=3), 0)
        self.assertRegex(finished.out, "(?m)^ring: 6 of 6 ranks$")
        self.assertRegex(finished.out, "(?m)^allreduce: 15 on ")
        self.assertIn('placement="6 ranks on 3 nodes: node-1:2, node-2:2, node-3:2"', finished.err)
        self.expect_nothing_left()

    def test_with_a_job_secret(self):
        secret = self.write("secret", "correct horse battery staple")
        finished = self.run_job("--", self.program("ring"), env={"MUSTER_JOB_SECRET_FILE": secret})
        self.assertIn("ring: 2 of 2 ranks", self.expect_code(finished, 0).out)

    def test_the_users_own_launcher(self):
        finished = self.run_job("--", self.launcher, "-n", 2, self.program("ring"))
        self.assertIn("ring: 2 of 2 ranks", self.expect_code(finished, 0).out)
        self.assertRegex(finished.err, r"\[node-2\].* rsh.start .*program=" + self.daemon)

    def test_any_program_with_its_ranks_in_the_order_of_the_nodes(self):
        script = self.sh('echo "${OMPI_COMM_WORLD_RANK:-$PMI_RANK} $MUSTER_RANK_NODE" >>"$OUT/ranks"')
        self.expect_code(self.run_job("--", script, nodes=3), 0)
        self.assertEqual(sorted(self.read("ranks").split("\n"))[1:], ["0 node-1", "1 node-2", "2 node-3"])

    def test_stdin_goes_to_rank_0(self):
        script = self.sh('[ "${OMPI_COMM_WORLD_RANK:-$PMI_RANK}" != 0 ] || cat')
        finished = self.run_job("--", script, input="a line\nand another\n")
        self.assertEqual(self.expect_code(finished, 0).out, "a line\nand another\n")

    def test_a_hundred_megabytes_of_output_arrive_whole(self):
        script = self.sh('[ "${OMPI_COMM_WORLD_RANK:-$PMI_RANK}" != 1 ] || seq 10000000 22500000')
        finished = self.job("--", script).finish(timeout_s=180)
        self.expect_code(finished, 0)
        expected = hashlib.sha256()
        for start in range(10000000, 22500001, 100000):
            expected.update("".join("%d\n" % n for n in range(start, min(start + 100000, 22500001))).encode())
        self.assertEqual(len(finished.out_bytes), 9 * 12500001)
        self.assertEqual(hashlib.sha256(finished.out_bytes).hexdigest(), expected.hexdigest())

    def test_the_job_starts_again_on_its_budget(self):
        finished = self.run_job("--max-restarts", 1, *self.faults("once"))
        self.expect_code(finished, 0)
        self.assertRegex(finished.err, r"round.verdict reason=\"rank 1 on node-2 failed first: SIGKILL .*restart 1 of 1")
        self.expect_nothing_left()


    def run_alone(self, *words):
        return self.run_muster("run", "--framework", "mpi", "--mpi", self.implementation, "--nproc-per-node", 3, *words)

    def test_one_node(self):
        finished = self.expect_code(self.run_alone("--", self.program("ring")), 0)
        self.assertIn("ring: 3 of 3 ranks", finished.out)
        self.assertRegex(finished.err, 'placement="3 ranks on 1 node: ')
        self.expect_nothing_left()

    def test_one_node_whose_rank_fails(self):
        self.expect_code(self.run_alone("--max-restarts", 1, *self.faults("once")), 0)
        self.expect_end(self.run_alone(*self.faults("exit")), 3, "rank 1 on .* failed first: exit code 3")


class FaultTests:
    def test_a_rank_exits_with_3(self):
        self.expect_end(self.run_job(*self.faults("exit")), 3, r"rank 1 on node-2 failed first: exit code 3")

    def test_a_rank_is_killed(self):
        self.expect_end(self.run_job(*self.faults("kill")), 137, r"rank 1 on node-2 failed first: SIGKILL")

    def test_a_rank_crashes(self):
        self.expect_end(self.run_job(*self.faults("crash", "0")), 139, r"rank 0 on node-1 failed first: SIGSEGV")

    def test_a_rank_ends_with_9_after_finalize(self):
        self.expect_end(self.run_job(*self.faults("code")), 9, r"rank 1 on node-2 failed first: exit code 9")

    def test_a_rank_aborts(self):
        self.expect_end(self.run_job(*self.faults("abort")), 7, r"(rank 1 on node-2|MPI on node-1) failed first: .*exit code 7")

    def test_a_rank_leaves_without_finalize(self):
        self.expect_end(self.run_job(*self.faults("leave")), 1, self.left_without_finalize)

    def test_the_program_is_missing(self):
        self.expect_end(self.run_job("--", "/nowhere/program"), 127, r"exec '/nowhere/program': No such file")

    def test_a_daemon_is_killed(self):
        job = self.job(*self.faults("wait"))
        job.wait_for("rank=1 waits")
        os.kill(self.pid_of_daemon(job, "node-2"), signal.SIGKILL)
        started = time.monotonic()
        finished = job.finish()
        self.assertLess(time.monotonic() - started, 15)
        self.assertNotEqual(finished.code, 0, finished)
        self.assertRegex(finished.err, r"(?m)^(\[node-\d\] )?muster: .*(%s|%s)" % (self.daemon, os.path.basename(self.launcher)))
        self.expect_nothing_left()

    def test_the_launcher_is_told_to_end_from_outside(self):
        job = self.job(*self.faults("wait"))
        job.wait_for("rank=1 waits")
        os.kill(self.pid_of_launcher(), signal.SIGTERM)
        finished = job.finish()
        self.assertNotEqual(finished.code, 0, finished)
        self.assertRegex(finished.err, r"(?m)^(\[node-\d\] )?muster: .* failed first: ")
        self.expect_nothing_left()

    def test_the_job_is_told_to_end(self):
        job = self.job("--grace-period", 5, *self.faults("wait"))
        job.wait_for("rank=1 waits")
        job.signal(signal.SIGTERM)
        self.expect_code(job.finish(), 143)
        self.expect_nothing_left()

    def test_a_node_dies_and_the_rest_goes_on(self):
        finished = self.run_job("--nnodes", "1:2", "--replace-wait", 0, "--chaos", "kill-node:2@rank=1",
                                *self.faults("once", "9"))
        self.assertRegex(finished.err, r"node.lost reason=\"node-2 ")
        self.assertRegex(finished.err, r"round.formed reason=\"round 2: 1 of 1..2 nodes")
        self.expect_code(finished, 0)


class OpenMpiTest(JobTests, FaultTests, MpiTest):
    implementation, daemon, launcher = "openmpi", "orted", "/usr/bin/mpirun.openmpi"
    # It says so itself.
    left_without_finalize = r"MPI on node-1 failed first: mpirun.openmpi: exit code 1"

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
        finished = self.run_job("--", self.program("ring"), env=self.fake('/usr/bin/mpirun.openmpi "$@"; sleep 600'))
        self.expect_code(finished, 0)
        self.assertIn("mpi.launcher_hangs after_s=10", finished.err)
        self.expect_nothing_left()

    def test_the_examples(self):
        for script in (["ring.sh", BINARY, "openmpi"], ["ring.sh", BINARY, "mpich"], ["allreduce.sh", BINARY]):
            finished = self.start_command([os.path.join(EXAMPLES, "mpi", script[0])] + script[1:]).finish()
            self.expect_code(finished, 0)
            with open(os.path.join(EXAMPLES, "mpi", "expected.txt")) as file:
                for pattern in file.read().splitlines():
                    self.assertRegex(finished.out, "(?m)" + pattern)

    def test_no_launcher(self):
        finished = self.run_job("--", "/bin/true", env={"PATH": self.dir})
        self.expect_end(finished, 127, r"MPI on node-1 failed first: could not be started: no launcher of Open MPI on PATH")

    def test_one_node_needs_no_framework(self):
        self.expect_code(self.run_muster("run", "mpirun.openmpi", "--allow-run-as-root", "-n", 1, "true"), 0)

    def test_other_machines_need_a_secret(self):
        finished = self.run_muster("run", "--framework", "mpi", "--nnodes", 2, "--rdzv-endpoint", "192.0.2.1", "true")
        self.expect_code(finished, 78)
        self.assertIn("needs a job secret", finished.last_error_line)


class MpichTest(JobTests, FaultTests, MpiTest):
    implementation, daemon, launcher = "mpich", "hydra_pmi_proxy", "/usr/bin/mpiexec.mpich"
    # Its daemons hang, or say 0; what is said here comes from muster rank.
    left_without_finalize = r"rank 1 on node-2 failed first: it left with exit code 0 and without MPI_Finalize"


if __name__ == "__main__":
    unittest.main()
