"""`--mpi-transport sshd`: the launcher's pod of an MPIJob runs Muster, the workers' run sshd and nothing else, as with mpi-operator's own
images; sshd is the machine's own. What holds for every MPI, as in mpi_cases."""
import contextlib
import os
import signal
import subprocess
import time

from harness import wait_until
from mpi_cases import processes_of, seconds_of
from mpi_pods import NO_DEVICES, OMPI, PodTest

CONFIG = ("Port 2222\nHostKey {0}/host_key\nPidFile none\nUsePAM no\nStrictModes no\nPermitRootLogin yes\nPasswordAuthentication no\n"
          "AuthorizedKeysFile /root/.ssh/authorized_keys\nSetEnv TMPDIR={0}/tmp\n")


class Pods(PodTest):
    pods = ("pi-launcher", "pi-worker-0", "pi-worker-1")
    settings = OMPI  # of the controller, for the launcher's pod
    host = "pi-worker-%d.pi.default.svc slots=2\n"

    def setUp(self):
        super().setUp()
        for name, words in (("user_key", ("-t", "ecdsa", "-b", "521", "-m", "PEM")), ("host_key", ("-t", "ed25519",))):
            subprocess.run(["ssh-keygen", "-q", "-N", "", "-C", "", "-f", self.path(name), *words], check=True)
        public = self.read("user_key.pub")
        self.key_files = {"id_rsa": self.read("user_key"), "id_rsa.pub": public, "authorized_keys": public,
                          "known_hosts": "* " + self.read("host_key.pub")}
        self.write("sshd_config", CONFIG.format(self.dir))
        self.write_config(hostfile="".join(self.host % k for k in (0, 1)))

    def start_worker(self, name):
        self.mounts[name] = self.mount_key() + "; mount -t tmpfs tmpfs /run; mkdir /run/sshd; mount -t tmpfs tmpfs /dev/shm"
        number = self.pods.index(name) + 1
        self.add_host(number, name=name)
        return self.start_command(["nsenter", "-t", str(self.holders[number]), "-n", "-u", "-m", "--",
                                   "/usr/sbin/sshd", "-D", "-e", "-f", self.path("sshd_config")])

    def start_workers(self):
        """They listen, so that no launcher has to look twice."""
        servers = [self.start_worker(name) for name in self.pods[1:]]
        for server in servers:
            server.wait_for("Server listening", "err")
        return servers

    def start_launcher(self, *words, transport="sshd", settings=None, mode="600"):
        self.mounts["pi-launcher"] = self.mount_key(mode=mode) + "; cd /; " + self.mount_config("/etc/mpi")
        return self.start_pod("pi-launcher", {"K_MPI_JOB_ROLE": "launcher", **(settings or self.settings), **NO_DEVICES}, "--framework", "mpi",
                              "--mpi-transport", transport, "--mpi-ssh-port", 2222, *words)

    def expect_nothing_left(self, *programs):
        wait_until(lambda: not [line for line in self.marked().values() if any(word in line for word in ("muster run", *programs))],
                   "neither agent nor rank is left", 10)


class JobTests:
    """What holds for every MPI, which says itself what became of its ranks (`ends`: the code, or those of which it is one); what else a class
    sets is as in mpi_cases.MpiTest."""
    WITHIN_S = 30  # the job's end, after what it ends for
    lost = 255  # the code when a worker is lost during the run: ssh's
    cut_off = "the connection to pi-worker-1.* was lost"
    process = becomes = None  # as in mpi_cases.MpiTest
    cleaned = Pods.pods  # where nothing is left after a launcher that failed; elsewhere daemons may wait until their pods end

    def setUp(self):
        super().setUp()
        self.addCleanup(self.kill_all)

    def in_pod(self, name):
        """{pid: command line} of its processes, but of what holds its namespaces."""
        holder = self.holders[self.pods.index(name) + 1]
        network = os.readlink("/proc/%d/ns/net" % holder)
        found = {}
        for pid in os.listdir("/proc"):
            with contextlib.suppress(OSError):
                if pid.isdigit() and int(pid) != holder and os.readlink("/proc/%s/ns/net" % pid) == network:
                    with open("/proc/%s/cmdline" % pid) as file:
                        found[int(pid)] = file.read().replace("\0", " ")
        return found

    def kill_pod(self, name):
        """Some of its processes end because the others do."""
        for pid in self.in_pod(name):
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)

    def kill_all(self):
        for name in [name for k, name in enumerate(self.pods) if k + 1 in self.holders]:
            self.kill_pod(name)

    def start_waiting(self, *words):
        self.start_workers()
        launcher = self.start_launcher("--grace-period", 5, *words, "--", *self.program("mpi_faults"), "wait")
        launcher.wait_for("rank=2 waits")
        return launcher

    def expect_failure(self, launcher, code, line):
        began = time.monotonic()
        finished = launcher.finish()
        self.assertLess(time.monotonic() - began, self.WITHIN_S, finished)
        self.assertIn(finished.code, code if isinstance(code, tuple) else (code,), finished)
        self.assertRegex(finished.err, r"(?m)^(\[\S+\] )?muster: " + line)

    def expect_everything_gone(self, pods=Pods.pods):
        """The environment of what sshd starts does not tell whose it is."""
        ours = ("muster run", "mpi_faults.", "ring.", "allreduce.py", *processes_of(self))

        def left():
            return ["%s: %d %s" % (name, pid, line) for name in pods for pid, line in self.in_pod(name).items() if any(word in line for word in ours)]

        wait_until(lambda: not left(), lambda: "neither agent, daemon nor rank is left in any pod\n" + "\n".join(left()), 10)

    def test_a_job_with_a_key_of_any_mode(self):
        self.start_workers()
        launcher = self.start_launcher("--", *self.program("ring"), mode="644")
        launcher.wait_for("ring: 4 of 4 ranks")
        self.assertIn('mpi.ranks_unwatched reason="the nodes run sshd and no agent"', launcher.err.text())
        if not self.finalizes:
            with contextlib.suppress(ProcessLookupError):
                launcher.signal(signal.SIGTERM)
        self.assertIn(launcher.finish().code, (0,) if self.finalizes else (0, 143))
        self.expect_everything_gone()

    def start_rank_end(self, what):
        """Two mpiruns of Open MPI 4.1 that make one folder at the same moment may fail at that, and so may two daemons."""
        folder = os.path.join(self.temp, what)
        os.mkdir(folder)
        folders = {"TMPDIR": folder, "OMPI_MCA_orte_tmpdir_base": folder}
        return self.start_launcher("--", *self.program("mpi_faults"), what, settings={**self.settings, **folders})

    def test_what_becomes_of_a_rank(self):
        """All at the same time."""
        self.start_workers()
        launchers = [self.start_rank_end(what) for what, _ in self.ends]
        for (what, code), launcher in zip(self.ends, launchers):
            with self.subTest(what):
                self.expect_failure(launcher, code, "MPI on pi-launcher failed first: %s: exit code" % os.path.basename(self.launcher))
                self.assertLess(seconds_of(launcher.finish()), self.WITHIN_S)
        self.expect_everything_gone(self.cleaned)

    def test_a_workers_pod_is_killed(self):
        launcher = self.start_waiting()
        self.kill_pod("pi-worker-1")
        self.expect_lost(launcher)
        self.expect_everything_gone(self.cleaned)

    def expect_lost(self, launcher):
        """Whether ssh or mpirun notices first is a race in some."""
        self.expect_failure(launcher, self.lost, "MPI on pi-launcher failed first: (the connection to pi-worker-1.* was lost|%s: exit code)"
                            % os.path.basename(self.launcher))

    def test_a_daemon_is_killed(self):
        """Its ranks may outlive it: no agent is there to end them."""
        launcher = self.start_waiting()
        names = (self.daemon, self.becomes or self.daemon)
        os.kill(next(pid for pid, line in self.in_pod("pi-worker-1").items() if line.split()[0].endswith(names)), signal.SIGKILL)
        self.expect_lost(launcher)
        self.expect_everything_gone(self.pods[:1])

    def test_a_host_is_cut_off(self):
        """ssh notices, whatever the MPI does. What is on that host is not ours to end."""
        launcher = self.start_waiting("--lease", "4s")
        self.cut(3)
        self.expect_failure(launcher, self.lost, "MPI on pi-launcher failed first: " + self.cut_off)
        self.expect_everything_gone(self.cleaned[:2])

    def start_held(self, *words):
        """A launcher whose daemon on pi-worker-1 has begun and does no more."""
        if os.path.exists(self.path("held")):
            os.remove(self.path("held"))
        launcher = self.start_launcher("--grace-period", 5, *words, "--", *self.program("ring"))
        wait_until(lambda: self.exists("held"), "a daemon is being started", 30)
        return launcher

    def hold_daemon(self):
        """A script in the place of the MPI's own daemon, in that pod alone."""
        daemon = os.path.join(os.path.dirname(self.launcher), self.daemon)
        script = self.sh('echo >"%s"; exec sleep 1000' % self.path("held"), name="daemon")
        holder = self.holders[self.pods.index("pi-worker-1") + 1]
        subprocess.run(["nsenter", "-t", str(holder), "-m", "mount", "--bind", script, daemon], check=True)

    def test_what_happens_during_launch(self):
        self.start_workers()
        self.hold_daemon()
        told = self.start_held()
        told.signal(signal.SIGTERM)
        self.expect_failure(told, 143, ".*SIGTERM")
        self.expect_everything_gone(self.cleaned)
        cut = self.start_held("--lease", "4s")
        self.cut(3)
        self.expect_failure(cut, 255, "MPI on pi-launcher failed first: the connection to pi-worker-1.* was lost")
        self.expect_everything_gone(self.cleaned[:2])
        self.join(3)
        killed = self.start_held()
        self.kill_pod("pi-worker-1")
        self.expect_failure(killed, 255, "MPI on pi-launcher failed first: the connection to pi-worker-1.* was lost")
        self.expect_everything_gone(self.cleaned)

    def test_mpirun_is_killed(self):
        """Told to end by anybody but us, mpiexec of MPICH now and then exits with 0."""
        launcher = self.start_waiting()
        name = self.process or os.path.basename(self.launcher)
        mpirun, = [pid for pid, line in self.in_pod("pi-launcher").items() if os.path.basename(line.split(" ")[0]) == name]
        os.kill(mpirun, signal.SIGKILL)
        self.expect_failure(launcher, 137, "MPI on pi-launcher failed first: ")
        self.expect_everything_gone(self.cleaned)

    def test_a_worker_never_appears(self):
        self.start_worker("pi-worker-0")
        launcher = self.start_launcher("--rdzv-conf", "join_timeout=3", "--", *self.program("ring"))
        self.expect_failure(launcher, 69, ".*SSH after 3 s: 1 of 2 servers do not answer: pi-worker-1")
        self.expect_everything_gone(self.cleaned[:2])

    def test_a_key_that_the_workers_do_not_let_in(self):
        self.start_workers()
        subprocess.run(["ssh-keygen", "-q", "-N", "", "-t", "ed25519", "-f", self.path("other")], check=True)
        self.key_files.update({"id_rsa": self.read("other"), "id_rsa.pub": self.read("other.pub")})
        launcher = self.start_launcher("--", *self.program("ring"))
        self.expect_failure(launcher, 255, "MPI on pi-launcher failed first: the connection to pi-worker-..* was lost")
        self.assertIn("Permission denied (publickey", launcher.err.text())
        self.expect_everything_gone(self.cleaned)

    def test_the_job_is_told_to_end(self):
        launcher = self.start_waiting()
        launcher.signal(signal.SIGTERM)
        self.expect_failure(launcher, 143, ".*SIGTERM")
        self.expect_everything_gone(self.cleaned)
