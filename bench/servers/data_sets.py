"""The data sets that bench/servers trains on. They are written in the format that server_convergence reads."""

import gzip
import pathlib

import numpy

MAGIC = b"PACECSR1"
FASHION = pathlib.Path("/usr/share/datasets/fashion-mnist")


def write(path, features, begins, indices, values, labels):
    samples = len(labels)
    with open(path, "wb") as file:
        file.write(MAGIC)
        numpy.array([samples, features, len(indices)], dtype="<u8").tofile(file)
        begins.astype("<u8").tofile(file)
        indices.astype("<u4").tofile(file)
        values.astype("<f4").tofile(file)
        labels.astype("i1").tofile(file)


def make_url(path, samples=20_000, features=3_200_000, dense=64, words=136, seed=1):
    """Makes a data set shaped like the URL set of Ma et al. (ICML 2009), which the paper uses. Each sample has `dense` features that all
    samples have, of random size. It also has `words` of the other features, with value 1. A power law (exponent 1.1) draws them, so that
    a few are in most samples and most are in few. Samples have length 1. Hidden normal weights decide the label of each sample. They
    weigh the features that all samples have and the 2,000 most frequent others. 2 % of the labels are flipped."""
    random = numpy.random.default_rng(seed)
    ranks = random.zipf(1.1, size=(samples, words)) % (features - dense)
    # Neighbours in rank are not neighbours in the model.
    scatter = random.permutation(features - dense)
    rows = numpy.sort(dense + scatter[ranks], axis=1)
    keep = numpy.ones_like(rows, dtype=bool)
    keep[:, 1:] = rows[:, 1:] != rows[:, :-1]
    sizes = random.standard_normal((samples, dense))
    lengths = numpy.sqrt((sizes ** 2).sum(axis=1) + keep.sum(axis=1))
    weights = numpy.zeros(features)
    telling = numpy.concatenate([numpy.arange(dense), dense + scatter[:2000]])
    weights[telling] = random.standard_normal(len(telling))
    scores = sizes @ (weights[:dense]) + (weights[rows] * keep).sum(axis=1)
    scores -= numpy.median(scores)
    labels = numpy.where(scores > 0, 1, -1)
    labels[random.random(samples) < 0.02] *= -1
    indices, values, begins = [], [], [0]
    first = numpy.arange(dense)
    for i in range(samples):
        own = rows[i][keep[i]]
        indices.append(numpy.concatenate([first, own]))
        values.append(numpy.concatenate([sizes[i], numpy.ones(len(own))]) / lengths[i])
        begins.append(begins[-1] + dense + len(own))
    write(path, features, numpy.array(begins), numpy.concatenate(indices), numpy.concatenate(values), labels)


def read_idx(name, header):
    with gzip.open(FASHION / name) as file:
        return numpy.frombuffer(file.read(), dtype=numpy.uint8)[header:]


def make_fashion(path):
    """The first 10,000 images of Fashion-MNIST, 28 x 28 pixels: tops (T-shirt, pullover, coat, shirt) against all others.
    Samples have length 1, and a constant feature."""
    images = read_idx("train-images-idx3-ubyte.gz", 16).reshape(-1, 784)[:10_000].astype(numpy.float32)
    labels = read_idx("train-labels-idx1-ubyte.gz", 8)[:10_000]
    images /= numpy.linalg.norm(images, axis=1, keepdims=True)
    images = numpy.concatenate([images, numpy.ones((len(images), 1), numpy.float32)], axis=1)
    there = images > 0
    begins = numpy.concatenate([[0], numpy.cumsum(there.sum(axis=1))])
    signs = numpy.where(numpy.isin(labels, (0, 2, 4, 6)), 1, -1)
    write(path, images.shape[1], begins, numpy.nonzero(there)[1], images[there], signs)
