"""pace.torch with real workers: torch/worker.py's scenes, started by `python -m pace run`, over a daemon of their own."""

import fcntl
import os
import tempfile
import unittest

from scenes import MANY_BUCKETS, assert_equal_everywhere, play, play_alone, play_over_two_daemons, skip_without_torch
from support import FOLDER, main


WORKER = str(FOLDER / "tests" / "torch" / "worker.py")

skip_without_torch()


class TorchTest(unittest.TestCase):
    def play(self, workers, *scene, **how):
        return play(self, WORKER, workers, *scene, **how)

    def assertEqualEverywhere(self, told, key, workers):
        assert_equal_everywhere(self, told, key, workers)

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

    def test_loss_and_throughput_are_in_the_status(self):
        self.assertEqual(play(self, WORKER, 1, "report")["told"][0], "True True True")

    def test_without_an_optimizer_it_is_data_parallel(self):
        self.assertEqualEverywhere(self.play(2, "plain"), "checksum", 2)

    def test_a_killed_worker_comes_back_to_the_same_bits(self):
        for when in ("step", "backward"):
            with self.subTest(when=when):
                told = self.play(3, "restart", when, restart=1, buckets=MANY_BUCKETS)
                self.assertEqualEverywhere(told, "checksum", 3)

    def test_who_averages_and_comes_when_all_others_have_ended_begins_with_its_own_model(self):
        self.assertEqual(self.play(2, "last", restart=1)["first"][0], "0")

    def test_a_suspended_worker_takes_the_current_model(self):
        told = self.play(3, "frozen", buckets=MANY_BUCKETS)
        self.assertEqual(told["was_away"][1], "True")
        self.assertEqualEverywhere(told, "checksum", 3)

    def test_training_survives_the_daemon(self):
        told = play_over_two_daemons(self, WORKER, 2, "daemon", buckets=MANY_BUCKETS)
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
            ends = play_alone(WORKER, 2, "plain", TMPDIR=folder, TORCHELASTIC_RUN_ID="node-daemon-test")
            self.assertEqual([code for code, _ in ends], [0, 0], ends)
            checksums = {line for _, text in ends for line in text.splitlines() if line.startswith("checksum")}
            self.assertEqual(len(checksums), 1, ends)
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
