"""One worker of a job of averages, or of sums by top-k (all-reduce): worker.py JOB POLICY RANK WORLD STEP_S LOSS. It ends when its
standard input does.

Its step is to wait for that end. LOSS is what it reports at first, and less with each step; or nan. It means to make TOTAL steps.
"""

import os
import select
import sys

import pace

TOTAL = 100_000
OPTIONS = {"partial-reduce": {"group.size": 2},
           "all-reduce": {"compression": "spardl", "topk.density": 0.01, "topk.dense_fallback": "never"}}


def main():
    job, policy = sys.argv[1:3]
    rank, world = map(int, sys.argv[3:5])
    step_s, loss = map(float, sys.argv[5:7])
    with pace.Session(job, policy, rank=rank, world=world, options=OPTIONS[policy]) as session:
        model = session.buffer("f32", 1024)
        step = session.broadcast(model).wait().iteration
        print("joined", flush=True)
        while not select.select([sys.stdin], [], [], step_s)[0]:
            session.report(loss=loss / (1 + step / 100), samples_per_second=64 / step_s, steps=(step, TOTAL))
            if policy == "all-reduce":
                session.reduce(model).wait()
                step += 1
            else:
                step = session.average(model, iteration=step + 1).wait().iteration


if __name__ == "__main__":
    try:
        main()
    except KeyboardInterrupt:
        os._exit(1)
