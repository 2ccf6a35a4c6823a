"""`--mpi-transport sshd`: the launcher's pod of an MPIJob runs Muster, the workers' run sshd and nothing else, as with mpi-operator's own
images. Each pod is a host (network namespace) with the files that the operator gives it; sshd is the machine's own."""
import os
import subprocess
import unittest

import mpi_programs
from harness import wait_until
from test_mpi_roles import MPICH, NO_DEVICES, OMPI, PodTest

CONFIG = ("Port 2222\nHostKey {0}/host_key\nPidFile none\nUsePAM no\nStrictModes no\nPermitRootLogin yes\nPasswordAuthentication no\n"
          "AuthorizedKeysFile /root/.ssh/authorized_keys\n")


class SshdTest(PodTest):
    pods = ("pi-launcher", "pi-worker-0", "pi-worker-1")

    def setUp(self):
        super().setUp()
        for name, words in (("user_key", ("-t", "ecdsa", "-b", "521", "-m", "PEM")), ("host_key", ("-t", "ed25519",))):
            subprocess.run(["ssh-keygen", "-q", "-N", "", "-C", "", "-f", self.path(name), *words], check=True)
        public = self.read("user_key.pub")
        self.key_files = {"id_rsa": self.read("user_key"), "id_rsa.pub": public, "authorized_keys": public,
                          "known_hosts": "* " + self.read("host_key.pub")}
        self.write("sshd_config", CONFIG.format(self.dir))
        self.write_config(hostfile="".join("pi-worker-%d.pi.default.svc slots=2\n" % k for k in (0, 1)))

    def start_worker(self, name):
        self.mounts[name] = self.mount_key() + "; mount -t tmpfs tmpfs /run; mkdir /run/sshd"
        number = self.pods.index(name) + 1
        self.add_host(number, name=name)
        return self.start_command(["nsenter", "-t", str(self.holders[number]), "-n", "-u", "-m", "--",
                                   "/usr/sbin/sshd", "-D", "-e", "-f", self.path("sshd_config")])

    def start_workers(self):
        return [self.start_worker(name) for name in self.pods[1:]]

    def start_launcher(self, *words, transport="sshd", settings=OMPI):
        self.mounts["pi-launcher"] = self.mount_key() + "; cd /; " + self.mount_config("/etc/mpi")
        return self.start_pod("pi-launcher", {"K_MPI_JOB_ROLE": "launcher", **settings, **NO_DEVICES}, "--framework", "mpi",
                              "--mpi-transport", transport, "--mpi-ssh-port", 2222, *words)

    def expect_nothing_left(self, *programs):
        wait_until(lambda: not [line for line in self.marked().values() if any(word in line for word in ("muster run", *programs))],
                   "neither agent nor rank is left", 10)

    def test_open_mpi(self):
        self.start_workers()
        finished = self.expect_code(self.start_launcher("--", self.ring).finish(), 0)
        self.assertIn("ring: 4 of 4 ranks", finished.out)
        self.assertIn('mpi.ranks_unwatched reason="the nodes run sshd and no agent"', finished.err)
        self.expect_nothing_left(self.ring)

    def test_the_users_own_mpirun(self):
        self.start_workers()
        finished = self.expect_code(self.start_launcher("--", "mpirun", "-n", 4, self.ring).finish(), 0)
        self.assertIn("ring: 4 of 4 ranks", finished.out)

    def test_mpich_starts_its_ranks_on_both(self):
        self.start_workers()
        self.write_config(hostfile="".join("pi-worker-%d.pi.default.svc:2\n" % k for k in (0, 1)))
        script = self.sh('echo "$PMI_RANK $(hostname)" >>"$OUT/ranks"')
        finished = self.start_launcher("--", script, settings=MPICH).finish()
        self.expect_code(finished, 0)
        self.assertEqual(sorted(self.read("ranks").splitlines()),
                         ["0 pi-worker-0", "1 pi-worker-0", "2 pi-worker-1", "3 pi-worker-1"])

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

    def test_a_key_that_the_workers_do_not_let_in(self):
        self.start_workers()
        subprocess.run(["ssh-keygen", "-q", "-N", "", "-t", "ed25519", "-f", self.path("other")], check=True)
        self.key_files.update({"id_rsa": self.read("other"), "id_rsa.pub": self.read("other.pub")})
        finished = self.start_launcher("--", self.ring).finish()
        self.assertNotEqual(finished.code, 0, finished)
        self.assertIn("Permission denied (publickey", finished.err)

    def test_what_a_rank_says_reaches_the_job_through_mpirun(self):
        self.start_workers()
        finished = self.start_launcher("--", mpi_programs.built("mpi_faults", "openmpi"), "exit").finish()
        self.expect_code(finished, 3)
        self.assertRegex(finished.last_error_line, "MPI on pi-launcher failed first: mpirun.openmpi: exit code 3")
        self.expect_nothing_left("mpi_faults")

    def test_the_launcher_is_told_to_end(self):
        self.start_workers()
        launcher = self.start_launcher("--grace-period", 5, "--", self.ring, "600")
        launcher.wait_for("ring: 4 of 4")
        launcher.signal(15)
        self.expect_code(launcher.finish(), 143)
        self.expect_nothing_left(self.ring)

    def test_what_does_not_fit(self):
        for words, code, message in ((("--mpi-role", "worker", "--rdzv-endpoint", "x"), 64, "--mpi-transport 'sshd': then workers run sshd and not Muster: --mpi-role worker cannot be"),
                                     ((), 78, "no controller lists hosts in this pod"),
                                     (("--nnodes", 2), 64, "--nnodes '2': with --mpi-transport sshd the nodes are all those of the controller's list"),
                                     (("--nproc-per-node", "auto"), 64, "--nproc-per-node 'auto': with --mpi-transport sshd nobody on the nodes can count"),
                                     (("--mpi-launch", "pmi"), 64, "only mpirun starts anything on other nodes")):
            finished = self.run_muster("run", "--framework", "mpi", "--mpi-transport", "sshd", *words, "true")
            self.assertIn(message, self.expect_code(finished, code).last_error_line)


if __name__ == "__main__":
    unittest.main()
