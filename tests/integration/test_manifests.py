"""The manifests of examples/mpi, examples/horovod and examples/pytorch: they parse, have the fields of their kind, and the commands in them are
command lines that Muster takes."""
import os
import re
import unittest

import yaml

from harness import EXAMPLES, MusterTest, unshare_command

DOMAIN = "train.default.svc.cluster.local"


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


class IndexedJob(MusterTest):
    def setUp(self):
        super().setUp()
        with open(os.path.join(EXAMPLES, "pytorch", "pods.yaml")) as file:
            self.service, self.job = yaml.safe_load_all(file)
        self.pod = self.job["spec"]["template"]["spec"]
        self.container, = self.pod["containers"]
        self.pods = self.job["spec"]["completions"]

    def test_its_fields_are_those_of_kubernetes(self):
        """The types of core/v1 and batch/v1, and the rules of their validation."""
        self.assertEqual([(each["apiVersion"], each["kind"]) for each in (self.service, self.job)], [("v1", "Service"), ("batch/v1", "Job")])
        spec = self.job["spec"]
        self.assertLessEqual(set(spec), {"completionMode", "completions", "parallelism", "backoffLimit", "podFailurePolicy", "successPolicy", "template"})
        self.assertEqual((spec["completionMode"], spec["parallelism"]), ("Indexed", self.pods))
        for rule in spec["podFailurePolicy"]["rules"]:
            self.assertIn(rule["action"], ("Ignore", "FailJob"))
            self.assertEqual(len(set(rule) & {"onExitCodes", "onPodConditions"}), 1)
        self.assertEqual(self.pod["restartPolicy"], "Never")  # podFailurePolicy wants it
        self.assertLessEqual(set(self.pod), {"subdomain", "restartPolicy", "terminationGracePeriodSeconds", "containers", "volumes"})
        self.assertLessEqual(set(self.container), {"name", "image", "command", "env", "ports", "resources", "volumeMounts"})
        self.assertEqual([mount["name"] for mount in self.container["volumeMounts"]], [volume["name"] for volume in self.pod["volumes"]])

    def test_the_service_gives_its_pods_their_names(self):
        service, name = self.service["spec"], self.job["metadata"]["name"]
        self.assertEqual((service["clusterIP"], service["publishNotReadyAddresses"]), ("None", True))
        self.assertEqual(service["selector"], {"batch.kubernetes.io/job-name": name})
        self.assertEqual(self.pod["subdomain"], self.service["metadata"]["name"])

    def test_its_command_is_understood(self):
        self.assertEqual(self.container["command"][:2], ["muster", "run"])
        explained = self.expect_code(self.run_muster("run", "--explain", *self.container["command"][2:]), 0).out
        self.assertRegex(explained, r"(?m)^--nnodes +\d:%d " % self.pods)
        grace, = re.findall(r"(?m)^--grace-period +(\d+)s ", explained)
        self.assertLess(int(grace), self.pod["terminationGracePeriodSeconds"])

    def test_its_pods_find_each_other(self):
        """With the names and variables of the manifest. A machine's loopback is their network, so each is told its address."""
        unshare = unshare_command()
        if unshare is None:
            self.skip_because("namespaces")
        words = self.container["command"][2:]
        flags = words[:words.index("/app/train.py")] + ["--nproc-per-node", "1", "--local-addr"]
        worker = self.sh('echo "$RANK $WORLD_SIZE $(hostname)" >>"$OUT/places"')
        names = ["127.0.1.%d train-%d.%s train-%d" % (k + 1, k, DOMAIN, k) for k in range(self.pods)]
        self.write("hosts.etc", "\n".join(["127.0.0.1 localhost", *names]) + "\n")
        self.write("secret", "0123456789abcdef0123456789abcdef", 0o600)
        script = self.sh('mount --bind "$OUT/hosts.etc" /etc/hosts\nip link set lo up\nagents=\nfor k in %s; do\n'
                         '  unshare --uts sh -c \'hostname "train-$1"; shift; exec "$@"\' sh $k %s 127.0.1.$((k + 1)) %s &\n  agents="$agents $!"\n'
                         "done\nfor agent in $agents; do wait $agent || exit; done"
                         % (" ".join(map(str, reversed(range(self.pods)))), " ".join(self.command(["run", *flags])), worker), "pods")
        env = {entry["name"]: entry["value"].replace("/etc/muster", self.dir) for entry in self.container["env"]}
        finished = self.start_command(unshare + ["--mount", "--net", script], env=env).finish()
        self.expect_code(finished, 0)
        self.assertEqual(sorted(self.read("places").splitlines()), ["%d %d train-%d" % (k, self.pods, k) for k in range(self.pods)], finished)
        self.assertNotIn("job.no_secret", finished.err)


if __name__ == "__main__":
    unittest.main()
