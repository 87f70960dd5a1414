"""Fashion: the data, and the network that is trained on it. Both training scripts use it."""

import gzip
import os
import sys

try:
    import numpy
    import torch
except ImportError as missing:
    print(f"{missing}: apt-get install python3-torch python3-numpy", file=sys.stderr)
    sys.exit(77)

FOLDER = os.environ.get("FASHION_MNIST", "/usr/share/datasets/fashion-mnist")


def _read(name, header):
    with gzip.open(f"{FOLDER}/{name}-ubyte.gz") as file:
        return numpy.frombuffer(file.read(), numpy.uint8, offset=header)


def load(part):
    """Images as rows of 784 numbers from 0 to 1, and their labels, of "train" or "t10k"."""
    images = torch.tensor(_read(f"{part}-images-idx3", 16).reshape(-1, 784), dtype=torch.float32) / 255
    return images, torch.tensor(_read(f"{part}-labels-idx1", 8), dtype=torch.int64)


def network():
    return torch.nn.Sequential(torch.nn.Linear(784, 128), torch.nn.BatchNorm1d(128), torch.nn.ReLU(), torch.nn.Linear(128, 10))


def accuracy(model, images, labels):
    model.eval()
    with torch.no_grad():
        right = (model(images).argmax(1) == labels).float().mean().item()
    model.train()
    return right
