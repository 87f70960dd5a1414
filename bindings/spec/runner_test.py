"""The runner's own rules: what a case says, and when an answer is as expected. A runner that cannot fail shows nothing."""

import pathlib
import tempfile
import unittest

import case
import expectation


def read(text):
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder) / "one.case"
        path.write_text(text)
        return case.read(path)


class CaseTest(unittest.TestCase):
    def test_a_step_has_an_actor_a_command_and_what_is_expected(self):
        one = read("# Title\na wait r timeout_ms=5 => PACE_TIMEOUT iteration=3\n")
        self.assertEqual(one.title, "Title")
        step = one.steps[0]
        self.assertEqual((step.actor, step.words, step.status), ("a", ("wait", "r", "timeout_ms=5"), "PACE_TIMEOUT"))
        self.assertEqual(step.values, (("iteration", "3"),))

    def test_ok_is_expected_where_nothing_is_said(self):
        self.assertEqual(read("# T\na wait r\n").steps[0].status, "PACE_OK")
        self.assertEqual(read("# T\na wait r => late=1\n").steps[0].status, "PACE_OK")

    def test_steps_of_the_scene_have_no_actor(self):
        one = read("# T\ndaemons 2\nsetting client-bytes-max '1 MiB'\nkill daemon\na until wait r\n")
        self.assertEqual((one.daemons, one.settings), (2, (("client-bytes-max", "1 MiB"),)))
        self.assertEqual(one.steps[0].actor, "")
        self.assertTrue(one.steps[1].repeats)

    def test_what_cannot_be_read_is_refused_with_its_place(self):
        for text in ("a wait r\n", "# T\n", "# T\nwait\n", "# T\na wait r => PACE_OK nonsense\n", "# T\nkill daemon => PACE_OK\n"):
            with self.subTest(text=text), self.assertRaisesRegex(case.CaseError, "one.case"):
                read(text)

    def test_all_cases_can_be_read_and_have_steps_of_their_own(self):
        cases = [case.read(path) for path in (pathlib.Path(__file__).parent / "cases").glob("*.case")]
        self.assertGreaterEqual(len(cases), 50)
        self.assertEqual(len({one.title for one in cases}), len(cases))


class ExpectationTest(unittest.TestCase):
    def difference(self, wanted, found):
        return expectation.difference("PACE_OK", [("key", wanted)], "PACE_OK", {"key": found})

    def test_another_status_is_a_difference(self):
        self.assertIn("PACE_STALE instead of PACE_OK", expectation.difference("PACE_OK", [], "PACE_STALE", {}))

    def test_a_value_that_is_missing_is_a_difference(self):
        self.assertIn("no key", expectation.difference("PACE_OK", [("key", "*")], "PACE_OK", {}))

    def test_numbers_are_compared_as_numbers(self):
        self.assertIsNone(self.difference("2", "2.0"))
        self.assertIsNone(self.difference("nan", "nan"))
        self.assertIsNotNone(self.difference("2", "3"))
        self.assertIsNotNone(self.difference("9007199254740993", "9007199254740992"))

    def test_bounds_and_nearness(self):
        self.assertIsNone(self.difference(">=3", "3"))
        self.assertIsNotNone(self.difference(">=3", "2"))
        self.assertIsNone(self.difference("~0.1", "0.10000000149"))
        self.assertIsNotNone(self.difference("~0.1", "0.101"))
        self.assertIsNotNone(self.difference(">=3", "word"))

    def test_lists_are_compared_part_by_part(self):
        self.assertIsNone(self.difference("1,*,~3", "1,nan,3.0000001"))
        self.assertIsNotNone(self.difference("1,2", "1,2,3"))
        self.assertIsNotNone(self.difference("1,2", "1"))


if __name__ == "__main__":
    unittest.main()
