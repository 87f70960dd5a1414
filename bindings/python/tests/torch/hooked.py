"""Hooked: one rank of the tests of pace.torch's hooks. `hooked.py SCENE arguments` prints lines of "key value" for the test."""

import os
import signal
import sys

import torch
import torch.distributed as dist
from ranks import RANK, WORLD, begin, say
from reference import batch, checksum, difference, network, train_alone

import pace
import pace.torch


def sharded(model, mesh):
    from torch.distributed.fsdp import fully_shard
    for layer in model:
        if any(True for _ in layer.parameters()):
            fully_shard(layer, mesh=mesh)
    return fully_shard(model, mesh=mesh)


def backward(model, step):
    inputs, labels = batch(step, RANK)
    torch.nn.functional.cross_entropy(model(inputs), labels).backward()


def train(model, steps):
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
    for step in range(steps):
        optimizer.zero_grad()
        backward(model, step)
        optimizer.step()


def whole(model):
    """The parameters as they are, put together from their shards."""
    gathered = network(0)
    for ours, parameter in zip(gathered.parameters(), model.parameters()):
        ours.data.copy_(parameter.full_tensor().detach())
    return gathered


def hooked(state, hook=pace.torch.comm_hook, **how):
    model = torch.nn.parallel.DistributedDataParallel(network(RANK), bucket_cap_mb=0.0001, **how)
    model.register_comm_hook(state, hook)
    return model


def scene_reduce(*options):
    """DistributedDataParallel over gloo, its gradients over Pace."""
    begin("gloo")
    words = dict(word.split("=") for word in options)
    state = pace.torch.HookState(**{name: float(value) if "." in value else value for name, value in words.items()})
    model = hooked(state)
    train(model, 8)
    say("difference", difference(model.module, train_alone(8, WORLD)))
    say("rounds", state.passes)
    state.synchronize(model)
    say("checksum", checksum(model.parameters()))
    state.close()


def scene_overlap():
    """The last rank calls only when the first one's hook has given its future back: a hook that blocks would wait for ever."""
    begin("gloo")
    store = dist.distributed_c10d._get_default_store()
    futures = []

    def hook(state, bucket):
        is_first = state.passes == 1 and bucket.index() == 0
        if is_first and RANK == WORLD - 1:
            store.wait(["called"])
        future = pace.torch.comm_hook(state, bucket)
        if is_first and RANK == 0:
            say("done", future.done())
            store.set("called", "")
        futures.append(future)
        return future
    model = hooked(pace.torch.HookState(), hook)
    for step in range(2):  # In the first one all is one bucket.
        futures.clear()
        backward(model, step)
    say("buckets", len(futures), all(future.done() for future in futures))
    dist.barrier()


def scene_death():
    """The last rank dies between two steps; the others go on, with the mean of theirs."""
    begin("gloo")
    model = hooked(pace.torch.HookState(), broadcast_buffers=False)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    for step in range(12):
        if RANK == WORLD - 1 and step == 6:
            os.kill(os.getpid(), signal.SIGKILL)
        optimizer.zero_grad()
        backward(model, step)
        optimizer.step()
    alone = network(RANK)
    alone.load_state_dict(model.module.state_dict())
    backward(alone, 99)
    parts = [parameter.grad.clone() for parameter in alone.parameters()]
    model.zero_grad()
    backward(model, 99)
    say("gradient", *(f"{value:.6f}" for value in next(model.parameters()).grad.flatten()[:4].tolist()))
    say("own", *(f"{value:.6f}" for value in parts[0].flatten()[:4].tolist()))
    say("checksum", checksum(model.parameters()))


def scene_stale():
    """A worker that was taken for dead learns it from backward()."""
    begin("gloo")
    model = hooked(pace.torch.HookState(worker_timeout_ms=1000), broadcast_buffers=False)
    store = dist.distributed_c10d._get_default_store()
    for step in range(4):
        if RANK == 1 and step == 2:
            store.wait(["gone on"])  # This worker is late by more than the job allows.
        try:
            backward(model, step)
        except Exception as error:
            say("error", type(error).__name__, str(error).splitlines()[0])
            break
    if RANK == 0:
        store.set("gone on", "")
        store.wait(["done"])
    else:
        store.set("done", "")


def scene_daemon():
    """The daemon is killed and started anew in the midst of the training. Who learns it ends, and its launcher ends the others."""
    begin("gloo")
    model = hooked(pace.torch.HookState(), broadcast_buffers=False)
    for step in range(10 ** 6):
        if RANK == 0 and step == 5:
            say("half")
        try:
            backward(model, step)
        except Exception as error:
            say("error", str(error).splitlines()[0])
            sys.exit(3)


def scene_shard(backend):
    """FSDP2 with each of its collectives over the group."""
    begin(backend)
    from torch.distributed.device_mesh import init_device_mesh
    model = sharded(network(0), init_device_mesh("cpu", (WORLD,)))
    train(model, 8)
    model = whole(model)
    say("difference", difference(model, train_alone(8, WORLD)))
    say("checksum", checksum(model.parameters()))


def scene_islands(backend, *options):
    """Two islands of two ranks; Pace between them. The second one begins with another model, and takes the first one's."""
    begin(backend)
    from torch.distributed.device_mesh import init_device_mesh
    mesh = init_device_mesh("cpu", (2, WORLD // 2), mesh_dim_names=("island", "shard"))
    island = mesh["island"].get_local_rank()
    model = sharded(network(island), mesh["shard"])
    between = pace.torch.Islands(island, 2, group=mesh["shard"].get_group(), **dict(word.split("=") for word in options))
    between.attach(model)
    between.broadcast(model)
    train(model, 8)
    model = whole(model)
    say("difference", difference(model, train_alone(8, WORLD)))
    say("checksum", checksum(model.parameters()))


def scene_mismatch():
    """What each rank asks for comes to the job, which finds that they disagree."""
    begin("gloo")
    state = None
    try:
        state = pace.torch.HookState(compression="spardl", density=0.1 * (1 + RANK))
    except pace.Mismatch as error:
        say("mismatch", error)
    dist.barrier()
    say("is_there", state is not None)


def scene_refused():
    begin("gloo")
    for what, call in {"islands": lambda: pace.torch.Islands(0, 1, quorum="majority"),
                       "resync": lambda: pace.torch.HookState(quorum="majority", reduce_resync_every=5),
                       "option": lambda: pace.torch.HookState(quorun="majority")}.items():
        try:
            call()
        except pace.Invalid as error:
            say(what, error)
    between = pace.torch.Islands(RANK, WORLD, group=None)
    try:
        between.attach(network(0))
    except pace.Unsupported as error:
        say("model", error)


if __name__ == "__main__":
    globals()[f"scene_{sys.argv[1]}"](*sys.argv[2:])
