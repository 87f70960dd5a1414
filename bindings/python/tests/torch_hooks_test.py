"""pace.torch's hooks for DistributedDataParallel and FSDP2, with real ranks: torch/hooked.py's scenes over a daemon of their own."""

import re
import tempfile
import unittest

from scenes import Told, assert_equal_everywhere, play, play_alone, play_over_two_daemons, skip_without_torch
from support import FOLDER, hosted, main

HOOKED = str(FOLDER / "tests" / "torch" / "hooked.py")

skip_without_torch()


class CommHookTest(unittest.TestCase):
    def test_gradients_are_those_of_one_process_with_everyones_batches(self):
        told = play(self, HOOKED, 3, "reduce")
        self.assertLess(max(told.numbers("difference")), 1e-6)
        assert_equal_everywhere(self, told, "checksum", 3)

    def test_options_are_the_jobs(self):
        for options in (("compression=bf16",), ("compression=spardl", "density=0.1"), ("quorum=majority",)):
            with self.subTest(options=options):
                told = play(self, HOOKED, 3, "reduce", *options)
                assert_equal_everywhere(self, told, "checksum", 3)
                self.assertEqual(told["rounds"], {rank: "8" for rank in range(3)})
                self.assertLess(max(told.numbers("difference")), 0.5)
        self.assertIn("topk.density", " ".join(play(self, HOOKED, 2, "mismatch")["mismatch"].values()))

    def test_backward_goes_on_while_gradients_travel(self):
        told = play(self, HOOKED, 2, "overlap")
        self.assertEqual(told["done"], {0: "False"})
        self.assertEqual(told["buckets"], {0: "2 True", 1: "2 True"})

    def test_the_others_go_on_after_a_ranks_death(self):
        with tempfile.TemporaryDirectory(prefix="pace-torch-") as folder, hosted() as endpoint:
            ends = play_alone(HOOKED, 3, "death", PACE_ENDPOINT=endpoint, PACE_TEST_STORE=f"{folder}/store")
        self.assertEqual([code for code, _ in ends], [0, 0, -9], ends)
        told = Told("".join(f"[{rank}] {line}\n" for rank in range(2) for line in ends[rank][1].splitlines()))
        assert_equal_everywhere(self, told, "checksum", 2)
        assert_equal_everywhere(self, told, "gradient", 2)
        mean = [sum(map(float, pair)) / 2 for pair in zip(*(told["own"][rank].split() for rank in range(2)))]
        for ours, wanted in zip(map(float, told["gradient"][0].split()), mean):
            self.assertAlmostEqual(ours, wanted, places=5)

    def test_a_worker_that_was_left_behind_is_told_so(self):
        told = play(self, HOOKED, 2, "stale")
        self.assertIn("PACE_STALE", told["error"][1])

    def test_a_daemon_that_is_started_anew_does_not_know_the_model(self):
        told = play_over_two_daemons(self, HOOKED, 2, "daemon", code=3)
        for words in told["error"].values():
            self.assertIn("PACE_STALE", words)

    def test_what_has_no_effect_is_refused(self):
        told = play(self, HOOKED, 1, "refused")
        for what, word in {"islands": "compression", "resync": "synchronize", "option": "did you mean quorum", "model": "fully_shard"}.items():
            self.assertIn(word, told[what][0])


class ShardTest(unittest.TestCase):
    def setUp(self):
        import torch
        version = tuple(map(int, re.findall(r"\d+", torch.__version__)[:2]))
        if version < (2, 10):
            self.skipTest(f"PyTorch {torch.__version__} has no FSDP2 with all-reduce hooks; 2.10 is the first that this is for")

    def test_fsdp2_trains_over_the_backend(self):
        told = play(self, HOOKED, 3, "shard", "pace")
        self.assertLess(max(told.numbers("difference")), 1e-6)
        assert_equal_everywhere(self, told, "checksum", 3)

    def test_pace_reduces_between_islands(self):
        for backend in ("gloo", "pace"):
            with self.subTest(backend=backend):
                told = play(self, HOOKED, 4, "islands", backend)
                self.assertLess(max(told.numbers("difference")), 1e-6)
                assert_equal_everywhere(self, told, "checksum", 4)

    def test_options_are_the_jobs(self):
        told = play(self, HOOKED, 4, "islands", "gloo", "compression=bf16")
        assert_equal_everywhere(self, told, "checksum", 4)


if __name__ == "__main__":
    main()
