"""dense-node and dense-net: float32 all-reduce."""

import contextlib

import floors
import rounds
from cluster import Cluster
from implementations import DENSE, chosen
from trial import Case, Trial

KB, MB = 1 << 10, 1 << 20
# The last size is that of many published models. It is no power of two.
BYTES = [4 * KB, 64 * KB, MB, 16 * MB, 64 * MB, 100_000_000]
BYTES_QUICK = [4 * KB, MB, 16 * MB]
NODES = 4


def cases_of(part, arguments):
    sizes = arguments.bytes or (BYTES_QUICK if arguments.quick else BYTES)
    if part == "dense-node":
        shapes = [(1, workers) for workers in (2, 4, 8)]
    else:
        shapes = [(NODES, NODES)] if arguments.quick else [(NODES, NODES), (NODES, 2 * NODES)]
    cases = []
    for nodes, workers in shapes:
        if arguments.workers and workers not in arguments.workers:
            continue
        # Several workers on a node matter where the network does. Two sizes show this.
        chosen = sizes if workers != 2 * NODES or nodes == 1 else [size for size in sizes if size in (MB, 16 * MB)]
        cases += [Case(part, nodes, workers, size) for size in chosen]
    return cases


def run(part, programs, arguments, results):
    seconds = 0.15 if arguments.quick else 0.5
    implementations = [one for one in chosen(DENSE, arguments.implementations) if one.bench in (None, part)]
    with Cluster(NODES, arguments.rate) if part == "dense-net" else contextlib.nullcontext() as cluster:

        def start(one, case, folder):
            return one.run(Trial(case, programs, folder, cluster, seconds, iterations_min=3))

        def floor(case, folder):
            if cluster is None:
                return floors.sum_in_place(programs, case, folder, seconds / 2)
            return [floors.wire_bound(case, [floors.goodput(programs, cluster, folder, seconds)])]

        count = arguments.rounds or (2 if arguments.quick else 3)
        rounds.run(part, cases_of(part, arguments), implementations, count, results, start, floor)
