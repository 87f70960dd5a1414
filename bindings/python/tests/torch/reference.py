"""Reference: a small model, its batches, and the same training by one process with every rank's batches."""

import hashlib

import torch


def network(seed, norm=False):
    torch.manual_seed(seed)
    layers = [torch.nn.Linear(8, 16)] + ([torch.nn.BatchNorm1d(16)] if norm else []) + [torch.nn.ReLU(), torch.nn.Linear(16, 4)]
    return torch.nn.Sequential(*layers)


def batch(step, rank, size=8):
    torch.manual_seed(1000 * step + rank)
    return torch.randn(size, 8), torch.randint(0, 4, (size,))


def train_alone(steps, world, seed=0):
    """SGD with momentum over the mean of all ranks' losses."""
    model = network(seed)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
    for step in range(steps):
        optimizer.zero_grad()
        for rank in range(world):
            inputs, labels = batch(step, rank)
            (torch.nn.functional.cross_entropy(model(inputs), labels) / world).backward()
        optimizer.step()
    return model


def difference(ours, theirs):
    return max((one.detach() - other.detach()).abs().max().item() for one, other in zip(ours.parameters(), theirs.parameters()))


def checksum(tensors):
    digest = hashlib.sha256()
    for tensor in tensors:
        digest.update(tensor.detach().contiguous().view(-1).view(torch.uint8).numpy().tobytes())
    return digest.hexdigest()[:16]
