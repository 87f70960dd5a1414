"""The trainer of the tests: trainer.py JOB STEPS. It says what it has found at its end; with STEPS 0 it trains until it is ended."""

import itertools
import os
import sys

import pace

job, steps = sys.argv[1], int(sys.argv[2])
with pace.Session(job, "all-reduce") as session:
    model = session.buffer("f32", 1000)
    numbers = model.memoryview()
    for step in itertools.count(1):
        for place in range(len(numbers)):
            numbers[place] = session.info.rank + 1
        info = session.reduce(model, op="sum").wait()
        if step == 1:
            print("begun", session.info.rank, session.info.run, flush=True)
        if step == steps:
            break
    print("end", session.info.rank, session.info.run, info.member_count, numbers[999], os.environ["PACE_ENDPOINT"], os.environ["SLURMD_NODENAME"], flush=True)
