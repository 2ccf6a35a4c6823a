"""A ring of Debian's Open MPI 4.1 over 64 nodes, which takes too long for `make test`."""
import mpi_cases
from harness import MusterTest
from mpi_programs import OpenMpi

GRID = True  # but for what a class keeps in the gate


class OpenMpiManyNodes(OpenMpi, mpi_cases.ManyNodesTest, MusterTest):
    pass
