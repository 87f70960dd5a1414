"""Process: a program that a scene has started, with what it writes line by line, and which never outlives the scene."""

import ctypes
import os
import select
import signal
import subprocess
import time
from typing import Dict, List, Optional

_PR_SET_PDEATHSIG = 1
_libc = ctypes.CDLL(None)


class ProcessEnded(Exception):
    """It ended, or said nothing for as long as it may."""


def _die_with_parent() -> None:
    _libc.prctl(_PR_SET_PDEATHSIG, int(signal.SIGKILL))


class Process:
    def __init__(self, command: List[str], log: str, environment: Dict[str, str]):
        with open(log, "ab") as errors:
            self._process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=errors,
                                             env=environment, preexec_fn=_die_with_parent)
        self._text = b""

    def write_line(self, line: str) -> None:
        assert self._process.stdin is not None
        try:
            self._process.stdin.write(line.encode() + b"\n")
            self._process.stdin.flush()
        except BrokenPipeError:
            raise ProcessEnded("it has ended") from None

    def read_line(self, seconds: float) -> str:
        """The next line of its output. Raises ProcessEnded."""
        assert self._process.stdout is not None
        deadline = time.monotonic() + seconds
        while b"\n" not in self._text:
            left = deadline - time.monotonic()
            if left <= 0 or not select.select([self._process.stdout], [], [], left)[0]:
                raise ProcessEnded(f"it said nothing for {seconds:.0f} s")
            part = os.read(self._process.stdout.fileno(), 65536)
            if not part:
                raise ProcessEnded(f"it ended with {self._process.wait()}")
            self._text += part
        line, _, self._text = self._text.partition(b"\n")
        return line.decode(errors="replace")

    def send(self, number: signal.Signals) -> None:
        if self._process.poll() is None:
            self._process.send_signal(number)

    def end(self, seconds: Optional[float] = None) -> Optional[int]:
        """Its exit status, after SIGKILL where `seconds` is None or have passed. Blocks until then."""
        if seconds is None:
            self._process.kill()
        for stream in (self._process.stdin, self._process.stdout):
            if stream is not None:
                try:
                    stream.close()
                except BrokenPipeError:
                    pass
        try:
            return self._process.wait(seconds)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
            return None
