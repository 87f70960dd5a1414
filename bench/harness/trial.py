"""The subject of a measurement: a case, and one start of one implementation in it."""

import dataclasses
import json
import pathlib

from cluster import INTERFACE


@dataclasses.dataclass(frozen=True, order=True)
class Case:
    bench: str
    nodes: int
    workers: int
    bytes: int

    def workers_of(self, node):
        """The ranks on a node. Neighbours are on one node."""
        each = self.workers // self.nodes
        return range(node * each, (node + 1) * each)

    def node_of(self, rank):
        return rank // (self.workers // self.nodes)

    def __str__(self):
        where = f" on {self.nodes} nodes" if self.nodes > 1 else ""
        return f"{self.workers} workers{where}, {readable_bytes(self.bytes)}"


def readable_bytes(count):
    if count < 1 << 10:
        return f"{count} B"
    if count < 1 << 20 and count % 1000:
        return f"{count >> 10} KB"
    return f"{count >> 20} MB" if count % (1 << 20) == 0 else f"{count / 1e6:.0f} MB"


@dataclasses.dataclass
class Outcome:
    samples_s: list
    peak_rss_bytes: int  # of the largest worker
    version: str
    active: float = 0  # workers that were in time, on average
    wire_bytes: int = 0  # bytes that the busiest worker's node received for an exchange
    # The same bytes as the implementation counts them. 0 means that it does not count them.
    payload_bytes: int = 0
    daemon_peak_rss_bytes: int = 0  # of the largest daemon, where there are daemons
    processor_s_per_gb: float = 0  # of all daemons, for a gigabyte from one to another


class Trial:
    """One start of one implementation. `cluster` is None on one node. `more` goes to the worker program."""

    def __init__(self, case, programs, folder, cluster, seconds, iterations_min, more=()):
        self.case = case
        self.programs = programs
        self.folder = pathlib.Path(folder)
        self.cluster = cluster
        self.board = self.folder / "board"
        self.out = self.folder / "out.json"
        self.seconds = seconds
        self.iterations_min = iterations_min
        self.more = more
        # The deadline leaves time to launch and connect, and for a peer ten times slower than the
        # slowest known one.
        self.deadline_s = 60 + 20 * seconds

    def arguments(self):
        """The arguments of any implementation's worker program; see bench/common/options.h."""
        interface = ["--interface", INTERFACE] if self.cluster else []
        return [*interface, "--board", self.board, "--out", self.out, "--bytes", self.case.bytes,
                "--seconds", self.seconds, "--iterations-min", self.iterations_min, *self.more]

    def in_node(self, node, command):
        return self.cluster.command(node, command) if self.cluster else list(command)

    def outcome(self):
        return Outcome(**json.loads(self.out.read_text()))
