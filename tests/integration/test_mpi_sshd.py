"""`--mpi-transport sshd` with Debian's two MPIs: the tests of support/mpi_sshd_cases.py, and what is no MPI's business."""
import os
import signal
import subprocess
import unittest

import mpi_programs
from mpi_pods import MPICH
from mpi_sshd_cases import JobTests, Pods


class SshdTest(Pods):
    def test_the_users_own_mpirun(self):
        self.start_workers()
        finished = self.expect_code(self.start_launcher("--", "mpirun", "-n", 4, self.ring).finish(), 0)
        self.assertIn("ring: 4 of 4 ranks", finished.out)

    def test_a_command_that_calls_mpirun(self):
        """Nothing of ours is put above its ranks, for nothing of ours is there."""
        self.start_workers()
        script = self.sh('mpirun -n 4 sh -c \'tr "\\0" " " </proc/$PPID/cmdline; echo; exec "$0"\' %s' % self.ring, name="script")
        finished = self.expect_code(self.start_launcher("--", "sh", script).finish(), 0)
        self.assertIn("ring: 4 of 4 ranks", finished.out)
        self.assertNotIn("muster rank", finished.out)
        self.assertRegex(finished.err, 'mpi.ranks_unwatched reason="the nodes run sshd and no agent" .*also beyond --mpi-start-timeout')
        self.assertEqual(finished.err.count("mpi.ranks_unwatched"), 1)

    def test_workers_that_come_later_are_waited_for(self):
        launcher = self.start_launcher("--", self.ring)
        launcher.wait_for("ssh.waiting reason=\"2 of 2 servers do not answer: pi-worker-0", "err")
        self.start_workers()
        self.assertIn("ring: 4 of 4 ranks", self.expect_code(launcher.finish(), 0).out)

    def test_a_launcher_that_waits_can_be_told_to_end(self):
        launcher = self.start_launcher("--", self.ring)
        launcher.wait_for("ssh.waiting", "err")
        launcher.signal(15)
        self.expect_code(launcher.finish(), 143)
        self.expect_nothing_left()

    def test_another_host_key_is_refused(self):
        subprocess.run(["ssh-keygen", "-q", "-N", "", "-t", "ed25519", "-f", self.path("other")], check=True)
        self.key_files["known_hosts"] = "* " + self.read("other.pub")
        self.start_workers()
        finished = self.start_launcher("--", self.ring).finish()
        self.assertNotEqual(finished.code, 0, finished)
        self.assertIn("Host key verification failed.", finished.err)
        self.expect_nothing_left(self.ring)

    def test_without_known_hosts_somebody_must_say_so(self):
        del self.key_files["known_hosts"]
        self.start_workers()
        finished = self.expect_code(self.start_launcher("--", self.ring).finish(), 78)
        self.assertRegex(finished.last_error_line, "open '/root/.ssh/known_hosts': No such file .*nobody knows the host keys of the workers.*"
                                                   "or say --mpi-transport sshd-unverified")

    def test_unverified(self):
        del self.key_files["known_hosts"]
        self.start_workers()
        finished = self.expect_code(self.start_launcher("--", self.ring, transport="sshd-unverified").finish(), 0)
        self.assertIn("ring: 4 of 4 ranks", finished.out)

    def test_what_does_not_fit(self):
        for words, code, message in ((("--mpi-role", "worker", "--rdzv-endpoint", "x"), 64, "--mpi-transport 'sshd': then workers run sshd and not Muster: --mpi-role worker cannot be"),
                                     ((), 78, "no controller lists hosts in this pod"),
                                     (("--nnodes", 2), 64, "--nnodes '2': with --mpi-transport sshd the nodes are all those of the controller's list"),
                                     (("--nproc-per-node", "auto"), 64, "--nproc-per-node 'auto': with --mpi-transport sshd nobody on the nodes can count"),
                                     (("--mpi-launch", "pmi"), 64, "only mpirun starts anything on other nodes")):
            finished = self.run_muster("run", "--framework", "mpi", "--mpi-transport", "sshd", *words, "true")
            self.assertIn(message, self.expect_code(finished, code).last_error_line)


class OpenMpiTest(mpi_programs.OpenMpi, JobTests, Pods):
    finalizes = True
    ends = (("exit", 3), ("leave", 1), ("code", 9), ("kill", 137), ("crash", 139), ("abort", 7))

    def test_a_daemon_that_cannot_start(self):
        """Where it left ssh before that, mpirun would wait for it for ever."""
        self.start_workers()
        self.write(os.path.join(self.temp, "ompi.pi-worker-1.0"), "where its folder would be")
        launcher = self.start_launcher("--", *self.program("ring"))
        self.expect_failure(launcher, 213, "MPI on pi-launcher failed first: mpirun.openmpi: exit code 213")
        self.assertRegex(launcher.err.text(), r"A call to mkdir[^\0]*Directory: \S*/ompi.pi-worker-1.0")
        self.expect_everything_gone()


class MpichTest(mpi_programs.Mpich, JobTests, Pods):
    gate_keeps = ("test_a_job_with_a_key_of_any_mode", "test_what_becomes_of_a_rank", "test_a_workers_pod_is_killed", "test_the_job_is_told_to_end")
    settings = MPICH
    host = "pi-worker-%d.pi.default.svc:2\n"
    finalizes = False  # as in test_mpi_hosts
    ends = (("kill", (9, 255)), ("crash", (11, 255)), ("abort", 7), ("code", 9))  # the signal's number, or that a daemon was lost


if __name__ == "__main__":
    unittest.main()
