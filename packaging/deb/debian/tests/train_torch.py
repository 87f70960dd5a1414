"""A line is fitted to points by two workers, of which each knows half of them. Prints what was found."""

import os

import torch

import pace.torch as pace

rank = int(os.environ["RANK"])
pace.init()
torch.manual_seed(rank)
model = torch.nn.Linear(1, 1)
model = pace.DataParallel(model)
optimizer = pace.Optimizer(torch.optim.SGD(model.parameters(), lr=0.5), model)
inputs = torch.rand(1000, 1) * 2 - 0.5 - rank
for step in pace.steps(300, model, optimizer):
    optimizer.zero_grad()
    loss = torch.nn.functional.mse_loss(model(inputs), 3 * inputs - 2)
    loss.backward()
    optimizer.step()
found = [round(float(parameter), 3) for parameter in model.parameters()]
assert abs(found[0] - 3) < 0.01 and abs(found[1] + 2) < 0.01, found
print("slope and offset:", found, flush=True)
