"""Fashion-MNIST with Pace: started by `python3 -m pace run`, torchrun or srun."""

import json
import os

import fashion
import torch

import pace.torch as pace

torch.set_num_threads(1)
rank, world = int(os.environ["RANK"]), int(os.environ["WORLD_SIZE"])
pace.init()
images, labels = fashion.load("train")
test_images, test_labels = fashion.load("t10k")
model = pace.DataParallel(fashion.network())
optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
scheduler = torch.optim.lr_scheduler.StepLR(optimizer, 400, 0.5)
optimizer = pace.Optimizer(optimizer, model, **json.loads(os.environ.get("PACE_OPTIONS", "{}")))
for step in pace.steps(int(os.environ.get("STEPS", "600")), model, optimizer, scheduler, checkpoint=os.environ.get("CHECKPOINTS")):
    batch = torch.randint(len(images), (64,), generator=torch.Generator().manual_seed(step * world + rank))
    optimizer.zero_grad()
    torch.nn.functional.cross_entropy(model(images[batch]), labels[batch]).backward()
    optimizer.step()
    if rank == 0 and step % 20 == 0:
        print(f"step {step} accuracy {fashion.accuracy(model.module, test_images, test_labels):.4f}", flush=True)
print(f"worker {rank} done, accuracy {fashion.accuracy(model.module, test_images, test_labels):.4f}", flush=True)
print(f"worker {rank} checksum {model.checksum()}", flush=True)
