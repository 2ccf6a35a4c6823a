"""`--mpi-transport ssh` and `sshd` with OpenSSH 10, on hosts that have it in the places of Debian's: tests of integration/test_mpi_ssh.py and
test_mpi_sshd.py. From 9.8 on a listening sshd locks out who does not log in, and each connection is served by programs of its own."""
import os
import subprocess

import test_mpi_ssh
import test_mpi_sshd

GRID = True  # but for what a class keeps in the gate
PROGRAMS = ("bin/ssh", "bin/ssh-keygen", "sbin/sshd")


class OpenSsh10:
    gate_keeps = ()  # what the classes that it changes keep, they keep for themselves

    def setUp(self):
        setup = subprocess.run(["sh", os.path.join(os.path.dirname(os.path.abspath(__file__)), "setup_openssh.sh")],
                               stdout=subprocess.PIPE, text=True)
        if setup.returncode != 0:
            self.skip_because("registry", "no OpenSSH 10 from Debian's next release")
        self.first_mounts = "; ".join(["mount --bind %s/root /srv" % setup.stdout.strip(), "mount --bind /srv/usr/lib/openssh /usr/lib/openssh"]
                                      + ["mount --bind /srv/usr/{0} /usr/{0}".format(program) for program in PROGRAMS])
        super().setUp()


class OpenMpiHosts(OpenSsh10, test_mpi_ssh.OpenMpiHosts):
    def test_it_is_openssh_10(self):
        self.add_host(1)
        for program in ("ssh", "/usr/sbin/sshd"):
            said = subprocess.run(["nsenter", "-t", str(self.holders[1]), "-m", program, "-V"], capture_output=True, text=True).stderr
            self.assertRegex(said, r"^OpenSSH_1\d\.")


class MpichHosts(OpenSsh10, test_mpi_ssh.MpichHosts):
    pass


class OpenMpiHostFaults(OpenSsh10, test_mpi_ssh.OpenMpiHostFaults):
    pass


class MpichHostFaults(OpenSsh10, test_mpi_ssh.MpichHostFaults):
    pass


class OpenMpiPods(OpenSsh10, test_mpi_ssh.OpenMpiPods):
    pass


class MpichPods(OpenSsh10, test_mpi_ssh.MpichPods):
    pass


class SshdTest(OpenSsh10, test_mpi_sshd.SshdTest):
    pass


class OpenMpiSshd(OpenSsh10, test_mpi_sshd.OpenMpiTest):
    pass


class MpichSshd(OpenSsh10, test_mpi_sshd.MpichTest):
    pass
