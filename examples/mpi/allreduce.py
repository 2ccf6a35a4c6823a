"""The same as ring.c with mpi4py, which must be of the MPI whose mpirun starts it."""
import time

import mpi4py

mpi4py.rc.initialize = mpi4py.rc.finalize = False  # both are timed here
from mpi4py import MPI

began = time.monotonic()
MPI.Init()
init_ms = 1e3 * (time.monotonic() - began)
world = MPI.COMM_WORLD
rank, size = world.Get_rank(), world.Get_size()
token = 1 if rank == 0 else world.recv(source=rank - 1) + 1
if rank + 1 < size:
    world.send(token, dest=rank + 1)
last = world.bcast(token, root=size - 1)
total = world.allreduce(rank)
if rank == 0:
    print("ring: %d of %d ranks" % (last, size))
    print("allreduce: %d with %s" % (total, MPI.Get_library_version().split(",")[0].split("\n")[0]))
began = time.monotonic()
MPI.Finalize()
if rank == 0:
    print("MPI_Init: %.1f ms, MPI_Finalize: %.1f ms" % (init_ms, 1e3 * (time.monotonic() - began)))
