"""MPI jobs over OpenSSH, and what becomes of them when something breaks: the same for every MPI. integration/ runs them with Debian's
two, compat/ with the three of the package registry. Mixins, as those of mpi_cases."""
import os
import re
import shutil
import signal
import subprocess
import time

import mpi_cases
import mpi_hosts
from harness import BINARY, wait_until


def ssh_processes(folder):
    """Those of OpenSSH that were started with a library of that folder: {pid: command line}. They overwrite the environment by
    which others are found."""
    found = {}
    for name in os.listdir("/proc"):
        if name.isdigit():
            try:
                with open("/proc/%s/maps" % name) as maps, open("/proc/%s/cmdline" % name, "rb") as command:
                    if folder + "/" in maps.read():
                        found[int(name)] = command.read().replace(b"\0", b" ").decode(errors="replace")
            except OSError:
                pass
    return found


class SshJobs(mpi_cases.MpiTest):
    remote_shell = os.path.join(os.path.dirname(BINARY), "muster-ssh")

    def flags(self):
        return (*super().flags(), "--mpi-transport", "ssh")

    def expect_run(self, finished, ranks=2):
        self.assertIn("ring: %d of %d ranks" % (ranks, ranks), self.expect_code(finished, 0).out)
        self.expect_nothing_left()

    def run_ring(self, *words, **how):
        return self.run_job(*words, "--", *self.program("ring"), **how)

    def keys(self, kind="ed25519", *words, name="id_rsa", public="id_rsa.pub", passphrase=""):
        """A folder as a controller mounts it."""
        folder = self.path("keys")
        os.mkdir(folder)
        subprocess.run(["ssh-keygen", "-q", "-t", kind, "-N", passphrase, "-f", os.path.join(folder, name), *words], check=True)
        os.rename(os.path.join(folder, name + ".pub"), os.path.join(folder, public))
        return folder

    def our_ssh(self):
        return ssh_processes(self.dir)

    def expect_nothing_left(self):
        super().expect_nothing_left()
        wait_until(lambda: not self.our_ssh(), "nothing of OpenSSH is left", 10)


class KeyTests(SshJobs):
    modes = (0o400, 0o600, 0o640, 0o644, 0o777)

    def test_the_secret_of_mpi_operator(self):
        """As the same secret is mounted in many ways: all at the same time."""
        secret = self.keys("ecdsa", "-b", "521", "-m", "PEM")
        shutil.copy(os.path.join(secret, "id_rsa.pub"), os.path.join(secret, "authorized_keys"))
        jobs = {}
        for mode in self.modes:
            folder = shutil.copytree(secret, self.path("keys-%o" % mode))
            for name in os.listdir(folder):
                os.chmod(os.path.join(folder, name), mode)
            jobs[mode] = self.job("--mpi-ssh-keys", folder, "--", *self.program("ring"))
        for mode, job in jobs.items():
            with self.subTest(oct(mode)):
                finished = self.expect_code(job.finish(), 0)
                self.assertIn("ring: 2 of 2 ranks", finished.out)
                self.assertIn("keys=mounted", finished.err)
        self.expect_nothing_left()


class JobTests(SshJobs):
    def test_a_ring_over_three_nodes(self):
        finished = self.run_job("--nproc-per-node", 2, "--", *self.program("ring"), nodes=3)
        self.expect_run(finished, 6)
        self.assertRegex(finished.err, r"\[node-3\].* ssh.listen port=127\.\S+ sshd=/usr/sbin/sshd keys=made")
        self.assertIn('placement="6 ranks on 3 nodes: node-1:2, node-2:2, node-3:2"', finished.err)

    def test_with_a_job_secret(self):
        secret = self.write("secret", "correct horse battery staple")
        self.expect_run(self.run_job("--", *self.program("ring"), env={"MUSTER_JOB_SECRET_FILE": secret}))

    def test_it_is_openssh_that_carries_it(self):
        job = self.job(*self.faults("wait"))
        job.wait_for("rank=1 waits")
        commands = list(self.our_ssh().values())
        self.assertTrue(any(re.match(r"ssh -F \S+/ssh_config .*node-2", command) for command in commands), commands)
        self.assertTrue(any(command.startswith("sshd: muster") for command in commands), commands)
        job.signal(signal.SIGTERM)
        job.finish()
        self.expect_nothing_left()

    def test_the_users_own_launcher(self):
        self.expect_run(self.run_job("--", self.launcher, "-n", 2, *self.program("ring")))

    def test_the_environment_of_the_node_reaches_the_ranks(self):
        script = self.sh('echo "$ONLY_THE_POD_KNOWS|$LD_LIBRARY_PATH" >>"$OUT/seen"; echo "$PATH" >>"$OUT/path"')
        finished = self.job("--", script, env={"ONLY_THE_POD_KNOWS": "a b  $c'\"", "LD_LIBRARY_PATH": "/opt/x/lib"}).finish()
        self.expect_code(finished, 0)
        # mpirun puts folders of its own in front.
        self.assertRegex(self.read("seen"), r"""\A(a b  \$c'"\|(\S+:)*/opt/x/lib\n){2}\Z""")
        self.assertEqual(self.read("path").count("/usr/local/sbin:"), 2)

    def test_the_job_starts_again_on_its_budget(self):
        finished = self.job("--max-restarts", 1, *self.faults("once")).finish()
        self.expect_code(finished, 0)
        self.assertRegex(finished.err, r"round.verdict reason=\"rank 1 on node-2 failed first: SIGKILL .*restart 1 of 1")
        self.expect_nothing_left()

    def test_an_sshd_is_killed(self):
        job = self.job(*self.faults("wait"))
        job.wait_for("rank=1 waits")
        agent = int(job.wait_for(r"\[node-2\].* rsh.start .*pid=(\d+)", "err").group(1))
        agent = int(subprocess.run(["ps", "-o", "ppid=", "-p", str(agent)], capture_output=True, text=True).stdout)
        found = subprocess.run(["ps", "-o", "pid=,comm=", "--ppid", str(agent)], capture_output=True, text=True).stdout
        pid = next(int(line.split()[0]) for line in found.splitlines() if "sshd" in line)
        os.kill(pid, signal.SIGKILL)
        started = time.monotonic()
        finished = job.finish()
        self.assertLess(time.monotonic() - started, 15)
        self.assertNotEqual(finished.code, 0, finished)
        self.assertRegex(finished.err, r"(?m)^(\[node-\d\] )?muster: (MPI on node-\d failed first: (sshd, serving a connection: SIGKILL|mpirun)"
                                       r"|rank 1 on node-2 failed first)")
        self.expect_nothing_left()

    def test_an_agent_is_killed(self):
        finished = self.job("--nnodes", "1:2", "--replace-wait", 0, "--chaos", "kill-node:2@rank=1", *self.faults("once", "9")).finish()
        self.assertRegex(finished.err, r"node.lost reason=\"node-2 ")
        self.assertRegex(finished.err, r"round.running reason=\"round 2: 1 of 1..2 nodes")
        self.expect_code(finished, 0)
        wait_until(lambda: not self.marked() and not self.our_ssh(), "nothing is left", 10)


@mpi_cases.tests_of(mpi_cases.OF_THE_PROGRAM[4:] + mpi_cases.OF_OTHERS)
class FaultTests(mpi_cases.Faults, SshJobs):
    """Those of mpi_cases; the first four at the same time."""

    def test_what_becomes_of_a_rank(self):
        faults = [self.known(fault) for fault in mpi_cases.OF_THE_PROGRAM[:4]]
        jobs = [self.job(*self.faults(*fault.program)) for fault in faults]
        for fault, job in zip(faults, jobs):
            finished = job.finish()
            self.expect_job_end(finished, fault.code, fault.cause)
            self.expect_soon(finished, fault.within_s)
        self.expect_nothing_left()


class Hosts(SshJobs, mpi_hosts.Hosts):
    def expect_nothing_left_on_hosts(self):
        super().expect_nothing_left_on_hosts()
        wait_until(lambda: not self.our_ssh(), "nothing of OpenSSH is left", 10)


class HostTests(Hosts, mpi_hosts.HostTests):
    def caller_of(self, number):
        return number  # sshd's own session calls the agent beside it


class HostFaultTests(Hosts, mpi_hosts.HostFaultTests):
    pass


class PodTests(Hosts, mpi_hosts.PodTests):
    pass


class PodCutTests(PodTests, mpi_hosts.PodCutTests):
    pass
