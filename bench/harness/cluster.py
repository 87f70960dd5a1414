"""The namespaces that play nodes, through bench/net/nodes.sh."""

import os
import pathlib
import subprocess

NET = pathlib.Path(__file__).resolve().parent.parent / "net"
SCRIPT = NET / "nodes.sh"
AGENT = NET / "agent.sh"
INTERFACE = "data0"


class Cluster:
    """Nodes 0 .. count-1, for the length of a `with` block."""

    def __init__(self, count, rate, delay=""):
        self.count = count
        self.rate = rate
        self.delay = delay
        self.prefix = os.environ["PACE_BENCH_NODES"]

    def __enter__(self):
        os.environ["NODES_PREFIX"] = self.prefix  # agent.sh reads it, whichever program calls agent.sh
        subprocess.run([SCRIPT, "up", self.prefix, str(self.count), self.rate, self.delay], check=True)
        return self

    def __exit__(self, *_):
        subprocess.run([SCRIPT, "down", self.prefix], check=False)

    def command(self, node, command):
        return [SCRIPT, "exec", self.prefix, node, *command]

    @staticmethod
    def address(node):
        return subprocess.run([SCRIPT, "address", str(node)], check=True, capture_output=True,
                              text=True).stdout.strip()
