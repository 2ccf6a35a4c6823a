"""Manifests of `muster render`: each document holds what the schema and the rules of its kind say (support/kubernetes_rules.py)."""
import copy
import os
import re
import unittest

import yaml

from harness import MusterTest
from kubernetes_rules import Schemas, problems_of

KINDS = ("jobset", "job", "mpijob", "pytorchjob", "trainjob")
WORKLOADS = {"jobset": "JobSet", "job": "Job", "mpijob": "MPIJob", "pytorchjob": "PyTorchJob", "trainjob": "TrainJob"}
FLAGS = {
    "one pod": ["--workers", "1"],
    "four pods": ["--workers", "4"],
    "command": ["--command", "--workers", "2"],
    "pytorch": ["--framework", "pytorch", "--workers", "2"],
    "jax": ["--framework", "jax", "--workers", "2"],
    "xgboost": ["--framework", "xgboost", "--workers", "2"],
    "tensorflow": ["--framework", "tensorflow", "--workers", "2"],
    "mpi": ["--framework", "mpi", "--workers", "2"],
    "processes": ["--framework", "mpi", "--processes", "3"],
    "no master": ["--workers", "2", "--no-master"],
    "another master": ["--workers", "2", "--master", "different", "--master-cpu", "1", "--master-gpu", "1", "--master-environment", "X=1"],
    "runs": ["--runs", "4", "--parallelism", "2"],
    "words": ["--workers", "2", "--project", "vision", "--label", "team=a", "--annotation", "note=b c", "--backoff-limit", "3", "--grace-period", "2m",
              "--image-pull-policy", "ifNotPresent", "--environment", "A=1,2", "-eB=$x", "--env-secret", "TOKEN=hf:token", "--working-dir", "/app",
              "--loglevel", "debug", "--report", "webhook=https://c.example/h", "--report", "annotation", "--report-token", "tok:key"],
    "resources": ["--workers", "2", "--cpu", "4", "--cpu-limit", "8", "--memory", "8Gi", "--memory-limit", "16Gi", "--gpu", "2", "--resource",
                  "rdma/hca=1", "--large-shm"],
    "a share": ["--gpu", "0.5", "--local-image", "--interactive"],
    "memory of a share": ["--gpu-memory", "20M", "--run-as-user"],
    "volumes": ["--workers", "2", "--pvc", ":10Gi:/scratch", "--pvc", "data:/data:ro", "--volume", "/mnt/a:/a:ro,/mnt/b:/b",
                "-v", "/exports:/nfs:ro:nfs.example", "--nfs-server", "nfs2.example", "--storage", "class=fast,size=5Gi,access=rwx,path=/fast",
                "--storage", "size=1Gi,path=/dev/block,mode=block,keep=no", "--config-map", "scripts:/scripts", "--secret", "keys:/keys",
                "--git-sync", "source=https://git.example/a/b.git,branch=main,username=u,password=p"],
    "placement": ["--workers", "2", "--node-type", "dgx", "--node-pool", "a,b", "--toleration", "gpu=true:NoSchedule", "--toleration", "spot",
                  "--topology", "rack=required", "--topology", "zone=preferred", "--priority", "high"],
    "rights": ["--workers", "2", "--uid", "1000", "--gid", "1000", "--supplemental-groups", "5,6", "--create-home-dir",
               "--prevent-privilege-escalation", "--host-ipc"],
    "the host's network": ["--workers", "2", "--host-network"],
    "tools": ["--workers", "2", "--node-port", "8888:30888", "--external-url", "8888=https://nb.example/x"],
    "a terminal": ["--stdin", "--tty"],
    "somebody who watches": ["--attach"],
    "an end": ["--workers", "2", "--ttl", "1h30m"],
}
REFUSED = {(flags, "mpijob") for flags in ("pytorch", "jax", "xgboost", "tensorflow")}
REFUSED |= {(flags, kind) for flags in ("mpi", "processes") for kind in ("job", "pytorchjob")}
REFUSED |= {("runs", kind) for kind in KINDS if kind != "job"}
REFUSED |= {("no master", "mpijob"), ("another master", "job"), ("another master", "trainjob"), ("an end", "trainjob")}
OUTPUT = {"--file", "--to", "--output", "--help", "--name", "--image", "--job-name-prefix"}


class RenderTest(MusterTest):
    schemas = Schemas()

    def render(self, *flags, name="bert", program=("train.py", "--lr", "$1")):
        result = self.run_muster("render", "--name", name, "--image", "registry/bert:1", *flags, "--", *program)
        self.assertEqual(result.code, 0, result.err)
        return list(yaml.safe_load_all(result.out))

    def workload(self, kind, *flags, words=()):
        program = ("python3", "-c", "import sys; print(ascii(sys.argv[1:]))", *words) if words else ("train.py",)
        return self.render("--to", kind, *flags, program=program)[-1]


class Grid(RenderTest):
    def test_all_flags_in_all_kinds(self):
        for kind in KINDS:
            for title, flags in FLAGS.items():
                if (title, kind) in REFUSED:
                    continue
                with self.subTest(kind=kind, flags=title):
                    documents = self.render("--to", kind, *flags)
                    self.assertEqual(problems_of(documents, self.schemas), [])
                    self.assertEqual(documents[-1]["kind"], WORKLOADS[kind])

    def test_what_a_kind_cannot_hold_is_one_line(self):
        for title, kind in sorted(REFUSED):
            with self.subTest(flags=title, kind=kind):
                result = self.run_muster("render", "--name", "bert", "--image", "i", "--to", kind, *FLAGS[title], "--", "train.py")
                self.assertEqual((result.code, result.out), (64, ""))
                self.assertRegex(result.err, r"^muster render: --[^\n]*\n$")

    def test_each_flag_is_in_it(self):
        rows = re.findall(r"(?m)^  (?:-(.), |    )(--[a-z-]+)", self.run_muster("render", "--help").out)
        tried = {word.partition("=")[0] for flags in FLAGS.values() for word in flags}
        self.assertEqual([name for letter, name in rows
                          if name not in tried | OUTPUT and not any(letter and word.startswith("-" + letter) for word in tried)], [])


class Output(RenderTest):
    FLAGS = ("--image", "i", "--workers", "2", "--command", "--", "train.py")

    def test_a_file_for_each_document(self):
        folder = os.path.join(self.dir, "new", "manifests")
        printed = self.render("--workers", "2", "--command", program=("train.py",))
        self.expect_code(self.run_muster("render", "--name", "bert", "-o", folder, "-i", "registry/bert:1", *self.FLAGS[2:]), 0)
        names = sorted(os.listdir(folder))
        self.assertEqual(names, ["01-networkpolicy-bert.yaml", "02-jobset-bert.yaml"])
        for name, document in zip(names, printed):
            with open(os.path.join(folder, name)) as file:
                self.assertEqual(yaml.safe_load(file), document)

    def test_a_folder_that_cannot_be_made(self):
        result = self.run_muster("render", "--name", "bert", "-o", "/proc/none", *self.FLAGS)
        self.assertEqual((result.code, result.out), (71, ""))
        self.assertRegex(result.err, r"^muster render: .*/proc/none.*\n")

    def test_a_prefix_makes_the_same_name_of_the_same_flags(self):
        first, again = (self.expect_code(self.run_muster("render", "--job-name-prefix", "bert", *self.FLAGS), 0).out for _ in range(2))
        self.assertEqual(first, again)
        self.assertRegex(first, "(?m)^  name: bert-[a-z0-9]+$")

    def test_words_reach_the_program_as_they_are(self):
        """Through Kubernetes, which makes one $ of two, and `muster run`, which does so too."""
        words = ["$", "$$", "$$$x", "$(HOME)", "$HOME", "a b", "\u00fc\n"]
        container = self.workload("jobset", "--command", "--workers", "1", words=words)["spec"]["replicatedJobs"][0]["template"]["spec"]
        command = container["template"]["spec"]["containers"][0]["command"]
        given = [word.replace("$$", "\0").replace("\0", "$") for word in command[1:]]
        result = self.expect_code(self.run_muster(*given), 0)
        self.assertEqual(result.out.splitlines()[-1], ascii(words))


class Names(RenderTest):
    SUFFIXES = {"jobset": "-worker-0-11", "job": "-11", "mpijob": "-worker-11", "pytorchjob": "-worker-11", "trainjob": "-node-0-11"}

    def test_the_longest_name_of_each_kind(self):
        for kind, suffix in self.SUFFIXES.items():
            with self.subTest(kind=kind):
                name = "a" * (63 - len(suffix))
                self.assertEqual(problems_of(self.render("--to", kind, "--workers", "12", name=name), self.schemas), [])
                result = self.run_muster("render", "--name", name + "b", "--image", "i", "--to", kind, "--workers", "12", "--", "x")
                self.assertEqual((result.code, result.out), (64, ""))
                self.assertIn("--name: '%sb' must have at most %d letters" % (name, len(name)), result.err)

    def test_names_that_are_none(self):
        for name in ("Bert", "1bert", "bert-", "bert_1", "bert.1"):
            with self.subTest(name=name):
                result = self.run_muster("render", "--name", name, "--image", "i", "--", "x")
                self.assertEqual((result.code, result.out), (64, ""))
                self.assertRegex(result.err, r"^muster render: --name: '%s': must be .*\n$" % name)


class Mutations(RenderTest):
    """The checks above find what is wrong."""

    CHANGES = {
        "a field that is misspelt": ("jobset", "additional", lambda job: job["spec"].update(replicatedJob=[])),
        "a text for a number": ("job", "is not of type", lambda job: job["spec"].update(completions="4")),
        "an enum": ("mpijob", "is not one of", lambda job: job["spec"].update(mpiImplementation="OpenMpi")),
        "a misspelt field of a container": ("pytorchjob", "additional", lambda job: worker(job)["containers"][0].update(imagePullpolicy="Always")),
        "a kind without schema": ("job", "no schema", lambda job: job.update(kind="Jop")),
        "OnFailure with podFailurePolicy": ("job", "podFailurePolicy needs", lambda job: job["spec"]["template"]["spec"].update(restartPolicy="OnFailure")),
        "Always in a Job": ("job", "restartPolicy Always", lambda job: job["spec"]["template"]["spec"].update(restartPolicy="Always")),
        "more at once than in all": ("job", "parallelism", lambda job: job["spec"].update(parallelism=5)),
        "no headless Service": ("job", "without a headless", lambda job: job["spec"]["template"]["spec"].update(subdomain="other")),
        "0 is no failure": ("jobset", "exit codes", lambda job: part(job)["podFailurePolicy"]["rules"][1]["onExitCodes"].update(values=[0, 64])),
        "a host name that is too long": ("jobset", "the host name", lambda job: job["metadata"].update(name="a" * 60)),
        "a coordinator that is no pod": ("jobset", "coordinator", lambda job: job["spec"]["coordinator"].update(podIndex=4)),
        "a rule's name": ("jobset", "names of rules", lambda job: job["spec"]["failurePolicy"]["rules"][0].update(name="no-dash")),
        "two launchers": ("mpijob", "one launcher", lambda job: job["spec"]["mpiReplicaSpecs"]["Launcher"].update(replicas=2)),
        "root's folder": ("mpijob", "readable for root", lambda job: job["spec"].update(sshAuthMountPath="/root/.ssh")),
        "another container": ("pytorchjob", "the first container", lambda job: worker(job)["containers"][0].update(name="trainer")),
        "a policy of another controller": ("mpijob", "restartPolicy", lambda job: job["spec"]["mpiReplicaSpecs"]["Worker"].update(restartPolicy="ExitCode")),
        "an elastic job's sizes": ("pytorchjob", "minReplicas", lambda job: job["spec"].update(elasticPolicy={"minReplicas": 3, "maxReplicas": 2})),
        "another runtime": ("trainjob", "runtimeRef", lambda job: job["spec"]["runtimeRef"].update(name="other")),
        "a mount without a volume": ("job", "without a volume", lambda job: job["spec"]["template"]["spec"]["volumes"].pop()),
        "a writable root": ("job", "locked down", lambda job: job["spec"]["template"]["spec"]["containers"][0]["securityContext"].update(readOnlyRootFilesystem=False)),
        "a grace period as long as the pod's": ("job", "grace period", lambda job: job["spec"]["template"]["spec"].update(terminationGracePeriodSeconds=25)),
    }

    def test_each_is_found(self):
        rendered = {kind: self.render("--to", kind, "--workers", "4", *([] if kind == "mpijob" else ["--no-master"])) for kind in KINDS}
        for title, (kind, problem, change) in self.CHANGES.items():
            with self.subTest(title):
                documents = copy.deepcopy(rendered[kind])
                change(documents[-1])
                problems = problems_of(documents, self.schemas)
                self.assertIn(problem.lower(), " ".join(problems).lower())

    COMPANIONS = {
        "an address for a host": ("Ingress", "host 10.0.0.1", lambda made: made["spec"]["rules"][0].update(host="10.0.0.1")),
        "an empty part of a path": ("Ingress", "path /a//b", lambda made: backend_path(made).update(path="/a//b")),
        "a port's name and number": ("Ingress", "a port's name or number", lambda made: backend_path(made)["backend"]["service"]["port"].update(name="a")),
        "another Service": ("Ingress", "that is not there", lambda made: backend_path(made)["backend"]["service"].update(name="other")),
        "a port above the highest": ("NetworkPolicy", "port 65536", lambda made: made["spec"]["ingress"][1]["ports"][0].update(port=65536)),
        "pods and a range of addresses": ("NetworkPolicy", "ipBlock", lambda made: made["spec"]["ingress"][0]["from"][0].update(ipBlock={"cidr": "10.0.0.0/8"})),
        "an end before the beginning": ("NetworkPolicy", "endPort", lambda made: made["spec"]["ingress"][1]["ports"][0].update(endPort=1)),
        "a role without resources": ("Role", "verbs, groups and resources", lambda made: made["rules"][0].pop("resources")),
        "a role of nobody": ("RoleBinding", "not there", lambda made: made["roleRef"].update(name="other")),
        "a group of another API": ("RoleBinding", "roleRef", lambda made: made["roleRef"].update(apiGroup="")),
        "a claim of nothing": ("PersistentVolumeClaim", "storage of nothing", lambda made: made["spec"]["resources"]["requests"].update(storage="0Gi")),
        "a claim that nobody may use": ("PersistentVolumeClaim", "accessModes", lambda made: made["spec"].update(accessModes=[])),
        "a Service of no pods": ("Service", "no pods", lambda made: made["spec"].update(selector={})),
        "a port of a Service": ("Service", "port 0", lambda made: made["spec"]["ports"][0].update(targetPort=0)),
    }

    def test_those_of_what_stands_beside_too(self):
        rendered = self.render("--workers", "2", "--external-url", "8888=https://nb.example/x", "--report", "annotation", "--pvc", ":10Gi:/scratch")
        self.assertEqual(problems_of(rendered, self.schemas), [])
        for title, (kind, problem, change) in self.COMPANIONS.items():
            with self.subTest(title):
                documents = copy.deepcopy(rendered)
                change(next(document for document in documents if document["kind"] == kind))
                self.assertIn(problem, " ".join(problems_of(documents, self.schemas)))

    def test_those_of_a_runtime_too(self):
        documents = self.render("--to", "trainjob", "--workers", "2")
        runtime = documents[-2]
        self.assertEqual(runtime["kind"], "TrainingRuntime")
        job = runtime["spec"]["template"]["spec"]["replicatedJobs"][0]
        pod = job["template"]["spec"]["template"]["spec"]
        pod["containers"][0]["env"].append({"name": "PET_NNODES", "value": "2"})
        job["replicas"] = 2
        self.assertEqual(len(problems_of(documents, self.schemas)), 2)


def backend_path(ingress):
    return ingress["spec"]["rules"][0]["http"]["paths"][0]


def part(job):
    return job["spec"]["replicatedJobs"][0]["template"]["spec"]


def worker(job):
    return job["spec"]["pytorchReplicaSpecs"]["Worker"]["template"]["spec"]


if __name__ == "__main__":
    unittest.main()
