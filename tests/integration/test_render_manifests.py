"""`muster render -f`: what comes out of Muster goes in again and comes out the same; and no field of a controller's own schema, at the level of the
job, is lost without a word."""
import copy
import itertools
import unittest

import yaml

from kubernetes_rules import problems_of
from test_render import WORKLOADS, RenderTest

PODS = {"spec": {"containers": [{"name": "main", "image": "i", "command": ["train.py"]}]}}
LAUNCHER = {"spec": {"containers": [{"name": "main", "image": "i", "command": ["mpirun", "ring"]}]}}
BASES = {
    "jobset": {"apiVersion": "jobset.x-k8s.io/v1alpha2", "kind": "JobSet",
               "spec": {"replicatedJobs": [{"name": "worker", "template": {"spec": {"completions": 2, "parallelism": 2, "template": PODS}}}]}},
    "job": {"apiVersion": "batch/v1", "kind": "Job", "spec": {"completions": 2, "parallelism": 2, "template": PODS}},
    "mpijob": {"apiVersion": "kubeflow.org/v2beta1", "kind": "MPIJob",
               "spec": {"mpiReplicaSpecs": {"Launcher": {"template": LAUNCHER}, "Worker": {"replicas": 2, "template": PODS}}}},
    "pytorchjob": {"apiVersion": "kubeflow.org/v1", "kind": "PyTorchJob",
                   "spec": {"elasticPolicy": {"minReplicas": 1, "maxReplicas": 4}, "pytorchReplicaSpecs": {"Worker": {"replicas": 2, "template": PODS}}}},
    "trainjob": {"apiVersion": "trainer.kubeflow.org/v1alpha1", "kind": "TrainJob",
                 "spec": {"runtimeRef": {"name": "torch-distributed"}, "trainer": {"numNodes": 2, "image": "i", "command": ["train.py"]}}},
}
# Where a field's meaning is in the document that is written, if not at its own path.
ELSEWHERE = {
    "trainjob": {"spec.trainer.args", "spec.trainer.command", "spec.trainer.env", "spec.trainer.image", "spec.trainer.resourcesPerNode",
                 "spec.runtimeRef.kind", "spec.runtimeRef.apiGroup"},  # in the TrainingRuntime that is written beside it
    "pytorchjob": {"spec.elasticPolicy.nProcPerNode"},                 # spec.nprocPerNode
}


# (kind, field) whose sample is what Muster writes anyway.
USUAL = {("jobset", "spec.network.enableDNSHostnames"), ("jobset", "spec.network.publishNotReadyAddresses")}


def at(document, path):
    for part in path:
        if not (part in document if isinstance(document, dict) else isinstance(document, list) and part < len(document)):
            return None
        document = document[part]
    return document


def written(path):
    """As a field of a manifest is called."""
    return "".join("[%d]" % part if isinstance(part, int) else "." + part for part in path).lstrip(".")


class Again(RenderTest):
    FLAGS = {
        "pods": ["--workers", "3"],
        "a master": ["--workers", "2", "--master", "different", "--master-cpu", "1"],
        "much": ["--workers", "2", "--gpu", "2", "--resource", "rdma/hca=1", "--large-shm", "--backoff-limit", "3", "--grace-period", "2m", "--label",
                 "team=a", "--annotation", "note=b c", "--project", "vision", "--report", "webhook=https://c.example/h", "--volume", "/mnt/a:/a:ro",
                 "--toleration", "gpu=true:NoSchedule", "--topology", "rack=required", "-eA=$(B) $C", "--uid", "1000"],
        "an end": ["--workers", "2", "--ttl", "1h"],
    }

    def test_what_was_rendered_is_rendered_the_same(self):
        for kind, (title, flags) in itertools.product([kind for kind in WORKLOADS if kind != "trainjob"], self.FLAGS.items()):
            if (title, kind) == ("a master", "job"):
                continue
            with self.subTest(kind=kind, flags=title):
                framework = "mpi" if kind == "mpijob" else "pytorch"
                documents = self.render("--to", kind, "--framework", framework, "--command", *flags)
                source = self.write("source.yaml", yaml.safe_dump(documents[-1]))
                again = self.expect_code(self.run_muster("render", "-f", source, "--to", kind), 0)
                self.assertEqual(list(yaml.safe_load_all(again.out))[-1], documents[-1])
                self.assertNotIn("left out", again.err)

    def test_what_was_rendered_as_one_kind_is_another(self):
        for source, target in itertools.permutations([kind for kind in WORKLOADS if kind != "mpijob"], 2):
            with self.subTest(source=source, target=target):
                documents = self.render("--to", source, "--framework", "pytorch", "--workers", "2", "--no-master", "--gpu", "2", "--command")
                made = self.run_muster("render", "-f", self.write("source.yaml", yaml.safe_dump_all(documents)), "--to", target)
                self.expect_code(made, 0)
                self.assertEqual(problems_of(list(yaml.safe_load_all(made.out)), self.schemas), [])


class Rich(RenderTest):
    """Manifests with all that is carried, as each kind: what an API server takes."""
    COMMON = {"suspend": True, "managedBy": "kueue.x-k8s.io/multikueue", "activeDeadlineSeconds": 600, "ttlSecondsAfterFinished": 60}
    JOB = {"podFailurePolicy": {"rules": [{"action": "FailIndex", "onExitCodes": {"containerName": "main", "operator": "In", "values": [3]}}]},
           "podReplacementPolicy": "Failed", "successPolicy": {"rules": [{"succeededIndexes": "0"}]}, "backoffLimitPerIndex": 1, "maxFailedIndexes": 1}
    FIELDS = {
        "job": {**COMMON, **JOB},
        "jobset": {"suspend": True, "ttlSecondsAfterFinished": 60, "startupPolicy": {"startupPolicyOrder": "InOrder"},
                   "successPolicy": {"operator": "Any", "targetReplicatedJobs": ["worker"]},
                   "failurePolicy": {"maxRestarts": 2, "restartStrategy": "BlockingRecreate",
                                     "rules": [{"name": "Host", "action": "RestartJobSetAndIgnoreMaxRestarts", "onJobFailureReasons": ["PodFailurePolicy"]}]}},
        "pytorchjob": {"runPolicy": {**COMMON, "cleanPodPolicy": "All", "backoffLimit": 2, "schedulingPolicy": {
            "minAvailable": 2, "queue": "q", "priorityClass": "high", "minResources": {"cpu": "4"}, "scheduleTimeoutSeconds": 30}}},
        "trainjob": {"suspend": True, "managedBy": "kueue.x-k8s.io/multikueue", "activeDeadlineSeconds": 600},
        "mpijob": {"runPolicy": {**COMMON, "cleanPodPolicy": "All", "schedulingPolicy": {"minAvailable": 3, "scheduleTimeoutSeconds": 30}},
                   "launcherCreationPolicy": "WaitForWorkersReady", "slotsPerWorker": 2},
    }

    def test_each_as_each(self):
        for source, target in itertools.product(self.FIELDS, WORKLOADS):
            if source == "mpijob" and target in ("job", "pytorchjob") or target == "mpijob" != source:
                continue  # of MPI, or not
            with self.subTest(source=source, target=target):
                manifest = copy.deepcopy(BASES[source])
                manifest["metadata"] = {"name": "a", "labels": {"team": "a"}}
                manifest["spec"].update(copy.deepcopy(self.FIELDS[source]))
                if source == "jobset":
                    manifest["spec"]["replicatedJobs"][0]["template"]["spec"].update(copy.deepcopy(self.JOB), activeDeadlineSeconds=600)
                result = self.expect_code(self.run_muster("render", "-f", self.write("rich.yaml", yaml.safe_dump(manifest)), "--to", target), 0)
                self.assertEqual(problems_of(list(yaml.safe_load_all(result.out)), self.schemas), [])


class Fields(RenderTest):
    """Each field of a kind's schema, in a manifest of that kind: it is in what is rendered as that kind, or a line tells of it."""

    def sample(self, schema):
        schema = self.resolved(schema)
        if "enum" in schema:
            return schema["enum"][-1]
        if "properties" in schema:
            return {name: self.sample(schema["properties"][name]) for name in schema.get("required", sorted(schema["properties"])[:1])}
        if "anyOf" in schema:
            return 1
        kind = schema.get("type", "string")
        return {"integer": 2, "boolean": True, "string": "x-1", "number": 2}.get(kind) or (
            [self.sample(schema["items"])] if kind == "array" else {"x-1": self.sample(schema.get("additionalProperties", {}))})

    def resolved(self, schema):
        while "$ref" in schema:
            schema = self.schemas.resolver.resolve("core.json" + schema["$ref"] if schema["$ref"].startswith("#") else schema["$ref"])[1]
        return schema

    def fields(self, schema, base, path=()):
        """(path, a value) of those that `base` does not have; what is in a pod is the pod's."""
        schema = self.resolved(schema)
        here = at(base, path)
        if here is PODS or here is LAUNCHER:
            return
        if "items" in schema and isinstance(here, list) and isinstance(here[0], dict):
            yield from self.fields(schema["items"], base, path + (0,))
        elif "properties" in schema and (here is not None or path[-1] in ("runPolicy", "schedulingPolicy", "failurePolicy", "network", "coordinator")):
            for name in schema["properties"]:
                yield from self.fields(schema["properties"][name], base, path + (name,))
        elif "additionalProperties" in schema and isinstance(here, dict):
            for name in here:
                yield from self.fields(schema["additionalProperties"], base, path + (name,))
        elif here is None:
            yield path, self.sample(schema)

    def schema_of(self, base):
        schema = self.resolved(self.schemas.of[base["apiVersion"], base["kind"]])
        return schema["properties"]["spec"]

    def rendered(self, base, path, value, target):
        """And whether a line tells of the field."""
        manifest = copy.deepcopy(base)
        manifest["metadata"] = {"name": "a"}
        place = manifest
        for part in path[:-1]:
            place = place[part] if isinstance(place, list) else place.setdefault(part, {})
        if path:
            place[path[-1]] = value
        result = self.run_muster("render", "-f", self.write("field.yaml", yaml.safe_dump(manifest)), "--to", target)
        return result, any(written(path[:length]) in result.err for length in range(2, len(path) + 1))

    def check_field(self, kind, base, path, value):
        result, told = self.rendered(base, path, value, kind)
        name = written(path)
        if result.code == 0 and not told and name not in ELSEWHERE.get(kind, ()):
            made = at(list(yaml.safe_load_all(result.out))[-1], path)
            self.assertEqual(made[:len(value)] if isinstance(value, list) else made, value, "%s: neither carried nor told" % name)
        self.assertIn(result.code, (0, 64), result.err)
        self.assertTrue(result.code == 0 or told, result.err)

    def test_none_is_lost_in_another_kind(self):
        """What is written is not what would be written without it, or a line tells of it."""
        for kind, target in itertools.permutations(BASES, 2):
            without, _ = self.rendered(BASES[kind], (), None, target)
            if without.code != 0:
                continue  # of MPI, or not
            for path, value in self.fields(self.schema_of(BASES[kind]), BASES[kind], ("spec",)):
                with self.subTest(source=kind, target=target, field=written(path)):
                    result, told = self.rendered(BASES[kind], path, value, target)
                    told = told or str(path[-1]) in result.err
                    self.assertTrue(told or result.out != without.out or (kind, written(path)) in USUAL, "%s to %s: %s" % (kind, target, written(path)))

    def test_none_is_lost_silently(self):
        for kind, base in BASES.items():
            found = list(self.fields(self.schema_of(base), base, ("spec",)))
            self.assertGreater(len(found), 5, kind)
            for path, value in found:
                with self.subTest(kind=kind, field=written(path)):
                    self.check_field(kind, base, path, value)


if __name__ == "__main__":
    unittest.main()
