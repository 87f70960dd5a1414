"""Verbs on pytrees: at once on arrays, and within jit by an ordered callback to the host."""

from typing import Any, Callable, List, Sequence

import jax
from jax.experimental import io_callback

import pace
from pace.jax.job import Job
from pace.jax.layout import Layout
from pace.jax.tree import Tree
from pace.jax.worker import current

Work = Callable[[Job, Sequence[Any], Layout], List[Any]]


def broadcast(tree: Any, *, donate: bool = False) -> Any:
    """The tree of the first worker, to the last bit. A worker that comes later gets the current
    tree of another worker.

    Takes float32, float64, float16, bfloat16, integers, truth values and random keys. Call it before the first average(); steps()
    does it by itself. With a parameter server, the first worker's tree becomes the model, and all
    leaves are float32. Blocks until all workers have come, or as run_min_workers says.

    This holds for all verbs. The result is a new tree of the same structure, shapes and types. `donate`: the arrays that were given are
    used up, and their memory is free at once; within jit, donate_argnums says that. All workers call the verbs in the same order,
    with equal structures; within jit that order is the program's. Raises what pace.Session raises, and the faults of its
    requests; within jit JAX tells them as a JaxRuntimeError with the same words. Threads: one at a time.
    """
    return _run(tree, lambda job, leaves, layout: job.broadcast(leaves, layout), donate)


def average(tree: Any, *, donate: bool = False) -> Any:
    """The average of parameters over a group of workers that are ready, by the policies partial-reduce, ad-psgd, full, and so on.

    One call makes one step: step() is the newest of the group afterwards. Integers and truth values, as an optimizer's step count,
    come back as they are. If the job went on without this worker, takes the job's current state:
    the result has it, and within steps() the loop goes on with it. Without steps() the tree is the
    one that was broadcast. As broadcast() for the rest.
    """
    return _run(tree, lambda job, leaves, layout: job.average(leaves, layout), donate)


def reduce(tree: Any, *, op: str = "mean", donate: bool = False) -> Any:
    """The "mean" or "sum" of gradients over all workers or over a quorum, of all elements or of the
    largest; bit-identical on all workers.

    Once in a step, with everything in one tree: reduce((gradients, loss)). Leaves are
    floating-point. If the job went on without this worker, the loop of steps() takes the job's
    current state and drops the results of this step; without steps(), the call raises pace.Stale.
    As broadcast() for the rest.
    """
    if op not in ("mean", "sum"):
        raise pace.Invalid(f"op: {op!r} is none of its words; give 'mean' or 'sum'", "op")

    def work(job: Job, leaves: Sequence[Any], layout: Layout) -> List[Any]:
        return job.reduce(leaves, layout, op)
    return _run(tree, work, donate, sums_all=True)


def synchronize(tree: Any, *, donate: bool = False) -> Any:
    """The mean over all workers with equal weights, whatever the policy. Every worker calls it in the same place of its program.

    Integers and truth values come back as they are. As broadcast() for the rest.
    """
    return _run(tree, lambda job, leaves, layout: job.synchronize(leaves, layout), donate)


def push(model: Any, updates: Any, *, donate: bool = False) -> Any:
    """Adds this worker's updates to a parameter server's model, and gives the model with them.

    `updates` has the structure of `model`, which is the tree that broadcast() or steps() was given;
    all leaves are float32. The result has the other workers' updates, too, when this worker's copy
    had become too old: with bsp and asp at each step, with ssp when the slowest worker is further
    behind than `staleness`. The optimizer's state stays the worker's own. As broadcast() for the
    rest.
    """
    count = len(jax.tree_util.tree_leaves(model))
    if jax.tree_util.tree_structure(model) != jax.tree_util.tree_structure(updates):
        raise pace.Invalid("updates: their structure is another one than the model's", "updates")

    def work(job: Job, leaves: Sequence[Any], _: Layout) -> List[Any]:
        layout = Layout(leaves[:count], "model")
        if layout != Layout(leaves[count:], "updates"):
            raise pace.Invalid("updates: their shapes or types are others than the model's", "updates")
        pushed = job.push(leaves[:count], leaves[count:], layout)
        return [*pushed, *leaves[count:]]
    pushed, _ = _run((model, updates), work, donate)
    return pushed


def _run(tree: Any, work: Work, donate: bool, sums_all: bool = False) -> Any:
    parts = Tree(tree, "tree")
    layout = Layout(parts.leaves, "tree")
    if sums_all:
        layout.require_floats("tree", "reduce() sums gradients")
    if parts.is_traced:
        if donate:
            raise pace.Invalid("donate: within jit its donate_argnums says what is used up", "donate")
        return parts.rebuild(_call_back(parts, layout, work))
    jax.effects_barrier()  # Verbs within jit that were begun before come first.
    results = work(current(), parts.leaves, layout)
    if donate:
        parts.delete_unless(results)
    return parts.rebuild(results)


def _call_back(parts: Tree, layout: Layout, work: Work) -> Sequence[Any]:
    def called(*leaves: Any) -> List[Any]:
        job = current()
        try:
            return work(job, leaves, layout)
        except pace.PaceError as error:
            job.failure = error
            raise
    shapes = [jax.ShapeDtypeStruct(leaf.shape, leaf.dtype) for leaf in parts.leaves]
    results: Sequence[Any] = io_callback(called, shapes, *parts.leaves, ordered=True)
    return results
