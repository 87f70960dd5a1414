"""Seat: a pseudo-terminal with a program on it, as a user sees it. Needs Debian's python3-pyte."""

import fcntl
import os
import pty
import re
import select
import signal
import struct
import subprocess
import termios
import time

import pyte

from cluster import SOON_S, environment, soon


class Seat:
    """A terminal, and a program on it in a session of its own."""

    def __init__(self, command, rows=24, columns=80, **more):
        self.screen = pyte.Screen(columns, rows)
        self.stream = pyte.ByteStream(self.screen)
        self.raw = b""
        self.own, child = pty.openpty()
        self.child = child
        self.resize(rows, columns)
        self.before = termios.tcgetattr(child)
        self.process = subprocess.Popen(command, stdin=child, stdout=child, stderr=child, env=environment(**more),
                                        preexec_fn=lambda: (os.setsid(), fcntl.ioctl(0, termios.TIOCSCTTY, 0)))

    def resize(self, rows, columns):
        fcntl.ioctl(self.own, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))
        self.screen.resize(rows, columns)

    def type(self, keys):
        os.write(self.own, keys.encode())

    def read(self):
        while select.select([self.own], [], [], 0)[0]:
            try:
                more = os.read(self.own, 65536)
            except OSError:
                return
            self.raw += more
            self.stream.feed(more)

    @property
    def text(self):
        return "\n".join(line.rstrip() for line in self.screen.display)

    def see(self, pattern):
        """The match of the pattern on the screen, once it is there."""
        deadline = time.monotonic() + SOON_S
        while True:
            self.read()
            if found := re.search(pattern, self.text, re.MULTILINE):
                return found
            left = deadline - time.monotonic()
            if left <= 0:
                raise AssertionError(f"the screen does not show {pattern!r}:\n{self.text}")
            select.select([self.own], [], [], min(left, 0.5))

    def see_no_more(self, pattern):
        soon(lambda: self.read() or not re.search(pattern, self.text, re.MULTILINE), f"the end of {pattern!r}")

    def end(self):
        """Waits for the end. Returns the exit code."""
        deadline = time.monotonic() + SOON_S
        while self.process.poll() is None and time.monotonic() < deadline:
            self.read()
            select.select([self.own], [], [], 0.02)
        self.read()
        return self.process.returncode

    def is_raw(self):
        return termios.tcgetattr(self.child)[3] & (termios.ICANON | termios.ECHO) == 0

    def close(self):
        if self.process.poll() is None:
            os.killpg(self.process.pid, signal.SIGKILL)
        self.process.wait()
        os.close(self.own)
        os.close(self.child)
