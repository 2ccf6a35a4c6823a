"""mpi_faults.c with mpi4py: mpi_faults.py WHAT [RANK]."""
import os
import signal
import sys
import time

from mpi4py import MPI

world = MPI.COMM_WORLD
rank = world.Get_rank()
what = sys.argv[1] if len(sys.argv) > 1 else ""
is_it = rank == (int(sys.argv[2]) if len(sys.argv) > 2 else 1)
world.Barrier()
if is_it:
    if what == "exit":
        os._exit(3)
    if what == "leave":
        os._exit(0)
    if what == "kill":
        os.kill(os.getpid(), signal.SIGKILL)
    if what == "crash":
        os.kill(os.getpid(), signal.SIGSEGV)
    if what == "abort":
        world.Abort(7)
print("rank=%d waits" % rank, flush=True)
if what == "once" and not os.path.exists("broken"):
    world.Barrier()
    if is_it:
        open("broken", "w").close()
        os.kill(os.getpid(), signal.SIGKILL)
if what == "wait":
    time.sleep(600)
world.Barrier()
MPI.Finalize()
sys.exit(9 if what == "code" and is_it else 0)
