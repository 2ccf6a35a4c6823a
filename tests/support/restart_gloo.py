"""Two planned failures, then success: what a restart has to survive. Started by a launcher with two or more
ranks and --max-restarts 2. Each attempt forms a gloo group and reduces once; rank 0 then says
"attempt N reduced". In attempts 0 and 1 the last rank fails after that.
"""
import os
import sys
import time

import torch
import torch.distributed as dist

attempt = int(os.environ["TORCHELASTIC_RESTART_COUNT"])
dist.init_process_group("gloo")
rank, size = dist.get_rank(), dist.get_world_size()
value = torch.tensor([float(rank)])
dist.all_reduce(value)
assert value.item() == sum(range(size)), value
dist.barrier()
if rank == 0:
    print("attempt %d reduced" % attempt, flush=True)
dist.monitored_barrier()  # see examples/pytorch/train.py
if attempt < 2:
    if rank == size - 1:
        sys.stdout.flush()
        os._exit(3)
    time.sleep(300)
dist.destroy_process_group()
