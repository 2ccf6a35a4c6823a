"""Jobs of recorded pods (data/pods) that really run: each pod is a host (network namespace) with the name, the variables and the files that its
controller gives it, and every pod is started with the same words. `result` holds the places of the ranks."""
import os
import re
import unittest

from harness import SUPPORT
from namespace_hosts import NET, NamespaceTest

PODS = os.path.join(os.path.dirname(SUPPORT), "data", "pods")
SEARCH = "search default.svc.cluster.local svc.cluster.local cluster.local\n"


def read(*path):
    with open(os.path.join(*path)) as file:
        return file.read()


def jobs():
    """CONTROLLER/JOB of all that run."""
    for controller in sorted(os.listdir(PODS)):
        for job in sorted(os.listdir(os.path.join(PODS, controller))) if os.path.isdir(os.path.join(PODS, controller)) else ():
            if os.path.exists(os.path.join(PODS, controller, job, "result")):
                yield controller + "/" + job


class RecordedPodTest(NamespaceTest):
    job = None

    @property
    def DNS_ARGUMENTS(self):
        """What the kubelet writes in a pod's own file the cluster's DNS knows of all; `dns` has what a controller makes besides."""
        names = {}
        for number, pod in self.numbers().items():
            if os.path.exists(self.file(pod, "root/etc/hosts")):
                lines = [line.split() for line in read(self.file(pod, "root/etc/hosts")).splitlines()]
                names.update({line[1]: number for line in lines if line and line[0] == NET + str(number)})
        if os.path.exists(self.file("dns")):
            of = {pod: number for number, pod in self.numbers().items()}
            names.update({name: of[pod] for name, pod in (line.split("=") for line in read(self.file("dns")).split())})
        return ("0",) + tuple("%s=%s%d" % (name, NET, number) for name, number in names.items())

    def file(self, *path):
        return os.path.join(PODS, self.job, *path)

    def numbers(self):
        pods = sorted(name for name in os.listdir(self.file()) if os.path.isdir(self.file(name)))
        return dict(enumerate(pods, 1))

    def name_host(self, name, address):
        """DNS knows; /etc/hosts of a pod has its own name alone."""

    def hold(self, name, commands):
        if name == "hub":
            return super().hold(name, commands)
        pod = self.pod_at[name]
        # The machine's folders stay as they are below those of the pod.
        folders = sorted(os.listdir(self.file(pod, "root"))) if os.path.isdir(self.file(pod, "root")) else []
        layers = ["mkdir -p /{0}; mount -t overlay overlay -o lowerdir={1}/{0}:/{0} /{0}".format(folder, self.file(pod, "root"))
                  for folder in folders if folder != "proc"]
        self.hosts = self.file(pod, "root/etc/hosts")
        if not os.path.exists(self.hosts):
            self.hosts = self.write("hosts." + pod, "127.0.0.1 localhost\n")
        return super().hold(name, "; ".join(layers + ["mount --bind %s /etc/hosts; mount --bind %s /etc/resolv.conf"
                                                      % (self.hosts, self.resolv), commands]))

    def words(self, env):
        """As the kubelet does with a container's command, $(NAME) is the pod's variable."""
        if os.path.exists(self.file("run")):
            return re.sub(r"\$\((\w+)\)", lambda name: env[name[1]], read(self.file("run"))).splitlines()
        flags = read(self.file("flags")).split() if os.path.exists(self.file("flags")) else []
        return flags + ["--", "python3", os.path.join(SUPPORT, "pod_rank.py")]

    def run_job(self):
        with open(self.resolv, "a") as file:
            file.write(SEARCH)
        self.pod_at = {}
        for number, pod in self.numbers().items():
            name = read(self.file(pod, "hostname")).strip()
            self.pod_at[name] = pod
            self.add_host(number, name=name)
        for number, pod in self.numbers().items():
            env = dict(line.split("=", 1) for line in read(self.file(pod, "environ")).splitlines())
            self.start_agent(number, *self.words(env), env=env)
        for number, pod in self.numbers().items():
            with self.subTest(pod=pod):
                self.expect_code(self.agents[number].finish(), 0)
        self.assertEqual(sorted(self.read("places").splitlines()), read(self.file("result")).splitlines())


# `job` is needed by setUp(), which starts the DNS server: one class for each.
for found in jobs():
    name = "".join(word.capitalize() for word in found.replace("/", "-").split("-")) + "Test"
    globals()[name] = type(name, (RecordedPodTest,), {"job": found, "test_its_pods_run_one_job": lambda self: self.run_job()})


if __name__ == "__main__":
    unittest.main()
