#!/usr/bin/env python3
"""What the journal has of the programs of a build: journal_test.py BUILD.

systemd-journald runs in namespaces that this test makes, with folders in memory: the machine's own journal sees nothing.
"""

import json
import os
import pathlib
import re
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
import unittest

SKIPPED = 77
SOON_S = 20
ROOT = pathlib.Path(__file__).resolve().parents[2]
JOURNALD = pathlib.Path("/lib/systemd/systemd-journald")
CATALOGUES = pathlib.Path("/usr/lib/systemd/catalog")
INSIDE = "--in-namespaces"
MACHINE = "0123456789abcdef0123456789abcdef"

# Joins a job, and stays until it is killed.
TRAINER = """
import pace, sys
session = pace.Session("fashion", policy="all-reduce", rank=0, world=1)
print("joined", flush=True)
sys.stdin.read()
"""

BUILD = pathlib.Path()


def run(*command):
    result = subprocess.run(command, check=False, text=True, timeout=SOON_S, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    if result.returncode != 0:
        raise AssertionError(f"{command} ended with {result.returncode}:\n{result.stdout}")
    return result.stdout


def mount_memory(folder):
    run("mount", "-t", "tmpfs", "tmpfs", folder)


def until(holds, what):
    """What holds() returns, as soon as that is something. Each question of it takes a while: nothing spins."""
    deadline = time.monotonic() + SOON_S
    while time.monotonic() < deadline:
        found = holds()
        if found:
            return found
    raise AssertionError(f"not within {SOON_S} s: {what}")


def identifiers():
    """{text of an event: its MESSAGE_ID}, from the page that is made of the tables."""
    page = (ROOT / "docs" / "log-messages.md").read_text(encoding="utf-8")
    return dict(re.findall(r"^\| `([^`]+)` \| (?:error|warning|information) \|.*\| `([0-9a-f]{32})` \|$", page, re.MULTILINE))


class Journal:
    """journald, as PID 1 would have started it."""

    def __init__(self, folder):
        mount_memory("/run")
        os.makedirs("/run/log/journal")
        pathlib.Path("/run/machine-id").write_text(MACHINE + "\n", encoding="ascii")
        run("mount", "--bind", "/run/machine-id", "/etc/machine-id")
        mount_memory("/var/lib/systemd")
        mount_memory(CATALOGUES)
        shutil.copy(ROOT / "service" / "systemd" / "pace.catalog", CATALOGUES)
        run("journalctl", "--update-catalog")
        self.errors_ = open(folder / "journald.log", "wb")
        self.process_ = subprocess.Popen([JOURNALD], stdout=self.errors_, stderr=self.errors_)
        until(lambda: os.path.exists("/run/systemd/journal/stdout") and run("true") == "", "the journal listens")

    def stream(self, unit):
        """What a unit has as its standard error, and what its environment says of it."""
        stream = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        stream.connect("/run/systemd/journal/stdout")
        priority, level_prefix, forward = 6, 1, 0
        stream.sendall(f"{unit}\n\n{priority}\n{level_prefix}\n{forward}\n{forward}\n{forward}\n".encode())
        own = os.fstat(stream.fileno())
        return stream, f"{own.st_dev}:{own.st_ino}"

    def find(self, *matches):
        run("journalctl", "--sync")
        lines = run("journalctl", "--directory", "/run/log/journal", "--output", "json", "--all", "--quiet", *matches)
        return [json.loads(line) for line in lines.splitlines()]

    def explain(self, *matches):
        return run("journalctl", "--directory", "/run/log/journal", "--catalog", "--no-pager", "--quiet", *matches)

    def stop(self):
        self.process_.terminate()
        self.process_.wait(SOON_S)
        self.errors_.close()


class Program:
    def __init__(self, journal, path, *flags):
        stream, name = journal.stream(path.name)
        environment = {key: value for key, value in os.environ.items() if not key.startswith(("PACE", "UCX_"))}
        self.process_ = subprocess.Popen([path, *flags], stdout=subprocess.PIPE, stderr=stream,
                                         env={**environment, "JOURNAL_STREAM": name})
        stream.close()

    def first_line(self):
        return self.process_.stdout.readline().decode().strip()

    def kill(self):
        self.end(signal.SIGKILL)

    def stop(self):
        self.end(signal.SIGTERM)

    def end(self, how):
        self.process_.send_signal(how)
        self.process_.wait(SOON_S)
        self.process_.stdout.close()


class UnderTheJournal(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = pathlib.Path(tempfile.mkdtemp(prefix="pace-journal-"))
        cls.addClassCleanup(shutil.rmtree, cls.folder)
        cls.journal = Journal(cls.folder)
        cls.addClassCleanup(cls.journal.stop)
        cls.ids = identifiers()

    def one(self, event, *matches):
        """The only entry of this event and these fields."""
        found = until(lambda: self.journal.find(f"MESSAGE_ID={self.ids[event]}", *matches), f"{event} {matches}")
        self.assertEqual(len(found), 1, found)
        return found[0]

    def daemon(self, name, *flags):
        daemon = Program(self.journal, BUILD / "daemon" / "paced", "--socket", str(self.folder / (name + ".sock")),
                         "--socket-group", "", "--name", name, *flags)
        self.assertEqual(daemon.first_line(), "ready")
        self.addCleanup(daemon.stop)
        return daemon

    def test_a_daemon_and_its_controller_are_found_by_events_and_nodes(self):
        controller = Program(self.journal, BUILD / "service" / "controller" / "shell" / "pace-controller", "--listen", "tcp://127.0.0.1:0",
                             "--journal", str(self.folder / "controller.journal"))
        endpoint = controller.first_line().removeprefix("listening ")
        self.daemon("first", "--controller", endpoint)
        ready = self.one("serving", "NODE=first")
        self.assertEqual(ready["PRIORITY"], "6")
        self.assertEqual(ready["CODE_FILE"], "daemon/main.cpp")
        self.assertGreater(int(ready["CODE_LINE"]), 0)
        self.assertTrue(ready["MESSAGE"].startswith("serving node=first socket="), ready["MESSAGE"])
        self.one("controller ready")
        self.one("node-attached", "SYSLOG_IDENTIFIER=pace-controller")
        controller.kill()
        lost = self.one("lost the controller", "SYSLOG_IDENTIFIER=paced")
        self.assertEqual(lost["PRIORITY"], "4")
        unreachable = self.one("not attached to the controller")
        self.assertIn("nothing listens on port", unreachable["PACE_BECAUSE"])
        explained = self.journal.explain(f"MESSAGE_ID={self.ids['not attached to the controller']}")
        self.assertIn("Defined-By: Pace", explained)
        self.assertIn("The daemon cannot attach to its controller", explained)
        self.assertIn("What to do:", explained)

    def test_a_worker_that_dies_is_found_by_its_job_and_rank(self):
        self.daemon("second")
        environment = {**os.environ, "PACE_LIBRARY": str(BUILD / "capi" / "libpace.so"), "PYTHONDONTWRITEBYTECODE": "1",
                       "PYTHONPATH": str(ROOT / "bindings" / "python"), "PACE_ENDPOINT": f"unix:{self.folder}/second.sock"}
        trainer = subprocess.Popen([sys.executable, "-c", TRAINER], env=environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        self.assertEqual(trainer.stdout.readline(), b"joined\n")
        trainer.kill()
        trainer.communicate(timeout=SOON_S)
        lost = self.one("worker lost", "JOB=fashion", "RANK=0")
        self.assertEqual(lost["PACE_PID"], str(trainer.pid))
        self.assertEqual(lost["PRIORITY"], "4")

    def test_a_program_that_cannot_begin_says_so_as_an_event(self):
        daemon = Program(self.journal, BUILD / "daemon" / "paced", "--socket", str(self.folder / "none" / "of" / "it.sock"))
        self.addCleanup(daemon.stop)
        self.assertEqual(daemon.first_line(), "")
        self.assertIn("make", self.one("the daemon cannot serve")["PACE_REASON"])


def inside(arguments):
    """This test again, in namespaces: its process there is the first, so that all that it starts ends with it."""
    return ["unshare", "--mount", "--pid", "--fork", "--kill-child", "--mount-proc", sys.executable, "-B", __file__, INSIDE, *arguments]


def main():
    global BUILD
    if sys.argv[1] != INSIDE:
        if os.geteuid() != 0 or not JOURNALD.exists() or not CATALOGUES.is_dir() or not shutil.which("journalctl"):
            print("needs root, systemd-journald and journalctl")
            return SKIPPED
        if subprocess.run([*inside([])[:-4], "true"], check=False, capture_output=True).returncode != 0:
            print("this user may not make namespaces here")
            return SKIPPED
        return subprocess.run(inside(sys.argv[1:]), check=False, timeout=100).returncode
    BUILD = pathlib.Path(sys.argv[2])
    return 0 if unittest.main(argv=[sys.argv[0]], exit=False, verbosity=2).result.wasSuccessful() else 1


if __name__ == "__main__":
    sys.exit(main())
