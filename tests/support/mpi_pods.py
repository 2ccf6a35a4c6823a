"""Pods whose roles a controller gave, for tests of MPI jobs: hosts (network namespaces) with the name, the /etc/hosts, the mounts and the
variables that the controller gives its pods, copied from the controllers' sources: mpi-operator 0.8 (pkg/controller/mpi_job_controller.go),
Trainer 2.3 (pkg/runtime/framework/plugins/mpi), Volcano 1.12 (pkg/controllers/job/plugins)."""
import os
import tempfile

import mpi_programs
from namespace_hosts import NET, NamespaceTest

# As both operators make it: an EC key, the same in every pod of a job.
KEY = "-----BEGIN EC PRIVATE KEY-----\nMIHcAgEBBEIA%s\n-----END EC PRIVATE KEY-----\n" % ("0123456789abcdef" * 8)
PUBLIC = "ecdsa-sha2-nistp521 AAAAE2VjZHNhLXNoYTItbmlzdHA1MjEAAAAIbmlzdHA1MjEAAACFBA==\n"
OMPI = {"OMPI_MCA_orte_keep_fqdn_hostnames": "true", "OMPI_MCA_orte_default_hostfile": "/etc/mpi/hostfile",
        "OMPI_MCA_plm_rsh_args": "-o ConnectionAttempts=10", "OMPI_MCA_orte_set_default_slots": "2"}
MPICH = {"HYDRA_HOST_FILE": "/etc/mpi/hostfile", "HYDRA_LAUNCH_EXTRA_ARGS": "-o ConnectionAttempts=10"}
NO_DEVICES = {"NVIDIA_VISIBLE_DEVICES": "", "NVIDIA_DRIVER_CAPABILITIES": ""}
DOMAIN = "default.svc.cluster.local"


class PodTest(NamespaceTest):
    job = "pi"
    keeps_root = False  # pods see the machine's /root, where virtual environments may lie; what they write there is theirs
    pods = ()  # all names that DNS knows; pod k has address k + 1, until it is replaced
    key_files = {"id_rsa": KEY, "id_rsa.pub": PUBLIC, "authorized_keys": PUBLIC}  # of the Secret

    @property
    def DNS_ARGUMENTS(self):
        return ("0",) + tuple("%s.%s.%s=%s%d" % (name, self.job, DOMAIN, NET, address) for name, address in self.addresses.items())

    def setUp(self):
        self.addresses = {name: k + 1 for k, name in enumerate(self.pods)}
        super().setUp()
        with open(self.resolv, "a") as file:
            file.write("search %s svc.cluster.local cluster.local\n" % DOMAIN)
        self.ring = mpi_programs.built("ring", "openmpi")
        self.config = self.path("config")
        os.mkdir(self.config)
        self.mounts = {}

    def name_host(self, name, address):
        """DNS knows; /etc/hosts of a pod has its own name alone."""

    def write_config(self, **files):
        """A ConfigMap volume: a folder that changes as a whole, behind a link."""
        version = tempfile.mkdtemp(prefix="..", dir=self.config)
        os.chmod(version, 0o755)
        for name, text in files.items():
            with open(os.path.join(version, name), "w") as file:
                file.write(text)
            if not os.path.lexists(os.path.join(self.config, name)):
                os.symlink("..data/" + name, os.path.join(self.config, name))
        os.symlink(os.path.basename(version), os.path.join(self.config, "..data.new"))
        os.rename(os.path.join(self.config, "..data.new"), os.path.join(self.config, "..data"))

    def hold(self, name, commands):
        if name == "hub":
            return super().hold(name, commands)
        self.hosts = self.write("hosts." + name, "127.0.0.1\tlocalhost\n%s%d\t%s.%s.%s\t%s\n"
                                % (NET, self.addresses[name], name, self.job, DOMAIN, name))
        # Folders that this machine does not have are made above its /etc and /root, which stay as they are.
        above = ("mkdir -p {0}; mount -t tmpfs tmpfs {0}; mkdir {0}/upper {0}/work; mount -t overlay overlay "
                 "-o lowerdir=/etc,upperdir={0}/upper,workdir={0}/work /etc; mount --bind {1} /etc/hosts; mount --bind {2} /etc/resolv.conf"
                 ).format(self.path("etc." + name), self.hosts, self.resolv)
        return super().hold(name, "; ".join([above, self.mounts.get(name, "true"), commands]))

    def mount_config(self, at):
        return "mkdir -p %s; mount --bind %s %s" % (at, self.config, at)

    def mount_key(self, at="/root/.ssh", mode="600"):
        """A Secret volume: in memory, behind a link."""
        os.makedirs(self.path("secret"), exist_ok=True)
        for name, text in self.key_files.items():
            self.write("secret/" + name, text)
        root = "mount -t tmpfs tmpfs /root; "
        if self.keeps_root:
            root = ("mount -t tmpfs tmpfs /mnt; mkdir /mnt/upper /mnt/work; "
                    "mount -t overlay overlay -o lowerdir=/root,upperdir=/mnt/upper,workdir=/mnt/work /root; ")
        script = ("mkdir -p {at}; mount -t tmpfs tmpfs {at}; cd {at}; mkdir ..v; cp {files}/* ..v; chmod {mode} ..v/*; "
                  "ln -s ..v ..data; for name in $(ls ..v); do ln -s ..data/$name $name; done")
        return root + script.format(at=at, files=self.path("secret"), mode=mode)

    def move_pod(self, name, address):
        """Its machine is lost, and who asks for it finds another one."""
        self.cut(self.addresses[name])
        self.addresses[name] = address
        self.dns.popen.kill()
        self.dns.finish()
        self.start_dns()

    def start_pod(self, name, env, *arguments, number=None):
        number = number or self.addresses[name]
        if number not in self.holders:
            self.add_host(number, name=name)
        return self.start_agent(number, *arguments, env=env)
