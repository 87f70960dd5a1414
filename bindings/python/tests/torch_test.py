"""pace.torch with real workers: torch/worker.py's scenes, started by `python -m pace run`, over a daemon of their own."""

import fcntl
import importlib.util
import itertools
import os
import re
import subprocess
import sys
import tempfile
import unittest

from support import FOLDER, main

from pace.daemon import Daemon, die_with_parent

WORKER = str(FOLDER / "tests" / "torch" / "worker.py")
SCENE_S = 200
MANY_BUCKETS = "64"  # bytes: each parameter its own bucket

if importlib.util.find_spec("torch") is None:
    print("skipped: PyTorch is not installed (Debian's python3-torch)")
    sys.exit(77)


class Told:
    """What workers printed: told["checksum"] has each rank's words."""

    def __init__(self, text):
        self.text = text
        self.lines = {}
        for rank, key, words in re.findall(r"^\[(\d+)\] (\S+) ?(.*)$", text, re.MULTILINE):
            self.lines.setdefault(key, {})[int(rank)] = words

    def __getitem__(self, key):
        return self.lines[key]

    def numbers(self, key):
        return [float(words) for words in self.lines[key].values()]


class TorchTest(unittest.TestCase):
    runs = itertools.count()

    def play(self, workers, *scene, restart=0, buckets=None, endpoint=None, meanwhile=None):
        """Runs a scene to its end, which must be a good one. `meanwhile` is called while it runs."""
        with tempfile.TemporaryDirectory(prefix="pace-torch-") as folder:
            environment = {**os.environ, "PYTHONPATH": str(FOLDER), "PYTHONDONTWRITEBYTECODE": "1",
                           "PACE_TEST_BACK": f"{folder}/back"}
            environment.pop("PACE_ENDPOINT", None)
            if endpoint:
                environment["PACE_ENDPOINT"] = endpoint
            if buckets:
                environment["PACE_TEST_BUCKET_BYTES"] = buckets
            with subprocess.Popen([sys.executable, "-m", "pace", "run", "-n", str(workers), "--restart", str(restart), WORKER, *scene],
                                  stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, env=environment,
                                  preexec_fn=die_with_parent()) as process:
                try:
                    if meanwhile:
                        meanwhile(process, environment["PACE_TEST_BACK"])
                    text, _ = process.communicate(timeout=SCENE_S)
                except BaseException:
                    process.terminate()  # It ends its workers.
                    raise
        self.assertEqual(process.returncode, 0, text)
        return Told(text)

    def assertEqualEverywhere(self, told, key, workers):
        self.assertEqual(len(told[key]), workers, told.text)
        self.assertEqual(len(set(told[key].values())), 1, told.text)

    def test_gradients_are_those_of_one_process_with_everyones_batches(self):
        for kind, buckets in (("plain", None), ("plain", MANY_BUCKETS), ("kept", MANY_BUCKETS), ("accumulated", MANY_BUCKETS),
                              ("clipped", None), ("set_to_none", MANY_BUCKETS)):
            with self.subTest(kind=kind, buckets=buckets):
                told = self.play(2, "like_one_process", kind, buckets=buckets)
                self.assertLess(max(told.numbers("difference")), 1e-6)
                self.assertEqualEverywhere(told, "checksum", 2)
                copied = told.numbers("copied")
                self.assertEqual(any(copied), kind == "set_to_none", "gradients are copied only where they were taken away")

    def test_models_optimizers_and_statistics_are_equal_in_the_end(self):
        for options in ((), ("compression=f16",), ("compression=spardl", "density=0.1"), ("quorum=majority",)):
            with self.subTest(options=options):
                self.assertEqualEverywhere(self.play(3, "equal", *options, buckets=MANY_BUCKETS), "checksum", 3)

    def test_shared_frozen_unused_and_narrow_parameters_and_integers(self):
        told = self.play(2, "odd", buckets=MANY_BUCKETS)
        self.assertEqual(told["shared"], {0: "True", 1: "True"})
        self.assertEqual(told["never_is_none"], {0: "True", 1: "True"}, "nobody has used it: weight decay must not move it")
        self.assertEqual(told["never_moved"][0], "False")
        self.assertEqual(told["sometimes_is_none"], {0: "False", 1: "False"}, "one worker has used it")
        self.assertEqual(told["seen"], {0: f"5 {2 ** 40}", 1: f"5 {2 ** 40}"}, "the first worker's integers, to the last bit")
        self.assertEqualEverywhere(told, "checksum", 2)

    def test_averages_take_parameters_moments_and_statistics(self):
        told = self.play(2, "averages")
        self.assertEqualEverywhere(told, "weights", 2)
        self.assertEqualEverywhere(told, "moment", 2)

    def test_averages_travel_during_the_next_step(self):
        self.assertEqualEverywhere(self.play(2, "averages", "overlap=yes"), "weights", 2)

    def test_a_schedule_follows_the_jobs_steps(self):
        told = self.play(2, "schedule")
        self.assertEqual(told["rate"], {0: "0.01 True", 1: "0.01 True"})

    def test_a_step_that_is_skipped_for_an_infinity_is_skipped_by_all(self):
        told = self.play(2, "scaled", buckets=MANY_BUCKETS)
        self.assertEqual(told["skipped"], {0: "1", 1: "1"})
        self.assertEqualEverywhere(told, "checksum", 2)

    def test_a_parameter_server_counts_every_workers_steps(self):
        for options in (("server=ssp", "staleness=3", "rate=dynamic"), ("server=bsp",), ("server=asp",)):
            with self.subTest(options=options):
                self.assertEqual(self.play(2, "served", *options)["clock"], {0: "12", 1: "12"})

    def test_without_an_optimizer_it_is_data_parallel(self):
        self.assertEqualEverywhere(self.play(2, "plain"), "checksum", 2)

    def test_a_killed_worker_comes_back_to_the_same_bits(self):
        for when in ("step", "backward"):
            with self.subTest(when=when):
                told = self.play(3, "restart", when, restart=1, buckets=MANY_BUCKETS)
                self.assertEqualEverywhere(told, "checksum", 3)

    def test_a_suspended_worker_takes_the_current_model(self):
        told = self.play(3, "frozen", buckets=MANY_BUCKETS)
        self.assertEqual(told["was_away"][1], "True")
        self.assertEqualEverywhere(told, "checksum", 3)

    def test_training_survives_the_daemon(self):
        with tempfile.TemporaryDirectory(prefix="pace-torch-") as folder:
            socket = f"{folder}/paced.sock"
            first = Daemon(socket)
            first.__enter__()
            second = Daemon(socket)

            def kill_and_start(process, path):
                while "half" not in (line := process.stdout.readline()):
                    self.assertTrue(line, "the workers have ended")
                first._process.kill()
                first._process.wait()
                second.__enter__()
                with open(path, "w", encoding="ascii"):
                    pass
            try:
                told = self.play(2, "daemon", endpoint=f"unix:{socket}", meanwhile=kill_and_start, buckets=MANY_BUCKETS)
            finally:
                first.__exit__()
                second.__exit__()
            self.assertEqualEverywhere(told, "checksum", 2)

    def test_a_job_whose_workers_have_all_ended_goes_on_from_its_checkpoint(self):
        with tempfile.TemporaryDirectory(prefix="pace-torch-") as folder:
            whole = self.play(2, "checkpoint", f"{folder}/whole", "9")
            begun = self.play(2, "checkpoint", f"{folder}/parts", "5")
            ended = self.play(2, "checkpoint", f"{folder}/parts", "9")
            self.assertEqual(begun["first"], {0: "0", 1: "0"})
            self.assertEqual(ended["first"], {0: "5", 1: "5"})
            self.assertEqual(ended["rate"], whole["rate"])
            self.assertEqual(ended["checksum"], whole["checksum"], "as if it had not been interrupted")
            self.assertEqual(sorted(os.listdir(f"{folder}/parts")), ["step-5.pt", "step-9.pt"])


class NodeDaemonTest(unittest.TestCase):
    def test_workers_of_a_launcher_start_one_daemon_and_take_it_with_them(self):
        with tempfile.TemporaryDirectory(prefix="pace-torch-") as folder:
            environment = {**os.environ, "PYTHONPATH": str(FOLDER), "PYTHONDONTWRITEBYTECODE": "1", "TMPDIR": folder,
                           "TORCHELASTIC_RUN_ID": "node-daemon-test", "WORLD_SIZE": "2", "LOCAL_WORLD_SIZE": "2"}
            environment.pop("PACE_ENDPOINT", None)
            workers = [subprocess.Popen([sys.executable, WORKER, "plain"], stdout=subprocess.PIPE, text=True,
                                        env={**environment, "RANK": str(rank), "LOCAL_RANK": str(rank)},
                                        preexec_fn=die_with_parent()) for rank in range(2)]
            texts = [worker.communicate(timeout=SCENE_S)[0] for worker in workers]
            self.assertEqual([worker.returncode for worker in workers], [0, 0], texts)
            checksums = {line for text in texts for line in text.splitlines() if line.startswith("checksum")}
            self.assertEqual(len(checksums), 1, texts)
            # The supervisor removes the folder when the last worker has gone; it is waited for by its lock.
            for name in os.listdir(folder):
                if name.startswith("pace-") and os.path.isdir(f"{folder}/{name}"):
                    wait_until_gone(f"{folder}/{name}")
            self.assertEqual([name for name in os.listdir(folder) if "pace-" in name], [])


def wait_until_gone(folder):
    """The supervisor holds the workers' lock until it has removed the folder: each turn waits for whoever has the lock."""
    while os.path.exists(folder):
        try:
            with open(f"{folder}/workers", encoding="ascii") as lock:
                fcntl.flock(lock, fcntl.LOCK_SH)
        except FileNotFoundError:
            pass


if __name__ == "__main__":
    main()
