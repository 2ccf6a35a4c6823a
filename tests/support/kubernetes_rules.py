"""What an API server and the controllers' webhooks say to manifests, as far as it can be known without them: the schemas of tests/data/crds, and
the rules that no schema holds (JobSet, Job, MPIJob, PyTorchJob, TrainJob, and Kubernetes' own kinds: their validation code)."""
import json
import os
import re

import jsonschema

CRDS = os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "data", "crds")
LABEL = re.compile(r"[a-z]([-a-z0-9]*[a-z0-9])?")
SUBDOMAIN = re.compile(r"[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*")
IPV4 = re.compile(r"\d+(\.\d+){3}")
PORT_NAME = re.compile(r"(?=.*[a-z])[a-z0-9]+(-[a-z0-9]+)*")
RIGHTS = "rbac.authorization.k8s.io"
GROUPS = {"core": "", "networking": "networking.k8s.io/", "rbac": "rbac.authorization.k8s.io/"}  # of a definition's name; others are the API's
RESERVED = {"PET_NNODES", "PET_NPROC_PER_NODE", "PET_NODE_RANK", "PET_MASTER_ADDR", "PET_MASTER_PORT", "DMLC_TRACKER_URI",
            "DMLC_TRACKER_PORT", "DMLC_TASK_ID", "DMLC_NUM_WORKER", "OMPI_MCA_orte_default_hostfile", "OMPI_MCA_plm_rsh_args",
            "OMPI_MCA_orte_keep_fqdn_hostnames", "OMPI_MCA_orte_set_default_slots"}


def load(name):
    with open(os.path.join(CRDS, name)) as file:
        return json.load(file)


class Schemas:
    """One for each kind, by apiVersion and kind."""

    def __init__(self):
        shared = {file: load(file) for file in ("core.json", "by_hand.json")}
        self.resolver = jsonschema.RefResolver("", {}, store=shared)
        self.of = {}
        for file, schemas in shared.items():
            for name in schemas["definitions"]:
                found = re.search(r"([a-z0-9]+)\.(v\d\w*)\.([A-Z]\w+)$", name)
                if found:
                    group, version, kind = found.groups()
                    self.of[GROUPS.get(group, group + "/") + version, kind] = {"$ref": "%s#/definitions/%s" % (file, name)}
        for file in os.listdir(CRDS):
            if file.count("_") == 2:
                group, version, kind = file[:-len(".json")].split("_")
                self.of[group + "/" + version, kind] = load(file)

    def problems(self, document):
        schema = self.of.get((document.get("apiVersion"), document.get("kind")))
        if schema is None:
            return ["no schema of %s %s" % (document.get("apiVersion"), document.get("kind"))]
        validator = jsonschema.Draft7Validator(schema, resolver=self.resolver)
        return ["%s: %s" % (".".join(map(str, error.absolute_path)), error.message) for error in validator.iter_errors(document)]


class Rules:
    """`problems`: one line each."""

    def __init__(self, document):
        self.document = document
        self.name = document["metadata"]["name"]
        self.spec = document.get("spec", {})
        self.problems = []
        self.check()

    def need(self, holds, problem):
        if not holds:
            self.problems.append("%s %s: %s" % (self.document["kind"], self.name, problem))

    def check(self):
        self.need(LABEL.fullmatch(self.name), "the name is no DNS label")

    def check_host(self, host):
        self.need(LABEL.fullmatch(host) and len(host) <= 63, "the host name %s" % host)

    def check_pod(self, pod):
        """What the API server refuses, whatever the schema says."""
        spec = pod["spec"]
        containers = spec["containers"] + spec.get("initContainers", [])
        names = [container["name"] for container in containers]
        self.need(len(set(names)) == len(names), "two containers have one name")
        volumes = [volume["name"] for volume in spec.get("volumes", [])]
        self.need(len(set(volumes)) == len(volumes), "two volumes have one name")
        for container in containers:
            self.check_container(container, spec, volumes)

    def check_container(self, container, spec, volumes):
        mounts = container.get("volumeMounts", [])
        paths = [mount["mountPath"] for mount in mounts]
        self.need(len(set(paths)) == len(paths), "two volumes are mounted at one path")
        self.need({mount["name"] for mount in mounts} <= set(volumes), "a mount without a volume")
        ports = container.get("ports", [])
        self.need(len({port.get("name") for port in ports}) == len(ports), "two ports have one name")
        self.need(all(len(port["name"]) <= 15 for port in ports), "the name of a port has 15 letters at most")
        self.need(not (spec.get("hostNetwork") and ports), "a port on the host network is one that no other pod may have")
        variables = [variable["name"] for variable in container.get("env", [])]
        self.need(len(set(variables)) == len(variables), "a variable is there twice")
        context = container.get("securityContext", {})
        self.need(not (context.get("privileged") and context.get("allowPrivilegeEscalation") is False),
                  "privileged and allowPrivilegeEscalation false")

    def check_dress(self, pod):
        """What each pod of Muster has."""
        spec = pod["spec"]
        self.need("app.kubernetes.io/instance" in pod["metadata"]["labels"], "the label by which Services select is missing")
        self.need(spec["automountServiceAccountToken"] is False and spec["enableServiceLinks"] is False, "tokens or links")
        for container in spec["containers"] + spec.get("initContainers", []):
            context = container["securityContext"]
            self.need(context["readOnlyRootFilesystem"] and not context["allowPrivilegeEscalation"]
                      and context["capabilities"]["drop"] == ["ALL"], "%s is not locked down" % container["name"])
        paths = {mount["mountPath"] for mount in spec["containers"][0]["volumeMounts"]}
        self.need({"/tmp", "/etc/podinfo"} <= paths, "folders are missing")
        variables = {variable["name"]: variable.get("value") for variable in spec["containers"][0]["env"]}
        grace = spec["terminationGracePeriodSeconds"]
        self.need(int(variables["MUSTER_GRACE_PERIOD"].rstrip("s")) < max(grace, 1), "Muster's grace period is not shorter than the pod's")


class JobSpecRules(Rules):
    def check_job(self, spec, sized=True):
        pod = spec["template"]
        self.check_pod(pod)
        self.check_dress(pod)
        policy = pod["spec"].get("restartPolicy")
        self.need(policy in ("Never", "OnFailure"), "restartPolicy %s" % policy)
        self.need(policy == "Never" or "podFailurePolicy" not in spec, "podFailurePolicy needs restartPolicy Never")
        self.need("backoffLimitPerIndex" not in spec or spec["completionMode"] == "Indexed", "backoffLimitPerIndex needs Indexed")
        for rule in spec.get("podFailurePolicy", {}).get("rules", []):
            self.need(rule["action"] in ("FailJob", "FailIndex", "Ignore", "Count"), "action %s" % rule["action"])
            self.need(("onExitCodes" in rule) != ("onPodConditions" in rule), "a rule has codes or conditions")
            codes = rule.get("onExitCodes", {"operator": "In", "values": [1]})
            self.need(codes["operator"] in ("In", "NotIn") and codes["values"] == sorted(set(codes["values"]))
                      and 0 not in codes["values"], "exit codes")
            names = {container["name"] for container in pod["spec"]["containers"]}
            self.need(codes.get("containerName") in names | {None}, "a rule for a container that is not there")
        if sized:
            self.need(spec["completionMode"] == "Indexed" and spec["parallelism"] <= spec["completions"], "parallelism")


class JobRules(JobSpecRules):
    def check(self):
        super().check()
        self.check_job(self.spec)
        self.check_host("%s-%d" % (self.name, self.spec["completions"] - 1))


class JobSetRules(JobSpecRules):
    sized = True

    def check(self):
        super().check()
        self.check_set(self.spec)
        coordinator = self.spec["coordinator"]
        jobs = {job["name"]: job for job in self.spec["replicatedJobs"]}
        leads = jobs.get(coordinator["replicatedJob"], {"replicas": 0})
        self.need(coordinator["jobIndex"] < leads["replicas"]
                  and coordinator["podIndex"] < leads["template"]["spec"]["completions"], "the coordinator is no pod")

    def check_set(self, spec):
        before = set()
        for job in spec["replicatedJobs"]:
            name = job["name"]
            self.need(LABEL.fullmatch(name) and name not in before, "the name of replicatedJob %s" % name)
            self.need({item["name"] for item in job.get("dependsOn", [])} <= before, "%s depends on what is not before it" % name)
            before.add(name)
            self.check_job(job["template"]["spec"], self.sized)
            last = job["template"]["spec"].get("completions", 1) - 1
            self.check_host("%s-%s-%d-%d" % (self.name, name, job["replicas"] - 1, last))
        self.need(spec["network"]["publishNotReadyAddresses"], "names are there when pods are ready only")
        self.need(set(spec.get("successPolicy", {}).get("targetReplicatedJobs", [])) <= before, "successPolicy of another job")
        rules = spec["failurePolicy"].get("rules", [])
        names = [rule["name"] for rule in rules]
        self.need(len(set(names)) == len(names)
                  and all(re.fullmatch(r"[A-Za-z]([A-Za-z0-9_,:]*[A-Za-z0-9_])?", name) for name in names), "the names of rules")
        reasons = {"BackoffLimitExceeded", "DeadlineExceeded", "FailedIndexes", "MaxFailedIndexesExceeded", "PodFailurePolicy"}
        self.need(all(set(rule["onJobFailureReasons"]) <= reasons for rule in rules), "the reasons of a rule")


class ReplicaRules(Rules):
    specs = ()     # field, then the names of the types
    container = None

    def check_replicas(self, policies):
        field, *types = self.specs
        replicas = self.spec[field]
        self.need(set(replicas) <= set(types), "replicas %s" % sorted(replicas))
        for name, replica in replicas.items():
            self.need(replica["replicas"] >= 1 and replica["restartPolicy"] in policies, "%s: replicas or restartPolicy" % name)
            self.check_pod(replica["template"])
            self.check_dress(replica["template"])
            self.need("restartPolicy" not in replica["template"]["spec"], "%s: the operator sets the pod's restartPolicy" % name)
            names = [container["name"] for container in replica["template"]["spec"]["containers"]]
            self.need(self.container in (None, names[0]), "%s: the first container is called %s" % (name, names[0]))
            last = "" if name == "Launcher" else "-%d" % (replica["replicas"] - 1)
            self.check_host("%s-%s%s" % (self.name, name.lower(), last))
        self.need(self.spec["runPolicy"]["cleanPodPolicy"] in ("None", "Running", "All"), "cleanPodPolicy")
        return replicas


class MpiJobRules(ReplicaRules):
    specs = ("mpiReplicaSpecs", "Launcher", "Worker")

    def check(self):
        super().check()
        replicas = self.check_replicas(("Never", "OnFailure"))
        self.need(replicas.get("Launcher", {}).get("replicas") == 1, "there is one launcher")
        self.need(self.spec["slotsPerWorker"] >= 1, "slots")
        self.need(self.spec["sshAuthMountPath"] != "/root/.ssh", "the key is readable for root alone")


class PytorchJobRules(ReplicaRules):
    specs = ("pytorchReplicaSpecs", "Master", "Worker")
    container = "pytorch"

    def check(self):
        super().check()
        replicas = self.check_replicas(("Never", "OnFailure", "ExitCode", "Always"))
        self.need(replicas.get("Master", {"replicas": 1})["replicas"] == 1, "there is one master")
        elastic = self.spec.get("elasticPolicy", {"minReplicas": 1, "maxReplicas": 1})
        self.need("elasticPolicy" not in self.spec or "Worker" in replicas, "only workers are elastic")
        self.need(elastic["minReplicas"] <= elastic["maxReplicas"], "minReplicas")


class TrainingRuntimeRules(JobSetRules):
    sized = False  # by the Trainer

    def check(self):
        Rules.check(self)
        spec = self.spec["template"]["spec"]
        self.check_set(spec)
        jobs = {job["name"]: job for job in spec["replicatedJobs"]}
        policy = self.spec["mlPolicy"]
        self.need("node" in jobs and set(jobs) <= {"launcher", "node"}, "replicatedJobs are launcher and node")
        self.need("launcher" in jobs or "mpi" not in policy, "MPI needs a launcher")
        self.need(len(set(policy) - {"numNodes"}) <= 1, "one policy")
        self.need("mpi" not in policy or policy["numNodes"] == 1, "numNodes of an MPI runtime is that of launchers")
        self.need("volcano" not in self.spec.get("podGroupPolicy", {}) or
                  all(job["template"]["spec"]["template"]["spec"].get("schedulerName") == "volcano" for job in jobs.values()), "not Volcano's scheduler")
        steps = [job["template"].get("metadata", {}).get("labels", {}).get("trainer.kubeflow.org/trainjob-ancestor-step") for job in jobs.values()]
        self.need(steps.count("trainer") == 1, "one replicatedJob is the trainer")
        for job in jobs.values():
            self.need(job["replicas"] == 1, "replicas are 1")
            container = job["template"]["spec"]["template"]["spec"]["containers"][0]
            self.need(container["name"] == "node", "the Trainer looks for the container node")
            self.need(not RESERVED & {variable["name"] for variable in container["env"]}, "a variable that is the Trainer's")


class TrainJobRules(Rules):
    def check(self):
        super().check()
        self.check_host("%s-node-0-%d" % (self.name, self.spec["trainer"]["numNodes"] - 1))
        self.need(not RESERVED & {variable["name"] for variable in self.spec["trainer"].get("env", [])}, "a variable that is the Trainer's")


class PortRules(Rules):
    def check_port(self, port):
        """A number, or the name of a container's."""
        named = isinstance(port, str) and PORT_NAME.fullmatch(port) and len(port) <= 15
        self.need(named or isinstance(port, int) and 1 <= port <= 65535, "port %s" % port)


class ServiceRules(PortRules):
    def check(self):
        super().check()
        headless = self.spec.get("clusterIP") == "None"
        self.need(not headless or self.spec.get("publishNotReadyAddresses"), "names are there when pods are ready only")
        self.need(self.spec.get("selector"), "a Service of no pods")
        names = [port.get("name") for port in self.spec.get("ports", [])]
        self.need(len(set(names)) == len(names) and (len(names) < 2 or None not in names), "the names of ports")
        for port in self.spec.get("ports", []):
            self.need(1 <= port["port"] <= 65535, "port")
            self.check_port(port.get("targetPort", port["port"]))
            self.need(30000 <= port.get("nodePort", 30000) <= 32767, "nodePort")


class NetworkPolicyRules(PortRules):
    def check(self):
        self.need(len(self.spec.get("policyTypes", [])) <= 2, "more than two policyTypes")
        for rule, peers in [(rule, "from") for rule in self.spec.get("ingress", [])] + [(rule, "to") for rule in self.spec.get("egress", [])]:
            for peer in rule.get(peers, []):
                self.need(peer and (set(peer) == {"ipBlock"} or "ipBlock" not in peer), "a peer is an ipBlock, or pods and namespaces")
            for port in rule.get("ports", []):
                if "port" in port:
                    self.check_port(port["port"])
                self.need("endPort" not in port or isinstance(port.get("port"), int) and port["port"] <= port["endPort"] <= 65535, "endPort")


class IngressRules(PortRules):
    def check(self):
        rules = self.spec.get("rules", [])
        self.need(rules or "defaultBackend" in self.spec, "neither rules nor a defaultBackend")
        for host in [rule["host"] for rule in rules if "host" in rule] + [host for tls in self.spec.get("tls", []) for host in tls.get("hosts", [])]:
            self.need(SUBDOMAIN.fullmatch(host) and len(host) <= 253 and not IPV4.fullmatch(host), "host %s" % host)
        paths = [path for rule in rules for path in rule.get("http", {"paths": []})["paths"]]
        self.need(all(rule.get("http", {"paths": [0]})["paths"] for rule in rules), "a rule without paths")
        for path in paths:
            at = path.get("path", "/" if path["pathType"] == "ImplementationSpecific" else "")
            self.need(at.startswith("/") and not re.search(r"//|/\./|/\.\./|%2[fF]|/\.{1,2}$", at), "path %s" % at)
        for backend in [path["backend"] for path in paths] + [self.spec[key] for key in ("defaultBackend",) if key in self.spec]:
            self.need(len(backend) == 1, "a backend is a service or a resource")
            if "service" in backend:
                port = backend["service"].get("port", {})
                self.need(LABEL.fullmatch(backend["service"]["name"]) and len(port) == 1, "the service of a backend, with a port's name or number")
                for value in port.values():
                    self.check_port(value)


class RoleRules(Rules):
    def check(self):
        for rule in self.document.get("rules", []):
            self.need(rule["verbs"] and rule.get("apiGroups") and rule.get("resources"), "a rule has verbs, groups and resources")
            self.need(not rule.get("resourceNames") or len(rule["resources"]) == 1, "resourceNames are those of one resource")


class RoleBindingRules(Rules):
    def check(self):
        role = self.document["roleRef"]
        self.need(role["apiGroup"] == RIGHTS and role["kind"] in ("Role", "ClusterRole") and role["name"], "roleRef")
        for subject in self.document.get("subjects", []):
            self.need(subject["name"] and {"ServiceAccount": "", "User": RIGHTS, "Group": RIGHTS}.get(subject["kind"]) == subject.get("apiGroup", ""), "a subject")


class ClaimRules(Rules):
    def check(self):
        self.need(SUBDOMAIN.fullmatch(self.name) and self.spec.get("accessModes"), "a claim without accessModes")
        self.need(set(self.spec.get("accessModes", [])) <= {"ReadWriteOnce", "ReadOnlyMany", "ReadWriteMany", "ReadWriteOncePod"}, "accessModes")
        self.need(re.fullmatch(r"0*[1-9].*|.*\.0*[1-9].*", str(self.spec["resources"]["requests"]["storage"])), "storage of nothing")
        self.need(self.spec.get("volumeMode", "Filesystem") in ("Filesystem", "Block"), "volumeMode")


class PodGroupRules(Rules):
    def check(self):
        super().check()
        self.need(self.spec["minMember"] >= 1, "minMember")


RULES = {"NetworkPolicy": NetworkPolicyRules, "Ingress": IngressRules, "Role": RoleRules, "RoleBinding": RoleBindingRules,
         "PersistentVolumeClaim": ClaimRules, "PodGroup": PodGroupRules, "Job": JobRules, "JobSet": JobSetRules, "MPIJob": MpiJobRules, "PyTorchJob": PytorchJobRules, "TrainJob": TrainJobRules,
         "TrainingRuntime": TrainingRuntimeRules, "Service": ServiceRules}


def problems_of(documents, schemas):
    """Of all of them, and of what they say of each other."""
    problems = []
    for document in documents:
        wrong = schemas.problems(document)
        if not wrong and document["kind"] in RULES:
            wrong = RULES[document["kind"]](document).problems
        problems += wrong
    if problems:
        return problems
    named = [(document["apiVersion"], document["kind"], document["metadata"]["name"]) for document in documents]
    if len(set(named)) != len(named):
        problems.append("a document is there twice")
    if len({document["metadata"].get("namespace") for document in documents}) > 1:
        problems.append("two namespaces")
    headless = {document["metadata"]["name"] for document in documents if document["kind"] == "Service" and document["spec"].get("clusterIP") == "None"}
    for job in (document for document in documents if document["kind"] == "Job"):
        if job["spec"]["template"]["spec"].get("subdomain") not in headless | {None}:
            problems.append("a subdomain without a headless Service")
    names = {(document["kind"], document["metadata"]["name"]) for document in documents}
    for binding in (document for document in documents if document["kind"] == "RoleBinding"):
        who = [(each["kind"], each["name"]) for each in [binding["roleRef"]] + binding["subjects"]]
        problems += ["a RoleBinding to what is not there: %s %s" % each for each in who if each not in names]
    ports = {(document["metadata"]["name"], port["port"]) for document in documents if document["kind"] == "Service" for port in document["spec"].get("ports", [])}
    for ingress in (document for document in documents if document["kind"] == "Ingress"):
        for service in (path["backend"]["service"] for rule in ingress["spec"]["rules"] for path in rule["http"]["paths"]):
            if (service["name"], service["port"]["number"]) not in ports:
                problems.append("an Ingress to a Service that is not there")
    runtimes = {document["metadata"]["name"]: document for document in documents if document["kind"] == "TrainingRuntime"}
    for job in (document for document in documents if document["kind"] == "TrainJob"):
        if job["spec"]["runtimeRef"]["name"] not in runtimes:
            problems.append("a runtimeRef to what is not there")
    return problems
