"""`--mpi-transport ssh`: MPI jobs whose launcher reaches the nodes by the machine's own OpenSSH, with keys that Muster makes or
that somebody mounted, as users that sshd would otherwise refuse; and what is said when something is wrong."""
import contextlib
import os
import re
import shutil
import socket
import subprocess
import time
import unittest

import harness
import mpi_cases
import mpi_ssh_cases
from harness import BINARY, MusterTest, wait_until
from mpi_programs import Mpich, OpenMpi, built
from namespace_hosts import NET, NamespaceTest


class OpenMpiJobs(OpenMpi, mpi_ssh_cases.JobTests, MusterTest):
    pass


class MpichJobs(Mpich, mpi_ssh_cases.JobTests, mpi_cases.ManyNodesTest, MusterTest):
    pass


class OpenMpiFaults(OpenMpi, mpi_ssh_cases.FaultTests, MusterTest):
    pass


class MpichFaults(Mpich, mpi_ssh_cases.FaultTests, MusterTest):
    gate_keeps = ("test_what_becomes_of_a_rank", "test_an_agent_is_killed", "test_the_job_is_told_to_end")


class SshTest(OpenMpi, mpi_ssh_cases.SshJobs, MusterTest):
    pass


class TrustTest(SshTest):
    """Nobody is believed whose key is not known."""

    def fake(self, text):
        """Something is done before the real launcher begins."""
        os.mkdir(self.path("bin"))
        self.sh(text + '\nexec /usr/bin/mpirun.openmpi "$@"', name="bin/mpirun.openmpi")
        return {"PATH": self.path("bin") + ":/usr/bin:/bin"}

    def test_another_host_key_is_refused(self):
        swap = "sed -i 's/^node-2 .*//; s/^node-1 \\(.*\\)/node-1 \\1\\nnode-2 \\1/' $MUSTER_SSH/known_hosts"
        finished = self.run_ring(env=self.fake(swap))
        self.assertNotEqual(finished.code, 0)
        self.assertIn("Host key verification failed.", finished.err)
        self.expect_nothing_left()

    def test_an_unknown_host_key_is_refused(self):
        finished = self.run_ring(env=self.fake("sed -i '/^node-2 /d' $MUSTER_SSH/known_hosts"))
        self.assertNotEqual(finished.code, 0)
        self.assertIn("Host key verification failed.", finished.err)

    def test_another_users_key_is_refused(self):
        other = self.keys(name="other", public="other.pub")
        finished = self.run_ring(env=self.fake("cp %s/other $MUSTER_SSH/user_key" % other))
        self.assertNotEqual(finished.code, 0)
        self.assertIn("Permission denied (publickey)", finished.err)
        self.expect_nothing_left()

    def test_the_made_keys_are_what_openssh_says_they_are(self):
        finished = self.run_ring(env=self.fake('stat -c "%a %n" $MUSTER_SSH $MUSTER_SSH/user_key $MUSTER_SSH/host_key >$OUT/modes; '
                                               "ssh-keygen -y -f $MUSTER_SSH/user_key >$OUT/public; "
                                               "cp $MUSTER_SSH/authorized_keys $OUT; ssh-keygen -l -f $MUSTER_SSH/known_hosts >$OUT/hosts"))
        self.expect_run(finished)
        self.assertEqual([line.split()[0] for line in self.read("modes").splitlines()], ["700", "600", "600"])
        public = self.read("public").split()
        self.assertIn(" ".join(public[:2]), self.read("authorized_keys"))
        self.assertEqual(public[2], "muster")
        self.assertEqual(len(self.read("authorized_keys").splitlines()), 2)
        self.assertRegex(self.read("hosts"), r"(?s)256 SHA256:\S+ node-1 \(ED25519\)\n256 SHA256:\S+ node-2 \(ED25519\)")


class MpichKeys(Mpich, mpi_ssh_cases.KeyTests, MusterTest):
    pass


class KeysTest(mpi_ssh_cases.KeyTests, SshTest):
    """Mounted keys: whatever their layout, owner and modes."""

    def test_a_secret_as_it_is(self):
        self.expect_run(self.run_ring("--mpi-ssh-keys", self.keys("rsa", "-b", "2048", name="ssh-privatekey", public="ssh-publickey")))

    def test_a_volume_of_links(self):
        folder = self.keys()
        data = os.path.join(folder, "..2026_11_22")
        os.mkdir(data)
        for name in ("id_rsa", "id_rsa.pub"):
            os.rename(os.path.join(folder, name), os.path.join(data, name))
            os.symlink("..data/" + name, os.path.join(folder, name))
        os.symlink("..2026_11_22", os.path.join(folder, "..data"))
        os.chmod(folder, 0o1777)
        self.expect_run(self.run_ring("--mpi-ssh-keys", folder))

    def test_a_key_by_its_path_without_the_last_line_end(self):
        path = os.path.join(self.keys(), "id_rsa")
        with open(path) as file:
            text = file.read()
        with open(path, "w") as file:
            file.write(text.rstrip("\n"))
        self.expect_run(self.run_ring("--mpi-ssh-keys", path))

    def refuse(self, code, message, *words, **how):
        finished = self.run_ring(*words, **how)
        self.expect_code(finished, code)
        self.assertRegex(finished.err, r"(?m)^(\[\S+\] )?muster: " + message)
        self.expect_nothing_left()

    def test_keys_that_are_none(self):
        folder = self.keys(passphrase="secret")
        key = os.path.join(folder, "id_rsa")
        said = r"--mpi-ssh-keys: '\S+/id_rsa': ssh-keygen says: "
        self.refuse(78, said + "incorrect passphrase supplied to decrypt private key", "--mpi-ssh-keys", folder)
        shutil.copy(os.path.join(folder, "id_rsa.pub"), key)
        self.refuse(78, said + r"\S", "--mpi-ssh-keys", folder)
        os.remove(key)
        self.refuse(78, r"--mpi-ssh-keys '\S+': no private key in it: looked for id_ed25519, ", "--mpi-ssh-keys", folder)
        self.refuse(78, r"--mpi-ssh-keys: open '/nowhere': No such file", "--mpi-ssh-keys", "/nowhere")
        shutil.rmtree(folder)
        key = os.path.join(self.keys(), "id_rsa")
        os.truncate(key, os.path.getsize(key) // 2)
        self.refuse(78, said + r"\S", "--mpi-ssh-keys", folder)

    def test_keys_of_other_formats(self):
        for kind in (("rsa", "-b", "2048", "-m", "PKCS8"), ("ecdsa", "-m", "PKCS8")):
            with self.subTest(kind):
                self.expect_run(self.run_ring("--mpi-ssh-keys", self.keys(*kind)))
                shutil.rmtree(self.path("keys"))

    def test_a_key_without_its_public_part(self):
        for kind in (("ed25519",), ("ecdsa", "-m", "PEM")):
            with self.subTest(kind):
                folder = self.keys(*kind)
                os.remove(os.path.join(folder, "id_rsa.pub"))
                self.expect_run(self.run_ring("--mpi-ssh-keys", folder))
                shutil.rmtree(folder)

    def test_those_who_are_authorized_beside_the_key_may_log_in_too(self):
        folder = self.keys()
        self.write("keys/authorized_keys", "# those of the job\nno-pty %s" % self.read("keys/id_rsa.pub"))
        script = self.sh("cp $MUSTER_SSH/authorized_keys $OUT; exit 3; mpirun.openmpi", name="script")
        self.expect_code(self.run_job("--mpi-ssh-keys", folder, "--", "sh", script, nodes=1), 3)
        self.assertRegex(self.read("authorized_keys"), r"\Assh-ed25519 \S+\n# those of the job\nno-pty ssh-ed25519 ")

    def test_the_port_is_taken(self):
        with socket.socket() as taken:
            taken.bind(("0.0.0.0", 0))
            taken.listen()
            self.refuse(71, r"--mpi-ssh-port: .*Address already in use", "--mpi-ssh-port", taken.getsockname()[1])

    def test_a_port_of_ones_own(self):
        with socket.socket() as probe:
            probe.bind(("127.0.1.1", 0))
            port = probe.getsockname()[1]
        finished = self.run_ring("--mpi-ssh-port", port)
        self.expect_run(finished)
        self.assertEqual(len(re.findall(r"ssh.listen port=127.0.1.[12]:%d " % port, finished.err)), 2)

    def test_an_image_without_openssh(self):
        self.refuse(127, r"no ssh in this image \(Debian: openssh-client\), which --mpi-transport ssh needs on every node", env={"PATH": self.dir})
        os.mkdir(self.path("bin"))
        for name in ("ssh", "mpirun.openmpi", "unshare", "sh", "mount"):
            os.symlink("/usr/bin/" + name, self.path("bin", name))
        self.refuse(127, r"no sshd in this image, .*\(Debian: openssh-server\); --mpi-transport rsh needs no SSH",
                    env={"PATH": self.path("bin")}, mounts="mount --bind /dev/null /usr/sbin/sshd")
        self.refuse(127, r"no ssh-keygen in this image \(Debian: openssh-client\), which checks and makes the keys of SSH",
                    env={"PATH": self.path("bin")})

    def test_the_links_called_ssh_are_not_taken_for_it(self):
        os.mkdir(self.path("bin"))
        os.symlink(BINARY, self.path("bin", "ssh"))
        self.expect_run(self.run_ring(env={"PATH": self.path("bin") + ":/usr/bin:/bin"}))

    def test_the_temporary_folder_is_none(self):
        full = self.path("full")
        self.refuse(71, ".*mk(dir|dtemp) '%s/muster-" % full, env={"TMPDIR": full}, mounts=harness.full_folder(full))
        mount = "mkdir -p '%s/t'; mount -t tmpfs -o noexec,mode=1777 none '%s/t'" % (self.dir, self.dir)
        self.refuse(78, r"'\S+/t\S*' is mounted noexec, .*set TMPDIR", env={"TMPDIR": self.path("t")}, mounts=mount)

    def test_a_node_without_the_flag(self):
        port = harness.free_port()
        hosts = ("127.0.1.1", "127.0.1.2")
        words = ["--framework", "mpi", "--mpi", "openmpi", "--nnodes", 2, "--rdzv-endpoint", ",".join("%s:%d" % (host, port) for host in hosts)]
        agents = [self.start("run", *words, "--local-addr", host, "--node-name", name, *flags, "--", "true")
                  for host, name, flags in zip(hosts, ("node-1", "node-2"), (["--mpi-transport", "ssh"], []))]
        for agent in agents:
            finished = self.expect_code(agent.finish(), 78)
            self.assertRegex(finished.last_error_line, "failed first: could not be started: node node-2 has no SSH server: every node must be started with")

    def test_muster_ssh_without_a_job(self):
        finished = self.start_command([os.path.join(os.path.dirname(BINARY), "muster-ssh"), "node-2", "true"]).finish()
        self.expect_code(finished, 255)
        self.assertIn("muster-ssh: MUSTER_SSH is not set", finished.err)

    def test_flags_that_do_not_fit(self):
        finished = self.run_muster("run", "--framework", "mpi", "--mpi-launch", "pmi", "--mpi-transport", "ssh", "--nnodes", 2, "true")
        self.expect_code(finished, 64)
        self.assertIn("--mpi-transport 'ssh': with --mpi-launch pmi the agents start the ranks", finished.last_error_line)
        finished = self.run_muster("run", "--mpi-ssh-port", 22, "true")
        self.expect_code(finished, 0)
        self.assertIn("--mpi-ssh-port has no effect without --mpi-transport ssh or sshd", finished.err)


class StrangersTest(SshTest):
    """Whoever can reach the port of an agent's SSH server may call it."""

    MOST = 64  # who have not logged in (mpi_ssh_server.h), two processes of sshd for each

    def test_silent_callers_are_few_and_keep_nobody_out(self):
        fifo = self.path("go")
        os.mkfifo(fifo)
        job = self.start("local", "--nodes", 2, "--framework", "mpi", "--mpi-transport", "ssh", "--", "sh", "-c",
                         "read line <%s; exec mpirun -np 2 %s" % (fifo, built("ring", "openmpi")))
        port = int(job.wait_for(r"node-2.*ssh\.listen port=127\.0\.1\.2:(\d+)", "err").group(1))
        with contextlib.ExitStack() as held:
            go = held.enter_context(open(fifo, "w"))  # waits for the command, so the server has its files
            callers = []
            for _ in range(3 * self.MOST):
                callers.append(held.enter_context(socket.create_connection(("127.0.1.2", port), timeout=harness.PATIENCE_S)))
            for caller in callers[:-self.MOST]:
                wait_until(lambda: self.is_closed(caller), "the oldest are closed")
            wait_until(lambda: len(self.our_ssh()) <= 2 * self.MOST, "few processes are left")
            self.assertEqual([i for i, caller in enumerate(callers[-self.MOST:]) if self.is_closed(caller)], [])
            go.write("go\n")
            go.flush()
            finished = self.expect_code(job.finish(), 0)
        self.assertIn("ring: 2 of 2 ranks", finished.out)
        lines = re.findall(r"ssh\.server says=.more than %d callers have not logged in; closed one from 127\.0\.0\.1" % self.MOST, finished.err)
        self.assertTrue(1 <= len(lines) <= 20, finished.err)
        self.expect_nothing_left()

    def is_closed(self, caller):
        caller.setblocking(False)
        try:
            while caller.recv(4096):
                pass
            return True
        except BlockingIOError:
            return False
        except ConnectionResetError:
            return True


class UsersTest(SshTest):
    """Users that OpenSSH alone would send away, in containers as strict as they come: no capability, no new privileges, nothing
    but a temporary folder can be written to."""

    def start_as(self, uid, implementation, *words):
        if os.geteuid() != 0:
            self.skip_because("root")
        os.chmod(self.dir, 0o755)
        os.mkdir(self.path("t"))
        mounts = ("mount -t tmpfs none /run; mount -t tmpfs -o mode=1777,size=64m none /dev/shm; mount -t tmpfs -o mode=1777 none '%s'; mount -o remount,bind,ro /"
                  % self.path("t"))
        drop = ["setpriv", "--reuid", str(uid), "--regid", str(uid), "--clear-groups", "--bounding-set", "-all", "--inh-caps", "-all",
                "--ambient-caps", "-all", "--no-new-privs"]
        words = ["local", "--nodes", 2, "--framework", "mpi", "--mpi", implementation, "--mpi-transport", "ssh", *words, "--",
                 built("ring", implementation)]
        command = self.command(words, mounts=mounts)
        at = command.index("sh", command.index("sh") + 1) + 1
        return self.start_command(command[:at] + drop + command[at:], env={"TMPDIR": self.path("t"), "HOME": "/"}, cwd="/")

    def run_as(self, uid, implementation, *words):
        finished = self.start_as(uid, implementation, *words).finish()
        self.assertIn("ring: 2 of 2 ranks", self.expect_code(finished, 0).out)
        wait_until(lambda: not self.marked() and not self.our_ssh(), "nothing is left", 10)
        return finished

    def test_a_uid_without_a_line_in_passwd(self):
        for implementation in ("openmpi", "mpich"):
            with self.subTest(implementation):
                shutil.rmtree(self.path("t"), ignore_errors=True)
                self.run_as(77777, implementation)

    def test_root_without_capabilities_and_without_run_sshd(self):
        self.run_as(0, "openmpi")

    def keys_of(self, owner, group, mode):
        """As a volume with fsGroup has them."""
        folder = self.keys()
        os.chmod(folder, 0o755)
        for name in os.listdir(folder):
            os.chown(os.path.join(folder, name), owner, group)
            os.chmod(os.path.join(folder, name), mode)
        return folder

    def test_a_key_of_root_that_the_group_may_read(self):
        finished = self.run_as(77777, "openmpi", "--mpi-ssh-keys", self.keys_of(0, 77777, 0o440))
        self.assertIn("keys=mounted", finished.err)

    def test_a_key_of_another_user_that_root_may_read_by_its_group(self):
        self.run_as(0, "openmpi", "--mpi-ssh-keys", self.keys_of(1500, 0, 0o440))

    def test_a_key_that_may_not_be_read(self):
        finished = self.start_as(77777, "openmpi", "--mpi-ssh-keys", self.keys_of(0, 0, 0o400)).finish()
        self.expect_code(finished, 78)
        self.assertRegex(finished.err, r"(?m)^muster: --mpi-ssh-keys: open '\S+/id_rsa': Permission denied")


class OpenMpiHosts(OpenMpi, mpi_ssh_cases.HostTests, NamespaceTest):
    def test_daemons_start_daemons(self):
        """As in jobs of more than 64 hosts: they log in from hosts that are not the launcher's."""
        numbers = [1, 2, 3, 4, 5]
        self.add_hosts(numbers)
        self.start_mpi(numbers, "--mpi-ssh-port", 2222, "--", *self.program("ring"), env={"OMPI_MCA_routed_radix": "2"})
        self.expect_ring(numbers)


class MpichHosts(Mpich, mpi_ssh_cases.HostTests, NamespaceTest):
    gate_keeps = ("test_each_rank_has_the_environment_of_its_own_pod",)
    finalizes = speaks_ipv6 = False  # as in test_mpi_hosts

    def test_each_rank_has_the_environment_of_its_own_pod(self):
        numbers = [1, 2, 3, 4]
        script = self.sh('echo "$PMI_RANK $(hostname) $WHERE" >>"$OUT/ranks"')
        self.add_hosts(numbers)
        for number in numbers:
            self.start_mpi([number], "--", script, nodes=4, endpoints=NET + "1", env={"WHERE": "at-%d" % number})
        for number in numbers:
            self.expect_code(self.agents[number].finish(), 0)
        self.assertEqual(sorted(self.read("ranks").splitlines()), ["%d host-%d at-%d" % (k - 1, k, k) for k in numbers])


class OpenMpiHostFaults(OpenMpi, mpi_ssh_cases.HostFaultTests, NamespaceTest):
    pass


class MpichHostFaults(Mpich, mpi_ssh_cases.HostFaultTests, NamespaceTest):
    gate_keeps = ()


class OpenMpiPods(OpenMpi, mpi_ssh_cases.PodTests, NamespaceTest):
    pass


class MpichPods(Mpich, mpi_ssh_cases.PodTests, NamespaceTest):
    gate_keeps = ()
    finalizes = False


if __name__ == "__main__":
    unittest.main()
