#!/usr/bin/python3
"""Data-parallel training on Fashion-MNIST: PyTorch workers whose gradients lie in the daemon's buffers."""

import argparse
import gzip
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


def load(name, header):
    with gzip.open(f"{DATA}/{name}-ubyte.gz") as file:
        return numpy.frombuffer(file.read(), numpy.uint8, offset=header)


def images(name, device):
    pixels = load(f"{name}-images-idx3", 16).reshape(-1, 784)
    return torch.tensor(pixels, dtype=torch.float32, device=device) / 255


def labels(name, device):
    return torch.tensor(load(f"{name}-labels-idx1", 8), dtype=torch.int64, device=device)


def network(device):
    torch.manual_seed(1)
    return torch.nn.Sequential(torch.nn.Linear(784, 64), torch.nn.ReLU(), torch.nn.Linear(64, 10)).to(device)


def share_gradients(parameters, memory, device):
    """backward() adds to these views, and the daemon reads and writes them."""
    whole = torch.as_tensor(memory, device=device) if device != "cpu" else torch.from_numpy(numpy.asarray(memory))
    begin = 0
    for parameter in parameters:
        parameter.grad = whole[begin:begin + parameter.numel()].view_as(parameter)
        begin += parameter.numel()
    return whole


def train(arguments):
    device = "cuda:0" if arguments.device == "cuda" else "cpu"
    torch.set_num_threads(1)
    session = pace.Session(arguments.libpace, arguments.endpoint, "torch", arguments.rank, arguments.workers)
    model = network(device)  # the same everywhere, by its seed
    parameters = list(model.parameters())
    count = sum(parameter.numel() for parameter in parameters)
    handle, memory = session.buffer(count, 0 if arguments.device == "cuda" else None)
    gradient = share_gradients(parameters, memory, device)
    stream = torch.cuda.current_stream().cuda_stream if arguments.device == "cuda" else None
    session.use_stream(stream)

    all_images, all_labels = images("train", device), labels("train", device)
    own = torch.arange(arguments.rank, len(all_labels), arguments.workers, device=device)
    order = torch.Generator(device="cpu").manual_seed(arguments.rank)
    start = time.monotonic()
    for step in range(arguments.steps):
        batch = own[torch.randint(len(own), (arguments.batch,), generator=order).to(device)]
        gradient.zero_()
        loss = torch.nn.functional.cross_entropy(model(all_images[batch]), all_labels[batch])
        loss.backward()
        request = session.reduce(handle)
        if stream is None:
            session.wait(request)
        else:
            session.wait_on_stream(request, stream)
        with torch.no_grad():
            for parameter in parameters:
                parameter -= arguments.rate * parameter.grad
        if arguments.rank == 0 and (step + 1) % 100 == 0:
            print(f"step {step + 1}: loss {loss.item():.3f}", flush=True)
    seconds = time.monotonic() - start
    with torch.no_grad():
        right = (model(images("t10k", device)).argmax(1) == labels("t10k", device)).float().mean().item()
    print(f"worker {arguments.rank}: accuracy {100 * right:.1f}%, {arguments.steps / seconds:.0f} steps/s", flush=True)
    session.close()


def parse():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--device", choices=("cpu", "cuda"), default="cuda")
    parser.add_argument("--workers", type=int, default=4)
    parser.add_argument("--steps", type=int, default=600)
    parser.add_argument("--batch", type=int, default=32)
    parser.add_argument("--rate", type=float, default=0.1)
    parser.add_argument("--libpace", default="libpace.so.1", help="the library's file")
    parser.add_argument("--endpoint", help="of a daemon that runs")
    parser.add_argument("--paced", help="start this daemon for as long as it takes")
    parser.add_argument("--rank", type=int, help="be this worker alone; otherwise all are started")
    arguments = parser.parse_args()
    if arguments.rank is None and bool(arguments.endpoint) == bool(arguments.paced):
        parser.error("give either --endpoint or --paced")
    return arguments


def start_workers(arguments, endpoint):
    flags = [f"--{name}={getattr(arguments, name)}" for name in ("device", "workers", "steps", "batch", "rate", "libpace")]
    started = [subprocess.Popen([sys.executable, "-B", __file__, *flags, f"--endpoint={endpoint}", f"--rank={rank}"])
               for rank in range(arguments.workers)]
    return max(worker.wait() for worker in started)


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
