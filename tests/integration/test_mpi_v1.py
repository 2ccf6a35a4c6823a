"""An MPIJob of training-operator 1: the recorded pods' files in place of this machine's, and a kubectl that runs the command here."""
import os
import signal
import unittest

from harness import SUPPORT, MusterTest

PODS = os.path.join(os.path.dirname(SUPPORT), "data", "pods", "training-operator", "mpi-v1")
NAME = "tensorflow-mnist-"
# exec POD -- /bin/sh -c COMMAND, under the pod's name: daemons of one name share a folder, and each makes it.
KUBECTL = '#!/bin/sh\necho "$2" >>"$OUT"/pods\npod=$2\nshift 3\nexec unshare --uts sh -c \'hostname "$0"; exec "$@"\' "$pod" "$@"\n'


class MpiJobV1Test(MusterTest):
    def in_pod(self, name, *words, **how):
        if os.geteuid() != 0:
            self.skip_because("namespaces", "mounts need root")
        folder = os.path.join(PODS, NAME + name)
        os.makedirs(self.path("opt", "kube"), exist_ok=True)
        self.write("opt/kube/kubectl", KUBECTL, 0o755)
        mounts = ("mount -t overlay overlay -o lowerdir=%s/root/etc:/etc /etc\n"
                  "mount -t overlay overlay -o lowerdir=%s:/opt /opt\nhostname %s" % (folder, self.path("opt"), NAME + name))
        with open(os.path.join(folder, "environ")) as file:
            env = dict(line.split("=", 1) for line in file.read().splitlines())
        process = self.command(words, mounts=mounts, **how)
        return self.start_command(["unshare", "--uts"] + process, env=env)

    def test_the_launchers_mpirun_reaches_the_pods_as_the_operator_wants(self):
        mpirun = ["mpirun.openmpi", "--allow-run-as-root", "--oversubscribe", "-n", "2"]
        finished = self.expect_code(self.in_pod("launcher", "run", "--", *mpirun, "sh", "-c",
                                                'echo $OMPI_COMM_WORLD_RANK $PRTE_MCA_plm_ssh_agent >>"$OUT"/ranks').finish(), 0)
        self.assertEqual(sorted(self.read("ranks").splitlines()), ["%d /etc/mpi/kubexec.sh" % rank for rank in (0, 1)], finished)
        self.assertEqual(sorted(self.read("pods").split()), [NAME + "worker-0", NAME + "worker-1"])

    def test_a_worker_holds_and_ends_well(self):
        for words in ((), ("--", "mpirun", "x")):
            with self.subTest(words=words):
                worker = self.in_pod("worker-0", "run", *words, pid1=True)
                worker.wait_for("job.holds", stream="err")
                worker.signal(signal.SIGTERM)
                self.expect_code(worker.finish(), 0)


if __name__ == "__main__":
    unittest.main()
