#!/usr/bin/env python3
"""python -m pace run starts workers and looks after them; python -m pace doctor says what is wrong."""

import os
import pathlib
import re
import signal
import tempfile
import unittest

import support
from support import Child, pace

WORKER = """
import os, signal, sys, pace
with pace.Session("started", "all-reduce") as session:
    model = session.buffer("f32", 4)
    session.broadcast(model).wait()
    if sys.argv[1:] == ["dies"] and session.info.rank == 1 and os.environ["PACE_RESTART_COUNT"] == "0":
        os.kill(os.getpid(), signal.SIGKILL)
    # Everyone waits for the worker that returns.
    info = session.reduce(model).wait()
    print("end", session.info.rank, info.member_count, os.environ["LOCAL_RANK"], os.environ["PACE_ENDPOINT"], flush=True)
"""

# Worker 1 dies when it and all others have left the job.
LEAVES_AND_DIES = """
import os, signal, pace
with pace.Session("left", "all-reduce") as session:
    session.barrier().wait()
    rank = session.info.rank
if rank == 1:
    while pace.query("status", "")["jobs"]:
        pass
    os.kill(os.getpid(), signal.SIGKILL)
"""


class Runs(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)

    def run_workers(self, script, *arguments, options=("-n", "3"), **environment):
        file = self.folder / "worker.py"
        file.write_text(script, encoding="utf-8")
        # Without an endpoint: the runner starts a daemon.
        return Child("-m", "pace", "run", *options, str(file), *arguments, **{"PACE_ENDPOINT": "", **environment})

    def test_workers_find_each_other_by_a_daemon_of_their_own(self):
        with self.run_workers(WORKER) as child:
            code, output, errors = child.end()
        self.assertEqual((code, errors), (0, ""))
        lines = sorted(output.splitlines())
        self.assertEqual([line.split()[:5] for line in lines],
                         [[f"[{rank}]", "end", str(rank), "3", str(rank)] for rank in range(3)])
        # The daemon's socket is gone, with its folder.
        self.assertFalse(pathlib.Path(lines[0].split("unix:")[1]).parent.exists())

    def test_a_worker_that_is_killed_is_started_anew(self):
        with self.run_workers(WORKER, "dies", options=("-n", "3", "--restart", "2")) as child:
            code, output, errors = child.end()
        self.assertEqual(code, 0, output + errors)
        self.assertIn("worker 1 was ended by signal 9; start 1 of at most 2 more", errors)
        self.assertEqual(len(re.findall(r"^\[\d\] end", output, re.MULTILINE)), 3)

    def test_a_worker_that_comes_again_when_the_run_has_ended_does_not_wait_for_ever(self):
        with self.run_workers(LEAVES_AND_DIES, options=("-n", "3", "--restart", "1")) as child:
            code, output, errors = child.end()
        self.assertEqual(code, 137, output + errors)
        self.assertIn("worker 1 was ended by signal 9; start 1 of at most 1 more", errors)
        self.assertIn("worker 1 was started again when the run had ended", errors)

    def test_a_worker_that_fails_ends_the_run_with_its_code(self):
        script = "import os, sys\nif os.environ['RANK'] == '1': sys.exit(5)\nimport signal\nsignal.pause()\n"
        with self.run_workers(script, options=("-n", "3", "--endpoint", "unix:none")) as child:
            code, _, errors = child.end()
        self.assertEqual(code, 5)
        self.assertIn("worker 1 ended with 5; the others are stopped", errors)

    def test_the_others_may_go_on_without_a_worker_that_has_failed(self):
        script = "import os, sys\nif os.environ['RANK'] == '1': sys.exit(5)\nprint('done')\n"
        with self.run_workers(script, options=("-n", "3", "--keep-going", "--endpoint", "unix:none")) as child:
            code, output, _ = child.end()
        self.assertEqual((code, sorted(output.splitlines())), (5, ["[0] done", "[2] done"]))

    def test_ctrl_c_ends_workers_and_daemon(self):
        script = "import os, pace\nprint(os.getpid(), os.environ['PACE_ENDPOINT'], flush=True)\n" \
                 "pace.Session('waits', 'all-reduce', world=4).barrier().wait()\n"
        with self.run_workers(script) as child:
            lines = [child.line().split() for _ in range(3)]
            child.process.send_signal(signal.SIGINT)
            code, output, _ = child.end()
        self.assertEqual(code, 130)
        self.assertIn("KeyboardInterrupt", output)
        self.assertFalse(pathlib.Path(lines[0][2][len("unix:"):]).exists())
        for line in lines:
            with self.assertRaises(ProcessLookupError):
                os.kill(int(line[1]), 0)

    def test_without_a_daemon_to_start_it_says_what_to_do(self):
        with self.run_workers(WORKER, PACE_PACED="/nonexistent/paced") as child:
            code, _, errors = child.end()
        self.assertEqual(code, 1)
        self.assertIn("PACE_PACED", errors)
        self.assertIn("install", errors)


class Doctor(unittest.TestCase):
    def examine(self, **environment):
        with Child("-m", "pace", "doctor", **environment) as child:
            return child.end()

    def test_a_machine_that_is_well_has_no_problems(self):
        with support.hosted() as endpoint:
            code, output, errors = self.examine(PACE_ENDPOINT=endpoint)
        self.assertEqual((code, errors), (0, ""), output)
        for subject in ("library", "daemon", "controller", "shared memory", "locked memory", "numpy", "torch", "GPUs"):
            self.assertRegex(output, rf"(?m)^ok +{subject}: .+")
        self.assertIn(pace.library_version(), output)

    def test_a_daemon_that_is_not_there_is_a_problem_with_a_remedy(self):
        code, output, _ = self.examine(PACE_ENDPOINT="unix:/nonexistent/paced.sock")
        self.assertEqual(code, 1)
        self.assertRegex(output, r"(?m)^problem +daemon: .*\n +-> .*start paced")

    def test_a_daemon_that_workers_start_themselves_is_no_problem(self):
        code, output, _ = self.examine(PACE_ENDPOINT="")
        self.assertEqual(code, 0, output)
        self.assertIn(f"start {os.environ['PACE_PACED']}", output)

    def test_a_library_that_is_not_there_is_a_problem_with_a_remedy(self):
        code, output, errors = self.examine(PACE_LIBRARY="/nonexistent/libpace.so.1")
        self.assertEqual((code, errors), (1, ""))
        self.assertRegex(output, r"(?m)^problem +library: .*\n +-> .*PACE_LIBRARY")


if __name__ == "__main__":
    support.main()
