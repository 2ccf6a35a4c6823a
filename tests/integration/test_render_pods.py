"""The circle of `muster render`: pods of rendered documents run a real job. support/cluster.py plays the controller and makes the pods out of the
documents; here each becomes a host (network namespace) with a root, a user, volumes and names of its own, as a kubelet and the cluster's DNS
would do it. A wrong field of a document is a job that does not run."""
import os
import re
import subprocess
import unittest

import yaml

import cluster
from harness import BINARY, EXAMPLES, SUPPORT, wait_until
from namespace_hosts import NET, NamespaceTest

PROGRAM = ("python3", "/app/pod_rank.py")
# Of what `docker run` makes, too; the rest of the machine is the image, which holds muster, and tests/support as /app.
DEVICES = "mount -t tmpfs -o mode=755 tmpfs dev; cd dev; mkdir pts shm; for name in null zero full random urandom; do touch $name; " \
          "mount --bind /dev/$name $name; done; mount -t devpts -o newinstance,ptmxmode=666 devpts pts; ln -s pts/ptmx ptmx; " \
          "ln -s /proc/self/fd fd; mount -t tmpfs -o mode=1777 tmpfs shm; touch termination-log; chmod 666 termination-log; cd .."
IMAGE = "mount --rbind /proc proc; mount --rbind /sys sys; touch usr/local/bin/muster; mount --bind {binary} usr/local/bin/muster;" \
        "mkdir -p app results; mount --bind {support} app; mount --bind {results} results"
# With what the operator gives to launchers of MPICH: host lines of its own kind, and HYDRA_HOST_FILE.
MPICH = """
apiVersion: kubeflow.org/v2beta1
kind: MPIJob
metadata: {name: ring}
spec:
  slotsPerWorker: 2
  mpiImplementation: MPICH
  mpiReplicaSpecs:
    Launcher:
      template: {spec: {containers: [{name: ring, image: i, command: [mpiexec.mpich, -n, "4", sh, -c, "echo rank $PMI_RANK of $PMI_SIZE"]}]}}
    Worker:
      replicas: 2
      template: {spec: {containers: [{name: ring, image: i}]}}
"""
READY = "import sys, urllib.request\n" \
        "for url in sys.argv[1:]:\n" \
        "    try:\n" \
        "        urllib.request.urlopen(url, timeout=1).close()\n" \
        "        print(url)\n" \
        "    except OSError:\n" \
        "        pass\n"


class RenderedPodTest(NamespaceTest):
    @property
    def DNS_ARGUMENTS(self):
        return ("0", "@" + self.path("names"))

    def start_dns(self):
        self.write("names", "")
        super().start_dns()

    def setUp(self):
        super().setUp()
        os.chmod(self.dir, 0o755)
        os.mkdir(self.path("results"))
        os.chmod(self.path("results"), 0o777)
        self.pod_at, self.secrets = {}, {}

    def name_host(self, name, address):
        """DNS knows; /etc/hosts of a pod has its own name alone."""

    # -- the kubelet

    def volume(self, name, at, content):
        at = at.strip("/")
        if content is None:
            return "mkdir -p {0}; mount -t tmpfs -o mode=1777 tmpfs {0}".format(at)
        files, mode, group = content
        stage = self.path("volume-%s-%s" % (name, at.replace("/", "-")))
        os.mkdir(stage)
        for file, text in files.items():
            with open(os.path.join(stage, file), "w") as written:
                written.write(text)
        links = "for file in $(ls ..v); do ln -s ..data/$file $file; done"
        own = "chgrp -R {group} ..v; chmod g+rX ..v; chmod {mode:o} ..v/*".format(group=group or 0, mode=mode | (0o440 if group is not None else 0))
        return "mkdir -p {0}; mount -t tmpfs tmpfs {0}; cp -r {1} {0}/..v; cd {0}; chmod 755 ..v; {2}; ln -s ..v ..data; {3}; " \
               "cd /mnt/root; mount -o remount,ro {0}".format(at, stage, own, links)

    def hold(self, name, commands):
        if name == "hub":
            return super().hold(name, commands)
        number, pod = self.pod_at[name]
        lines = "127.0.0.1\tlocalhost\n%s%d\t%s\t%s\n" % (NET, number, pod.full_name(), name)
        search = (pod.search, pod.namespace + "." + cluster.DOMAIN, cluster.DOMAIN, "cluster.local")
        resolv = self.read("resolv.etc") + "search %s\n" % " ".join(search).strip()
        steps = ["mount -t tmpfs tmpfs /mnt; mkdir /mnt/upper /mnt/work /mnt/root",
                 "mount -t overlay overlay -o lowerdir=/,upperdir=/mnt/upper,workdir=/mnt/work /mnt/root; cd /mnt/root",
                 IMAGE.format(binary=BINARY, support=SUPPORT, results=self.path("results")), DEVICES,
                 "mount --bind %s etc/hosts; mount --bind %s etc/resolv.conf" % (self.write("hosts." + name, lines), self.write("resolv." + name, resolv))]
        steps += [self.volume(name, at, content) for at, content in sorted(pod.volumes(self.secrets).items())]
        # A device that opens: of a card nothing else is looked at.
        steps += ["mknod -m 666 dev/nvidia%d c 1 3" % k for k in range(pod.gpus())]
        if pod.container.get("securityContext", {}).get("readOnlyRootFilesystem"):
            steps.append("mount -o remount,ro /mnt/root")
        return super().hold(name, "; ".join(steps + ["cd /", commands]))

    def start_pod(self, number, pod):
        security = pod.container.get("securityContext", {})
        user, groups = pod.user(), pod.spec.get("securityContext", {}).get("fsGroup")
        become = ["setpriv", "--reuid", str(user), "--regid", str(user)] + (["--groups", str(groups)] if groups else ["--clear-groups"])
        if security.get("allowPrivilegeEscalation") is False:
            become.append("--no-new-privs")
        if security.get("capabilities", {}).get("drop") == ["ALL"]:
            become.append("--bounding-set=-all")
        inside = ["nsenter", "-t", str(self.holders[number]), "-n", "-u", "-m", "--", "chroot", "/mnt/root"] + become
        env = {"HOME": "/", "TMPDIR": None, "OUT": "/results", **pod.environment()}
        return self.start_command(inside + ["env", "--chdir", pod.container.get("workingDir", "/")] + pod.words(), env=env)

    # -- the cluster

    def publish(self, names):
        """Until all names are known, those of pods that must be ready first as their probe says it."""
        known = ["%s=%s%d" % (name, NET, self.pod_at[pod.host][0]) for name, pod, waits in names if not waits]
        urls = {}
        for name, pod, waits in names:
            probe = pod.container["readinessProbe"]["httpGet"]
            urls["http://%s%d:%d%s" % (NET, self.pod_at[pod.host][0], probe["port"], probe["path"])] = (name, pod, waits)

        def all_are_known():
            asked = subprocess.run(["nsenter", "-t", str(self.hub), "-n", "python3", "-c", READY] + list(urls), capture_output=True, text=True)
            for url in asked.stdout.split():
                name, pod, waits = urls.pop(url)
                known.extend(["%s=%s%d" % (name, NET, self.pod_at[pod.host][0])] * waits)
            self.write("names", "\n".join(known) + "\n")
            return not urls or any(agent.popen.poll() is not None for agent in self.agents.values())
        self.write("names", "\n".join(known) + "\n")
        wait_until(all_are_known, "the pods are ready", 60)

    def render(self, *words):
        """Documents, and pods of them; what a remark tells to be made by hand has been made."""
        finished = self.expect_code(self.run_muster("render", *words), 0)
        for name in re.findall(r"create secret generic (\S+) --from-file=secret=", finished.err):
            self.secrets[name] = {"secret": "c2VjcmV0LW9mLXRoZS10ZXN0LWFuZC1vZi1ub2JvZHktZWxzZQ==\n"}
        documents = [document for document in yaml.safe_load_all(finished.out) if document]
        return documents, cluster.pods_of(documents)

    def run_job(self, *words):
        """The job of `muster render` with these words; what each pod printed."""
        documents, pods = self.render(*words)
        for number, pod in enumerate(pods, 1):
            self.pod_at[pod.host] = (number, pod)
            self.add_host(number, name=pod.host)
        # Those that others look for come last: nobody may need the order.
        for pod in reversed(pods):
            number = self.pod_at[pod.host][0]
            self.agents[number] = self.start_pod(number, pod)
        self.publish(cluster.names_of(documents, pods))
        printed = {}
        for pod in pods:
            with self.subTest(pod=pod.host):
                printed[pod.host] = self.expect_code(self.agents[self.pod_at[pod.host][0]].finish(), 0)
        return printed

    def expect_ranks(self, hosts, each):
        """Of `each` pod as many, in the order of `hosts`."""
        lines = [line.split() for line in self.read("results/places").splitlines()]
        expected = [(str(node * each + rank), str(len(hosts) * each), str(node), host) for node, host in enumerate(hosts) for rank in range(each)]
        self.assertEqual(sorted(tuple(line[:4]) for line in lines), sorted(expected))

    def example(self, name):
        """With a program that needs no framework."""
        with open(os.path.join(EXAMPLES, "manifests", name)) as file:
            return self.write(name, file.read().replace("examples/pytorch/train.py", PROGRAM[1]))


class FlagsTest(RenderedPodTest):
    def flags(self, *more, program=PROGRAM):
        return ("--name", "train", "--image", "i", "--command", *more, "--", *program)

    def test_a_jobset(self):
        self.run_job(*self.flags("--workers", 2))
        self.expect_ranks(["train-worker-0-0", "train-worker-0-1", "train-worker-0-2"], 1)

    def test_a_jobset_whose_master_differs(self):
        self.run_job(*self.flags("--workers", 2, "--master", "different", "--master-cpu", 1, "--project", "vision"))
        self.expect_ranks(["train-master-0-0", "train-worker-0-0", "train-worker-0-1"], 1)

    def test_a_job(self):
        self.run_job(*self.flags("--workers", 2, "--no-master", "--to", "job"))
        self.expect_ranks(["train-0", "train-1"], 1)

    def test_a_pytorch_job(self):
        self.run_job(*self.flags("--workers", 2, "--gpu", 1, "--to", "pytorchjob"))
        self.expect_ranks(["train-master-0", "train-worker-0", "train-worker-1"], 1)

    def test_a_pytorch_job_of_workers(self):
        self.run_job(*self.flags("--workers", 2, "--no-master", "--gpu", 1, "--to", "pytorchjob"))
        self.expect_ranks(["train-worker-0", "train-worker-1"], 1)

    def test_a_train_job(self):
        self.run_job(*self.flags("--workers", 2, "--framework", "pytorch", "--gpu", 2, "--to", "trainjob"))
        self.expect_ranks(["train-node-0-0", "train-node-0-1", "train-node-0-2"], 2)

    def test_a_train_job_of_cpus(self):
        self.run_job(*self.flags("--workers", 1, "--cpu", 2, "--to", "trainjob"))
        self.expect_ranks(["train-node-0-0", "train-node-0-1"], 2)

    def run_train_job(self, framework, *names, program=PROGRAM):
        self.run_job(*self.flags("--workers", 1, "--framework", framework, "--to", "trainjob", program=program))
        self.expect_ranks(["train-node-0-0", "train-node-0-1"], 1)
        for rank in range(2):
            self.assertIn("%s=%d %s=2" % (names[0], rank, names[1]), self.read("results/places"))

    def test_a_train_job_of_jax(self):
        self.run_train_job("jax", "JAX_PROCESS_ID", "JAX_NUM_PROCESSES")

    def test_a_train_job_of_xgboost(self):
        """Which has no store of its job: where it is written down is enough."""
        told = 'echo "$RANK $WORLD_SIZE $GROUP_RANK $HOSTNAME DMLC_TASK_ID=$DMLC_TASK_ID DMLC_NUM_WORKER=$DMLC_NUM_WORKER" >> "$OUT"/places'
        self.run_train_job("xgboost", "DMLC_TASK_ID", "DMLC_NUM_WORKER", program=("sh", "-c", told))

    def test_an_mpi_job(self):
        printed = self.run_job("--name", "ring", "--image", "i", "--command", "--framework", "mpi", "--workers", 2, "--",
                               "mpirun", "-n", 2, "sh", "-c", 'echo "rank $OMPI_COMM_WORLD_RANK of $OMPI_COMM_WORLD_SIZE at $(hostname)"')
        self.expect_lines(["rank 0 of 2 at ring-worker-0", "rank 1 of 2 at ring-worker-1"], "\n".join(sorted(printed["ring-launcher"].out.splitlines())))


class ManifestTest(RenderedPodTest):
    def test_pytorch_as_a_jobset(self):
        self.run_job("-f", self.example("pytorch.yaml"))
        self.expect_ranks(["pytorch-distributed-worker-0-0", "pytorch-distributed-worker-0-1"], 2)

    def test_pytorch_as_a_pytorch_job(self):
        self.run_job("-f", self.example("pytorch.yaml"), "--to", "pytorchjob", "--name", "other")
        self.expect_ranks(["other-worker-0", "other-worker-1"], 2)

    def expect_ring(self, printed, launcher):
        ranks = re.findall(r"rank (\d) of (\d)", printed[launcher].out)
        self.assertEqual(sorted(ranks), [(str(rank), "4") for rank in range(4)])

    def test_mpi_as_an_mpi_job(self):
        printed = self.run_job("-f", self.example("mpi.yaml"))
        self.expect_ring(printed, "mpi-distributed-launcher")

    def test_mpich_as_an_mpi_job(self):
        printed = self.run_job("-f", self.write("mpich.yaml", MPICH))
        self.expect_ring(printed, "ring-launcher")

    def test_mpi_as_a_train_job(self):
        printed = self.run_job("-f", self.example("mpi.yaml"), "--to", "trainjob")
        self.expect_ring(printed, "mpi-distributed-launcher-0-0")

    def test_pytorch_as_a_train_job(self):
        self.run_job("-f", self.example("pytorch.yaml"), "--to", "trainjob")
        self.expect_ranks(["pytorch-distributed-node-0-0", "pytorch-distributed-node-0-1"], 2)

    def test_mpi_as_a_jobset(self):
        printed = self.run_job("-f", self.example("mpi.yaml"), "--to", "jobset")
        self.expect_ring(printed, "mpi-distributed-launcher-0-0")

    def expect_elastic(self, printed):
        said = sorted(line for finished in printed.values() for line in re.findall(r"rank .*", finished.out))
        self.assertEqual(len(said), 2)
        for rank, line in enumerate(said):
            self.assertRegex(line, r"rank %d of 2, rank 0 at 10\.77\.0\.\d, hello" % rank)

    def test_elastic_as_a_jobset(self):
        self.expect_elastic(self.run_job("-f", self.example("elastic.yaml")))

    def test_elastic_as_a_pytorch_job(self):
        self.expect_elastic(self.run_job("-f", self.example("elastic.yaml"), "--to", "pytorchjob"))


if __name__ == "__main__":
    unittest.main()
