"""MPI jobs over a real network stack, with Debian's Open MPI 4.1 and MPICH 4.0: the tests of support/mpi_hosts.py, and pods as restricted as
clusters have them.

MPICH 4.0.2 of Debian 12 hangs in MPI_Finalize in most jobs of several hosts, whoever starts it (UCX 1.13). Its programs run here up to
there; then the job is told to end, which it must."""
import os
import unittest

import mpi_hosts
import mpi_programs
from harness import EXAMPLES
from mpi_programs import OpenMpi
from namespace_hosts import NamespaceTest


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
