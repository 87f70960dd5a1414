#!/usr/bin/python3
"""Pushes and pulls a second, and their share of the wire, of a parameter server.

Started by `bench/servers/throughput`, which sets everything up first.
"""

import argparse
import contextlib
import json
import math
import pathlib
import statistics
import subprocess
import sys
import tempfile
import types

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.append(str(ROOT / "bench" / "harness"))

import cluster as network  # noqa: E402
import pace  # noqa: E402

MB = 1e6
# The share of Ethernet at 1 Gbit/s that TCP leaves for data: 1448 of 1538 bytes, in MB/s.
WIRE = 125 * 1448 / 1538
# name: elements of the model, entries of an update (0: dense), the measured call
CASES = {
    "push, dense, 1 M": (1_000_000, 0, False),
    "push, 1,000 of 3.2 M": (3_200_000, 1_000, False),
    "push, 100,000 of 3.2 M": (3_200_000, 100_000, False),
    "pull, 1 M": (1_000_000, 0, True),
    "pull, 3.2 M": (3_200_000, 0, True),
    "pull, 1,000": (1_000, 0, True),
}


def parse_flags():
    parser = argparse.ArgumentParser(prog="bench/servers/throughput", description=__doc__.splitlines()[0],
                                     formatter_class=argparse.ArgumentDefaultsHelpFormatter)
    add = parser.add_argument
    add("--rounds", type=int, default=3, help="of each measurement; the median is told, with the range")
    add("--seconds", type=float, default=2, help="of one")
    add("--workers", type=int, default=4, help="spread over the nodes")
    add("--nodes", type=int, nargs="+", default=[1, 4], help="1: loopback, no wire")
    add("--build", type=pathlib.Path, default=ROOT / "build" / "release", help="folder of the built programs")
    add("--out", type=pathlib.Path, help="folder for the results (default: servers in the build folder)")
    flags = parser.parse_args()
    flags.out = flags.out or flags.build / "servers"
    return flags


def measure(flags, nodes, cluster, case):
    elements, entries, pulls = CASES[case]
    with tempfile.TemporaryDirectory(prefix="pace-throughput-") as name:
        folder = pathlib.Path(name)
        trial = types.SimpleNamespace(
            folder=folder, cluster=cluster,
            in_node=lambda node, command: cluster.command(node, command) if cluster else list(command))
        daemons = pace.Daemons(trial, types.SimpleNamespace(nodes=nodes), flags.build / "daemon" / "paced",
                               flags.build / "service" / "controller" / "shell" / "pace-controller")
        with daemons:
            command = [flags.build / "bench" / "server_throughput", "--workers", flags.workers, "--elements", elements,
                       "--entries", entries, "--pulls", int(pulls), "--seconds", flags.seconds]
            for node in range(nodes):
                command += ["--endpoint", daemons.endpoint(node)]
            outcome = subprocess.run([str(word) for word in command], check=True, stdout=subprocess.PIPE, timeout=120)
    return json.loads(outcome.stdout)


def share_of_wire(case, nodes, calls_per_s):
    """The share of each node's link capacity in one direction. None where there is no link. Beside each value, a sparse update has an
    index in Elias-Fano code: 2 bits and the logarithm of the distance."""
    if nodes == 1:
        return None
    elements, entries, _ = CASES[case]
    size = elements * 4
    if entries:
        size = entries * (4 + (2 + math.log2(elements / entries)) / 8)
    # The share that is not for the worker's own node. Nodes send as much as they receive.
    return calls_per_s / nodes * size * (nodes - 1) / nodes / (WIRE * MB)


def row_of(case, nodes, outcomes):
    rates = [outcome["calls"] / outcome["seconds"] for outcome in outcomes]
    rate = statistics.median(rates)
    share = share_of_wire(case, nodes, rate)
    return {"case": case, "nodes": nodes, "calls_per_s": rate, "range": [min(rates), max(rates)], "share": share,
            "median_ms": statistics.median(outcome["median_ms"] for outcome in outcomes),
            "p99_ms": statistics.median(outcome["p99_ms"] for outcome in outcomes)}


def line_of(row):
    share = "" if row["share"] is None else f"{row['share']:.0%}"
    elements, entries, _ = CASES[row["case"]]
    volume = row["calls_per_s"] * (entries * 8 if entries else elements * 4) / MB
    return (f"| {row['case']} | {row['nodes']} | {row['calls_per_s']:.0f} | {row['range'][0]:.0f} .. {row['range'][1]:.0f} | "
            f"{volume:.0f} | {share} | {row['median_ms']:.2f} | {row['p99_ms']:.2f} |")


def main():
    flags = parse_flags()
    rows = []
    for nodes in flags.nodes:
        with network.Cluster(nodes, "1gbit") if nodes > 1 else contextlib.nullcontext() as cluster:
            for case in CASES:
                rows.append(row_of(case, nodes, [measure(flags, nodes, cluster, case) for _ in range(flags.rounds)]))
                print(line_of(rows[-1]), flush=True)
    flags.out.mkdir(parents=True, exist_ok=True)
    (flags.out / "throughput.json").write_text(json.dumps(rows) + "\n", encoding="utf-8")
    lines = ["# Pushes and pulls, measured", "", f"Written by `bench/servers/throughput`: {flags.workers} workers that call as fast as they "
             f"can, ASP, rate sum, {flags.rounds} times {flags.seconds:g} s of each. Latency of a push: until it is taken; the rate counts those that a pull "
             "at the end has. Several nodes are namespaces of this machine at 1 Gbit/s each way.", "",
             "| what | nodes | a second | of all runs | MB/s of values | of each link | median ms | 99 % ms |", "|---|---|---|---|---|---|---|---|"]
    (flags.out / "THROUGHPUT.md").write_text("\n".join(lines + [line_of(row) for row in rows]) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
