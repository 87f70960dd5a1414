"""Starts Pace's daemons, and its controller for several nodes. Only this file knows their flags."""

import json
import subprocess

import cluster
from processes import Child

READY_S = 10
CONTROLLER_PORT = 0  # the system chooses; the port is read back
LOOPBACK = "lo"
LOOPBACK_ADDRESS = "127.0.0.1"


def paced_command(program, socket, name, controller, interface, transport):
    command = [program, "--socket", socket, "--name", name]
    if controller:
        # --insecure: there are no keys. --closed-network: the namespaces reach nothing but each
        # other.
        command += ["--controller", controller, "--data-interface", interface, "--insecure", "--closed-network",
                    "--data-transport", transport]
    return command


def controller_command(program, address, journal):
    return [program, "--listen", f"tcp://{address}:{CONTROLLER_PORT}", "--journal", journal, "--insecure"]


class Daemons:
    """One ready paced on each node of a trial, for the length of a `with` block.

    Without a cluster, several nodes are daemons of this machine that meet on loopback.
    """

    def __init__(self, trial, case, paced, controller, pacectl, transport):
        self.trial = trial
        self.pacectl = pacectl
        self.transport = transport
        self.case = case
        self.paced = paced
        self.controller = controller
        self.children = []
        self.daemons = []

    def __enter__(self):
        try:
            endpoint = self._start_controller() if self.controller else None
            for node in range(self.case.nodes):
                interface = cluster.INTERFACE if self.trial.cluster else LOOPBACK
                command = paced_command(self.paced, self._socket(node), f"node{node}", endpoint, interface, self.transport)
                self.daemons.append(self._start(node, command))
            for daemon in self.daemons:
                while daemon.read_line(READY_S) != "ready":
                    pass
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *_):
        for child in reversed(self.children):
            child.end()

    def endpoint(self, node):
        return f"unix:{self._socket(node)}"

    def peak_rss_bytes(self):
        """The peak memory of the largest daemon."""
        return max(daemon.peak_rss_bytes() for daemon in self.daemons)

    def processor_s_per_gb(self):
        """Processor time of all daemons for each gigabyte that they have sent to each other. A byte costs both its sender and its receiver."""
        sent = 0
        for node in range(self.case.nodes):
            shown = subprocess.run([self.pacectl, "--endpoint", self.endpoint(node), "daemon", "--json"], check=True,
                                   capture_output=True, text=True, timeout=READY_S).stdout
            sent += json.loads(shown)["counters"]["bytes_sent"]
        return 1e9 * sum(daemon.processor_s() for daemon in self.daemons) / sent if sent else 0

    def _socket(self, node):
        return self.trial.folder / f"paced{node}.sock"

    def _start(self, node, command):
        child = Child(self.trial.in_node(node, command), self.trial.folder, pipe=True)
        self.children.append(child)
        return child

    def _start_controller(self):
        address = self.trial.cluster.address(0) if self.trial.cluster else LOOPBACK_ADDRESS
        journal = self.trial.folder / "controller.journal"
        child = self._start(0, controller_command(self.controller, address, journal))
        while not (line := child.read_line(READY_S)).startswith("listening "):
            pass
        return line.removeprefix("listening ")
