"""The manifests of examples/mpi and examples/horovod: they parse, have the fields of their kind, and the commands in them are command lines that Muster takes."""
import os
import unittest

import yaml

from harness import EXAMPLES, MusterTest


class MpiJob:
    folder = name = program = launch = None

    def setUp(self):
        super().setUp()
        with open(os.path.join(EXAMPLES, self.folder, "mpijob.yaml")) as file:
            documents = list(yaml.safe_load_all(file))
        self.assertEqual(len(documents), 1)
        self.job = documents[0]

    def replica(self, name):
        return self.job["spec"]["mpiReplicaSpecs"][name]

    def test_its_fields_are_those_of_the_operator(self):
        """v2beta1: types.go of mpi-operator 0.8, and the rules of its validation."""
        self.assertEqual((self.job["apiVersion"], self.job["kind"]), ("kubeflow.org/v2beta1", "MPIJob"))
        spec = self.job["spec"]
        self.assertLessEqual(set(spec), {"slotsPerWorker", "runLauncherAsWorker", "runPolicy", "mpiReplicaSpecs", "sshAuthMountPath",
                                         "launcherCreationPolicy", "mpiImplementation"})
        self.assertLessEqual(set(spec["runPolicy"]), {"cleanPodPolicy", "ttlSecondsAfterFinished", "activeDeadlineSeconds", "backoffLimit",
                                                      "schedulingPolicy", "suspend", "managedBy"})
        self.assertIn(spec["mpiImplementation"], ("OpenMPI", "Intel", "MPICH"))
        self.assertIn(spec["runPolicy"]["cleanPodPolicy"], ("None", "Running", "All"))
        self.assertEqual(set(spec["mpiReplicaSpecs"]), {"Launcher", "Worker"})
        self.assertEqual(self.replica("Launcher")["replicas"], 1)
        for name in ("Launcher", "Worker"):
            self.assertLessEqual(set(self.replica(name)), {"replicas", "template", "restartPolicy"})
            self.assertIn(self.replica(name)["restartPolicy"], ("Never", "OnFailure"))

    def test_its_commands_are_understood_in_the_pods_of_the_operator(self):
        hostfile = self.write("hostfile", "".join("%s-worker-%d.x.default.svc slots=8\n" % (self.name, k)
                                                  for k in range(self.replica("Worker")["replicas"])))
        pods = {"Launcher": {"K_MPI_JOB_ROLE": "launcher", "OMPI_MCA_orte_default_hostfile": hostfile},
                "Worker": {"K_MPI_JOB_ROLE": "worker", "MUSTER_RDZV_ENDPOINT": "%s-launcher.x" % self.name}}
        for name, env in pods.items():
            container, = self.replica(name)["template"]["spec"]["containers"]
            self.assertEqual(container["command"][:2], ["muster", "run"])
            explained = self.expect_code(self.run_muster("run", "--explain", *container["command"][2:], env=env), 0).out
            self.assertRegex(explained, "(?m)^--mpi-role +%s +mpi-operator" % name.lower())
            self.assertRegex(explained, r"(?m)^command +%s " % self.program)
            self.assertRegex(explained, "(?m)^--mpi-launch +%s " % self.launch)
        self.assertRegex(self.run_muster("run", "--explain", "--framework", "mpi", "x", env=pods["Launcher"]).out,
                         "(?m)^--nnodes +%d +mpi-operator" % self.replica("Worker")["replicas"])


class Ring(MpiJob, MusterTest):
    folder, name, program, launch = "mpi", "ring", "/app/ring", "mpirun"


class Horovod(MpiJob, MusterTest):
    folder, name, program, launch = "horovod", "train", "horovodrun", "elastic"


if __name__ == "__main__":
    unittest.main()
