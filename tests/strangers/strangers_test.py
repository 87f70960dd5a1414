"""Strangers on the network of a cluster at work: strangers_test.py BUILD. 77 if this user may make no network namespaces.

Two nodes train in several families, with keys, off loopback. A third host has no key, and attacks every port on which the
daemons and the controller listen. Every call must end well all the time, and the logs must name the stranger.
"""

import argparse
import pathlib
import shutil
import sys
import tempfile
import time
import unittest

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "storms"))

import network as networks
import stranger
from cluster import Cluster
from disturbances import Disturbances
from faults import Fault
from leaks import Account, Holdings
from ledger import Ledger
from processes import Process, Programs

SKIPPED = 77
NODES = 2
CONTROLLER, STRANGER = NODES, NODES + 1  # numbers of hosts
CONTROL_PORT, DATA_PORT, HTTP_PORT = 7411, 7420, 7413
ATTACK_S = 3
SOON_S = 30
GO_ON_S = 10
LINES_A_SECOND = 3
OPTIONS = argparse.Namespace(nodes=NODES, families=["all-reduce", "partial-reduce", "spardl", "ssp"], jobs=1, workers=2,
                             elements=4096, step_us=20000)


class OpenCluster(Cluster):
    """It listens on the network with all that it has."""

    def make_controller(self, listen):
        controller = super().make_controller(listen)
        controller.command += self.http_flags(CONTROLLER)
        return controller

    def make_daemon(self, node):
        daemon = super().make_daemon(node)
        daemon.command += ["--data-port", str(DATA_PORT), *self.http_flags(node)]
        return daemon

    def http_flags(self, host):
        token = self.folder / "http.token"
        if not token.exists():
            token.touch(mode=0o600)
            token.write_text("0123456789abcdef0123456789abcdef\n")
        return ["--http-listen", f"{self.network.address(host)}:{HTTP_PORT}", "--http-token-file", str(token)]


class Strangers(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        build = pathlib.Path(sys.argv[1]).resolve()
        cls.folder = pathlib.Path(tempfile.mkdtemp(prefix="pace-strangers-"))
        cls.addClassCleanup(shutil.rmtree, cls.folder)
        cls.blamed = []
        cls.account = Account(cls.blamed.append)
        cls.disturbances = Disturbances()
        cls.ledger = Ledger(cls.blamed.append, cls.folder / "diary.txt.gz", cls.disturbances, [f"node-{node}" for node in range(NODES)])
        cls.addClassCleanup(cls.ledger.close)
        cls.cluster = OpenCluster(Programs(build), NETWORK, cls.folder, OPTIONS, cls.ledger, cls.disturbances, cls.blamed.append)
        cls.addClassCleanup(cls.cluster.stop_all)
        cls.cluster.start_services()
        cls.cluster.start_trainers()
        cls.goes_on(SOON_S)
        cls.account.note(cls.cluster.services, "at work")

    @classmethod
    def goes_on(cls, seconds):
        """Every worker has a call that ended well after now."""
        now = time.monotonic_ns()
        if not cls.cluster.pump(seconds, lambda: not cls.cluster.stuck_since(now)):
            stuck = ", ".join(f"{worker}: {worker.last_line}" for worker in cls.cluster.stuck_since(now))
            raise AssertionError(f"not within {seconds} s: {stuck}\n" + "\n".join(cls.blamed))

    def targets(self):
        """The process, the host and the port of everything that listens."""
        for daemon, node in zip(self.cluster.daemons, range(NODES)):
            yield daemon, node, DATA_PORT
            yield daemon, node, HTTP_PORT
        yield self.cluster.controller, CONTROLLER, CONTROL_PORT
        yield self.cluster.controller, CONTROLLER, HTTP_PORT

    def begin(self, attack, host, port, seconds):
        """Starts an attacker, who yields to the cluster, for he is to have another machine's processors."""
        name = f"{attack}.{host}.{port}"
        attacker = Process(name, ["nice", "-n", "19", *NETWORK.enter(STRANGER), sys.executable, "-B", HERE / "stranger.py", attack, NETWORK.address(host),
                                  port, seconds], self.folder / f"stranger.{name}.log")
        attacker.start()
        self.addCleanup(attacker.kill)
        return attacker

    def attack(self, attack, while_it_lasts=lambda: None):
        """Attacks all ports at once, and looks that nobody is disturbed."""
        logged = {process.name: len(process.logged()) for process in self.cluster.services}
        before = {name: worker.ended_well for name, worker in self.ledger.workers.items()}
        attackers = [(process, port, self.begin(attack, host, port, ATTACK_S)) for process, host, port in self.targets()]
        while_it_lasts()
        self.goes_on(GO_ON_S)
        began = time.monotonic()
        self.cluster.pump(SOON_S, lambda: all(attacker.popen.poll() is not None for _, _, attacker in attackers))
        self.assertLess(time.monotonic() - began, SOON_S, "the attackers do not end")
        self.goes_on(GO_ON_S)
        self.assertEqual(self.blamed, [])
        for process, port, attacker in attackers:
            print(f"  {attack} on {process.name}:{port}: {attacker.logged().strip()}", flush=True)
            self.assertEqual(attacker.end(), 0, attacker.logged())
        for name, ended in before.items():
            self.assertGreater(self.ledger.workers[name].ended_well, ended + 2, name)
        for process in self.cluster.services:
            lines = [line for line in process.logged()[logged[process.name]:].splitlines() if NETWORK.address(STRANGER) in line]
            self.assertLess(len(lines), LINES_A_SECOND * (ATTACK_S + GO_ON_S), process.name)

    def check(self, attack):
        pids = self.pids()
        self.attack(attack)
        self.assertEqual(self.pids(), pids)

    def pids(self):
        return {process.name: process.popen.pid for process in self.cluster.services}

    def test_0_these_ports_are_all(self):
        for host in range(NODES + 1):
            process = Process("ports", [*NETWORK.enter(host), "cat", "/proc/net/tcp", "/proc/net/tcp6"], self.folder / f"ports.{host}.log")
            process.start()
            self.assertEqual(process.end(), 0)
            rows = [line.split() for line in process.logged().splitlines()]
            listening = {int(row[1].split(":")[1], 16) for row in rows if len(row) > 3 and row[3] == "0A"}
            self.assertEqual(listening, {port for _, at, port in self.targets() if at == host})

    def test_a_daemon_returns_during_an_attack(self):
        """A thousand connections that say nothing keep no node out."""
        def restart():
            fault = Fault("kill", ("node-1",), 0.2)
            fault.begin(self.cluster)
            fault.end(self.cluster)

        self.attack("half-open", while_it_lasts=restart)

    def test_y_every_log_names_the_stranger(self):
        for process in self.cluster.services:
            lines = [line for line in process.logged().splitlines() if f"from={NETWORK.address(STRANGER)}" in line]
            self.assertGreater(len(lines), 0, process.name)
            print(f"  {process.name}: {len(lines)} lines", *lines, sep="\n    ", flush=True)

    def test_z_nothing_is_kept_of_them(self):
        self.cluster.pump(SOON_S, lambda: not any(self.account.grown(process, "at work", Holdings.of(process.popen.pid))
                                                  for process in self.cluster.services))
        self.account.compare(self.cluster.services, "at work")
        self.assertEqual(self.blamed, [])


def make_test(attack):
    return lambda self: self.check(attack)


for each in stranger.ATTACKS:
    setattr(Strangers, f"test_{each.replace('-', '_')}", make_test(each))


if __name__ == "__main__":
    NETWORK = networks.make(NODES + 2, "namespaces")
    if NETWORK.why:
        print(f"skipped: {NETWORK.why}")
        sys.exit(SKIPPED)
    try:
        result = unittest.main(argv=[sys.argv[0], *sys.argv[2:]], exit=False, verbosity=2).result
    finally:
        NETWORK.close()
    sys.exit(0 if result.wasSuccessful() else 1)
