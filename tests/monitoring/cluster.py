"""A controller, a daemon and workers of a build, as programs of their own, for as long as a test."""

import ctypes
import http.client
import json
import os
import pathlib
import re
import select
import signal
import ssl
import subprocess
import sys
import time
import urllib.parse

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parents[1]
SOON_S = 30
PR_SET_PDEATHSIG = 1
_libc = ctypes.CDLL(None)


def die_with_us():
    _libc.prctl(PR_SET_PDEATHSIG, signal.SIGKILL)


def until(condition, what, seconds=SOON_S):
    """What the condition gives as soon as that is true."""
    deadline = time.monotonic() + seconds
    while not (found := condition()):
        if time.monotonic() > deadline:
            raise AssertionError(f"within {seconds} s there was not: {what() if callable(what) else what}")
        select.select([], [], [], 0.05)  # then it is looked again
    return found


def environment(**more):
    ours = {name: value for name, value in os.environ.items() if not name.startswith("PACE")}
    return {**ours, "PYTHONDONTWRITEBYTECODE": "1", **more}


class Program:
    """A program that says lines on its standard output; what it says else goes to a file."""

    def __init__(self, command, log, **more):
        self.log = pathlib.Path(log)
        with open(self.log, "wb") as errors:
            self.process = subprocess.Popen([str(word) for word in command], stdout=subprocess.PIPE, stderr=errors,
                                            preexec_fn=die_with_us, env=environment(**more))
        self._said = ""

    def says(self, pattern):
        """What a line of its has said: the first group of the pattern."""
        output = self.process.stdout.fileno()
        deadline = time.monotonic() + SOON_S
        while not (found := re.search(f"^{pattern}$", self._said, re.MULTILINE)):
            left = deadline - time.monotonic()
            more = os.read(output, 4096) if left > 0 and select.select([output], [], [], left)[0] else b""
            if not more:
                self.stop()
                raise AssertionError(f"{pattern!r} was not said, but {self._said!r} and:\n{self.log.read_text()}")
            self._said += more.decode()
        return found.group(1) if found.groups() else found.group(0)

    def stop(self, how=signal.SIGTERM):
        if self.process.poll() is None:
            self.process.send_signal(how)
        try:
            self.process.wait(SOON_S)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
        self.process.stdout.close()


class Cluster:
    """In `folder`; stopped by stop(). `controller` and `daemon` are flags beside those that a test always needs."""

    def __init__(self, build, folder, controller=(), daemon=()):
        self.build, self.folder = pathlib.Path(build).resolve(), pathlib.Path(folder)
        self.programs, self.workers = [], []
        self.controller = self.start(
            "service/controller/shell/pace-controller", "controller", "--listen", "tcp://127.0.0.1:0",
            "--journal", self.folder / "journal", "--http-listen", "127.0.0.1:0", *controller)
        self.controller_url = self.controller.says("http (.*)")
        at = self.controller.says("listening (.*)")
        self.daemon = self.start("daemon/paced", "daemon", "--socket", self.folder / "socket", "--socket-group", "",
                                  "--name", "node-a", "--controller", at, "--http-listen", "127.0.0.1:0", *daemon)
        self.daemon_url = self.daemon.says("http (.*)")
        self.daemon.says("ready")

    def start(self, program, name, *flags):
        started = Program([self.build / program, *flags], self.folder / f"{name}.log")
        self.programs.append(started)
        return started

    def pacectl(self, *arguments, check=True):
        return subprocess.run([self.build / "service/pacectl/pacectl", "--endpoint", f"unix:{self.folder}/socket", *arguments],
                              check=check, capture_output=True, text=True, timeout=SOON_S, env=environment()).stdout

    def work(self, job, policy, world=2):
        """Workers of a job, all of whom have joined."""
        workers = [Program([sys.executable, "-B", HERE / "trainer.py", f"unix:{self.folder}/socket", job, policy, rank, world],
                           self.folder / f"{job}-{rank}.log",
                           PACE_LIBRARY=str(self.build / "capi/libpace.so"), PYTHONPATH=str(ROOT / "bindings/python"))
                   for rank in range(world)]
        self.workers += workers
        for worker in workers:
            worker.says("joined")
        return workers

    def said_by_workers(self):
        return [worker.log.read_text() for worker in self.workers]

    def stop(self):
        for worker in self.workers:
            worker.stop(signal.SIGKILL)
        for program in reversed(self.programs):
            program.stop()


class Answer:
    def __init__(self, response):
        self.status, self.type = response.status, response.getheader("Content-Type")
        self.text = response.read().decode()

    def json(self):
        return json.loads(self.text)


def get(url, method="GET", authority=None, **headers):
    """The answer; `authority` is the certificate that the server's must come from."""
    parts = urllib.parse.urlsplit(url)
    if parts.scheme == "https":
        connection = http.client.HTTPSConnection(parts.hostname, parts.port, timeout=SOON_S,
                                                 context=ssl.create_default_context(cafile=authority))
    else:
        connection = http.client.HTTPConnection(parts.hostname, parts.port, timeout=SOON_S)
    try:
        connection.request(method, parts.path + (f"?{parts.query}" if parts.query else ""),
                           headers={name.replace("_", "-"): value for name, value in headers.items()})
        return Answer(connection.getresponse())
    finally:
        connection.close()


def refused_by(url):
    """The answer, if it says that the program is not ready."""
    answer = get(url)
    return answer if answer.status == 503 else None
