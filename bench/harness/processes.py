"""Starts programs, waits for them with a deadline, and leaves none behind.

Every child dies with the harness (setpriv --pdeathsig). A process may outlive its own parent, as an MPI's ranks do. The
harness adopts such a process and ends it after its measurement.
"""

import ctypes
import os
import pathlib
import selectors
import signal
import subprocess
import time

PR_SET_CHILD_SUBREAPER = 36

_started = []


class Failure(Exception):
    """The failure of one measurement. The other measurements go on."""


def adopt_orphans():
    ctypes.CDLL(None).prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)


class Child:
    """A running program. Its output goes to files of `folder`, or to a pipe that the caller reads."""

    def __init__(self, command, folder, env=None, pipe=False):
        self.errors = pathlib.Path(folder) / f"stderr-{len(_started)}-{time.monotonic_ns()}"
        self.what = pathlib.Path(str(command[0])).name
        with open(self.errors, "wb") as errors:
            self.process = subprocess.Popen(
                ["setpriv", "--pdeathsig", "TERM", *map(str, command)],
                stdin=subprocess.DEVNULL, stdout=subprocess.PIPE if pipe else errors, stderr=errors,
                env={**os.environ, **(env or {})}, start_new_session=True, bufsize=0)
        _started.append(self)

    def read_line(self, seconds):
        """The next line of a pipe. Fails if the line does not come in time."""
        line = b""
        deadline = time.monotonic() + seconds
        with selectors.DefaultSelector() as selector:
            selector.register(self.process.stdout, selectors.EVENT_READ)
            while not line.endswith(b"\n"):
                if not selector.select(max(0, deadline - time.monotonic())):
                    raise Failure(f"{self.what} said nothing for {seconds} s{self.last_words()}")
                byte = self.process.stdout.read(1)
                if not byte:
                    raise Failure(f"{self.what} ended early{self.last_words()}")
                line += byte
        return line.decode().rstrip("\n")

    def last_words(self):
        lines = [line.strip() for line in self.errors.read_text(errors="replace").splitlines()]
        lines = [line for line in lines if line and not set(line) <= set("-=*")]
        return ": " + " / ".join(lines[-3:]) if lines else ""

    def peak_rss_bytes(self):
        """VmHWM while the program runs, or 0 if it has ended."""
        try:
            status = pathlib.Path(f"/proc/{self.process.pid}/status").read_text()
        except OSError:
            return 0
        found = [line.split()[1] for line in status.splitlines() if line.startswith("VmHWM:")]
        return int(found[0]) * 1024 if found else 0

    def processor_s(self):
        """Seconds of processor time so far, or 0 if the program has ended."""
        try:
            fields = pathlib.Path(f"/proc/{self.process.pid}/stat").read_text().rsplit(")", 1)[1].split()
        except OSError:
            return 0
        user, system = fields[11:13]
        return (int(user) + int(system)) / os.sysconf("SC_CLK_TCK")

    def end(self, seconds=3):
        """Asks the program to end, then kills it."""
        for number, patience in ((signal.SIGTERM, seconds), (signal.SIGKILL, None)):
            if self.process.poll() is None:
                _signal_group(self.process.pid, number)
            try:
                self.process.wait(patience)
                break
            except subprocess.TimeoutExpired:
                continue
        _signal_group(self.process.pid, signal.SIGKILL)
        if self.process.stdout:
            self.process.stdout.close()
        if self in _started:
            _started.remove(self)


def _signal_group(group, number):
    try:
        os.killpg(group, number)
    except ProcessLookupError:
        pass


def wait_all(children, seconds):
    """Returns when all have ended well. If one fails, ends all of them and fails."""
    deadline = time.monotonic() + seconds
    waiting = {os.pidfd_open(child.process.pid): child for child in children}
    try:
        with selectors.DefaultSelector() as selector:
            for descriptor in waiting:
                selector.register(descriptor, selectors.EVENT_READ)
            while selector.get_map():
                ended = selector.select(max(0, deadline - time.monotonic()))
                if not ended:
                    raise Failure(f"not done after {seconds:.0f} s")
                for key, _ in ended:
                    selector.unregister(key.fd)
                    child = waiting[key.fd]
                    if child.process.wait() != 0:
                        raise Failure(f"{child.what} ended with {child.process.returncode}{child.last_words()}")
    finally:
        for descriptor, child in waiting.items():
            os.close(descriptor)
            child.end()


def run_all(commands, folder, seconds, env=None):
    wait_all([Child(command, folder, env) for command in commands], seconds)


def end_orphans():
    """Ends the children that this process adopted and did not start."""
    own = {child.process.pid for child in _started}
    for _ in range(20):
        adopted = set(_children()) - own
        if not adopted:
            return
        for pid in adopted:
            try:
                os.kill(pid, signal.SIGKILL)
                os.waitpid(pid, 0)
            except (ProcessLookupError, ChildProcessError):
                pass


def _children():
    me = os.getpid()
    text = pathlib.Path(f"/proc/{me}/task/{me}/children").read_text()
    return [int(pid) for pid in text.split()]


def kill_all():
    for child in list(_started):
        child.end(seconds=1)
    end_orphans()
