"""A real cluster on this machine's loopback: a controller, two daemons, trainers, and pacectl."""

import contextlib
import ctypes
import json
import os
import pathlib
import re
import select
import shutil
import signal
import subprocess
import tempfile
import time

SOON_S = 30
POLL_S = 0.02  # between two looks at something that cannot be waited for

PROGRAMS = {"paced": "daemon/paced", "controller": "service/controller/shell/pace-controller",
            "pacectl": "service/pacectl/pacectl", "trainer": "tests/cluster/cluster_trainer"}


def program(build, name):
    return pathlib.Path(build) / PROGRAMS[name]


def environment(**more):
    """This process's environment without variables that name another daemon or change the output."""
    ours = {name: value for name, value in os.environ.items()
            if not name.startswith(("PACE_", "NO_COLOR", "TERM"))}
    return {**ours, "TERM": "xterm", **more}


def die_with_us():
    """Makes the process die with the test, whatever becomes of the test."""
    pr_set_pdeathsig = 1
    ctypes.CDLL(None).prctl(pr_set_pdeathsig, signal.SIGKILL)


def soon(condition, what="it"):
    """Waits until `condition` is true. Returns its value."""
    deadline = time.monotonic() + SOON_S
    while not (result := condition()):
        if time.monotonic() > deadline:
            raise AssertionError(f"{what} does not come")
        select.select([], [], [], POLL_S)
    return result


class Program:
    """A process whose standard output is read by lines. The process is killed at the end."""

    def __init__(self, command, log, **options):
        self.log = pathlib.Path(log)
        with open(self.log, "ab") as errors:
            self.process = subprocess.Popen([str(word) for word in command], stdout=subprocess.PIPE, stderr=errors,
                                            stdin=subprocess.DEVNULL, preexec_fn=die_with_us,
                                            env=options.pop("env", environment()), **options)
        self.said = ""

    def wait_for(self, pattern):
        """The match of the pattern in what has been printed so far, or is printed later."""
        deadline = time.monotonic() + SOON_S
        output = self.process.stdout.fileno()
        while not (found := re.search(pattern, self.said, re.MULTILINE)):
            left = deadline - time.monotonic()
            more = b""
            if left > 0 and select.select([output], [], [], left)[0]:
                more = os.read(output, 65536)
            if not more:
                raise AssertionError(f"{self.process.args} does not print {pattern!r}:\n{self.said}\n{self.log.read_text()}")
            self.said += more.decode()
        return found

    def read_to_end(self):
        rest, _ = self.process.communicate(timeout=SOON_S)
        self.said += rest.decode()
        return self.said

    def stop(self):
        self.process.kill()
        self.process.wait()
        self.process.stdout.close()


class Cluster(contextlib.ExitStack):
    """`with Cluster(build) as cluster:`. Nothing of the cluster stays afterwards."""

    def __init__(self, build, controller_flags=(), daemon_flags=()):
        super().__init__()
        self.build = build
        self.controller_flags = controller_flags
        self.daemon_flags = daemon_flags
        self.nodes = ("alpha", "beta")

    def __enter__(self):
        super().__enter__()
        try:
            self.folder = pathlib.Path(tempfile.mkdtemp(prefix="pace-pacectl-"))
            self.callback(shutil.rmtree, self.folder, ignore_errors=True)
            self.address = "tcp://127.0.0.1:0"
            self.controller = None
            self.start_controller()
            self.daemons = {}
            for node in self.nodes:
                self.start_daemon(node)
        except BaseException:
            self.close()
            raise
        return self

    def start(self, command, log):
        started = Program(command, self.folder / f"{log}.log")
        self.callback(started.stop)
        return started

    def start_controller(self):
        self.controller = self.start([program(self.build, "controller"), "--listen", self.address, "--journal",
                                      self.folder / "journal", *self.controller_flags], "controller")
        self.address = self.controller.wait_for(r"^listening (tcp://\S+)").group(1)

    def start_daemon(self, node, *flags):
        self.daemons[node] = self.start([program(self.build, "paced"), "--name", node, "--socket", self.socket(node),
                                         "--controller", self.address, "--gpu", "off", *self.daemon_flags, *flags], node)
        self.daemons[node].wait_for("^ready")

    def socket(self, node):
        return self.folder / f"{node}.sock"

    def endpoint(self, node):
        return f"unix:{self.socket(node)}"

    def train(self, job, world=2, steps=1_000_000_000, **flags):
        """Starts trainers that go on, on the nodes in turn. Returns when they have joined."""
        words = [word for name, value in flags.items() for word in (f"--{name.replace('_', '-')}", value)]
        trainers = [self.start([program(self.build, "trainer"), "--endpoint", self.endpoint(self.nodes[rank % len(self.nodes)]),
                                "--job", job, "--rank", rank, "--world", world, "--steps", steps, "--step-us", "2000", *words],
                               f"{job}.{rank}") for rank in range(world)]
        for trainer in trainers:
            trainer.wait_for("^joined")
        return trainers

    def command(self, *arguments, node="alpha", endpoint=None):
        return [str(program(self.build, "pacectl")), "--endpoint", endpoint or self.endpoint(node), *[str(word) for word in arguments]]

    def pacectl(self, *arguments, **options):
        """Returns the standard output of pacectl. pacectl must end with the code."""
        return self.run(*arguments, **options).stdout

    def run(self, *arguments, code=0, **options):
        result = subprocess.run(self.command(*arguments, **options), check=False, text=True, timeout=2 * SOON_S,
                                capture_output=True, env=environment())
        if result.returncode != code:
            raise AssertionError(f"pacectl {arguments} ended with {result.returncode} instead of {code}:\n"
                                 f"{result.stdout}\n{result.stderr}")
        return result

    def document(self, *arguments, **options):
        return json.loads(self.pacectl(*arguments, "--json", **options))

    def status(self):
        return self.document("status")
