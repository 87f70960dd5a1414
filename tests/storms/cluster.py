"""A storm's cluster: hosts, a controller, a daemon on each node, trainers of all families, and what they say."""

import os
import selectors
import signal
import time

from ledger import Worker
from processes import Process

FAMILIES = ("all-reduce", "majority", "spardl", "partial-reduce", "prague", "ssp")
START_S = 60
KEEP_S = 5  # what a dead trainer leaves waits so long for the next of its rank


class Cluster:
    """Starts everything; `pump` is the one place that waits."""

    def __init__(self, programs, network, folder, options, ledger, blame):
        self.programs, self.network, self.folder, self.options = programs, network, folder, options
        self.ledger, self.blame = ledger, blame
        self.hosts = list(range(options.nodes + 1))  # the last is the controller's
        self.selector = selectors.DefaultSelector()
        self.workers = {}
        self.partial_lines = {}
        self.address = None
        self.controller = self.make_controller(f"tcp://{network.address(options.nodes)}:{network.port()}")
        self.daemons = []
        self.trainers = {}

    def make_controller(self, listen):
        _, flags = self.network.flags()
        return Process("controller", [*self.network.enter(self.options.nodes), self.programs.controller, "--listen", listen,
                                      "--journal", self.folder / "journal", *flags], self.folder / "controller.log")

    def make_daemon(self, node):
        flags, _ = self.network.flags()
        name = f"node-{node}"
        (self.folder / f"{name}.checkpoints").mkdir()
        return Process(name, [*self.network.enter(node), self.programs.paced, "--name", name, "--socket", self.socket(node),
                              "--controller", self.address, "--checkpoints", self.folder / f"{name}.checkpoints", "--gpu", "off",
                              "--buffers-keep-s", KEEP_S, *flags], self.folder / f"{name}.log")

    def socket(self, node):
        return self.folder / f"node-{node}.socket"

    def start(self):
        self.run(self.controller, "listening ")
        self.address = "tcp://" + self.controller.logged().split("listening tcp://", 1)[1].split()[0]
        self.controller.command[self.controller.command.index("--listen") + 1] = self.address
        self.daemons = [self.make_daemon(node) for node in range(self.options.nodes)]
        for daemon in self.daemons:
            self.run(daemon, "ready")
        for family in self.options.families:
            for rank in range(self.options.workers):
                self.add_trainer(family, rank)

    def add_trainer(self, family, rank):
        name = f"{family}.{rank}"
        node = rank * self.options.nodes // self.options.workers
        command = [self.programs.trainer, f"unix:{self.socket(node)}", family, family, rank, self.options.workers,
                   self.options.elements, self.options.step_us]
        self.trainers[name] = Process(name, command, self.folder / "trainers.log")
        self.workers[name] = Worker(family, rank)
        self.run_trainer(name)

    def run_trainer(self, name):
        trainer = self.trainers[name]
        trainer.start(pipe=True)
        self.partial_lines[name] = b""
        os.set_blocking(trainer.popen.stdout.fileno(), False)
        self.selector.register(trainer.popen.stdout, selectors.EVENT_READ, ("lines", name))
        self.selector.register(trainer.pidfd, selectors.EVENT_READ, ("end", name))

    def run(self, process, ready):
        process.start()
        self.selector.register(process.pidfd, selectors.EVENT_READ, ("end", process.name))
        if not self.pump(START_S, lambda: process.said(ready) or not process.runs):
            raise RuntimeError(f"{process.name} does not say '{ready.strip()}': see {process.log}")

    def process(self, name):
        """To be killed or frozen: what watches its end is told first."""
        if name == "controller":
            return Watched(self, self.controller)
        return Watched(self, next((daemon for daemon in self.daemons if daemon.name == name), self.trainers.get(name)))

    def restart(self, name):
        if name in self.trainers:
            self.run_trainer(name)
        else:
            process = self.controller if name == "controller" else next(one for one in self.daemons if one.name == name)
            process.start()
            self.selector.register(process.pidfd, selectors.EVENT_READ, ("end", name))

    def pump(self, seconds, until=lambda: False):
        """Reads what is said for so long, or until something holds. Whether that holds."""
        deadline = time.monotonic() + seconds
        while not until():
            left = deadline - time.monotonic()
            if left <= 0:
                return False
            for key, _ in self.selector.select(min(left, 0.05)):
                kind, name = key.data
                if kind == "lines":
                    self.read(name, key.fileobj)
                else:
                    self.ended(name)
        return True

    def read(self, name, pipe):
        data = pipe.read()
        if not data:
            self.selector.unregister(pipe)
            pipe.close()
            return
        *lines, self.partial_lines[name] = (self.partial_lines[name] + data).split(b"\n")
        for line in lines:
            self.ledger.take(self.workers[name], line.decode(errors="replace"))

    def ended(self, name):
        process = self.process(name).process
        self.selector.unregister(process.pidfd)
        code = process.end()
        if not process.is_expected_to_end:
            self.blame(f"{name} ended by itself with {code}: see {process.log}")

    def everyone_went_on_since(self, ns):
        return all(worker.last_ok_ns > ns for worker in self.workers.values())

    def stuck_since(self, ns):
        return [worker for worker in self.workers.values() if worker.last_ok_ns <= ns]

    def stop(self):
        """Trainers leave in order, then daemons and controller end; each that does not is blamed."""
        self.end_all(self.trainers.values(), 20)
        self.end_all([*self.daemons, self.controller], 20)
        self.selector.close()

    def end_all(self, processes, seconds):
        processes = [process for process in processes if process.runs]
        for process in processes:
            process.is_expected_to_end = True
            process.thaw()
            process.signal(signal.SIGTERM)
        self.pump(seconds, lambda: not any(process.runs for process in processes))
        for process in processes:
            if process.runs:
                self.blame(f"{process.name} did not end within {seconds} s of SIGTERM: see {process.log}")
                process.kill()
            elif process.popen.returncode != 0:
                self.blame(f"{process.name} ended with {process.popen.returncode}: see {process.log}")


class Watched:
    """A process whose end, when it is killed here, is no news to the selector."""

    def __init__(self, cluster, process):
        self.cluster, self.process = cluster, process

    def kill(self):
        if self.process.runs:
            self.cluster.selector.unregister(self.process.pidfd)
            self.process.kill()

    def freeze(self):
        self.process.freeze()

    def thaw(self):
        self.process.thaw()
