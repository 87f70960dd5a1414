"""Worker: one trainer of the tests of pace.torch. `worker.py SCENE arguments` prints lines of "key value" for the test."""

import os
import pathlib
import signal
import sys
import time

import torch

import pace.torch as pace
from pace.options import query
from pace.torch import buckets, progress

sys.path.append(str(pathlib.Path(__file__).resolve().parents[1]))
from absence import Return

torch.set_num_threads(1)
RANK = int(os.environ["RANK"])
DEVICE = torch.device(os.environ.get("PACE_TEST_DEVICE", "cpu"))
if "PACE_TEST_BUCKET_BYTES" in os.environ:  # as many buckets as a large model has
    buckets.FIRST_BUCKET_BYTES = buckets.BUCKET_BYTES = int(os.environ["PACE_TEST_BUCKET_BYTES"])


def say(key, *values):
    print(key, *values, flush=True)


def network(seed=RANK, norm=False):
    torch.manual_seed(seed)
    layers = [torch.nn.Linear(8, 16)] + ([torch.nn.BatchNorm1d(16)] if norm else []) + [torch.nn.ReLU(), torch.nn.Linear(16, 4)]
    return torch.nn.Sequential(*layers).to(DEVICE)


def batch(step, rank=RANK, size=8):
    torch.manual_seed(1000 * step + rank)
    return torch.randn(size, 8).to(DEVICE), torch.randint(0, 4, (size,)).to(DEVICE)


def loss_of(model, step, rank=RANK):
    inputs, labels = batch(step, rank)
    return torch.nn.functional.cross_entropy(model(inputs), labels)


def train(model, optimizer, total, scheduler=None, before_step=None, **how):
    for step in pace.steps(total, model, optimizer, scheduler, **how):
        optimizer.zero_grad()
        loss_of(model, step).backward()
        if before_step:
            before_step(step)
        optimizer.step()


def end(model):
    say("step", model.job.step)
    say("checksum", model.checksum())


def keywords_of(options):
    """What "name=value" words say, numbers as numbers."""
    words = dict(word.split("=") for word in options)
    return {name: int(value) if value.isdigit() else float(value) if "." in value else value for name, value in words.items()}


def adam(norm=False, **options):
    model = pace.DataParallel(network(norm=norm))
    return model, pace.Optimizer(torch.optim.Adam(model.parameters(), lr=0.01), model, **options)


def scene_equal(*options):
    """Trains with what the test says, and tells a digest of model and optimizer."""
    model, optimizer = adam(norm=True, **keywords_of(options))
    for step in pace.steps(12, model, optimizer):
        optimizer.zero_grad()
        loss_of(model, step).backward()
        optimizer.step()
        if model.job.step == 12:
            model.synchronize()
    end(model)


def scene_report():
    """Reports at each step until the status has it."""
    progress.EVERY_SECONDS = 0.05
    model, optimizer = adam()
    for step in pace.steps(10 ** 9, model, optimizer):
        optimizer.zero_grad()
        loss = loss_of(model, step)
        loss.backward()
        optimizer.step()
        model.report(loss, samples=8)
        told = query("status", model.job.place.endpoint or "")["jobs"][0]["workers"][0]
        if "samples_per_s" in told and "steps" in told:
            say("told", told["loss"] > 0, told["samples_per_s"] > 0, told["steps"]["total"] == 10 ** 9)
            return


def scene_averages(*options):
    keywords = keywords_of(options)
    overlap = keywords.pop("overlap", "no") == "yes"
    model, optimizer = adam(norm=True, policy="partial-reduce", group_size=2, overlap=overlap)
    for step in pace.steps(12, model, optimizer):
        optimizer.zero_grad()
        loss_of(model, step).backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        if model.job.step >= 12:
            model.synchronize()
            say("weights", *(f"{value:.6f}" for value in next(model.parameters()).flatten()[:4].tolist()))
    moments = optimizer.state[next(model.parameters())]["exp_avg"]
    say("moment", f"{moments.flatten()[0].item():.7f}" if overlap is False else "0")
    end(model)


def scene_served(*options):
    model = pace.DataParallel(network())
    optimizer = pace.Optimizer(torch.optim.SGD(model.parameters(), lr=0.05), model, **keywords_of(options))
    for step in pace.steps(12, model, optimizer):
        optimizer.zero_grad()
        loss_of(model, step).backward()
        optimizer.step()
    say("clock", model.job.step)


def scene_like_one_process(kind):
    """What DistributedDataParallel promises: the same as one process with everyone's batches."""
    model, reference = pace.DataParallel(network(seed=0)), network(seed=0)
    optimizer = pace.Optimizer(torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9), model)
    alone = torch.optim.SGD(reference.parameters(), lr=0.1, momentum=0.9)
    for step in pace.steps(6, model, optimizer):
        alone.zero_grad()
        sum(loss_of(reference, step, rank) for rank in range(2)).div(2).backward()
        if kind == "set_to_none":
            optimizer.inner.zero_grad(set_to_none=True)
        elif kind == "kept":
            optimizer.inner.zero_grad(set_to_none=False)
        else:
            optimizer.zero_grad()
        if kind == "accumulated":
            with model.no_sync():
                (loss_of(model, step) / 2).backward()
            (loss_of(model, step) / 2).backward()
        else:
            loss_of(model, step).backward()
        if kind == "clipped":
            for parameters in (model.parameters(), reference.parameters()):
                torch.nn.utils.clip_grad_norm_(parameters, 0.1)
        optimizer.step()
        alone.step()
    difference = max((ours - theirs).abs().max().item() for ours, theirs in zip(model.parameters(), reference.parameters()))
    say("difference", difference)
    say("copied", model.gradient_bytes_copied)
    end(model)


class Odd(torch.nn.Module):
    """Shared, frozen, unused and half-precision parameters, and an integer buffer."""

    def __init__(self):
        super().__init__()
        torch.manual_seed(RANK)
        self.first = torch.nn.Linear(8, 8)
        self.second = torch.nn.Linear(8, 8)
        self.second.weight = self.first.weight
        self.frozen = torch.nn.Linear(8, 8)
        self.frozen.requires_grad_(False)
        self.sometimes = torch.nn.Linear(8, 8)
        self.never = torch.nn.Linear(8, 8)
        self.narrow = torch.nn.Linear(8, 4).to(torch.bfloat16)
        self.register_buffer("seen", torch.tensor([0, 2 ** 40 + RANK], dtype=torch.int64))

    def forward(self, inputs):
        self.seen[0] += 1
        hidden = self.frozen(self.second(self.first(inputs)).relu())
        if RANK == 0:
            hidden = hidden + self.sometimes(inputs)
        return self.narrow(hidden.to(torch.bfloat16)).float()


def scene_odd():
    model = pace.DataParallel(Odd().to(DEVICE))
    optimizer = pace.Optimizer(torch.optim.AdamW(model.parameters(), lr=0.01, weight_decay=0.5), model)
    never = model.module.never.weight.detach().clone()
    train(model, optimizer, 5)
    say("shared", model.module.second.weight is model.module.first.weight)
    say("never_is_none", model.module.never.weight.grad is None)
    say("sometimes_is_none", model.module.sometimes.weight.grad is None)
    say("never_moved", RANK == 0 and not torch.equal(never, model.module.never.weight))
    say("seen", *model.module.seen.tolist())
    end(model)


def scene_schedule():
    """Each rank makes steps at another pace; the learning rate follows the steps of the group."""
    model, optimizer = adam(policy="partial-reduce", group_size=2)
    scheduler = torch.optim.lr_scheduler.LambdaLR(optimizer, lambda step: 1 / (1 + step))
    train(model, optimizer, 10, scheduler)
    say("rate", optimizer.param_groups[0]["lr"] * (1 + scheduler.last_epoch), scheduler.last_epoch == model.job.step)
    end(model)


def scene_scaled():
    """GradScaler's protocol: scale, unscale, a step that is skipped when a gradient is infinite anywhere."""
    model, optimizer = adam()
    skipped = 0
    for step in pace.steps(6, model, optimizer):
        optimizer.zero_grad()
        scale = 2.0 ** 10
        (loss_of(model, step) * scale * (float("inf") if RANK == 1 and step == 2 and skipped == 0 else 1)).backward()
        gradients = [parameter.grad for parameter in model.parameters()]
        if not all(gradient.isfinite().all() for gradient in gradients):
            skipped += 1
            continue
        for gradient in gradients:
            gradient.div_(scale)
        optimizer.step()
    say("skipped", skipped)
    end(model)


def scene_restart(when):
    """Rank 1 is killed in its midst and comes again: all end with the same bits."""
    model, optimizer = adam(norm=True)
    back = Return()
    for step in pace.steps(10 ** 6, model, optimizer):
        if back.is_end(step):
            break
        is_last = RANK == 1 and not back.was_away and step == 20
        if is_last and when == "step":
            os.kill(os.getpid(), signal.SIGKILL)
        optimizer.zero_grad()
        loss = loss_of(model, step)
        if is_last and when == "backward":
            model.module[0].weight.register_hook(lambda _: os.kill(os.getpid(), signal.SIGKILL))
        loss.backward()
        optimizer.step()
    end(model)


def scene_frozen():
    """Rank 1 stops for longer than the job waits; it goes on with the others' model."""
    model, optimizer = adam(worker_timeout_ms=1500)
    back = Return()
    seen = -1
    for step in pace.steps(10 ** 6, model, optimizer):
        back.was_away = back.was_away or step > seen + 1 > 0
        seen = step
        if back.is_end(step):
            break
        optimizer.zero_grad()
        loss = loss_of(model, step)
        if RANK == 1 and step == 10:
            time.sleep(4)  # This worker is slow: it is late by more than the job allows.
        loss.backward()
        optimizer.step()
    say("was_away", back.was_away)
    end(model)


def scene_daemon():
    """The daemon dies and comes again while gradients travel."""
    model, optimizer = adam(norm=True)
    last = None
    for step in pace.steps(10 ** 6, model, optimizer):
        if RANK == 0 and step == 20:
            say("half")
        # All see the same: the mean of a number that each of them has.
        is_back = torch.tensor([float(os.path.exists(os.environ["PACE_TEST_BACK"]))])
        if last is None and step >= 20 and is_back.item():
            last = step + 30
        if last is not None and step >= last:
            break
        optimizer.zero_grad()
        loss_of(model, step).backward()
        optimizer.step()
    end(model)


def scene_last():
    """Worker 0 is killed, and comes again when worker 1 has ended: nobody has a model for it, and it begins with its own."""
    over = os.environ["PACE_TEST_BACK"]
    killed = f"{over}.killed"
    is_back = RANK == 0 and os.path.exists(killed)
    while is_back and not os.path.exists(over):
        time.sleep(0.01)
    model, optimizer = adam(policy="partial-reduce", group_size=2)
    steps = []

    def after_step(step):
        steps.append(step)
        if RANK == 0 and not is_back and step >= 6:
            with open(killed, "w", encoding="ascii"):
                os.kill(os.getpid(), signal.SIGKILL)
    train(model, optimizer, 12, before_step=after_step)
    if is_back:
        say("first", steps[0])
    if RANK == 1:
        with open(over, "w", encoding="ascii"):
            pass


def scene_checkpoint(folder, total):
    model, optimizer = adam(norm=True)
    scheduler = torch.optim.lr_scheduler.StepLR(optimizer, 3)
    first = []
    for step in pace.steps(int(total), model, optimizer, scheduler, checkpoint=folder):
        first.append(step)
        optimizer.zero_grad()
        loss_of(model, step).backward()
        optimizer.step()
    say("first", first[0])
    say("rate", f"{optimizer.param_groups[0]['lr']:.9f}")
    end(model)


def scene_plain():
    """Without an Optimizer: as DistributedDataParallel."""
    model = pace.DataParallel(network())
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    for step in range(5):
        optimizer.zero_grad()
        loss_of(model, step).backward()
        optimizer.step()
    end(model)


if __name__ == "__main__":
    pace.init()
    globals()[f"scene_{sys.argv[1]}"](*sys.argv[2:])
