"""mpi_rank.c with mpi4py: mpi_rank.py [HOW RANK], HOW one of exit3, exit0, kill, abort7, stay."""
import os
import signal
import sys

from mpi4py import MPI

world = MPI.COMM_WORLD
rank, size = world.Get_rank(), world.Get_size()
how = sys.argv[1] if len(sys.argv) > 2 and int(sys.argv[2]) == rank else ""
if how == "exit3":
    os._exit(3)
if how == "exit0":
    os._exit(0)
if how == "kill":
    os.kill(os.getpid(), 9)
if how == "abort7":
    world.Abort(7)
total = world.allreduce(rank)
token = world.sendrecv(rank, dest=(rank + 1) % size, source=(rank - 1) % size)
print("rank %d of %d: sum %d, from %d" % (rank, size, total, token), flush=True)
if rank == 0:
    print(MPI.Get_library_version().splitlines()[0], flush=True)
if how == "stay":
    signal.pause()
