"""Process: a program of the demo. Its end is noticed, and it never outlives the demo."""

import os
import pathlib
import select
import signal
import subprocess
import time

STOP_SECONDS = 5


class DemoError(Exception):
    """An error that the user must know, in a sentence."""


class Process:
    """A process whose standard output is read here line by line. Its standard error goes to NAME.log in the folder."""

    def __init__(self, name, command, folder):
        self.name = name
        self.log = pathlib.Path(folder, name + ".log")
        self._text = b""
        with open(self.log, "wb") as log:
            # setpriv: if the demo is killed, the kernel stops its processes. A session of its own:
            # Ctrl-C reaches only the demo, which then stops the others in order.
            self._popen = subprocess.Popen(
                ["setpriv", "--pdeathsig", "TERM", "--", *map(str, command)],
                stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=log, start_new_session=True)
        self.output = self._popen.stdout.fileno()
        os.set_blocking(self.output, False)

    def read_lines(self):
        """Returns the whole lines that have arrived, and whether there can be more."""
        more = True
        while True:
            try:
                text = os.read(self.output, 65536)
            except BlockingIOError:
                break
            if not text:
                more = False
                break
            self._text += text
        *lines, self._text = self._text.split(b"\n")
        return [line.decode(errors="replace") for line in lines], more

    def wait_for_line(self, prefix, seconds):
        """Returns the first line that begins with the prefix. With this line a program says that it is ready."""
        deadline = time.monotonic() + seconds
        while True:
            left = deadline - time.monotonic()
            if left <= 0 or not select.select([self.output], [], [], left)[0]:
                raise DemoError(f"{self.name} did not say '{prefix}' within {seconds} s{self._last_words()}")
            lines, more = self.read_lines()
            for line in lines:
                if line.startswith(prefix):
                    return line
            if not more:
                raise DemoError(f"{self.name} ended before it was ready{self._last_words()}")

    def check_end(self):
        """Waits for a process whose output has ended. Any status but success is an error."""
        try:
            code = self._popen.wait(STOP_SECONDS)
        except subprocess.TimeoutExpired:
            raise DemoError(f"{self.name} closed its output but does not end{self._last_words()}") from None
        if code != 0:
            raise DemoError(f"{self.name} ended with {code}{self._last_words()}")

    def ask_to_stop(self):
        if self._popen.poll() is None:
            self._popen.send_signal(signal.SIGTERM)

    def stop(self):
        self.ask_to_stop()
        try:
            self._popen.wait(STOP_SECONDS)
        except subprocess.TimeoutExpired:
            self._popen.kill()
            self._popen.wait()
        self._popen.stdout.close()

    def _last_words(self):
        lines = self.log.read_text(errors="replace").strip().splitlines()[-5:]
        return "".join(f"\n  {line}" for line in lines) or " (it wrote nothing)"


def stop_all(processes):
    """Ends the processes, the last started first. All are asked to end before the function waits for any of them."""
    for process in reversed(processes):
        process.ask_to_stop()
    for process in reversed(processes):
        process.stop()
