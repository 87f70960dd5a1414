"""Daemon: a paced for the workers of one machine, for the length of a `with`."""

import ctypes
import os
import pathlib
import select
import shutil
import signal
import subprocess
import tempfile
import time
from typing import Any, Dict, Optional

from pace.errors import NotFound

READY_SECONDS = 20
STOP_SECONDS = 5
_PR_SET_PDEATHSIG = 1
_libc = ctypes.CDLL(None)


def find_paced() -> str:
    """The program: what PACE_PACED names, next to this package, or on PATH. Raises NotFound."""
    named = os.environ.get("PACE_PACED", "")
    beside = pathlib.Path(__file__).resolve().parent / "paced"
    found = named or (str(beside) if beside.exists() else shutil.which("paced"))
    if not found or not os.access(found, os.X_OK):
        raise NotFound(f"no daemon runs here, and {named or 'the program paced'} cannot be found to start one; install Pace's "
                       "daemon, name the program in PACE_PACED, or give the --endpoint of one that runs")
    return found


def environment_with_package() -> Dict[str, str]:
    """This process's environment, with which another Python finds this package even outside the
    script's folder."""
    folder = str(pathlib.Path(__file__).resolve().parents[1])
    return {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, [os.environ.get("PYTHONPATH"), folder]))}


def die_with_parent(number: int = signal.SIGTERM) -> Any:
    """A preexec_fn: the kernel sends the child this signal when the process that started it is gone."""
    def before_exec() -> None:
        _libc.prctl(_PR_SET_PDEATHSIG, int(number))
    return before_exec


class Daemon:
    """A daemon on its own, on a socket of this path, or one in a temporary folder. Raises NotFound when it does not start."""

    def __init__(self, socket: str = "") -> None:
        self._process: Optional["subprocess.Popen[bytes]"] = None
        self._socket = socket
        self._folder = ""

    @property
    def endpoint(self) -> str:
        return f"unix:{self._socket}"

    def __enter__(self) -> "Daemon":
        program = find_paced()
        self._folder = tempfile.mkdtemp(prefix="pace-")
        self._socket = self._socket or f"{self._folder}/paced.sock"
        try:
            log = os.path.join(self._folder, "paced.log")
            with open(log, "wb") as errors:
                # A session of its own: Ctrl-C reaches the runner alone, which stops the daemon after the workers.
                self._process = subprocess.Popen(
                    [program, "--socket", self._socket, "--socket-group", ""], stdin=subprocess.DEVNULL,
                    stdout=subprocess.PIPE, stderr=errors, start_new_session=True, preexec_fn=die_with_parent())
            self._wait_until_ready(log)
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *_: Any) -> None:
        process = self._process
        if process is not None:
            process.terminate()
            try:
                process.wait(STOP_SECONDS)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()
            if process.stdout is not None:
                process.stdout.close()
        shutil.rmtree(self._folder, ignore_errors=True)

    def _wait_until_ready(self, log: str) -> None:
        process = self._process
        assert process is not None and process.stdout is not None
        deadline = time.monotonic() + READY_SECONDS
        told = b""
        while not told.startswith(b"ready") and b"\nready" not in told:
            left = deadline - time.monotonic()
            if left <= 0 or not select.select([process.stdout], [], [], left)[0]:
                raise NotFound(f"the daemon did not say that it is ready within {READY_SECONDS} s{last_words(log)}")
            part = os.read(process.stdout.fileno(), 65536)
            if not part:
                raise NotFound(f"the daemon ended before it was ready{last_words(log)}")
            told += part


def last_words(log: str) -> str:
    """The last lines of a log, each on a line of its own, for the end of a message."""
    lines = pathlib.Path(log).read_text(errors="replace").strip().splitlines()[-5:]
    return "".join(f"\n  {line}" for line in lines)
