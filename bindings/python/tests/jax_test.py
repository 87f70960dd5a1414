"""pace.jax with real workers: jax_workers' scenes, started by `python -m pace run`, over a daemon of their own."""

import importlib.util
import os
import sys
import tempfile
import unittest

import scenes
from support import FOLDER, main

if importlib.util.find_spec("jax") is None:
    print("skipped: JAX is not installed (tests/with_jax runs this with JAX from PyPI)")
    sys.exit(77)


WORKER = FOLDER / "tests" / "jax_workers" / "worker.py"


class JaxTest(unittest.TestCase):
    def play(self, workers, *scene, **how):
        return scenes.play(self, WORKER, workers, *scene, **how)

    def assertEqualEverywhere(self, told, key, workers):
        scenes.assert_equal_everywhere(self, told, key, workers)

    def test_every_type_is_broadcast_and_reduced_alike_at_once_and_within_jit(self):
        told = self.play(2, "values")
        for how in ("eager", "jit"):
            self.assertEqualEverywhere(told, f"{how}.given", 2)
            self.assertIn(str(2 ** 60 + 1), told[f"{how}.given"][1], "the first worker's integers, to the last bit")
            for key in ("f32", "f64", "f16", "bf16", "structure"):
                self.assertEqual(told[f"{how}.{key}"], {0: "True", 1: "True"})
        self.assertEqual(told["eager.digest"], told["jit.digest"])
        self.assertEqual(told["eager.given"], told["jit.given"])

    def test_large_arrays_pass_within_a_loop_of_jit_and_results_stay_as_they_are(self):
        told = self.play(2, "large")
        self.assertEqual(told["right"], {0: "True", 1: "True"})
        self.assertEqual(told["kept"], {0: "True", 1: "True"})

    def test_donated_arrays_are_used_up_and_results_are_right(self):
        told = self.play(2, "donated")
        self.assertEqual(told["deleted"], {0: "True True", 1: "True True"})
        self.assertEqual(told["jit_deleted"], {0: "True", 1: "True"})
        self.assertEqual(told["reduced"], {0: "True True", 1: "True True"})
        self.assertEqual(told["after"], {0: "True 4", 1: "True 4"})

    def test_gradients_are_those_of_one_process_with_everyones_batches(self):
        told = self.play(2, "like_one_process")
        self.assertLess(max(map(float, told["difference"].values())), 1e-6)
        self.assertEqualEverywhere(told, "state", 2)

    def test_states_are_equal_in_the_end_at_once_and_within_jit(self):
        params = [self.play(2, "train", how) for how in ("eager", "jit")]
        for told in params:
            self.assertEqualEverywhere(told, "state", 2)
            self.assertEqual(told["step"], {0: "12", 1: "12"})
        one, other = ([float(word) for word in told["params"][0].split()] for told in params)
        for mine, its in zip(one, other):
            self.assertAlmostEqual(mine, its, places=4)

    def test_a_quorum_and_the_largest_elements_give_all_the_same(self):
        for options in (("quorum=majority", "reduce_resync_every=5"), ("compression=spardl", "density=0.1")):
            with self.subTest(options=options):
                self.assertEqualEverywhere(self.play(2, "train", "jit", *options), "params", 2)

    def test_averages_are_means_and_take_the_step_count_along(self):
        told = self.play(2, "mean")
        self.assertEqual(told["seen"], {0: "5", 1: "5"})
        self.assertEqual(told["mean"], {0: "[2.0, 2.0, 2.0] True 2", 1: "[2.0, 2.0, 2.0] True 2"})
        self.assertEqual(told["part"], {0: "tree", 1: "tree"})
        self.assertEqual(told["synchronized"], {0: "0.5", 1: "0.5"})

    def test_averages_by_several_policies_end_with_one_model(self):
        for workers, how, policy in ((3, "jit", "partial-reduce"), (2, "eager", "ad-psgd")):
            with self.subTest(policy=policy):
                told = self.play(workers, "averages", how, f"policy={policy}", "group_size=2")
                self.assertEqualEverywhere(told, "state", workers)
                self.assertEqual(set(told["step"].values()) | set(told["count"].values()), {"True"})

    def test_a_parameter_server_counts_every_workers_steps(self):
        for options in (("policy=ssp", "staleness=3"), ("policy=bsp",)):
            with self.subTest(options=options):
                self.assertEqual(self.play(2, "served", *options)["clock"], {0: "12 True", 1: "12 True"})

    def test_a_killed_worker_comes_back_to_the_same_bits(self):
        for how in ("eager", "jit"):
            with self.subTest(how=how):
                told = self.play(3, "restart", how, restart=1)
                self.assertEqualEverywhere(told, "state", 3)
                self.assertEqualEverywhere(told, "step", 3)

    def test_a_killed_worker_comes_back_to_averages(self):
        told = self.play(3, "restart_averaging", restart=1)
        self.assertEqual(told["first"][1], "True False False", "it goes on where the others are, with their model")
        self.assertEqualEverywhere(told, "params", 3)

    def test_a_worker_that_returns_alone_goes_on_with_what_it_had(self):
        told = self.play(2, "returns_alone", restart=1)
        self.assertEqual(told["began"], {0: "0 [100.0, 100.0]", 1: "20 [120.0, 120.0]"})

    def test_without_steps_a_worker_comes_back_to_averages_alone(self):
        told = self.play(3, "without_steps", "average", restart=1)
        self.assertEqual(told["began"][1], "True True True", "the others' model and step count")
        told = self.play(3, "without_steps", "reduce", restart=1)
        self.assertEqual(told["refused"], {1: "tree"})
        self.assertEqual(self.play(2, "late")["ended"], {0: "well", 1: "True"})

    def test_a_run_begins_without_a_worker_that_does_not_come(self):
        self.assertEqual(self.play(3, "fewer")["sum"], {0: "10.0", 1: "10.0"})

    def test_a_suspended_worker_takes_the_current_state(self):
        for how in ("eager", "jit"):
            with self.subTest(how=how):
                told = self.play(3, "frozen", how)
                self.assertEqual(told["was_away"][1], "True")
                self.assertEqualEverywhere(told, "state", 3)

    def test_training_survives_the_daemon(self):
        told = scenes.play_over_two_daemons(self, WORKER, 2, "daemon")
        self.assertEqualEverywhere(told, "state", 2)

    def test_a_job_whose_workers_have_all_ended_goes_on_from_its_checkpoint(self):
        with tempfile.TemporaryDirectory(prefix="pace-jax-") as folder:
            whole = self.play(2, "checkpoint", f"{folder}/whole", "9")
            begun = self.play(2, "checkpoint", f"{folder}/parts", "5")
            ended = self.play(2, "checkpoint", f"{folder}/parts", "9")
            self.assertEqual(begun["first"], {0: "0", 1: "0"})
            self.assertEqual(ended["first"], {0: "5", 1: "5"})
            self.assertEqual(ended["state"], whole["state"], "as if it had not been interrupted")
            self.assertEqual(sorted(os.listdir(f"{folder}/parts")), ["step-5.npz", "step-9.npz"])

    def test_errors_have_paces_classes_and_name_the_argument(self):
        told = self.play(1, "faults")
        right = {"integers": "Invalid:tree", "integers_jit": "Invalid:tree", "complex": "Invalid:tree", "text": "Invalid:tree",
                 "op": "Invalid:op", "donate": "Invalid:donate", "verb": "Verb:", "refused": "Refused:", "twice": "Invalid:tree",
                 "shape": "Invalid:state", "after": "Closed:session", "refused_jit": "JaxRuntimeError: Refused",
                 "alone": "Invalid:tree", "without_init": "Invalid:init", "updates": "Invalid:updates"}
        for key, words in right.items():
            self.assertEqual(told[key], {0: words}, key)


if __name__ == "__main__":
    main()
