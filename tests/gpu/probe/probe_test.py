#!/usr/bin/env python3
"""gpu_probe, with the simulated driver: every fact is found out, and what is set in the simulation is what the probe tells.

    probe_test.py GPU_PROBE FOLDER_OF_THE_SIMULATED_DRIVER
"""

import glob
import os
import subprocess
import sys
import unittest

PROBE, SIMULATED = sys.argv[1:3]
EVENT_OF_THE_DEAD = "a stream that waits for an event of a process that is killed"
BESIDE = "beside a stream that waits, of 40 streams"
CAPTURE = "an event queried by another thread{} during a capture"


def probe(**settings):
    """The probe's lines by name."""
    environment = {name: text for name, text in os.environ.items() if not name.startswith("PACE_SIMULATED_")}
    done = subprocess.run([PROBE], capture_output=True, text=True, check=False, timeout=100,
                          env={**environment, "LD_LIBRARY_PATH": SIMULATED, **settings})
    return done, dict(line.split(": ", 1) for line in done.stdout.splitlines())


def may_make_namespaces():
    mount = "mount -t tmpfs tmpfs /dev/shm"
    return subprocess.run(["unshare", "--mount", "sh", "-c", mount], capture_output=True, check=False).returncode == 0


class Probe(unittest.TestCase):
    def test_tells_what_the_driver_does(self):
        done, lines = probe(PACE_SIMULATED_GPU_DELAY_US="0")
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        self.assertEqual(lines["driver"], "CUDA 13.0")
        self.assertEqual(lines["GPU 0, words for streams"], "1")
        for place in ("", ", each with a /dev/shm of its own"):
            for kind in ("words", "events"):
                told = lines[f"{kind} between streams of two processes{place}"]
                if place and not may_make_namespaces():
                    self.assertRegex(told, "^no: have another /dev/shm: ", kind + place)
                else:
                    self.assertRegex(told, r"^yes, [\d.]+ us for a round trip$", kind + place)
        self.assertRegex(lines[EVENT_OF_THE_DEAD], r"^goes on [\d.]+ ms after the death$")
        self.assertRegex(lines["a stream that waits for a word of a process that is killed"], "^goes on ")
        self.assertEqual(lines[BESIDE], "39 of 39 others go on")
        self.assertEqual(lines["words registered twice in one process reach each other"], "yes")
        self.assertEqual(lines["memory whose descriptor a killed process has exported"], "is there, with its contents")
        self.assertEqual(lines[CAPTURE.format("")], "the query returns 900, and the capture is broken (901)")
        self.assertEqual(lines[CAPTURE.format(" in relaxed mode")], "the query returns 0, and the capture goes on")
        self.assertIn("not tried", lines["a kernel that writes where there is no memory"])
        self.assertNotIn("hangs", done.stdout)
        self.assertNotIn("signal", done.stdout)

    def test_tells_of_a_driver_that_is_worse(self):
        _, lines = probe(PACE_SIMULATED_GPU_CONNECTIONS="8", PACE_SIMULATED_GPU_DEAD_EVENTS="1",
                         PACE_SIMULATED_GPU_FAIL="cuIpcOpenEventHandle:2", PACE_SIMULATED_GPU_NO_VMM="1")
        self.assertEqual(lines[EVENT_OF_THE_DEAD], "still waits 5 s after the death")
        self.assertEqual(lines[BESIDE], "35 of 39 others go on")
        self.assertRegex(lines["memory whose descriptor a killed process has exported"], "^no: ")

    def test_without_words_says_so(self):
        _, lines = probe(PACE_SIMULATED_GPU_NO_WORDS="1")
        self.assertEqual(lines["GPU 0, words for streams"], "0")
        self.assertIn("CUDA_ERROR_NOT_SUPPORTED", lines["words between streams of two processes"])

    def test_is_skipped_without_a_gpu(self):
        done, lines = probe(PACE_SIMULATED_GPUS="0")
        self.assertEqual(done.returncode, 77, done.stdout)
        self.assertEqual(lines["skipped"], "there is no GPU here: the driver finds none")
        if glob.glob("/dev/nvidia[0-9]*"):
            self.skipTest("this machine has a GPU")
        done, lines = probe(LD_LIBRARY_PATH="")
        self.assertEqual(done.returncode, 77, done.stdout)
        self.assertIn("no NVIDIA driver can be loaded", lines["skipped"])

    def test_explains_itself(self):
        help_text = subprocess.run([PROBE, "--help"], capture_output=True, text=True, check=True).stdout
        self.assertIn("a line a fact", help_text)
        self.assertEqual(subprocess.run([PROBE, "all"], capture_output=True, check=False).returncode, 2)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1], verbosity=2)
