"""Fashion-MNIST with DistributedDataParallel: started by torchrun or srun."""

import os

import fashion
import torch

torch.set_num_threads(1)
rank, world = int(os.environ["RANK"]), int(os.environ["WORLD_SIZE"])
torch.distributed.init_process_group("gloo")
images, labels = fashion.load("train")
test_images, test_labels = fashion.load("t10k")
model = torch.nn.parallel.DistributedDataParallel(fashion.network())
optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
scheduler = torch.optim.lr_scheduler.StepLR(optimizer, 400, 0.5)
for step in range(int(os.environ.get("STEPS", "600"))):
    batch = torch.randint(len(images), (64,), generator=torch.Generator().manual_seed(step * world + rank))
    optimizer.zero_grad()
    torch.nn.functional.cross_entropy(model(images[batch]), labels[batch]).backward()
    optimizer.step()
    scheduler.step()
    if rank == 0 and step % 20 == 0:
        print(f"step {step} accuracy {fashion.accuracy(model.module, test_images, test_labels):.4f}", flush=True)
print(f"worker {rank} done, accuracy {fashion.accuracy(model.module, test_images, test_labels):.4f}", flush=True)
