"""Training: the small network of the scenes, its data, Adam; and what scenes print."""

import hashlib
import os

import jax
import jax.numpy as jnp
import numpy

import pace.jax

jax.config.update("jax_enable_x64", True)
RANK, WORLD = int(os.environ["RANK"]), int(os.environ["WORLD_SIZE"])


def say(key, *values):
    print(key, *values, flush=True)


def digest(tree):
    hashed = hashlib.sha256()
    for leaf in jax.tree_util.tree_leaves(tree):
        is_key = jax.dtypes.issubdtype(leaf.dtype, jax.dtypes.prng_key)
        hashed.update(numpy.asarray(jax.random.key_data(leaf) if is_key else leaf).tobytes())
    return hashed.hexdigest()[:16]


def same(one, other):
    return digest(one) == digest(other)


def keywords_of(options):
    """What "name=value" words say, numbers as numbers."""
    words = dict(word.split("=") for word in options)
    return {name: int(value) if value.isdigit() else float(value) if "." in value else value for name, value in words.items()}


def network(seed=RANK):
    keys = jax.random.split(jax.random.key(seed), 2)
    return {"first": 0.3 * jax.random.normal(keys[0], (8, 16), "f4"), "bias": jnp.zeros(16, "f4"),
            "second": 0.3 * jax.random.normal(keys[1], (16, 4), "f4")}


def batch(step, rank=RANK):
    return batch_of(1000 * step + rank)


@jax.jit
def batch_of(seed):
    keys = jax.random.split(jax.random.key(seed), 2)
    return jax.random.normal(keys[0], (8, 8), "f4"), jax.random.randint(keys[1], (8,), 0, 4)


def loss_of(params, inputs, labels):
    scores = jnp.maximum(inputs @ params["first"] + params["bias"], 0) @ params["second"]
    return -jnp.mean(jax.nn.log_softmax(scores)[jnp.arange(len(labels)), labels])


gradient_of = jax.jit(jax.grad(loss_of))


def adam_start(params):
    zeros = jax.tree.map(jnp.zeros_like, params)
    return {"params": params, "mean": zeros, "square": zeros, "count": jnp.zeros((), "i4")}


@jax.jit
def adam(state, gradients):
    count = state["count"] + 1
    mean = jax.tree.map(lambda old, new: 0.9 * old + 0.1 * new, state["mean"], gradients)
    square = jax.tree.map(lambda old, new: 0.99 * old + 0.01 * new * new, state["square"], gradients)
    params = jax.tree.map(lambda own, first, second: own - 0.01 * first / (jnp.sqrt(second) + 1e-6), state["params"], mean, square)
    return {"params": params, "mean": mean, "square": square, "count": count}


def step_eager(state, step):
    return adam(state, pace.jax.reduce(gradient_of(state["params"], *batch(step))))


@jax.jit
def step_within(state, inputs, labels):
    return adam(state, pace.jax.reduce(gradient_of(state["params"], inputs, labels)))


def step_jitted(state, step):
    return step_within(state, *batch(step))
