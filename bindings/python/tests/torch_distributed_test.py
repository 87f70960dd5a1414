"""The backend "pace" of torch.distributed with real ranks: torch/ranks.py's scenes over a daemon of their own."""

import datetime
import os
import tempfile
import unittest

from scenes import assert_equal_everywhere, play, play_alone, skip_without_torch
from support import FOLDER, hosted, main

RANKS = str(FOLDER / "tests" / "torch" / "ranks.py")

skip_without_torch()


class BackendTest(unittest.TestCase):
    def test_reductions_are_exact_for_every_type_and_operator(self):
        checked = play(self, RANKS, 3, "reductions")["checked"]
        self.assertEqual(checked, {rank: "180" for rank in range(3)})

    def test_gathers_and_broadcasts_carry_every_type_to_the_last_bit(self):
        self.assertEqual(play(self, RANKS, 3, "gathers")["checked"], {rank: "60" for rank in range(3)})

    def test_nans_zeros_and_denormal_numbers_arrive_as_they_were(self):
        self.assertEqual(play(self, RANKS, 2, "bits")["checked"], {0: "9", 1: "9"})

    def test_groups_of_some_ranks_are_jobs_of_their_own(self):
        told = play(self, RANKS, 3, "groups")
        self.assertEqual(told["sum"], {0: f"{2 ** 41 + 2} 3.0", 1: f"{2 ** 40 + 1} 3.0", 2: f"{2 ** 41 + 2} 3.0"})

    def test_what_is_missing_is_refused_with_what_to_use_instead(self):
        told = play(self, RANKS, 2, "refused")
        for what, word in {"send": "gloo", "recv": "gloo", "all_to_all": "gloo", "mean": "ReduceOp.SUM", "sparse": "comm_hook",
                           "shape": "one for each of 2 ranks"}.items():
            self.assertIn(word, told[what][0])
        self.assertEqual(told["after"], {0: "2.0", 1: "2.0"})

    def test_a_ranks_death_ends_the_group_of_the_others(self):
        with tempfile.TemporaryDirectory(prefix="pace-torch-") as folder, hosted() as endpoint:
            ends = play_alone(RANKS, 3, "death", PACE_ENDPOINT=endpoint, PACE_TEST_STORE=f"{folder}/store")
        self.assertEqual([code for code, _ in ends], [0, -9, 0], ends)
        for _, text in (ends[0], ends[2]):
            self.assertRegex(text, r"(?m)^first .*a collective of the backend pace has failed")
            self.assertIn("second a collective of the backend pace has failed", text)

    def test_distributed_data_parallel_trains_over_it_unchanged(self):
        for kind in ("plain", "static", "norm"):
            with self.subTest(kind=kind):
                told = play(self, RANKS, 3, "data_parallel", kind)
                assert_equal_everywhere(self, told, "checksum", 3)
                if kind != "norm":
                    self.assertLess(max(told.numbers("difference")), 1e-6)

    def test_torchruns_variables_are_enough(self):
        # The store is the launcher's, as torchrun does it. torchrun itself ends with an error on Debian's 1.13 and on its 2.14.
        import torch.distributed as dist
        try:
            store = dist.TCPStore("127.0.0.1", 0, is_master=True, wait_for_workers=False, timeout=datetime.timedelta(seconds=60))
        except RuntimeError as error:
            self.skipTest(f"no launcher's store can be made with this PyTorch: {error}")
        with tempfile.TemporaryDirectory(prefix="pace-torch-") as folder:
            ends = play_alone(RANKS, 2, "data_parallel", "plain", TMPDIR=folder, MASTER_ADDR="127.0.0.1", MASTER_PORT=str(store.port),
                              TORCHELASTIC_USE_AGENT_STORE="True", TORCHELASTIC_RESTART_COUNT="0",
                              TORCHELASTIC_RUN_ID=f"backend-{os.getpid()}")
        self.assertEqual([code for code, _ in ends], [0, 0], ends)
        checksums = {line for _, text in ends for line in text.splitlines() if line.startswith("checksum")}
        self.assertEqual(len(checksums), 1, ends)


if __name__ == "__main__":
    main()
