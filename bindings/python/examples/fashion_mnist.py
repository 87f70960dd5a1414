"""Trains a small network on Fashion-MNIST with several workers. Pairs of workers that are ready
average their parameters.

    python3 -m pace run -n 4 bindings/python/examples/fashion_mnist.py

Needs NumPy, and the data: Debian's package dataset-fashion-mnist, or the folder that FASHION_MNIST names. Exit status 1: the test
accuracy is below 80 %; 77: NumPy or the data are not there.
"""

import gzip
import os
import pathlib
import sys
import time

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")  # each worker is a process of its own

try:
    import numpy
except ImportError:
    print("skipped: NumPy is not installed (Debian's python3-numpy)")
    sys.exit(77)

import pace

FOLDER = pathlib.Path(os.environ.get("FASHION_MNIST", "/usr/share/datasets/fashion-mnist"))
PIXELS, HIDDEN, CLASSES = 28 * 28, 64, 10
STEPS, BATCH, RATE = 600, 64, 0.2
ACCURACY_LEAST = 0.8
LAYERS = ((PIXELS, HIDDEN), (HIDDEN, CLASSES))
PARAMETERS = sum(inputs * outputs + outputs for inputs, outputs in LAYERS)


def load(part):
    """Images as rows of PIXELS numbers, and their classes, of "train" or "t10k"."""
    def read(name, header):
        with gzip.open(FOLDER / f"{part}-{name}-ubyte.gz") as file:
            return numpy.frombuffer(file.read(), numpy.uint8, offset=header)
    return read("images-idx3", 16).reshape(-1, PIXELS).astype("f4") / 255 - 0.3, read("labels-idx1", 8)


def layers_of(vector):
    """Weights and biases, which are parts of one vector: the model that is averaged, or a gradient of its length."""
    at, layers = 0, []
    for inputs, outputs in LAYERS:
        end = at + inputs * outputs
        layers += [vector[at:end].reshape(inputs, outputs), vector[end:end + outputs]]
        at = end + outputs
    return layers


def forward(model, images):
    first, first_bias, second, second_bias = layers_of(model)
    hidden = numpy.maximum(images @ first + first_bias, 0)
    return hidden, hidden @ second + second_bias


def write_gradient(gradient, model, images, labels):
    """The gradient of the mean cross-entropy."""
    hidden, scores = forward(model, images)
    error = numpy.exp(scores - scores.max(axis=1, keepdims=True))
    error /= error.sum(axis=1, keepdims=True)
    error[numpy.arange(len(labels)), labels] -= 1
    error /= len(labels)
    hidden_error = (error @ layers_of(model)[2].T) * (hidden > 0)
    parts = images.T @ hidden_error, hidden_error.sum(axis=0), hidden.T @ error, error.sum(axis=0)
    for part, value in zip(layers_of(gradient), parts):
        part[:] = value


def train(images, labels):
    """Trains as this worker, on its share of the images, from the session's beginning to its end.
    Gives its rank and the common model."""
    with pace.Session("fashion-mnist", "partial-reduce", group_size=2) as session:  # rank and world: from the launcher
        rank, world = session.info.rank, session.info.world
        buffer = session.buffer("f32", PARAMETERS)
        model = buffer.numpy()  # the daemon's memory, without a copy
        random = numpy.random.default_rng(rank)
        for weights in layers_of(model)[::2]:
            weights[:] = random.normal(0, numpy.sqrt(2 / len(weights)), weights.shape)
        step = session.broadcast(buffer).wait().iteration  # the first worker's, or the current one for a worker that comes later
        mine = numpy.arange(rank, len(images), world)
        gradient = numpy.zeros(PARAMETERS, "f4")
        while step < STEPS:
            batch = random.choice(mine, BATCH)
            write_gradient(gradient, model, images[batch], labels[batch])
            model -= RATE * gradient
            step = session.average(buffer, iteration=step + 1).wait().iteration
        session.sync(buffer).wait()
        return rank, model.copy()


def main():
    if not (FOLDER / "train-images-idx3-ubyte.gz").exists():
        print(f"skipped: there are no data in {FOLDER}; install dataset-fashion-mnist, or name their folder in FASHION_MNIST")
        return 77
    images, labels = load("train")
    began = time.monotonic()
    rank, model = train(images, labels)
    seconds = time.monotonic() - began
    test_images, test_labels = load("t10k")
    accuracy = float((forward(model, test_images)[1].argmax(axis=1) == test_labels).mean())
    if rank == 0:
        print(f"test accuracy {accuracy:.1%} after {STEPS} steps in {seconds:.1f} s")
    return 0 if accuracy >= ACCURACY_LEAST else 1


if __name__ == "__main__":
    sys.exit(main())
