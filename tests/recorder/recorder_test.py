#!/usr/bin/env python3
"""What daemons have recorded of a training, as `pacectl record` shows it: recorder_test.py BUILD."""

import ctypes
import json
import os
import pathlib
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import unittest

SOON_S = 30
ROUNDS = 40
ROOT = pathlib.Path(__file__).resolve().parents[2]
BUILD = pathlib.Path()

# Reduces a small buffer, then stays until it is killed, or told to end.
TRAINER = f"""
import pace, sys
rank = int(sys.argv[1])
session = pace.Session("fashion", policy="all-reduce", rank=rank, world=2)
buffer = session.buffer("float32", 1000)
for step in range({ROUNDS}):
    session.reduce(buffer, iteration=step).wait()
print("done", flush=True)
sys.stdin.read()
session.leave()
"""


def die_with_us():
    pr_set_pdeathsig = 1
    ctypes.CDLL(None).prctl(pr_set_pdeathsig, signal.SIGKILL)


class Process:
    """A program that says something when it is ready; killed at the latest by the test's end."""

    def __init__(self, test, log, *command, **environment):
        ours = {name: value for name, value in os.environ.items() if not name.startswith(("PACE", "UCX_"))}
        with open(log, "wb") as errors:
            self.process = subprocess.Popen([str(word) for word in command], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                            stderr=errors, env={**ours, **environment}, preexec_fn=die_with_us)
        test.addCleanup(self.kill)
        self.said = self.process.stdout.readline().decode().strip()
        test.assertTrue(self.said, pathlib.Path(log).read_text(encoding="utf-8"))

    def kill(self):
        if self.process.returncode is None:
            self.process.kill()
        self.process.communicate(timeout=SOON_S)

    def end(self):
        self.process.communicate(timeout=SOON_S)


class Recorders(unittest.TestCase):
    def setUp(self):
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="pace-recorder-"))
        self.addCleanup(shutil.rmtree, self.folder)
        controller = Process(self, self.folder / "controller.log", BUILD / "service" / "controller" / "shell" / "pace-controller",
                             "--listen", "tcp://127.0.0.1:0", "--journal", self.folder / "controller.journal")
        self.endpoint = controller.said.removeprefix("listening ")
        self.daemons = [self.daemon(name) for name in ("a", "b")]

    def daemon(self, name):
        state = self.folder / (name + ".state")
        state.mkdir()
        return Process(self, self.folder / (name + ".log"), BUILD / "daemon" / "paced", "--name", name, "--socket",
                       self.folder / (name + ".sock"), "--socket-group", "", "--controller", self.endpoint, STATE_DIRECTORY=str(state))

    def trainer(self, rank, name):
        return subprocess.Popen([sys.executable, "-c", TRAINER, str(rank)], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                preexec_fn=die_with_us,
                                env={**os.environ, "PACE_LIBRARY": str(BUILD / "capi" / "libpace.so"), "PYTHONDONTWRITEBYTECODE": "1",
                                     "PYTHONPATH": str(ROOT / "bindings" / "python"),
                                     "PACE_ENDPOINT": f"unix:{self.folder}/{name}.sock"})

    def train(self):
        trainers = [self.trainer(rank, name) for rank, name in enumerate(("a", "b"))]
        for trainer in trainers:
            self.addCleanup(lambda ended=trainer: (ended.kill(), ended.communicate(timeout=SOON_S)))
        for trainer in trainers:
            self.assertEqual(trainer.stdout.readline(), b"done\n")
        return trainers

    def pacectl(self, *arguments):
        done = subprocess.run([BUILD / "service" / "pacectl" / "pacectl", *map(str, arguments)], check=False, text=True,
                              timeout=SOON_S, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        return done.returncode, done.stdout

    def record(self, name):
        path = self.folder / (name + ".json")
        self.assertEqual(self.pacectl("--endpoint", f"unix:{self.folder}/{name}.sock", "record", "--local", "--output", path)[0], 0)
        return path

    def record_with_clock(self, name):
        """A recording that says what the controller's clock is: the first heartbeats have been answered."""
        deadline = time.monotonic() + SOON_S
        while time.monotonic() < deadline:
            path = self.record(name)
            trace = json.loads(path.read_text(encoding="utf-8"))
            if trace["otherData"]["recording"]["clock"]["controller_offset_ns"] is not None:
                return path
        raise AssertionError(f"{name} does not know the controller's clock")

    def kept(self, name, reason):
        """The recording that the daemon keeps for this reason, as soon as it is there."""
        deadline = time.monotonic() + SOON_S
        folder = self.folder / (name + ".state") / "recordings"
        while time.monotonic() < deadline:
            found = list(folder.glob(f"recording-*-{reason}.json")) if folder.exists() else []
            if found:
                return found[0]
            self.pacectl("--version")  # takes some milliseconds
        raise AssertionError(f"{name} keeps no recording of {reason}:\n" + (self.folder / (name + ".log")).read_text())

    @staticmethod
    def bars(trace, name):
        """{name: [(process, begin, end)]} of the bars whose names begin so."""
        found = {}
        for event in trace["traceEvents"]:
            if event["ph"] == "X" and event["name"].startswith(name):
                found.setdefault(event["name"], []).append((event["pid"], event["ts"], event["ts"] + event["dur"]))
        return found

    def test_the_rounds_of_both_nodes_lie_on_each_other(self):
        for trainer in self.train():
            trainer.communicate(timeout=SOON_S)
        paths = [self.record_with_clock(name) for name in ("a", "b")]
        merged = self.folder / "merged.json"
        code, said = self.pacectl("record", "--merge", *paths, "--output", merged)
        self.assertEqual(code, 0, said)
        trace = json.loads(merged.read_text(encoding="utf-8"))
        self.assertEqual(trace["otherData"]["clock"], "the controller's")
        rounds = {name: bars for name, bars in self.bars(trace, "round ").items() if len(bars) == 2}
        self.assertGreaterEqual(len(rounds), ROUNDS)
        clocks = [about["clock"] for about in trace["otherData"]["recordings"]]
        error_us = sum(clock["controller_error_ns"] for clock in clocks) / 1000
        print(f"the clocks are known to {error_us:.0f} us together")
        # Both daemons have this machine's clock.
        self.assertLessEqual(abs(clocks[0]["controller_offset_ns"] - clocks[1]["controller_offset_ns"]) / 1000, error_us + 1)
        apart = [name for name, ((_, begin, end), (_, other_begin, other_end)) in rounds.items()
                 if max(begin, other_begin) > min(end, other_end) + error_us + 2]
        self.assertEqual(apart, [], rounds)
        calls = self.bars(trace, "reduce")["reduce"]
        self.assertEqual(len(calls), 2 * ROUNDS)
        names = {event["name"] for event in trace["traceEvents"]}
        self.assertLessEqual({"attached", "worker-joined", "worker-left", "view-committed", "from the controller: CommitView",
                              "to the controller: Heartbeat"}, names)
        nodes = {event["args"]["name"] for event in trace["traceEvents"] if event["name"] == "process_name"}
        self.assertEqual(nodes, {"a: daemon", "b: daemon", "a: job fashion", "b: job fashion"})

    def test_a_daemon_that_dies_leaves_a_recording_with_the_other(self):
        self.train()
        self.daemons[1].kill()
        path = self.kept("a", "peer-gone")
        code, said = self.pacectl("record", "--merge", path)
        self.assertEqual(code, 0, said)
        names = [event["name"] for event in json.loads(said)["traceEvents"]]
        self.assertIn("peer-gone", names)
        self.assertIn(f"round {ROUNDS - 1}", names)

    def test_a_file_that_is_none_is_refused_by_name(self):
        path = self.folder / "none.json"
        path.write_text("{}", encoding="utf-8")
        code, said = self.pacectl("record", "--merge", path)
        self.assertEqual(code, 1)
        self.assertIn(str(path), said)
        self.assertIn("neither a recording of a daemon nor a trace", said)


if __name__ == "__main__":
    BUILD = pathlib.Path(sys.argv.pop(1)).resolve()
    unittest.main(verbosity=2)
