"""The limits of the hardware: memory on one node, and the wire between nodes. They are measured in the same run."""

import json
import statistics

from build import find
from processes import Child, Failure, wait_all


def sum_in_place(programs, case, folder, seconds):
    """Seconds to sum the workers' buffers in place, so that every worker gets the result."""
    child = Child([find(programs, "sum_floor"), case.workers, case.bytes, seconds], folder, pipe=True)
    try:
        line = child.read_line(60)
        wait_all([child], 10)
        return json.loads(line)["samples_s"]
    finally:
        child.end()


def goodput(programs, cluster, folder, seconds):
    """Bytes a second of one TCP flow from node 0 to node 1."""
    program = find(programs, "stream_floor")
    address = cluster.address(1)
    receiver = Child(cluster.command(1, [program, "receive", address, seconds]), folder, pipe=True)
    try:
        word, port = receiver.read_line(10).split()
        if word != "port":
            raise Failure(f"stream_floor said {word}")
        sender = Child(cluster.command(0, [program, "send", address, port]), folder)
        rate = float(receiver.read_line(10 + seconds))
        wait_all([receiver, sender], 10)
        return rate
    finally:
        receiver.end()


def wire_bound(case, rates):
    """Every byte of an all-reduce among N nodes leaves each node 2 (N - 1) / N times."""
    return 2 * (case.nodes - 1) / case.nodes * case.bytes / statistics.median(rates)
