"""One worker of a job of averages: worker.py JOB POLICY RANK WORLD STEP_S LOSS. It ends when its standard input does.

Its step is to wait for that end. LOSS is what it reports at first, and less with each step; or nan.
"""

import os
import select
import sys

import pace


def main():
    job, policy = sys.argv[1:3]
    rank, world = map(int, sys.argv[3:5])
    step_s, loss = map(float, sys.argv[5:7])
    options = {"group.size": 2} if policy == "partial-reduce" else {}
    with pace.Session(job, policy, rank=rank, world=world, options=options) as session:
        model = session.buffer("f32", 1024)
        step = session.broadcast(model).wait().iteration
        print("joined", flush=True)
        while not select.select([sys.stdin], [], [], step_s)[0]:
            session.report(loss=loss / (1 + step / 100), samples_per_second=64 / step_s)
            step = session.average(model, iteration=step + 1).wait().iteration


if __name__ == "__main__":
    try:
        main()
    except KeyboardInterrupt:
        os._exit(1)
