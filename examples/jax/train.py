"""Fashion-MNIST with JAX and Pace.

    python3 -m pace run -n 4 examples/jax/train.py
    PACE_OPTIONS='{"policy": "partial-reduce", "group_size": 2}' python3 -m pace run -n 4 --restart 1 examples/jax/train.py

Exit status 1: the test accuracy is below 80 %; 77: JAX or the data are not there.
"""

import gzip
import json
import os
import pathlib
import sys

try:
    import jax
except ImportError:
    print("skipped: JAX is not installed: python3 -m pip install jax")
    sys.exit(77)
import jax.numpy as jnp
import numpy

import pace.jax as pace

FOLDER = pathlib.Path(os.environ.get("FASHION_MNIST", "/usr/share/datasets/fashion-mnist"))
OPTIONS = json.loads(os.environ.get("PACE_OPTIONS", "{}"))
STEPS = int(os.environ.get("STEPS", "400"))
BATCH, RATE, MOMENTUM = 64, 0.05, 0.9
ACCURACY_LEAST = 0.8


def load(part):
    """Images as rows of 784 numbers from 0 to 1, and their labels, of "train" or "t10k"."""
    def read(name, header):
        with gzip.open(FOLDER / f"{part}-{name}-ubyte.gz") as file:
            return numpy.frombuffer(file.read(), numpy.uint8, offset=header)
    return read("images-idx3", 16).reshape(-1, 784).astype("f4") / 255, read("labels-idx1", 8).astype("i4")


def network(key):
    first, second = jax.random.split(key)
    return {"first": jax.random.normal(first, (784, 128)) * 0.05, "first_bias": jnp.zeros(128),
            "second": jax.random.normal(second, (128, 10)) * 0.1, "second_bias": jnp.zeros(10)}


def scores_of(params, images):
    hidden = jax.nn.relu(images @ params["first"] + params["first_bias"])
    return hidden @ params["second"] + params["second_bias"]


def loss_of(params, images, labels):
    return -jnp.mean(jax.nn.log_softmax(scores_of(params, images))[jnp.arange(len(labels)), labels])


@jax.jit
def train_step(state, images, labels):
    """One step of SGD with momentum. It exchanges the gradients, or, with an averaging policy, the state."""
    params, momenta = state
    gradients = jax.grad(loss_of)(params, images, labels)
    if "policy" not in OPTIONS:
        gradients = pace.reduce(gradients)
    momenta = jax.tree.map(lambda old, new: MOMENTUM * old + new, momenta, gradients)
    state = jax.tree.map(lambda own, momentum: own - RATE * momentum, params, momenta), momenta
    return pace.average(state) if "policy" in OPTIONS else state


@jax.jit
def accuracy_of(params, images, labels):
    return jnp.mean(scores_of(params, images).argmax(axis=1) == labels)


def main():
    if not (FOLDER / "train-images-idx3-ubyte.gz").exists():
        print(f"skipped: there are no data in {FOLDER}; install dataset-fashion-mnist, or name their folder in FASHION_MNIST")
        return 77
    worker = pace.init(**OPTIONS)
    images, labels = load("train")
    test_images, test_labels = load("t10k")
    params = network(jax.random.key(worker.rank))
    loop = pace.steps(STEPS, (params, jax.tree.map(jnp.zeros_like, params)), checkpoint=os.environ.get("CHECKPOINTS"), synchronize=True)
    for step in loop:
        batch = numpy.random.default_rng(step * worker.world + worker.rank).integers(len(images), size=BATCH)
        loop.state = train_step(loop.state, images[batch], labels[batch])
        if worker.rank == 0 and step % 50 == 0:
            print(f"step {step} accuracy {accuracy_of(loop.state[0], test_images, test_labels):.4f}", flush=True)
    accuracy = float(accuracy_of(loop.state[0], test_images, test_labels))
    print(f"worker {worker.rank} done, accuracy {accuracy:.4f}", flush=True)
    return 0 if accuracy >= ACCURACY_LEAST else 1


if __name__ == "__main__":
    sys.exit(main())
