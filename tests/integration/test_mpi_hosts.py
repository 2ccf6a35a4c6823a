"""MPI jobs over a real network stack, with Debian's Open MPI 4.1 and MPICH 4.0: the tests of support/mpi_hosts.py, and pods as restricted as
clusters have them.

MPICH 4.0.2 of Debian 12 hangs in MPI_Finalize in most jobs of several hosts, whoever starts it (UCX 1.13). Its programs run here up to
there; then the job is told to end, which it must."""
import os
import unittest

import mpi_hosts
import mpi_programs
from harness import BINARY, EXAMPLES
from mpi_programs import OpenMpi
from namespace_hosts import NET, NamespaceTest


class Mpich(mpi_programs.Mpich):
    finalizes = False
    speaks_ipv6 = False


class OpenMpiHosts(OpenMpi, mpi_hosts.LauncherHostTests, NamespaceTest):
    def test_mpi4py_on_four_hosts(self):
        script = os.path.join(EXAMPLES, "mpi", "allreduce.py")
        self.add_hosts([1, 2, 3, 4])
        self.start_mpi([1, 2, 3, 4], "--nproc-per-node", 2, script, env={"PYTHON_EXEC": "/usr/bin/python3"})
        self.expect_ring([1, 2, 3, 4], 2)


class MpichHosts(Mpich, mpi_hosts.LauncherHostTests, NamespaceTest):
    gate_keeps = ("test_four_hosts_with_two_ranks_each_and_a_second_interface_with_one_address_everywhere",)


class OpenMpiNetwork(OpenMpi, mpi_hosts.NetworkTests, NamespaceTest):
    def test_a_launcher_without_ranks_has_the_parameters_of_the_sites_profile(self):
        """It tells its daemons. The names of its own network are not for others."""
        names = "$OMPI_MCA_mpi_yield_when_idle,$NCCL_IB_TC,$GLOO_SOCKET_IFNAME"
        for number, role in ((1, "launcher"), (2, "worker")):
            self.start_mpi([number], "--fabric-profile", self.profile, "--mpi-role", role, "--mpi-launch", "command", "--", "sh", "-c",
                           'echo "launcher: %s"; mpirun.openmpi sh -c \'echo "rank: %s"\'' % (names, names), nodes=1, endpoints=NET + "1")
        finished = self.expect_code(self.agents[1].finish(), 0)
        self.assertIn("launcher: 1,,\n", finished.out)
        self.assertIn("rank: 1,160,net2\n", finished.out)

    def test_a_command_of_another_node_has_the_plan_of_the_node_where_it_runs(self):
        """So that the daemons of an mpirun of a worker's own have it, too."""
        worker = self.sh('[ "$RANK" = 0 ] || { while [ ! -e "$OUT/over" ]; do sleep 0.1; done; exit 0; }\n'
                         '"$MUSTER_BINARY" rsh host-2 \'echo "far $GLOO_SOCKET_IFNAME"\'; touch "$OUT/over"')
        for number in (1, 2):
            self.start_agent(number, "--nnodes", 2, "--rsh", "--no-python", "--rdzv-endpoint", NET + "1", worker,
                             env={"MUSTER_JOB_SECRET_FILE": self.secret, "MUSTER_BINARY": BINARY})
        self.agents[1].wait_for("far net2")
        for number in (1, 2):
            self.expect_code(self.agents[number].finish(), 0)


class MpichNetwork(Mpich, mpi_hosts.NetworkTests, NamespaceTest):
    pass


class OpenMpiHostFaults(OpenMpi, mpi_hosts.PodKilledTests, NamespaceTest):
    pass


class MpichHostFaults(Mpich, mpi_hosts.PodKilledTests, NamespaceTest):
    gate_keeps = ("test_a_pod_is_killed",)


class OpenMpiCuts(OpenMpi, mpi_hosts.CutTests, NamespaceTest):
    pass


class MpichCuts(Mpich, mpi_hosts.CutTests, NamespaceTest):
    gate_keeps = ("test_a_host_that_comes_back_after_its_expulsion",)


class OpenMpiTree(OpenMpi, mpi_hosts.TreeTests, NamespaceTest):
    two_each = {"OMPI_MCA_routed_radix": "2"}


class OpenMpiSilentDns(OpenMpi, mpi_hosts.SilentDnsTests, NamespaceTest):
    pass


class MpichSilentDns(Mpich, mpi_hosts.SilentDnsTests, NamespaceTest):
    gate_keeps = ()


class OpenMpiPods(OpenMpi, mpi_hosts.PodCutTests, NamespaceTest):
    pass


class MpichPods(Mpich, mpi_hosts.PodCutTests, NamespaceTest):
    gate_keeps = ()


if __name__ == "__main__":
    unittest.main()
