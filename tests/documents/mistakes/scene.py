"""A cluster of two nodes with keys, as docs/deployment.md makes it, and a third machine, on which the mistakes are made.

Each machine is a network namespace. All processes are this scene's, and end with it.
"""

import contextlib
import copy
import ctypes
import itertools
import os
import pathlib
import re
import select
import shutil
import socket
import subprocess
import sys
import tempfile
import threading
import time
import typing

HERE = pathlib.Path(__file__).resolve().parent
sys.path.append(str(HERE.parents[1] / "storms"))

from keys import Keys
from processes import Process, Programs

SOON_S = 20
NODES = ("node-1", "node-2")
CONTROLLER, THERE = 2, 3  # numbers of hosts; those before are the nodes'
HOSTS = 4
DATA_PORT = 7420
NOBODY = 65534
AS_NOBODY = ["setpriv", f"--reuid={NOBODY}", f"--regid={NOBODY}", "--clear-groups"]
CLONE_NEWNET = 0x40000000
_libc = ctypes.CDLL(None, use_errno=True)


def wait_until(condition, what):
    """What the condition gives as soon as that is true."""
    deadline = time.monotonic() + SOON_S
    while not (found := condition()):
        if time.monotonic() > deadline:
            raise AssertionError(f"within {SOON_S} s there was not: {what() if callable(what) else what}")
        select.select([], [], [], 0.02)  # then it is looked again
    return found


class Program(Process):
    """A program of the scene. Its output is in its log."""

    def text(self):
        """The log, in which quotation marks are as they were before they were put into a field."""
        return self.logged().replace('\\"', '"')

    def told(self, pattern):
        """The first group of the pattern, as soon as this program has said it."""
        found = wait_until(lambda: re.search(pattern, self.text(), re.MULTILINE) or not self.still_runs(),
                           lambda: f"{self.name} saying {pattern!r}, but:\n{self.text()}")
        if found is True:
            raise AssertionError(f"{self.name} has ended without saying {pattern!r}:\n{self.text()}")
        return found.group(1) if found.groups() else found.group(0)

    def still_runs(self):
        return self.popen.poll() is None


class Place(typing.NamedTuple):
    """Where a message is to appear, and how to read what is there."""

    name: str
    text: typing.Callable
    is_whole: bool = False  # no more is to come


class Scene:
    """The cluster, and what starts mistakes beside it. `with Scene(...)`: nothing that was started outlives it."""

    def __init__(self, build, network):
        self.programs, self.network = Programs(build), network
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="pace-mistakes-"))
        self.sockets = self.folder / "sockets"
        self.address = f"tcp://{network.address(CONTROLLER)}:{network.port()}"
        self.keys, self.nodes, self.controller = None, [], None
        self._processes, self._connections, self._attempts = [], [], []
        self._numbers = itertools.count()

    def __enter__(self):
        try:
            self.folder.chmod(0o755)  # other users look here, too
            self.sockets.mkdir()
            self.sockets.chmod(0o1777)
            self.keys = Keys(self.programs.pacectl, self.folder / "keys", [*NODES, "node-3"])
            self.controller = self.start_controller(*self.keys.of_controller(), host=CONTROLLER, listen=self.address)
            flags = "--data-port", DATA_PORT, "--progress-deadline-ms", 1000, "--wait-notice-ms", 500
            self.nodes = [self.start_node(name, host, *flags) for host, name in enumerate(NODES)]
            wait_until(self.works, "both nodes alive in `pacectl status`")
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *_):
        for attempt in self._attempts:
            attempt.close()
        self.close()
        shutil.rmtree(self.folder)

    def attempt(self):
        """This scene for one mistake: close() ends what the mistake has started, and nothing else."""
        attempt = copy.copy(self)
        attempt._processes, attempt._connections = [], []
        self._attempts.append(attempt)
        return attempt

    def close(self):
        for process in reversed(self._processes):
            process.kill()
        for connection in self._connections:
            with contextlib.suppress(OSError):
                connection.shutdown(socket.SHUT_RDWR)  # wakes who waits for it
            connection.close()

    def works(self):
        """Whether `pacectl status` lists both nodes as alive."""
        return set(NODES) <= set(re.findall(r"^(\S+) +alive ", self.pacectl(self.nodes[0], "status"), re.MULTILINE))

    def new_name(self, what):
        return f"{what}.{next(self._numbers)}"

    def start(self, host, *command, name, before=()):
        process = Program(name, [*self.network.enter(host), *before, *command], self.folder / f"{name}.log")
        self._processes.append(process)
        process.start()
        return process

    # Programs of Pace.

    def start_controller(self, *flags, host=THERE, listen="tcp://127.0.0.1:0", journal=None, before=()):
        """A controller that listens. Its `endpoint` is where."""
        controller = self.controller_of(*flags, host=host, listen=listen, journal=journal, before=before)
        controller.endpoint = controller.told(r"^listening (\S+)$")
        return controller

    def controller_of(self, *flags, host=THERE, listen="tcp://127.0.0.1:0", journal=None, before=()):
        """A controller that may end at once."""
        name = self.new_name("controller")
        journal = self.folder / f"{name}.journal" if journal is None else journal
        controller = self.start(host, self.programs.controller, "--listen", listen, "--journal", journal, *flags,
                                name=name, before=before)
        controller.journal = journal
        return controller

    def start_daemon(self, *flags, host=THERE, name=None, before=()):
        """A daemon that is ready."""
        daemon = self.daemon_of(*flags, host=host, name=name, before=before)
        daemon.told("^ready$")
        return daemon

    def daemon_of(self, *flags, host=THERE, name=None, before=()):
        """A daemon that may end at once. Its `socket` is where `pacectl` asks it."""
        name = name or self.new_name("daemon")
        path = self.sockets / self.new_name("socket")
        daemon = self.start(host, self.programs.paced, "--socket", path, "--gpu", "off", "--threads", 1, "--name", name, *flags,
                            name=self.new_name(name), before=before)
        daemon.socket, daemon.host = path, host
        return daemon

    def start_node(self, name, host, *flags):
        """A daemon with the key of its name, that the controller lets in."""
        return self.start_daemon("--controller", self.address, *self.network.flags(), *self.keys.of_node(name), *flags,
                                 host=host, name=name)

    def pacectl(self, daemon, *words):
        """What pacectl prints, whether it likes it or not."""
        asked = self.start_pacectl(daemon, *words)
        asked.end(SOON_S)
        return asked.text()

    def start_pacectl(self, daemon, *words, before=()):
        return self.start(daemon.host, self.programs.pacectl, "--endpoint", f"unix:{daemon.socket}", *words,
                          name=self.new_name("pacectl"), before=before)

    def start_job(self, *daemons):
        """A worker of one job at each of the daemons, who adds up gradients until it is ended."""
        job = self.new_name("job")
        elements, step_us, first_step = 4096, 20000, 0
        return [self.start(daemon.host, self.programs.trainer, f"unix:{daemon.socket}", job, "all-reduce", rank, len(daemons),
                           elements, step_us, first_step, name=f"{job}.{rank}")
                for rank, daemon in enumerate(daemons)]

    # Where messages are looked for.

    @staticmethod
    def log_of(*processes, event=""):
        """Of one process, or of several, one of which has the message. `event`: lines with these words alone."""
        def text():
            lines = "\n".join(process.text() for process in processes).splitlines()
            return "\n".join(line for line in lines if event in line)

        return Place(f"the log of {' or '.join(process.name for process in processes)}", text)

    def shown_by(self, daemon, *words, before=()):
        """What pacectl prints. It is asked again and again, and nobody waits for it."""
        asked = None

        def text():
            nonlocal asked
            asked = asked or self.start_pacectl(daemon, *words, before=before)
            if asked.still_runs():
                return ""
            answered, asked = asked, None
            answered.end()
            return answered.text()

        return Place(f"`pacectl {' '.join(map(str, words))}` at {daemon.name}", text)

    @staticmethod
    def refusal_of(process):
        """What a program says that does not start."""
        wait_until(lambda: not process.still_runs(), lambda: f"the end of {process.name}, but:\n{process.text()}")
        if process.end() != 1:
            raise AssertionError(f"{process.name} ended with {process.popen.returncode}:\n{process.text()}")
        return Place(f"standard error of {process.name}", process.text, is_whole=True)

    # Files and connections.

    def file(self, name, text="", mode=0o600):
        path = self.folder / self.new_name(name)
        path.touch(mode=mode)
        path.write_text(text, encoding="ascii")
        path.chmod(mode)
        return path

    def serve(self, answer):
        """An endpoint on the third machine that is no controller's. It answers what connects."""
        with self.on_machine(THERE):
            listening = socket.create_server(("127.0.0.1", 0))
        self._connections.append(listening)

        def accept():
            with contextlib.suppress(OSError):
                while True:
                    connection, _ = listening.accept()
                    self._connections.append(connection)
                    answer(connection)

        threading.Thread(target=accept, daemon=True).start()
        return f"tcp://127.0.0.1:{listening.getsockname()[1]}"

    def say(self, address, port, words, user=0):
        """Says something from the third machine, and reads what comes until the other closes."""
        with self.on_machine(THERE), acting_as(user), socket.create_connection((address, port), SOON_S) as to:
            to.sendall(words)
            return b"".join(iter(lambda: to.recv(65536), b"")).decode(errors="replace")

    def ip(self, host, *words):
        subprocess.run(["ip", "-n", f"{self.network.prefix}{host}", *words], check=True, capture_output=True)

    @contextlib.contextmanager
    def on_machine(self, host):
        """Sockets that are made meanwhile are of this machine."""
        with open("/proc/thread-self/ns/net", "rb") as before, open(f"/run/netns/{self.network.prefix}{host}", "rb") as there:
            enter(there)
            try:
                yield
            finally:
                enter(before)


@contextlib.contextmanager
def acting_as(user):
    """Sockets that are made meanwhile are this user's."""
    os.seteuid(user)
    try:
        yield
    finally:
        os.seteuid(0)


def enter(namespace):
    if _libc.setns(namespace.fileno(), CLONE_NEWNET) != 0:
        raise OSError(ctypes.get_errno(), "setns")
