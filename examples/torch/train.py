#!/usr/bin/python3
"""Data-parallel training on Fashion-MNIST: PyTorch workers whose gradients lie in the daemon's buffers."""

import argparse
import gzip
import hashlib
import os
import subprocess
import sys
import tempfile
import time

try:
    import numpy
    import torch
except ImportError as missing:
    print(f"{missing}: apt-get install python3-torch, or a PyTorch from elsewhere", file=sys.stderr)
    sys.exit(77)  # what tests take for skipped

import pace

DATA = "/usr/share/datasets/fashion-mnist"
DIGEST = "parameters "


def load(name, header):
    with gzip.open(f"{DATA}/{name}-ubyte.gz") as file:
        return numpy.frombuffer(file.read(), numpy.uint8, offset=header)


def images(name, device):
    pixels = load(f"{name}-images-idx3", 16).reshape(-1, 784)
    return torch.tensor(pixels, dtype=torch.float32, device=device) / 255


def labels(name, device):
    return torch.tensor(load(f"{name}-labels-idx1", 8), dtype=torch.int64, device=device)


def network(device, seed):
    torch.manual_seed(seed)
    return torch.nn.Sequential(torch.nn.Linear(784, 64), torch.nn.ReLU(), torch.nn.Linear(64, 10)).to(device)


def views_of(memory, parameters, device):
    """Views of a buffer, one as each parameter is, which the daemon reads and writes."""
    whole = torch.as_tensor(memory, device=device) if device != "cpu" else torch.from_numpy(numpy.asarray(memory))
    views, begin = [], 0
    for parameter in parameters:
        views.append(whole[begin:begin + parameter.numel()].view_as(parameter))
        begin += parameter.numel()
    return views


class SharedModel:
    """Parameters and gradients that lie in two buffers of the daemon."""

    def __init__(self, session, parameters, device, cuda):
        self.parameters = parameters
        count = sum(parameter.numel() for parameter in parameters)
        self.model, memory = session.buffer(count, cuda)
        for parameter, view in zip(parameters, views_of(memory, parameters, device)):
            view.copy_(parameter.data)
            parameter.data = view
        self.gradient, memory = session.buffer(count, cuda)
        self._gradients = views_of(memory, parameters, device)
        self.collect()

    def collect(self):
        """Gradients are in the buffer after this, wherever backward() put them.

        It adds to parameter.grad where there is one. optimizer.zero_grad() takes them away, as set_to_none is its default since
        PyTorch 2, and then backward() makes new ones elsewhere: these are copied. zero_grad(set_to_none=False) spares the copy.
        """
        for parameter, view in zip(self.parameters, self._gradients):
            if parameter.grad is None:
                view.zero_()
            elif parameter.grad.data_ptr() != view.data_ptr():
                view.copy_(parameter.grad)
            parameter.grad = view

    def digest(self):
        whole = torch.cat([parameter.data.flatten() for parameter in self.parameters]).cpu()
        return hashlib.sha256(whole.numpy().tobytes()).hexdigest()[:16]


def train(arguments):
    device = "cuda:0" if arguments.device == "cuda" else "cpu"
    torch.set_num_threads(1)
    session = pace.Session(arguments.libpace, arguments.endpoint, arguments.job, arguments.rank, arguments.workers)
    model = network(device, arguments.rank)
    shared = SharedModel(session, list(model.parameters()), device, 0 if arguments.device == "cuda" else None)
    optimizer = torch.optim.SGD(model.parameters(), lr=arguments.rate)
    stream = torch.cuda.current_stream().cuda_stream if arguments.device == "cuda" else None
    if stream is not None:
        session.use_stream(stream)

    def end(request):
        return session.wait(request) if stream is None else session.wait_on_stream(request, stream)

    all_images, all_labels = images("train", device), labels("train", device)
    own = torch.arange(arguments.rank, len(all_labels), arguments.workers, device=device)
    order = torch.Generator(device="cpu").manual_seed(arguments.rank)
    start = time.monotonic()
    first = step = end(session.broadcast(shared.model))  # one model everywhere; not 0 where the others have gone on already
    while step < arguments.steps:
        batch = own[torch.randint(len(own), (arguments.batch,), generator=order).to(device)]
        if arguments.zero_grad == "default":
            optimizer.zero_grad()
        else:
            optimizer.zero_grad(set_to_none=arguments.zero_grad == "none")
        loss = torch.nn.functional.cross_entropy(model(all_images[batch]), all_labels[batch])
        loss.backward()
        shared.collect()
        try:
            end(session.reduce(shared.gradient, step))
        except pace.Stale:
            step = end(session.broadcast(shared.model))
            continue
        optimizer.step()
        step += 1
        if arguments.rank == 0 and step % 100 == 0:
            print(f"step {step}: loss {loss.item():.3f}", flush=True)
    seconds = time.monotonic() - start
    with torch.no_grad():
        right = (model(images("t10k", device)).argmax(1) == labels("t10k", device)).float().mean().item()
    print(f"worker {arguments.rank}: accuracy {100 * right:.1f}%, {(step - first) / seconds:.0f} steps/s, "
          f"{DIGEST}{shared.digest()}", flush=True)
    session.close()


def parse():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--device", choices=("cpu", "cuda"), default="cuda")
    parser.add_argument("--workers", type=int, default=4)
    parser.add_argument("--steps", type=int, default=600)
    parser.add_argument("--batch", type=int, default=32)
    parser.add_argument("--rate", type=float, default=0.1)
    parser.add_argument("--zero-grad", choices=("default", "none", "zero"), default="default",
                        help="what becomes of gradients before a step: PyTorch's default, none, or zero in place")
    parser.add_argument("--job", default="torch", help="the job's name")
    parser.add_argument("--libpace", default="libpace.so.0", help="the library's file")
    parser.add_argument("--endpoint", help="of a daemon that runs")
    parser.add_argument("--paced", help="start this daemon for as long as it takes")
    parser.add_argument("--rank", type=int, help="be this worker alone; otherwise all are started")
    arguments = parser.parse_args()
    if arguments.rank is None and bool(arguments.endpoint) == bool(arguments.paced):
        parser.error("give either --endpoint or --paced")
    return arguments


def start_workers(arguments, endpoint):
    """Fails if a worker does, or if their models are not equal to the last bit in the end."""
    names = ("device", "workers", "steps", "batch", "rate", "zero_grad", "job", "libpace")
    flags = [f"--{name.replace('_', '-')}={getattr(arguments, name)}" for name in names]
    started = [subprocess.Popen([sys.executable, "-B", __file__, *flags, f"--endpoint={endpoint}", f"--rank={rank}"],
                                stdout=subprocess.PIPE, text=True) for rank in range(arguments.workers)]
    digests = set()
    for worker in started:
        for line in worker.stdout:
            print(line, end="", flush=True)
            if DIGEST in line:
                digests.add(line.split(DIGEST)[1].strip())
    failed = max(worker.wait() for worker in started)
    if failed == 0 and len(digests) != 1:
        print(f"the workers' models differ: {sorted(digests)}", file=sys.stderr)
        return 1
    return failed


def start_all(arguments):
    if arguments.endpoint:
        return start_workers(arguments, arguments.endpoint)
    with tempfile.TemporaryDirectory(prefix="pace-torch-") as folder:
        socket = f"{folder}/paced.sock"
        with subprocess.Popen([arguments.paced, "--socket", socket]) as daemon:
            try:
                # The library waits a moment for a daemon that is starting; the socket tells that it is.
                while daemon.poll() is None and not os.path.exists(socket):
                    time.sleep(0.01)
                return start_workers(arguments, f"unix:{socket}")
            finally:
                daemon.terminate()


def main():
    arguments = parse()
    if arguments.rank is not None:
        train(arguments)
        return 0
    return start_all(arguments)


if __name__ == "__main__":
    sys.exit(main())
