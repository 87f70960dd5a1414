"""Cluster: a controller that serves its page, two daemons in two racks, and workers."""

import ctypes
import os
import pathlib
import re
import select
import shutil
import signal
import subprocess
import sys
import tempfile
import time

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parents[1]
SOON_S = 30
NODES = (("n1", "rack-a"), ("n2", "rack-b"))


def die_with_us():
    """A daemon that outlived a test that was killed would stay for ever."""
    pr_set_pdeathsig = 1
    ctypes.CDLL(None).prctl(pr_set_pdeathsig, signal.SIGKILL)


class Program:
    """A child that says on its standard output when it is ready."""

    def __init__(self, command, log, **environment):
        ours = {name: value for name, value in os.environ.items() if not name.startswith(("PACE_", "UCX_"))}
        with open(log, "ab") as errors:
            self.process = subprocess.Popen([str(word) for word in command], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=errors,
                                            preexec_fn=die_with_us, env={**ours, **environment})
        self._log = log
        self._said = ""

    def wait_for(self, pattern):
        """The first group of a line that it says, which must come soon."""
        deadline = time.monotonic() + SOON_S
        while not (found := re.search(f"^{pattern}\n", self._said, re.MULTILINE)):
            left = deadline - time.monotonic()
            more = os.read(self.process.stdout.fileno(), 4096) if left > 0 and select.select([self.process.stdout], [], [], left)[0] else b""
            if not more:
                raise AssertionError(f"{self.process.args} did not say {pattern!r}:\n{self._said}\n{self._log.read_text()}")
            self._said += more.decode()
        return found[1] if found.groups() else ""

    def send(self, number):
        self.process.send_signal(number)

    def end(self, number=signal.SIGTERM):
        """Its standard input ends, and the signal comes."""
        self.process.stdin.close()
        self.process.send_signal(signal.SIGCONT)
        self.process.send_signal(number)
        try:
            self.process.wait(SOON_S)
        finally:
            self.process.kill()
            self.process.wait()
            self.process.stdout.close()


class Cluster:
    def __init__(self, build, nodes=len(NODES)):
        self._build = pathlib.Path(build)
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="pace-page-"))
        self.token = "operator-of-a-test"
        self._programs = []
        self.workers = {}  # by job and rank
        token_file = self.folder / "operator.token"
        token_file.touch(mode=0o600)
        token_file.write_text(self.token + "\n", encoding="ascii")
        try:
            self.start_controller("127.0.0.1:0", "tcp://127.0.0.1:0")
            for name, zone in NODES[:nodes]:
                self._start_daemon(name, zone)
        except BaseException:
            self.close()
            raise

    def start_controller(self, http, listen):
        """Where it served before, or anywhere."""
        self.controller = self._start([self._build / "service/controller/shell/pace-controller", "--listen", listen, "--http-listen", http,
                                       "--journal", self.folder / "journal", "--http-operator-token-file", self.folder / "operator.token"])
        self.endpoint = self.controller.wait_for("listening (.*)")
        self.url = self.controller.wait_for("http (.*)").rstrip("/") + "/"

    def _start_daemon(self, name, zone):
        daemon = self._start([self._build / "daemon/paced", "--socket", self.folder / f"{name}.sock", "--name", name, "--zone", zone,
                              "--controller", self.endpoint, "--data-interface", "lo"])
        daemon.wait_for("ready")

    def start_job(self, job, policy, world, step_s, slow=None, strange=None):
        """Workers on all daemons in turn; `slow` takes five times as long, and `strange` reports a loss that is no number."""
        for rank in range(world):
            node = NODES[rank * len(NODES) // world][0]
            worker = self._start([sys.executable, "-B", HERE / "worker.py", job, policy, rank, world, step_s * (5 if rank == slow else 1),
                                  "nan" if rank == strange else 2.3],
                                 PACE_ENDPOINT=f"unix:{self.folder}/{node}.sock", PYTHONPATH=str(ROOT / "bindings/python"),
                                 PACE_LIBRARY=str(self._build / "capi/libpace.so"))
            self.workers[job, rank] = worker
        for rank in range(world):
            self.workers[job, rank].wait_for("joined")

    def _start(self, command, **environment):
        program = Program(command, self.folder / "log", **environment)
        self._programs.append(program)
        return program

    def close(self):
        for program in reversed(self._programs):
            program.end()
        shutil.rmtree(self.folder, ignore_errors=True)
