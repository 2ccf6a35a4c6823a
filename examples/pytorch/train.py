"""Data-parallel training on the UCI handwritten digits: PyTorch DDP over gloo, on CPUs.

There is no bootstrap code in here: no address, no port, no rank. `init_process_group("gloo")` finds
all of it in the environment that the launcher prepares. Being restartable takes two things: rank 0
saves a checkpoint after each epoch, and everybody starts from the newest one.
"""
import argparse
import gzip
import math
import os
import signal

import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DataLoader, DistributedSampler, TensorDataset

try:
    from muster_progress import report  # ../progress has it: how far the training is, for whoever asks Muster
except ImportError:
    def report(**_said):
        pass

DATA = os.path.join(os.path.dirname(os.path.abspath(__file__)), "data", "digits.csv.gz")
TEST_IMAGES = 360
BATCH = 32  # images, of each rank


def load_digits():
    """(training set, test set), each a dataset of images in [0, 1] and labels."""
    with gzip.open(DATA, "rt") as file:
        rows = torch.tensor([[int(cell) for cell in line.split(",")] for line in file])
    rows = rows[torch.randperm(len(rows), generator=torch.Generator().manual_seed(0))]
    images, labels = rows[:, :-1].float() / 16, rows[:, -1]
    split = len(rows) - TEST_IMAGES
    return TensorDataset(images[:split], labels[:split]), TensorDataset(images[split:], labels[split:])


def save(path, epochs_done, model, optimizer):
    """Writes beside the old checkpoint and renames, so that a death in here costs nothing."""
    state = {"epochs_done": epochs_done, "model": model.state_dict(), "optimizer": optimizer.state_dict()}
    torch.save(state, path + ".tmp")
    os.replace(path + ".tmp", path)


def resume(path, model, optimizer):
    """The number of epochs already done; 0 without a checkpoint."""
    if not path or not os.path.exists(path):
        return 0
    state = torch.load(path)
    model.load_state_dict(state["model"])
    optimizer.load_state_dict(state["optimizer"])
    return state["epochs_done"]


def train(model, loader, optimizer, after_batch):
    for batch, (images, labels) in enumerate(loader, 1):
        optimizer.zero_grad()
        loss = torch.nn.functional.cross_entropy(model(images), labels)
        loss.backward()
        optimizer.step()
        after_batch(batch, loss.item())


@torch.no_grad()
def accuracy(model, dataset):
    """Share of right answers."""
    images, labels = dataset[:]
    return (model(images).argmax(1) == labels).float().mean().item()


def maybe_die(options, epoch):
    """The fault to try out: one rank ends without a word, the first time round only. The others have saved the epoch
    before: they were in this one's first batch."""
    first_time = os.environ.get("TORCHELASTIC_RESTART_COUNT", "0") == "0"
    if first_time and (dist.get_rank(), epoch) == (options.kill_rank, options.kill_epoch):
        os.kill(os.getpid(), signal.SIGKILL)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--epochs", type=int, default=10)
    parser.add_argument("--checkpoint", help="file to resume from and to save to")
    parser.add_argument("--kill-rank", type=int, help="this rank kills itself once, ...")
    parser.add_argument("--kill-epoch", type=int, default=3, help="... after the first batch of this epoch")
    options = parser.parse_args()

    dist.init_process_group("gloo")
    torch.manual_seed(0)
    first = dist.get_rank() == 0
    train_set, test_set = load_digits()
    sampler = DistributedSampler(train_set)
    loader = DataLoader(train_set, batch_size=BATCH, sampler=sampler)
    model = torch.nn.Sequential(torch.nn.Linear(64, 128), torch.nn.ReLU(), torch.nn.Linear(128, 10))
    optimizer = torch.optim.Adam(model.parameters(), lr=0.005)
    start = resume(options.checkpoint, model, optimizer)
    if first and start:
        print(f"resumed after epoch {start}", flush=True)

    def after_batch(batch, loss):
        maybe_die(options, epoch)
        done = min(batch * dist.get_world_size(), steps)
        report(step=(epoch - 1) * steps + done, total=options.epochs * steps, epoch=epoch - 1 + done / steps, loss=loss)

    # A batch of any rank is a step here, so that the count does not depend on how many ranks there are.
    steps = math.ceil(len(train_set) / BATCH)
    # Built after resume(): it waits for all ranks, so nobody can save before everybody has read.
    parallel = DistributedDataParallel(model)
    for epoch in range(start + 1, options.epochs + 1):
        sampler.set_epoch(epoch)
        train(parallel, loader, optimizer, after_batch)
        if first:
            # Saved before anybody hears of it.
            if options.checkpoint:
                save(options.checkpoint, epoch, model, optimizer)
            print(f"epoch {epoch} accuracy {accuracy(model, test_set):.4f}", flush=True)

    if first:
        print(f"final accuracy {accuracy(model, test_set):.4f}", flush=True)
    # Rank 0 still evaluates: who leaves now would take its connections away. Not barrier(): PyTorch 2 runs that on
    # a thread which destroy_process_group() leaves running, and which aborts a process that ends at that moment.
    dist.monitored_barrier()
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
