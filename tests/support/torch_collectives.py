"""Every collective that gloo has, checked on every rank. Started by a launcher: takes its address,
rank and world size from the environment, as user scripts do.

usage: torch_collectives.py [--only init] [--libuv 0|1 --store HOST:PORT]

Runs under PyTorch 1.13 to 2.13 with two or more ranks. Prints `collectives ok` on rank 0.
`--store` dials the store by itself, because PyTorch 2.x always takes its libuv client path for a
store that the launcher keeps.
"""
import argparse
import os
from datetime import timedelta

import torch
import torch.distributed as dist

VERSION = tuple(int(part) for part in torch.__version__.split(".")[:2])

# Tensors stay referenced to the end. In 1.13 gloo's thread may drop the last reference of one, for which
# it needs Python's lock, while the main thread holds that lock and waits for the thread: for ever.
KEPT = []


def tensor(*numbers):
    KEPT.append(torch.tensor(numbers, dtype=torch.float32))
    return KEPT[-1]


def expect(got, wanted):
    got = got.tolist() if isinstance(got, torch.Tensor) else got
    if got != wanted:
        raise AssertionError("rank %d: got %r, wanted %r" % (dist.get_rank(), got, wanted))


def reductions(rank, size):
    for operation, wanted in ((dist.ReduceOp.SUM, sum(range(size))), (dist.ReduceOp.MAX, size - 1),
                              (dist.ReduceOp.MIN, 0)):
        value = tensor(rank)
        dist.all_reduce(value, operation)
        expect(value, [wanted])
    value = tensor(rank + 1)
    dist.reduce(value, 0)
    if rank == 0:
        expect(value, [sum(range(1, size + 1))])
    large = torch.full((300_000,), float(rank))
    KEPT.append(large)
    work = dist.all_reduce(large, async_op=True)
    work.wait()
    expect(large[-1].item(), float(sum(range(size))))


def distribution(rank, size):
    value = tensor(rank + 10)
    dist.broadcast(value, size - 1)
    expect(value, [size + 9])
    parts = [tensor(0) for _ in range(size)]
    dist.all_gather(parts, tensor(rank))
    expect([part.item() for part in parts], list(range(size)))
    gathered = [tensor(0) for _ in range(size)] if rank == 0 else None
    dist.gather(tensor(rank), gathered, 0)
    if rank == 0:
        expect([part.item() for part in gathered], list(range(size)))
    mine = tensor(0)
    dist.scatter(mine, [tensor(i * i) for i in range(size)] if rank == 0 else None, 0)
    expect(mine, [rank * rank])
    received = tensor(*[0] * size)
    dist.all_to_all_single(received, tensor(*[rank * size + i for i in range(size)]))
    expect(received, [i * size + rank for i in range(size)])
    if VERSION >= (2, 6):  # gloo has no reduce_scatter before
        mine = tensor(0)
        dist.reduce_scatter(mine, [tensor(i) for i in range(size)])
        expect(mine, [rank * size])


def point_to_point(rank, size):
    value = tensor(rank)
    if rank == 0:
        dist.send(tensor(42), 1)
        dist.recv(value, 1)
        expect(value, [43])
    elif rank == 1:
        dist.recv(value, 0)
        dist.send(tensor(value.item() + 1), 0)
    received = tensor(0)
    requests = [dist.isend(tensor(rank), (rank + 1) % size), dist.irecv(received, (rank - 1) % size)]
    for request in requests:
        request.wait()
    expect(received, [(rank - 1) % size])


def objects(rank, size):
    gathered = [None] * size
    dist.all_gather_object(gathered, {"rank": rank, "text": "x" * rank})
    expect([item["rank"] for item in gathered], list(range(size)))
    shared = [["from", 0]] if rank == 0 else [None]
    dist.broadcast_object_list(shared, 0)
    expect(shared, [["from", 0]])


def groups(rank, size):
    dist.barrier()
    dist.monitored_barrier(timeout=timedelta(seconds=60))
    for members in ([0], list(range(size)), [size - 1, 0]):
        group = dist.new_group(members)
        if rank in members:
            value = tensor(1)
            dist.all_reduce(value, group=group)
            expect(value, [len(set(members))])
    dist.barrier()


def store_of_the_group(rank, size):
    """What libraries do beside the collectives: keys of their own in the default store."""
    store = dist.distributed_c10d._get_default_store()
    store.set("mine/%d" % rank, str(rank))
    expect([store.get("mine/%d" % i).decode() for i in range(size)], [str(i) for i in range(size)])
    store.add("arrived", 1)
    dist.barrier()
    expect(store.add("arrived", 0), size)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--only", choices=["init"], help="init: one reduction and a second group")
    parser.add_argument("--libuv", type=int, default=1)
    parser.add_argument("--store")
    options = parser.parse_args()
    rank, size = int(os.environ["RANK"]), int(os.environ["WORLD_SIZE"])
    if options.store:
        host, port = options.store.rsplit(":", 1)
        store = dist.TCPStore(host, int(port), size, False, timedelta(seconds=60), use_libuv=options.libuv == 1)
        dist.init_process_group("gloo", store=store, rank=rank, world_size=size)
    else:
        dist.init_process_group("gloo", timeout=timedelta(seconds=120))
    expect((dist.get_rank(), dist.get_world_size()), (rank, size))
    if options.only == "init":
        value = tensor(1)
        dist.all_reduce(value, group=dist.new_group(list(range(size))))
        expect(value, [size])
    else:
        for section in (reductions, distribution, point_to_point, objects, groups, store_of_the_group):
            section(rank, size)
    dist.monitored_barrier()  # see examples/pytorch/train.py
    dist.destroy_process_group()
    if rank == 0:
        print("collectives ok", flush=True)


if __name__ == "__main__":
    main()
