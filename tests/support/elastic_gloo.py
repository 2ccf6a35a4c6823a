"""A worker that forms a gloo group, writes down when that was, and reduces until the file "end" appears.

One line per worker and group in $OUT/groups: world size, rank, time.monotonic() of the first reduction; and one in $OUT/places.N of
attempt N: rank, node rank, world size, host name.
"""
import os
import socket
import time

import torch
import torch.distributed as dist

FOLDER = os.environ["OUT"]


def reduced(value):
    total = torch.tensor([value])
    dist.all_reduce(total)
    return total.item()


def main():
    dist.init_process_group("gloo")
    world, rank = dist.get_world_size(), dist.get_rank()
    assert reduced(1) == world
    with open(os.path.join(FOLDER, "groups"), "a") as file:
        file.write("%d %d %.3f\n" % (world, rank, time.monotonic()))
    with open(os.path.join(FOLDER, "places." + os.environ["TORCHELASTIC_RESTART_COUNT"]), "a") as file:
        file.write("%d %s %d %s\n" % (rank, os.environ["GROUP_RANK"], world, socket.gethostname()))
    # All of them leave after the same reduction.
    while reduced(int(os.path.exists(os.path.join(FOLDER, "end")))) == 0:
        time.sleep(0.05)
    dist.monitored_barrier()  # see examples/pytorch/train.py
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
