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
    if what == "abort256":
        world.Abort(256)
print("rank=%d waits" % rank, flush=True)
if what == "once" and not os.path.exists("broken"):
    world.Barrier()
    if is_it:
        open("broken", "w").close()
        os.kill(os.getpid(), signal.SIGKILL)
if what == "wait":
    time.sleep(600)
if what == "talk":  # with all others, until the test's folder has a file "go"
    while not world.allreduce(os.path.exists(os.path.join(os.environ["OUT"], "go")), MPI.MAX):
        time.sleep(0.05)
    print("rank=%d went on" % rank, flush=True)
world.Barrier()
MPI.Finalize()
sys.exit(9 if what == "code" and is_it else 0)
