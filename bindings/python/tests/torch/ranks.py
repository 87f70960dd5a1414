"""Ranks: one rank of the tests of the backend "pace". `ranks.py SCENE arguments` prints lines of "key value" for the test."""

import os
import signal
import sys

import torch
import torch.distributed as dist
from reference import batch, checksum, difference, network, train_alone

import pace.torch as pace

torch.set_num_threads(1)
RANK = int(os.environ["RANK"])
WORLD = int(os.environ["WORLD_SIZE"])
EXACT = [torch.bool, torch.uint8, torch.int8, torch.int16, torch.int32, torch.int64]
REAL = [torch.float16, torch.bfloat16, torch.float32, torch.float64]
COMPLEX = [torch.complex64, torch.complex128]


def say(key, *values):
    print(key, *values, flush=True)


def begin(backend="pace"):
    dist._DEFAULT_FIRST_BUCKET_BYTES = 64  # of DistributedDataParallel: as many buckets as a large model has
    if "PACE_TEST_STORE" in os.environ:
        dist.init_process_group(backend, init_method="file://" + os.environ["PACE_TEST_STORE"], rank=RANK, world_size=WORLD)
    else:
        dist.init_process_group(backend)  # by torchrun's variables


def of_rank(rank, dtype, size=7):
    """What a rank gives: numbers that need all of an integer type, and small whole ones of a real type, whose sums are exact."""
    if dtype is torch.bool:
        return torch.tensor([(rank + place) % 2 == 0 for place in range(size)])
    if dtype in EXACT:
        most = torch.iinfo(dtype).max
        return torch.tensor([most - 3 * rank - place for place in range(size)], dtype=dtype)
    return torch.arange(size).add(rank * 2 - 3).to(dtype) * (1 + 1j if dtype in COMPLEX else 1)


def everyone(dtype):
    return [of_rank(rank, dtype) for rank in range(WORLD)]


def assert_same(ours, wanted, what):
    """To the last bit."""
    ours, wanted = ours.contiguous().view(-1).view(torch.uint8), wanted.contiguous().view(-1).view(torch.uint8)
    if not torch.equal(ours, wanted):
        raise AssertionError(f"{what}: {ours.tolist()} is not {wanted.tolist()}")


def fold(parts, function):
    total = parts[0].clone()
    for part in parts[1:]:
        total = function(total, part)
    return total


def scene_reductions():
    begin()
    count = 0
    functions = {"SUM": torch.add, "PRODUCT": torch.mul, "MIN": torch.minimum, "MAX": torch.maximum, "BAND": torch.bitwise_and,
                 "BOR": torch.bitwise_or, "BXOR": torch.bitwise_xor}
    for dtype in EXACT + REAL + COMPLEX:
        for name, function in functions.items():
            if (dtype not in EXACT and name[0] == "B") or (dtype in COMPLEX and name != "SUM"):
                continue  # torch has none of these
            wanted, op = fold(everyone(dtype), function), getattr(dist.ReduceOp, name)
            ours = of_rank(RANK, dtype)
            dist.all_reduce(ours, op)
            assert_same(ours, wanted, f"all_reduce {name} {dtype}")
            ours = of_rank(RANK, dtype)
            dist.reduce(ours, WORLD - 1, op)
            assert_same(ours, wanted if RANK == WORLD - 1 else of_rank(RANK, dtype), f"reduce {name} {dtype}")
            scattered = torch.zeros(7, dtype=dtype)
            dist.reduce_scatter(scattered, [of_rank(RANK, dtype).roll(slot) for slot in range(WORLD)], op)
            assert_same(scattered, wanted.roll(RANK), f"reduce_scatter {name} {dtype}")
            count += 3
    mean = torch.full((3, 4), float(RANK))
    dist.all_reduce(mean.t(), dist.ReduceOp.AVG)  # not contiguous
    assert_same(mean, torch.full((3, 4), sum(range(WORLD)) / WORLD), "a mean")
    for dtype in (torch.float32, torch.int64, torch.complex64):
        tensors = [of_rank(RANK, dtype), torch.zeros(0, dtype=dtype), of_rank(RANK, dtype).view(7, 1).roll(1)]
        dist.all_reduce_coalesced(tensors)
        wanted = fold(everyone(dtype), torch.add)
        assert_same(tensors[0], wanted, f"all_reduce_coalesced {dtype}")
        assert_same(tensors[2], wanted.roll(1), f"all_reduce_coalesced {dtype}")
    whole = torch.cat([of_rank(RANK, torch.float32).roll(slot) for slot in range(WORLD)])
    part = torch.zeros(7)
    getattr(dist, "reduce_scatter_tensor", dist._reduce_scatter_base)(part, whole)
    assert_same(part, fold(everyone(torch.float32), torch.add).roll(RANK), "reduce_scatter_tensor")
    say("checked", count)


def scene_gathers():
    begin()
    count = 0
    for dtype in EXACT + REAL + COMPLEX:
        wanted = everyone(dtype)
        outputs = [torch.zeros(7, dtype=dtype) for _ in range(WORLD)]
        dist.all_gather(outputs, of_rank(RANK, dtype))
        together = torch.zeros(WORLD * 7, dtype=dtype)
        getattr(dist, "all_gather_into_tensor", dist._all_gather_base)(together, of_rank(RANK, dtype))
        assert_same(together, torch.cat(wanted), f"all_gather_into_tensor {dtype}")
        root = WORLD - 1
        collected = [torch.zeros(7, dtype=dtype) for _ in range(WORLD)] if RANK == root else None
        dist.gather(of_rank(RANK, dtype), collected, root)
        for ours in (outputs, collected or []):
            for output, tensor in zip(ours, wanted):
                assert_same(output, tensor, f"gather {dtype}")
        given = torch.zeros(7, dtype=dtype)
        dist.scatter(given, [tensor.roll(1) for tensor in wanted] if RANK == root else None, root)
        assert_same(given, wanted[RANK].roll(1), f"scatter {dtype}")
        sent = of_rank(RANK, dtype)
        dist.broadcast(sent, root)
        assert_same(sent, wanted[root], f"broadcast {dtype}")
        count += 5
    uneven = [torch.zeros(rank, dtype=torch.int16) for rank in range(WORLD)]
    dist.all_gather(uneven, torch.full((RANK,), RANK, dtype=torch.int16))
    assert [tensor.tolist() for tensor in uneven] == [[rank] * rank for rank in range(WORLD)], uneven
    objects = [None] * WORLD
    dist.all_gather_object(objects, {"rank": RANK})
    assert objects == [{"rank": rank} for rank in range(WORLD)], objects
    say("checked", count)


def scene_bits():
    """What a float may hold: signaling and quiet NaNs with payloads, both zeros, denormal numbers, infinities."""
    begin()
    words = torch.tensor([0x7f800001, -1, 0x7fc12345, -0x80000000, 1, 0x7fa00000, 0x7f800000, 0, -0x00800000], dtype=torch.int32)
    ours = words.view(torch.float32).clone() if RANK == 1 else torch.zeros(words.numel())
    dist.broadcast(ours, 1)
    assert_same(ours, words, "a broadcast")
    outputs = [torch.zeros(words.numel()) for _ in range(WORLD)]
    dist.all_gather(outputs, words.roll(RANK).view(torch.float32))
    for rank, output in enumerate(outputs):
        assert_same(output, words.roll(rank), "an all_gather")
    say("checked", words.numel())


def scene_groups():
    begin()
    odd, even = dist.new_group(range(1, WORLD, 2)), dist.new_group(range(0, WORLD, 2))
    mine, members = (odd, range(1, WORLD, 2)) if RANK % 2 else (even, range(0, WORLD, 2))
    total = torch.tensor([2 ** 40 + RANK])
    work = dist.all_reduce(total, group=mine, async_op=True)
    everyones = torch.tensor([float(RANK)])
    dist.all_reduce(everyones)
    work.wait()
    assert total.item() == sum(2 ** 40 + rank for rank in members), total
    assert everyones.item() == sum(range(WORLD)), everyones
    assert work.is_completed() and work.get_future().value()[0] is not None
    many = [dist.all_reduce(torch.ones(3), async_op=True) for _ in range(200)]  # more than Pace has room for at once
    for one in many:
        one.wait()
    dist.barrier()
    dist.destroy_process_group()
    os.environ["PACE_TEST_STORE"] += "-again"
    begin()
    dist.broadcast(everyones, 0)
    say("sum", total.item(), everyones.item())
    dist.destroy_process_group()


def scene_refused():
    begin()
    one = torch.ones(1)
    for what, call in {"send": lambda: dist.send(one, 1 - RANK), "recv": lambda: dist.recv(one, 1 - RANK),
                       "all_to_all": lambda: dist.all_to_all([one, one], [one, one]),
                       "mean": lambda: dist.all_reduce(torch.ones(1, dtype=torch.int32), dist.ReduceOp.AVG),
                       "sparse": lambda: dist.broadcast(one.to_sparse(), 0)}.items():
        try:
            call()
        except NotImplementedError as error:
            say(what, error)
    try:
        dist.all_gather([torch.zeros(2), torch.zeros(3)], one)
    except ValueError as error:
        say("shape", error)
    dist.all_reduce(one)  # A call that is refused harms nobody.
    say("after", one.item())


def scene_death():
    begin()
    model = torch.nn.parallel.DistributedDataParallel(network(RANK), bucket_cap_mb=0.0001)
    for step in range(2):
        if RANK == 1 and step == 1:
            os.kill(os.getpid(), signal.SIGKILL)
        try:
            model(batch(step, RANK)[0]).sum().backward()
        except RuntimeError as error:
            say("first", error)
    try:
        dist.all_reduce(torch.ones(1))
    except RuntimeError as error:
        say("second", error)


def scene_data_parallel(kind):
    """torch's DistributedDataParallel, unchanged: as one process with everyone's batches."""
    begin()
    model = torch.nn.parallel.DistributedDataParallel(network(RANK, norm=kind == "norm"), bucket_cap_mb=0.0001,
                                                      static_graph=kind == "static")
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
    for step in range(8):
        optimizer.zero_grad()
        inputs, labels = batch(step, RANK)
        torch.nn.functional.cross_entropy(model(inputs), labels).backward()
        optimizer.step()
    if kind != "norm":  # whose statistics are the first rank's
        say("difference", difference(model.module, train_alone(8, WORLD)))
    say("checksum", checksum(model.module.parameters()))
    dist.destroy_process_group()


if __name__ == "__main__":
    assert pace
    globals()[f"scene_{sys.argv[1]}"](*sys.argv[2:])
