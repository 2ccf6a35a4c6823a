"""A worker that fails 20 times, each time otherwise (the same failure again and again would be a crash loop), and leaves a process behind
each time. Forms a gloo group and reduces in every attempt. In attempts 5 and 20 it stands still, to be measured: makes the file
$OUT/still.ATTEMPT.RANK and waits until something is written into the FIFO $OUT/go.ATTEMPT.RANK."""
import os
import subprocess
import sys

import torch
import torch.distributed as dist

FOLDER = os.environ["OUT"]


def stand_still(attempt, rank):
    with open(os.path.join(FOLDER, "still.%d.%d" % (attempt, rank)), "w"):
        pass
    with open(os.path.join(FOLDER, "go.%d.%d" % (attempt, rank))) as fifo:
        fifo.readline()


def main():
    attempt = int(os.environ["TORCHELASTIC_RESTART_COUNT"])
    dist.init_process_group("gloo")
    rank, size = dist.get_rank(), dist.get_world_size()
    total = torch.ones(1)
    dist.all_reduce(total)
    assert total.item() == size
    subprocess.Popen(["sleep", "1000"])
    dist.all_reduce(total)  # all of them have left theirs
    if attempt in (5, 20):
        stand_still(attempt, rank)
    if attempt == 20:
        dist.monitored_barrier()  # see examples/pytorch/train.py
        sys.exit(0)
    if rank == 1:
        os._exit(10 + attempt)
    dist.all_reduce(total)  # fails, as its peer is gone


if __name__ == "__main__":
    main()
