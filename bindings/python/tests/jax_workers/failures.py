"""Failures: scenes in which a worker or the daemon dies, is late, or does not come."""

import os
import pathlib
import signal
import sys
import time

import jax
import jax.numpy as jnp
from training import RANK, WORLD, adam, adam_start, batch, digest, gradient_of, network, same, say, step_eager, step_jitted

import pace
import pace.jax

sys.path.append(str(pathlib.Path(__file__).resolve().parents[1]))
from absence import Return


def scene_restart(how):
    """Rank 1 is killed in its midst and comes again: all end with the same bits."""
    pace.jax.init()
    back = Return()
    step_of = {"eager": step_eager, "jit": step_jitted}[how]
    loop = pace.jax.steps(10 ** 6, adam_start(network()))
    for step in loop:
        if back.is_end(step):
            break
        if RANK == 1 and not back.was_away and step == 20:
            os.kill(os.getpid(), signal.SIGKILL)
        loop.state = step_of(loop.state, step)
    say("step", step)
    say("state", digest(loop.state))


def scene_restart_averaging():
    """As scene_restart, with averages: who comes again goes on where the others are."""
    pace.jax.init(policy="partial-reduce", group_size=2)
    back = Return()
    first = None
    loop = pace.jax.steps(10 ** 6, adam_start(network()))
    for step in loop:
        if first is None:
            first = step
            say("first", step > 0, same(loop.state["params"], network(0)), same(loop.state["params"], network()))
        if back.is_end(step):
            break
        if RANK == 1 and not back.was_away and step >= 20:
            os.kill(os.getpid(), signal.SIGKILL)
        loop.state = pace.jax.average(adam(loop.state, gradient_of(loop.state["params"], *batch(step))))
    say("params", digest(pace.jax.synchronize(loop.state["params"])))
    pace.jax.finish()


def scene_without_steps(verb):
    """Rank 1 is killed in a loop of its own and comes again: to averages, and not to gradients."""
    pace.jax.init(**({"policy": "partial-reduce", "group_size": 2} if verb == "average" else {}))
    back = Return()
    work = getattr(pace.jax, verb)
    try:
        model = pace.jax.broadcast(jnp.full(2, -1.0 if back.was_away else 100.0))
    except pace.Invalid as error:
        say("refused", error.argument)
        back.is_end(0)
        return
    say("began", back.was_away, pace.jax.step() > 0, bool(model[0] > 100))
    for step in range(10 ** 6):
        if RANK == 1 and not back.was_away and step == 20:
            os.kill(os.getpid(), signal.SIGKILL)
        if back.is_end(pace.jax.step() if verb == "average" else 10 ** 6):
            break
        model = work(model + 1)
    say("model", model[0])
    pace.jax.finish()


def scene_late():
    """Rank 1 is late by more than the job allows, in a loop of its own: it is told so."""
    pace.jax.init(worker_timeout_ms=500)
    pace.jax.broadcast(jnp.ones(2))
    pace.jax.reduce(jnp.ones(2))
    try:
        if RANK == 1:
            time.sleep(2)  # style: allow sleep, because this worker is slow: it is late by more than the job allows
        pace.jax.reduce(jnp.ones(2))
        say("ended", "well")
    except pace.Stale as error:
        say("ended", "steps()" in error.message)
    pace.jax.finish()


def scene_fewer():
    """The last worker does not come."""
    if RANK == WORLD - 1:
        return
    pace.jax.init(run_wait_ms=300)
    loop = pace.jax.steps(5, jnp.zeros(2), min_workers=2)
    for _ in loop:
        loop.state = loop.state + pace.jax.reduce(jnp.ones(2), op="sum")
    say("sum", loop.state[0])


def meet(mode):
    """Two workers wait for each other: the one opens a pipe to read, the other one to write."""
    try:
        os.mkfifo(os.environ["PACE_TEST_BACK"])
    except FileExistsError:
        pass
    with open(os.environ["PACE_TEST_BACK"], mode):
        pass


def scene_returns_alone():
    """Rank 1 is killed and comes again when the other one has ended: it has what its earlier process left behind."""
    pace.jax.init(policy="partial-reduce", group_size=2)
    was_away = os.environ.get("PACE_RESTART_COUNT", "0") != "0"
    if was_away:
        meet("rb")
    loop = pace.jax.steps(20 if RANK == 0 else 21, jnp.full(2, 100.0 + RANK))
    for step in loop:
        if step == 0 or was_away:
            began = (step, loop.state.tolist())
        if RANK == 1 and step == 20 and not was_away:
            os.kill(os.getpid(), signal.SIGKILL)
        loop.state = pace.jax.average(loop.state + 1)
    say("began", *began)
    if RANK == 0:
        meet("wb")


def scene_frozen(how):
    """Rank 1 computes for longer than the job waits; it goes on with the others' state."""
    pace.jax.init(worker_timeout_ms=1500)
    back = Return()
    step_of = {"eager": step_eager, "jit": step_jitted}[how]
    seen = -1
    loop = pace.jax.steps(10 ** 6, adam_start(network()))
    for step in loop:
        back.was_away = back.was_away or step > seen + 1 > 0
        seen = step
        if back.is_end(step):
            break
        if RANK == 1 and step == 10:
            time.sleep(4)  # style: allow sleep, because this worker is slow: it is late by more than the job allows
        loop.state = step_of(loop.state, step)
    say("was_away", back.was_away)
    say("state", digest(loop.state))


def scene_daemon():
    """The daemon dies and comes again while gradients travel."""
    pace.jax.init()
    loop = pace.jax.steps(10 ** 6, {**adam_start(network()), "last": jnp.int64(10 ** 6)})
    for step in loop:
        if step >= int(loop.state["last"]):
            break
        if RANK == 0 and step == 20:
            say("half")
        # All see the same: the sum of a number that each of them has.
        seen = jnp.float32(os.path.exists(os.environ["PACE_TEST_BACK"]))
        gradients, seen = pace.jax.reduce((gradient_of(loop.state["params"], *batch(step)), seen))
        last = step + 30 if seen > 0 and step >= 20 and loop.state["last"] == 10 ** 6 else loop.state["last"]
        loop.state = {**adam({name: part for name, part in loop.state.items() if name != "last"}, gradients), "last": jnp.int64(last)}
    say("state", digest(loop.state))


def scene_checkpoint(folder, total):
    pace.jax.init()
    start = {**adam_start(network()), "key": jax.random.key(RANK), "half": jnp.full(3, 1.0, jnp.bfloat16)}
    loop = pace.jax.steps(int(total), start, checkpoint=folder)
    first = None
    for step in loop:
        first = step if first is None else first
        key = jax.random.fold_in(loop.state["key"], step)
        state = {name: part for name, part in loop.state.items() if name not in ("key", "half")}
        loop.state = {**step_jitted(state, step), "key": key, "half": loop.state["half"] + 1}
    say("first", first)
    say("state", digest(loop.state))
