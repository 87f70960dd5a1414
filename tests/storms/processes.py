"""The processes of a storm: a controller, daemons and trainers that can be killed, frozen and started again."""

import os
import pathlib
import re
import signal
import subprocess


class Programs:
    """The places of a build's programs."""

    def __init__(self, build):
        self.paced = build / "daemon/paced"
        self.controller = build / "service/controller/shell/pace-controller"
        self.pacectl = build / "service/pacectl/pacectl"
        self.trainer = build / "tests/storms/storm_trainer"

    def missing(self):
        return [str(path) for path in vars(self).values() if not path.exists()]


class Process:
    """A program that is started again under the same name. All its lives write to one log."""

    def __init__(self, name, command, log):
        self.name = name
        self.command = [str(word) for word in command]
        self.log = pathlib.Path(log)
        self.popen = None
        self.pidfd = None
        self.is_frozen = False
        self.is_expected_to_end = True
        self.read_to = 0

    def start(self, pipe=False):
        with open(self.log, "ab") as log:
            self.read_to = log.tell()
            self.popen = subprocess.Popen(self.command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE if pipe else log,
                                          stderr=log)
        self.pidfd = os.pidfd_open(self.popen.pid)
        self.is_frozen = False
        self.is_expected_to_end = False

    @property
    def runs(self):
        return self.popen is not None and self.popen.returncode is None

    def signal(self, number):
        if self.runs:
            self.popen.send_signal(number)

    def kill(self):
        self.is_expected_to_end = True
        self.signal(signal.SIGKILL)
        return self.end()

    def freeze(self):
        self.signal(signal.SIGSTOP)
        self.is_frozen = True

    def thaw(self):
        self.signal(signal.SIGCONT)
        self.is_frozen = False

    def end(self, timeout=30):
        """Waits for the end. Returns the exit code, or None if the end did not come."""
        if self.popen is None:
            return None
        try:
            code = self.popen.wait(timeout)
        except subprocess.TimeoutExpired:
            return None
        if self.pidfd is not None:
            os.close(self.pidfd)
            self.pidfd = None
        return code

    def said(self, pattern):
        """Whether this life's part of the log contains the pattern."""
        with open(self.log, "rb") as log:
            log.seek(self.read_to)
            return re.search(pattern.encode(), log.read()) is not None

    def logged(self):
        return self.log.read_text(errors="replace")
