"""Plays the controllers of a cluster for tests: documents -> pods, with what each controller adds to them, and names, with what makes DNS
know them. After the sources: Kubernetes 1.33 (Job, downward API, expansion), JobSet 0.12, mpi-operator 0.8, training-operator 1.9,
Trainer 2.3 (plugins torch, jax, xgboost, mpi, jobset). It reads every field from the documents; what it does not know is an error.
"""
import copy
import dataclasses
import re

KUBERNETES = {"KUBERNETES_SERVICE_HOST": "10.96.0.1", "KUBERNETES_SERVICE_PORT": "443"}
NO_DEVICES = {"NVIDIA_VISIBLE_DEVICES": "", "NVIDIA_DRIVER_CAPABILITIES": ""}
DOMAIN = "svc.cluster.local"
IMAGE_USER = 65532  # USER of the image: a number, as runAsNonRoot wants it
# As mpi-operator makes them: an EC key, the same in every pod of a job.
KEY = "-----BEGIN EC PRIVATE KEY-----\nMIHcAgEBBEIA%s\n-----END EC PRIVATE KEY-----\n" % ("0123456789abcdef" * 8)
PUBLIC = "ecdsa-sha2-nistp521 AAAAE2VjZHNhLXNoYTItbmlzdHA1MjEAAACFBA==\n"
JOBSET = "jobset.sigs.k8s.io/"


@dataclasses.dataclass
class Pod:
    host: str
    template: dict
    subdomain: str = ""
    namespace: str = "default"
    variables: dict = dataclasses.field(default_factory=dict)  # what the controller adds, behind the user's
    files: dict = dataclasses.field(default_factory=dict)      # folder -> ({name: text}, mode): volumes that it adds
    search: str = ""                                           # of its DNS, before the cluster's

    @property
    def spec(self):
        return self.template["spec"]

    @property
    def container(self):
        return self.spec["containers"][0]

    @property
    def labels(self):
        return self.template.setdefault("metadata", {}).setdefault("labels", {})

    @property
    def annotations(self):
        return self.template.setdefault("metadata", {}).setdefault("annotations", {})

    def full_name(self):
        """As the kubelet writes it into /etc/hosts."""
        return "%s.%s.%s.%s" % (self.host, self.subdomain, self.namespace, DOMAIN) if self.subdomain else self.host

    def user(self):
        both = {**self.spec.get("securityContext", {}), **self.container.get("securityContext", {})}
        user = both.get("runAsUser", IMAGE_USER)
        assert user != 0 or not both.get("runAsNonRoot"), "the kubelet refuses root"
        return user

    def gpus(self):
        return int(self.container.get("resources", {}).get("limits", {}).get("nvidia.com/gpu", 0))

    def environment(self):
        """Of the first container, in the order of its variables: a later one may use the ones before."""
        found = {"HOSTNAME": self.host, **KUBERNETES}
        if self.gpus():  # the device plugin's
            found["NVIDIA_VISIBLE_DEVICES"] = ",".join("GPU-%d" % k for k in range(self.gpus()))
        for variable in self.container.get("env", []):
            assert isinstance(variable.get("value", ""), str), variable
            found[variable["name"]] = self.field(variable["valueFrom"]["fieldRef"]["fieldPath"]) if "valueFrom" in variable else \
                expand(variable.get("value", ""), found)
        return {**found, **self.variables}

    def words(self):
        """Of its first container; the images here begin with muster's entrypoint."""
        given = [self.container.get(name) for name in ("command", "args")]
        command = given[0] or ["muster", "run", "--"]
        return [expand(word, self.environment()) for word in command + (given[1] or [])]

    def field(self, path):
        """Of the downward API."""
        if path == "metadata.name":
            return self.host
        labels = {"metadata.labels": self.labels, "metadata.annotations": self.annotations}[path]
        return "".join('%s="%s"\n' % each for each in sorted(labels.items()))

    def volumes(self, secrets):
        """mount point -> None (empty, can be written) or ({file: text}, mode, group)."""
        sources = {volume["name"]: volume for volume in self.spec.get("volumes", [])}
        group = self.spec.get("securityContext", {}).get("fsGroup")
        found = {path: (files, mode, group) for path, (files, mode) in self.files.items()}
        for mount in self.container.get("volumeMounts", []):
            source = sources[mount["name"]]
            if "emptyDir" in source or "persistentVolumeClaim" in source:
                found[mount["mountPath"]] = None
            elif "downwardAPI" in source:
                files = {item["path"]: self.field(item["fieldRef"]["fieldPath"]) for item in source["downwardAPI"]["items"]}
                found[mount["mountPath"]] = (files, 0o644, group)
            elif "secret" in source:
                files = secrets[source["secret"]["secretName"]]  # without it the pod would not start
                found[mount["mountPath"]] = (files, source["secret"].get("defaultMode", 0o644), group)
            else:
                raise NotImplementedError(source)
        return found


def expand(text, variables):
    """third_party/forked/golang/expansion."""
    return re.sub(r"\$\$|\$\(([^)]*)\)", lambda found: "$" if found[0] == "$$" else variables.get(found[1], found[0]), text)


def namespace_of(document):
    return document["metadata"].get("namespace", "default")


# -- controllers: document -> pods

def job_pods(spec, name, subdomain, namespace):
    """Of a batch/v1 Job."""
    assert spec["completionMode"] == "Indexed" and spec["completions"] == spec["parallelism"], spec
    for index in range(spec["completions"]):
        template = copy.deepcopy(spec["template"])
        pod = Pod("%s-%d" % (name, index), template, subdomain or template["spec"].get("subdomain", ""), namespace,
                  {"JOB_COMPLETION_INDEX": str(index)})
        pod.labels.update({"batch.kubernetes.io/job-name": name, "batch.kubernetes.io/job-completion-index": str(index)})
        pod.annotations["batch.kubernetes.io/job-completion-index"] = str(index)
        yield pod


def jobset_pods(document):
    name, spec, namespace = document["metadata"]["name"], document["spec"], namespace_of(document)
    network = spec.get("network", {})
    subdomain = network.get("subdomain", name)
    jobs = [(group, job) for group in spec["replicatedJobs"] for job in range(group.get("replicas", 1))]
    for number, (group, job) in enumerate(jobs):
        labels = {"jobset-name": name, "replicatedjob-name": group["name"], "replicatedjob-replicas": str(group.get("replicas", 1)),
                  "global-replicas": str(len(jobs)), "job-index": str(job), "job-global-index": str(number), "restart-attempt": "0"}
        if "coordinator" in spec:
            first = spec["coordinator"]
            assert first["replicatedJob"] in [each["name"] for each in spec["replicatedJobs"]]
            labels["coordinator"] = "%s-%s-%d-%d.%s" % (name, first["replicatedJob"], first.get("jobIndex", 0), first.get("podIndex", 0), subdomain)
        for pod in job_pods({"completionMode": "Indexed", **group["template"]["spec"]}, "%s-%s-%d" % (name, group["name"], job), subdomain, namespace):
            pod.labels.update({JOBSET + key: value for key, value in labels.items()})
            pod.annotations.update({JOBSET + key: value for key, value in labels.items()})
            yield pod


def open_mpi(slots):
    """As mpi-operator and the Trainer tell it to a launcher."""
    return {"OMPI_MCA_orte_keep_fqdn_hostnames": "true", "OMPI_MCA_orte_default_hostfile": "/etc/mpi/hostfile",
            "OMPI_MCA_plm_rsh_args": "-o ConnectionAttempts=10", "OMPI_MCA_orte_set_default_slots": str(slots)}


def mpi_job_pods(document):
    name, spec, namespace = document["metadata"]["name"], document["spec"], namespace_of(document)
    replicas = spec["mpiReplicaSpecs"]
    assert replicas["Launcher"]["replicas"] == 1
    as_worker, slots = spec.get("runLauncherAsWorker", False), spec.get("slotsPerWorker", 1)
    hosts = ["launcher"] * as_worker + ["worker-%d" % k for k in range(replicas["Worker"]["replicas"])]
    hosts = ["%s-%s.%s.%s.svc" % (name, host, name, namespace) for host in hosts]
    implementation = spec.get("mpiImplementation", "OpenMPI")
    line = "%s slots=%d\n" if implementation == "OpenMPI" else "%s:%d\n"
    config = {"hostfile": "".join(line % (host, slots) for host in hosts),
              "discover_hosts.sh": "#!/bin/sh\n" + "".join("echo %s\n" % host for host in hosts)}
    variables = {"OpenMPI": open_mpi(slots),
                 "MPICH": {"HYDRA_HOST_FILE": "/etc/mpi/hostfile", "HYDRA_LAUNCH_EXTRA_ARGS": "-o ConnectionAttempts=10"}}[implementation]
    at = spec.get("sshAuthMountPath", "/root/.ssh")
    key = {"id_rsa": KEY, "id_rsa.pub": PUBLIC, "authorized_keys": PUBLIC}
    for role in ["launcher"] + ["worker-%d" % k for k in range(replicas["Worker"]["replicas"])]:
        is_launcher = role == "launcher"
        replica = replicas["Launcher" if is_launcher else "Worker"]
        pod = Pod("%s-%s" % (name, role), copy.deepcopy(replica["template"]), name, namespace, {"K_MPI_JOB_ROLE": role.split("-")[0]},
                  {at: (key, 0o600 if at == "/root/.ssh" else 0o644)}, search="%s.%s.%s" % (name, namespace, DOMAIN))
        pod.labels.update({"training.kubeflow.org/job-name": name, "training.kubeflow.org/job-role": role.split("-")[0]})
        if is_launcher:
            pod.variables.update({**variables, **({} if as_worker else NO_DEVICES)})
            pod.files["/etc/mpi"] = (config, 0o555)
        elif not pod.container.get("command") and not pod.container.get("args"):
            pod.container["command"] = ["/usr/sbin/sshd", "-De"]
        yield pod


def pytorch_job_pods(document):
    name, spec, namespace = document["metadata"]["name"], document["spec"], namespace_of(document)
    replicas = spec["pytorchReplicaSpecs"]
    total = sum(replica["replicas"] for replica in replicas.values())
    workers, elastic = spec.get("nprocPerNode", "auto"), spec.get("elasticPolicy")
    first = 0
    for kind in ("Master", "Worker"):
        for index in range(replicas[kind]["replicas"] if kind in replicas else 0):
            host = "%s-%s-%d" % (name, kind.lower(), index)
            pod = Pod(host, copy.deepcopy(replicas[kind]["template"]), "", namespace)
            assert pod.container["name"] == "pytorch", "the operator looks for it"
            ports = {port.get("name"): port["containerPort"] for port in pod.container.get("ports", [])}
            port = str(ports.get("pytorchjob-port", 23456))
            pod.labels.update({"training.kubeflow.org/job-name": name, "training.kubeflow.org/replica-type": kind.lower(),
                               "training.kubeflow.org/replica-index": str(index)})
            pod.variables = {"PYTHONUNBUFFERED": "1", "PET_NNODES": str(total), "PET_NPROC_PER_NODE": workers}
            if "Master" in replicas:
                pod.variables.update({"MASTER_ADDR": name + "-master-0", "PET_MASTER_ADDR": name + "-master-0", "MASTER_PORT": port,
                                      "PET_MASTER_PORT": port, "RANK": str(first + index), "PET_NODE_RANK": str(first + index),
                                      "WORLD_SIZE": str(total * (int(workers) if workers.isdigit() else 1))})
            if elastic:
                assert "Worker" in replicas and "nProcPerNode" not in elastic
                pod.variables.update({"PET_NNODES": "%d:%d" % (elastic["minReplicas"], elastic["maxReplicas"]),
                                      "PET_RDZV_BACKEND": elastic.get("rdzvBackend", "c10d"),
                                      "PET_RDZV_ENDPOINT": "%s-worker-0:%s" % (name, port)})
                if "maxRestarts" in elastic:
                    pod.variables["PET_MAX_RESTARTS"] = str(elastic["maxRestarts"])
            yield pod
        first += replicas[kind]["replicas"] if kind in replicas else 0


def jobset_of(job, runtime):
    """The JobSet that the Trainer makes of a TrainJob."""
    spec, policy = copy.deepcopy(runtime["spec"]["template"]["spec"]), runtime["spec"]["mlPolicy"]
    nodes = job["spec"]["trainer"].get("numNodes", policy["numNodes"])
    besides = nodes - 1 if policy.get("mpi", {}).get("runLauncherAsNode") else nodes
    for group in spec["replicatedJobs"]:
        count = 1 if group["name"] == "launcher" else max(besides, 1)
        group["template"]["spec"].update(completions=count, parallelism=count)
    return {"kind": "JobSet", "metadata": job["metadata"], "spec": spec}


def runtime_of(job, documents):
    reference = job["spec"]["runtimeRef"]
    runtime, = [each for each in documents if (each["kind"], each["metadata"]["name"]) == (reference["kind"], reference["name"])]
    return runtime


def workers_per_node(job, pod):
    """As the plugin torch tells it."""
    said = job["spec"]["trainer"].get("numProcPerNode", "auto")
    resources = pod.container.get("resources", {})
    cpus = [resources.get(kind, {}).get("cpu") for kind in ("requests", "limits")]
    return str(said) if said != "auto" or pod.gpus() else str(max(int(cpus[0] or cpus[1] or 1), 1))


def train_job_pods(job, documents):
    runtime, name = runtime_of(job, documents), job["metadata"]["name"]
    policy, trainer = runtime["spec"]["mlPolicy"], job["spec"]["trainer"]
    jobset = jobset_of(job, runtime)
    pods = list(jobset_pods(jobset))
    steps = {group["name"]: group["template"].get("metadata", {}).get("labels", {}).get("trainer.kubeflow.org/trainjob-ancestor-step")
             for group in jobset["spec"]["replicatedJobs"]}
    nodes = [pod for pod in pods if pod.labels[JOBSET + "replicatedjob-name"] == "node"]
    first, count = "%s-node-0-0.%s" % (name, nodes[0].subdomain), str(len(nodes))
    for pod in pods:
        role = pod.labels[JOBSET + "replicatedjob-name"]
        assert pod.container["name"] == "node", "the Trainer looks for it"
        if "mpi" in policy:
            pod.files[policy["mpi"]["sshAuthMountPath"]] = ({"id_rsa": KEY, "id_rsa.pub": PUBLIC, "authorized_keys": PUBLIC}, 0o640)
            if role == "launcher":
                assert policy["mpi"]["mpiImplementation"] == "OpenMPI", "the Trainer knows no other"
                slots = trainer.get("numProcPerNode", policy["mpi"]["numProcPerNode"])
                hosts = [each for each in pods if each in nodes or policy["mpi"].get("runLauncherAsNode")]
                lines = ["%s.%s slots=%d\n" % (each.host, each.subdomain, slots) for each in hosts]
                pod.files["/etc/mpi"] = ({"hostfile": "".join(lines)}, 0o444)
                pod.variables.update(open_mpi(slots))
        if steps[role] != "trainer":
            continue
        index = pod.annotations["batch.kubernetes.io/job-completion-index"]
        if "torch" in policy:
            pod.variables.update({"PET_NNODES": count, "PET_NPROC_PER_NODE": workers_per_node(job, pod), "PET_NODE_RANK": index,
                                  "PET_MASTER_ADDR": first, "PET_MASTER_PORT": "29500"})
        if "jax" in policy:
            pod.variables.update({"JAX_NUM_PROCESSES": count, "JAX_PROCESS_ID": index, "JAX_COORDINATOR_ADDRESS": first + ":29500"})
        if "xgboost" in policy:
            pod.variables.update({"DMLC_TRACKER_URI": first, "DMLC_TRACKER_PORT": "29500", "DMLC_TASK_ID": index,
                                  "DMLC_NUM_WORKER": str(len(nodes) * max(pod.gpus(), 1))})
    return pods


CONTROLLERS = {"JobSet": lambda job, _: jobset_pods(job), "MPIJob": lambda job, _: mpi_job_pods(job),
               "PyTorchJob": lambda job, _: pytorch_job_pods(job), "TrainJob": train_job_pods,
               "Job": lambda job, _: job_pods(job["spec"], job["metadata"]["name"], "", namespace_of(job))}


def workload_of(documents):
    workload, = [document for document in documents if document["kind"] in CONTROLLERS]
    return workload


def pods_of(documents):
    workload = workload_of(documents)
    return list(CONTROLLERS[workload["kind"]](workload, documents))


def names_of(documents, pods):
    """(name, pod, whether it must be ready first) of all that the cluster's DNS knows."""
    workload = workload_of(documents)
    if workload["kind"] == "TrainJob":
        workload = jobset_of(workload, runtime_of(workload, documents))
    name = workload["metadata"]["name"]
    if workload["kind"] == "PyTorchJob":  # a Service of each pod, with the pod's name
        return [("%s.%s.%s" % (pod.host, pod.namespace, DOMAIN), pod, True) for pod in pods]
    if workload["kind"] == "MPIJob":
        services = {name: not workload["spec"].get("runLauncherAsWorker", False)}
    elif workload["kind"] == "JobSet":
        network = workload["spec"].get("network", {})
        services = {network.get("subdomain", name): not network.get("publishNotReadyAddresses", True)} if network.get("enableDNSHostnames", True) else {}
    else:
        services = {each["metadata"]["name"]: not each["spec"].get("publishNotReadyAddresses", False) for each in documents
                    if each["kind"] == "Service" and each["spec"]["clusterIP"] == "None"
                    and all(set(each["spec"]["selector"].items()) <= set(pod.labels.items()) for pod in pods)}
    return [(pod.full_name(), pod, services[pod.subdomain]) for pod in pods if pod.subdomain in services]
