"""Elastic data-parallel training with Horovod on CPUs: a line is fitted to points, and every rank takes its share of them.

usage: train.py [EPOCHS]

Nodes may come and go: what was committed last is restored, and the training goes on with the ranks that are left, or with more.
Rank 0 prints "epoch 7 size 2 loss 0.0012".
"""
import sys
import time

import torch
import horovod.torch as hvd

EPOCHS = int(sys.argv[1]) if len(sys.argv) > 1 else 40
EPOCH_S = 0.25  # so that there is something to see

hvd.init()
torch.manual_seed(1)
points = torch.linspace(-1, 1, 240).unsqueeze(1)
values = 3 * points + 1

model = torch.nn.Linear(1, 1)
optimizer = hvd.DistributedOptimizer(torch.optim.SGD(model.parameters(), lr=0.2), named_parameters=model.named_parameters())


@hvd.elastic.run
def train(state):
    while state.epoch < EPOCHS:
        mine = slice(hvd.rank(), None, hvd.size())
        optimizer.zero_grad()
        loss = torch.nn.functional.mse_loss(model(points[mine]), values[mine])
        loss.backward()
        optimizer.step()
        state.epoch += 1
        if hvd.rank() == 0:
            print("epoch %d size %d loss %.4f" % (state.epoch, hvd.size(), loss.item()), flush=True)
        time.sleep(EPOCH_S)
        state.commit()


train(hvd.elastic.TorchState(model=model, optimizer=optimizer, epoch=0))
if hvd.rank() == 0:
    print("slope %.2f offset %.2f" % (model.weight.item(), model.bias.item()), flush=True)
