"""Exchanges: scenes of what verbs give."""

import jax
import jax.numpy as jnp
import numpy
from training import RANK, WORLD, adam, adam_start, batch, digest, gradient_of, keywords_of, loss_of, network, say, step_eager, step_jitted

import pace
import pace.jax


def scene_values():
    """Every type, alone and together, at once and within jit: what comes is what NumPy says."""
    pace.jax.init()
    mine = {"f32": jnp.arange(6, dtype="f4").reshape(2, 3) + RANK, "f64": jnp.float64(0.1 * RANK),
            "f16": jnp.full(3, 1.5 + RANK, "f2"), "bf16": jnp.full((2, 2), 2.0 * RANK, jnp.bfloat16),
            "none": None, "empty": jnp.zeros((0, 4), "f4")}
    whole = {"int": jnp.int64(2 ** 60 + 1 + RANK), "flags": jnp.arange(5) % 2 == RANK, "key": jax.random.key(RANK),
             "nan": jnp.full(2, jnp.nan if RANK == 0 else 1, "f4"), "floats": mine}
    for name, do in (("eager", lambda verb, tree: verb(tree)), ("jit", lambda verb, tree: jax.jit(verb)(tree))):
        given = do(pace.jax.broadcast, whole)
        say(f"{name}.given", digest(given), given["int"], given["flags"].tolist(), type(given["key"]).__name__)
        mean, total = do(pace.jax.reduce, mine), do(lambda tree: pace.jax.reduce(tree, op="sum"), mine)
        for key in ("f32", "f64", "f16", "bf16"):
            everyone = numpy.stack([numpy.asarray(mine[key]).astype("f8") - (own_of(key, RANK) - own_of(key, rank)) for rank in range(WORLD)])
            right = numpy.array_equal(numpy.asarray(mean[key]).astype("f8"), everyone.mean(0).astype(mine[key].dtype).astype("f8"))
            right &= numpy.array_equal(numpy.asarray(total[key]).astype("f8"), everyone.sum(0).astype(mine[key].dtype).astype("f8"))
            say(f"{name}.{key}", right and mean[key].dtype == mine[key].dtype and mean[key].shape == mine[key].shape)
        say(f"{name}.structure", mean["none"] is None and mean["empty"].shape == (0, 4))
        say(f"{name}.digest", digest((mean, total)))
    pace.jax.finish()


def own_of(key, rank):
    return {"f32": 1.0, "f64": 0.1, "f16": 1.0, "bf16": 2.0}[key] * rank


def scene_large():
    """Larger than what XLA hands over in one piece of its own threads' work, many times, within jit and while it computes."""
    pace.jax.init()
    large = jnp.full((3, 1_000_003), RANK + 1.0, "f4")

    @jax.jit
    def repeated(tree):
        return jax.lax.fori_loop(0, 5, lambda _, own: pace.jax.reduce(own + 1), tree)
    result = repeated(large)
    say("right", bool(jnp.all(result == (WORLD + 1) / 2 + 5)))
    kept = pace.jax.reduce(large)
    before = numpy.array(kept)
    pace.jax.reduce(large * 2)
    say("kept", numpy.array_equal(before, kept))
    pace.jax.finish()


def scene_donated():
    """Arrays that are donated are used up, here and by jit; what comes back is right and is nobody else's memory."""
    pace.jax.init()
    one, other = jnp.full(1000, RANK, "f4"), jnp.full(1000, 10.0 + RANK, "f4")
    count = jnp.int32(3 + RANK)
    given = pace.jax.broadcast({"model": one, "count": count}, donate=True)
    say("deleted", one.is_deleted(), count.is_deleted())
    step = jax.jit(lambda state, more: {"model": state["model"] + pace.jax.reduce(more), "count": state["count"] + 1}, donate_argnums=0)
    after = step(given, other)
    say("jit_deleted", given["model"].is_deleted())
    reduced = pace.jax.reduce(other, donate=True)
    say("reduced", other.is_deleted(), bool(jnp.all(reduced == 10 + (WORLD - 1) / 2)))
    say("after", bool(jnp.all(after["model"] == 10 + (WORLD - 1) / 2)), int(after["count"]))
    pace.jax.finish()


def scene_train(how, *options):
    """Trains with gradients of everyone; tells a digest of the whole state. With a quorum states are equal when they are synchronized."""
    pace.jax.init(**keywords_of(options))
    step_of = {"eager": step_eager, "jit": step_jitted}[how]
    loop = pace.jax.steps(12, adam_start(network()), synchronize="quorum" in keywords_of(options))
    for step in loop:
        loop.state = step_of(loop.state, step)
    say("step", pace.jax.step())
    say("params", *(f"{value:.6f}" for value in loop.state["params"]["first"].ravel()[:4].tolist()))
    say("state", digest(loop.state))


def scene_like_one_process():
    """The same as one process with everyone's batches."""
    pace.jax.init()
    alone = adam_start(network(0))
    loop = pace.jax.steps(6, adam_start(network()))
    for step in loop:
        loop.state = step_jitted(loop.state, step)
        gradients = [gradient_of(alone["params"], *batch(step, rank)) for rank in range(WORLD)]
        alone = adam(alone, jax.tree.map(lambda *own: sum(own) / WORLD, *gradients))
    difference = jax.tree.map(lambda one, other: float(jnp.max(jnp.abs(one - other))), loop.state["params"], alone["params"])
    say("difference", max(jax.tree_util.tree_leaves(difference)))
    say("state", digest(loop.state))


def scene_averages(how, *options):
    """Each makes its own steps; the loop's state is averaged at the end, so all have the same parameters and moments."""
    pace.jax.init(**keywords_of(options))

    def work(state, inputs, labels):
        return pace.jax.average(adam(state, gradient_of(state["params"], inputs, labels)))
    work = jax.jit(work) if how == "jit" else work
    loop = pace.jax.steps(12, adam_start(network()), synchronize=True)
    for step in loop:
        loop.state = work(loop.state, *batch(step))
    say("step", pace.jax.step() >= 12)
    say("count", int(loop.state["count"]) <= pace.jax.step())
    say("state", digest({name: part for name, part in loop.state.items() if name != "count"}))


def scene_mean():
    """Without steps(): an average of two is their mean, at once and within jit, and a part of the model is refused."""
    pace.jax.init(policy="partial-reduce", group_size=2)
    model = pace.jax.broadcast({"weights": jnp.ones(3, "f4"), "seen": jnp.int32(5 + RANK)})
    say("seen", int(model["seen"]))
    for average in (pace.jax.average, jax.jit(pace.jax.average)):
        model = average({"weights": jnp.full(3, 4.0 * RANK, "f4"), "seen": jnp.int32(RANK)})
        say("mean", model["weights"].tolist(), int(model["seen"]) == RANK, pace.jax.step())
    try:
        pace.jax.average(model["weights"])
    except pace.Invalid as error:
        say("part", error.argument)
    say("synchronized", jax.jit(pace.jax.synchronize)({"own": jnp.float64(RANK)})["own"])
    pace.jax.finish()


def scene_served(*options):
    pace.jax.init(**keywords_of(options))

    @jax.jit
    def work(params, inputs, labels):
        return pace.jax.push(params, jax.tree.map(lambda own: -0.05 * own, gradient_of(params, inputs, labels)))
    loop = pace.jax.steps(12, network())
    before = float(loss_of(loop.state, *batch(0)))
    for step in loop:
        loop.state = work(loop.state, *batch(0))
    say("clock", pace.jax.step(), float(loss_of(loop.state, *batch(0))) < before)


def scene_faults():
    """Errors are of Pace's classes, at once and from within jit."""
    def name_of(work):
        try:
            work()
        except (pace.PaceError, jax.errors.JaxRuntimeError) as error:
            return f"{type(error).__name__}:{getattr(error, 'argument', '')}"
        return "none"
    say("without_init", name_of(lambda: pace.jax.reduce(jnp.ones(3))))
    pace.jax.init(reduce_reject_nonfinite=True)
    say("integers", name_of(lambda: pace.jax.reduce(jnp.arange(3))))
    say("integers_jit", name_of(lambda: jax.jit(pace.jax.reduce)(jnp.arange(3))))
    say("complex", name_of(lambda: pace.jax.broadcast(jnp.ones(3, "c8"))))
    say("text", name_of(lambda: pace.jax.broadcast("text")))
    say("op", name_of(lambda: pace.jax.reduce(jnp.ones(3), op="max")))
    say("donate", name_of(lambda: jax.jit(lambda own: pace.jax.reduce(own, donate=True))(jnp.ones(3))))
    say("verb", name_of(lambda: pace.jax.average(jnp.ones(3))))
    say("refused", name_of(lambda: pace.jax.reduce(jnp.full(3, jnp.inf))))
    say("refused_jit", name_of(lambda: jax.block_until_ready(jax.jit(pace.jax.reduce)(jnp.full(3, jnp.inf)))),
        type(pace.jax.failure()).__name__)
    pace.jax.init("loop", reduce_reject_nonfinite=True)
    loop = pace.jax.steps(3, jnp.ones(3))

    def train(work):
        for _ in loop:
            loop.state = work(loop.state)
    say("twice", name_of(lambda: train(lambda state: pace.jax.reduce(pace.jax.reduce(state)))))
    say("shape", name_of(lambda: train(lambda state: jnp.ones(4))))
    say("alone", name_of(lambda: pace.jax.reduce({"whole": jnp.ones(3), "count": 3})))
    say("updates", name_of(lambda: pace.jax.push({"one": jnp.ones(3)}, [jnp.ones(3)])))
    pace.jax.finish()
    say("after", name_of(lambda: pace.jax.reduce(jnp.ones(3))))
