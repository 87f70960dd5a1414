"""A worker that trains nothing, until it is killed: trainer.py ENDPOINT JOB POLICY RANK WORLD."""

import itertools
import select
import sys

import pace

STEP_S = 0.02
ELEMENTS = 1000
OPTIONS = {"ssp": {"server_staleness": 3, "server_elements": ELEMENTS}, "partial-reduce": {"group_size": 2}}


def push_and_pull(session, model, update, step):
    session.push(update, step).wait()
    session.pull(model, step).wait()


def average(session, model, step):
    session.average(model, iteration=step).wait()


def main():
    endpoint, job, policy, rank, world = sys.argv[1:]
    with pace.Session(job, policy, rank=int(rank), world=int(world), endpoint=endpoint, **OPTIONS[policy]) as session:
        model, update = session.buffer("f32", ELEMENTS), session.buffer("f32", ELEMENTS)
        session.broadcast(model).wait()
        print("joined", flush=True)
        for step in itertools.count():
            select.select([], [], [], STEP_S)  # stands for computing
            if policy == "ssp":
                push_and_pull(session, model, update, step)
            else:
                average(session, model, step)
            session.report(loss=1.0 / (step + 1), samples_per_second=100)


if __name__ == "__main__":
    main()
