"""A storm's cluster: hosts, a controller, a daemon on each node, trainers of all families, and their output."""

import contextlib
import fcntl
import os
import selectors
import signal
import time

from disturbances import END
from keys import Keys
from processes import Process
from workers import Worker

FAMILIES = ("all-reduce", "all-reduce-f16", "majority", "spardl", "partial-reduce", "prague", "prague-static", "ssp", "bsp")
START_S = 60
END_S = 20
SETTLE_S = 0.5
STEPS_BETWEEN_LIVES = 100  # no step of a trainer has the number of a step of its predecessor
PIPE_BYTES = 1 << 20  # a trainer must never wait until its output is read
KEEP_S = 5  # how long a dead trainer's state waits for the next trainer of its rank


class Cluster:
    """Starts all processes. `pump` is the only method that waits."""

    def __init__(self, programs, network, folder, options, ledger, disturbances, blame):
        self.programs, self.network, self.folder, self.options = programs, network, folder, options
        self.ledger, self.disturbances, self.blame = ledger, disturbances, blame
        self.hosts = list(range(options.nodes + 1))  # the last host is the controller's
        self.selector = selectors.DefaultSelector()
        self.settled_at = 0
        self.longest_turn_s = 0  # the longest time in which nothing was read
        self.partial_lines = {}
        self.address = None
        self.keys = Keys(programs.pacectl, folder / "keys", [f"node-{node}" for node in range(options.nodes)])
        self.controller = self.make_controller(f"tcp://{network.address(options.nodes)}:{network.port()}")
        self.daemons = []
        self.trainers = {}

    def make_controller(self, listen):
        return Process("controller", [*self.network.enter(self.options.nodes), self.programs.controller, "--listen", listen,
                                      "--journal", self.folder / "journal", *self.keys.of_controller()],
                       self.folder / "controller.log")

    def make_daemon(self, node):
        name = f"node-{node}"
        (self.folder / f"{name}.checkpoints").mkdir()
        return Process(name, [*self.network.enter(node), self.programs.paced, "--name", name, "--socket", self.socket(node),
                              "--controller", self.address, "--checkpoints", self.folder / f"{name}.checkpoints", "--gpu", "off",
                              "--buffers-keep-s", KEEP_S, *self.network.flags(), *self.keys.of_node(name)], self.folder / f"{name}.log")

    def socket(self, node):
        return self.folder / f"node-{node}.socket"

    def name_of_host(self, host):
        return f"node-{host}" if host < self.options.nodes else "controller"

    def names_of_hosts(self):
        return [self.name_of_host(host) for host in self.hosts]

    @property
    def services(self):
        return [*self.daemons, self.controller]

    @property
    def workers(self):
        return self.ledger.workers

    def start_services(self):
        self.run(self.controller, "listening ")
        self.address = "tcp://" + self.controller.logged().split("listening tcp://", 1)[1].split()[0]
        self.controller.command[self.controller.command.index("--listen") + 1] = self.address
        self.daemons = [self.make_daemon(node) for node in range(self.options.nodes)]
        for daemon in self.daemons:
            self.run(daemon, "ready")

    def start_trainers(self):
        for family in self.options.families:
            for number in range(self.options.jobs):
                job = family if self.options.jobs == 1 else f"{family}-{number}"
                for rank in range(self.options.workers):
                    self.add_trainer(job, family, rank, (rank * self.options.nodes // self.options.workers + number) % self.options.nodes)

    def add_trainer(self, job, family, rank, node):
        name = f"{job}.{rank}"
        command = [self.programs.trainer, f"unix:{self.socket(node)}", job, family, rank, self.options.workers,
                   self.options.elements, self.options.step_us, 0]
        self.trainers[name] = Process(name, command, self.folder / "trainers.log")
        self.ledger.add(Worker(job, family, rank, f"node-{node}"))
        self.run_trainer(name)

    def run_trainer(self, name):
        trainer = self.trainers[name]
        trainer.command[-1] = str(self.workers[name].last_step + STEPS_BETWEEN_LIVES)
        trainer.start(pipe=True)
        self.partial_lines[name] = b""
        os.set_blocking(trainer.popen.stdout.fileno(), False)
        with contextlib.suppress(OSError):  # other processes of this user may have taken all that is allowed
            fcntl.fcntl(trainer.popen.stdout.fileno(), fcntl.F_SETPIPE_SZ, PIPE_BYTES)
        self.selector.register(trainer.popen.stdout, selectors.EVENT_READ, ("lines", name))
        self.selector.register(trainer.pidfd, selectors.EVENT_READ, ("end", name))

    def run(self, process, ready):
        process.start()
        self.selector.register(process.pidfd, selectors.EVENT_READ, ("end", process.name))
        if not self.pump(START_S, lambda: process.said(ready) or not process.runs):
            raise RuntimeError(f"{process.name} does not say '{ready.strip()}': see {process.log}")

    def process(self, name):
        if name in self.trainers:
            return self.trainers[name]
        return next(process for process in self.services if process.name == name)

    def kill(self, name):
        """Unregisters the process first, so that its end is not taken for an unexpected one."""
        process = self.process(name)
        if process.runs:
            self.selector.unregister(process.pidfd)
            process.kill()
            self.ledger.died(name, time.monotonic_ns())

    def stop(self, name):
        """Asks for an orderly end. The end comes later."""
        process = self.process(name)
        process.is_expected_to_end = True
        process.signal(signal.SIGTERM)

    def lose_journal(self):
        for path in self.folder.glob("journal*"):
            path.unlink()

    def restart(self, name):
        process = self.process(name)
        if process.runs:
            self.end_all([process], END_S)
        if name in self.trainers:
            self.run_trainer(name)
        else:
            process.start()
            self.selector.register(process.pidfd, selectors.EVENT_READ, ("end", name))

    def pump(self, seconds, until=lambda: False):
        """Reads the output for `seconds`, or until a condition holds. Returns whether the condition holds."""
        deadline = time.monotonic() + seconds
        turn_began = time.monotonic()
        while not until():
            self.longest_turn_s = max(self.longest_turn_s, time.monotonic() - turn_began)
            turn_began = time.monotonic()
            left = deadline - time.monotonic()
            if left <= 0:
                return False
            if time.monotonic() > self.settled_at + SETTLE_S:
                self.settled_at = time.monotonic()
                self.ledger.settle(time.monotonic_ns())
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
        process = self.process(name)
        self.selector.unregister(process.pidfd)
        code = process.end()
        if not process.is_expected_to_end:
            self.blame(f"{name} ended by itself with {code}: see {process.log}")
        elif code != 0:
            self.blame(f"{name} ended with {code} when it was asked to: see {process.log}")

    def stuck_since(self, ns):
        return [worker for worker in self.workers.values() if worker.last_result_ns <= ns]

    def stop_all(self):
        """Trainers leave in order. Then daemons and controller end. Each process that does not end is blamed."""
        self.end_all(self.trainers.values(), END_S)
        self.end_all(self.services, END_S)
        self.selector.close()

    def end_all(self, processes, seconds):
        processes = [process for process in processes if process.runs]
        self.disturbances.begin([END], "trainers are told to leave")
        for process in processes:
            process.is_expected_to_end = True
            process.thaw()
            process.signal(signal.SIGTERM)
        self.pump(seconds, lambda: not any(process.runs for process in processes))
        for process in processes:
            if process.runs:
                self.blame(f"{process.name} did not end within {seconds} s of SIGTERM: see {process.log}")
                self.kill(process.name)
