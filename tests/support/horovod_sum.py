"""Two meetings of all processes under Horovod: they add their ranks, shut down, begin again and count themselves.

usage: horovod_sum.py [kill RANK]      that one kills itself before the second sum of the first attempt"""
import os
import signal
import sys

import horovod.torch as hvd
import torch

hvd.init()
total = hvd.allreduce(torch.tensor([float(hvd.rank())]), op=hvd.Sum, name="ranks")
print("rank %d size %d local %d/%d cross %d/%d sum %d" % (hvd.rank(), hvd.size(), hvd.local_rank(), hvd.local_size(), hvd.cross_rank(),
                                                         hvd.cross_size(), total[0]), flush=True)
hvd.shutdown()
hvd.init()
if sys.argv[1:] == ["kill", str(hvd.rank())] and os.environ["TORCHELASTIC_RESTART_COUNT"] == "0":
    os.kill(os.getpid(), signal.SIGKILL)
total = hvd.allreduce(torch.tensor([1.0]), op=hvd.Sum, name="ones")
print("again %d" % total[0], flush=True)
