#!/usr/bin/env python3
"""ps, pgrep and top know the programs by their names: process_name_test.py PACED PACE_CONTROLLER."""

import os
import pathlib
import shutil
import signal
import subprocess
import sys
import tempfile
import unittest


def without_ucx():
    """A daemon that finds either in its environment has no reason to execute itself again."""
    return {name: value for name, value in os.environ.items() if name not in ("UCX_HANDLE_ERRORS", "UCX_MEM_EVENTS")}


class ProcessNameTest(unittest.TestCase):
    programs = ()

    def setUp(self):
        self.folder = pathlib.Path(self.enterContext(tempfile.TemporaryDirectory(prefix="pace-name-")))

    def started(self, *command, says, **options):
        """A program that has said that it serves."""
        process = self.enterContext(subprocess.Popen([str(word) for word in command], stdout=subprocess.PIPE, text=True,
                                                     stderr=subprocess.DEVNULL, env=without_ucx(), **options))
        self.addCleanup(process.send_signal, signal.SIGTERM)
        self.assertTrue(any(line.startswith(says) for line in process.stdout))
        return process

    def assert_named(self, process, name):
        self.assertEqual(pathlib.Path(f"/proc/{process.pid}/comm").read_text(encoding="utf-8"), f"{name}\n")
        found = subprocess.run(["pgrep", "--exact", name], check=True, text=True, stdout=subprocess.PIPE).stdout.split()
        self.assertIn(str(process.pid), found)

    def paced(self, program, **options):
        return self.started(program, "--socket", self.folder / "paced.sock", "--socket-group", "", "--gpu", "off", says="ready", **options)

    def test_the_daemon_has_its_name(self):
        self.assert_named(self.paced(self.programs[0]), "paced")

    def test_a_daemon_whose_file_is_gone_has_its_name(self):
        copy = self.folder / "paced"
        shutil.copy(self.programs[0], copy)
        with open(copy, "rb") as file:
            copy.unlink()
            process = self.paced(copy, executable=f"/proc/self/fd/{file.fileno()}", pass_fds=(file.fileno(),))
        self.assert_named(process, "paced")

    def test_the_controller_has_its_name(self):
        process = self.started(self.programs[1], "--listen", "tcp://127.0.0.1:0", "--journal", "", says="listening")
        self.assert_named(process, "pace-controller")


if __name__ == "__main__":
    ProcessNameTest.programs = [pathlib.Path(argument).resolve() for argument in sys.argv[1:]]
    unittest.main(argv=[sys.argv[0]], verbosity=2)
