#!/usr/bin/env python3
"""Errors say what is wrong and what to give instead; options are checked against the library."""

import pickle
import unittest

import support
from support import open_session, pace


class Errors(unittest.TestCase):
    def refused(self, kind, argument, *words, **options):
        with self.assertRaises(kind) as caught:
            open_session(**options).free()
        self.assertEqual(caught.exception.argument, argument)
        for word in words:
            self.assertIn(word, str(caught.exception))

    def test_an_unknown_option_is_answered_with_the_nearest(self):
        self.refused(pace.Invalid, "group_sise", "did you mean group_size?", policy="partial-reduce", group_sise=3)
        self.refused(pace.Invalid, "group.sise", "did you mean group.size?", policy="partial-reduce", options={"group.sise": 3})

    def test_a_value_of_another_kind_is_refused_with_the_kind_to_give(self):
        self.refused(pace.Invalid, "group.size", "an int", "2 to 65536", policy="partial-reduce", group_size="3")
        self.refused(pace.Invalid, "average.alpha", "a float", policy="partial-reduce", average_alpha="much")
        self.refused(pace.Invalid, "average.weights", "did you mean dynamic?", policy="partial-reduce", average_weights="dynamc")
        self.refused(pace.Invalid, "group.edges", "pairs of ranks", policy="ad-psgd", group_edges=[1, 2])

    def test_an_option_given_twice_is_refused(self):
        self.refused(pace.Invalid, "group.size", "twice", policy="partial-reduce", group_size=2, options={"group.size": 3})

    def test_what_the_library_refuses_is_told_in_its_words(self):
        self.refused(pace.Invalid, "group.size", "65536", policy="partial-reduce", group_size=1)
        self.refused(pace.Invalid, "policy", policy="no-such")
        self.refused(pace.Invalid, "world", world=0)

    def test_options_of_every_kind_reach_the_job(self):
        job = "kinds"
        options = {"quorum": "count", "quorum.count": 2, "reduce.reject_nonfinite": True}
        with open_session(2, 0, job=job, options=options):
            with self.assertRaises(pace.Mismatch) as caught:
                open_session(2, 1, job=job, quorum="count", quorum_count=1, reduce_reject_nonfinite=True)
            self.assertIn("quorum.count", caught.exception.message)
            open_session(2, 1, job=job, quorum="count", quorum_count=2, reduce_reject_nonfinite=1).close()
        open_session(4, policy="ad-psgd", group_edges=[(0, 1), (1, 2), (2, 3)]).close()

    def test_a_hint_may_be_unknown(self):
        open_session(options={"later.option": pace.Hint(3)}).close()

    def test_a_session_needs_a_rank_from_somewhere(self):
        with self.assertRaises(pace.Invalid) as caught:
            pace.Session("lonely", "all-reduce")
        self.assertEqual(caught.exception.argument, "rank")
        self.assertIn("python -m pace run", caught.exception.message)

    def test_no_daemon_is_told_with_the_remedy(self):
        with self.assertRaises(pace.NotFound) as caught:
            open_session(endpoint="unix:/nonexistent/paced.sock", connect_ms=0)
        self.assertIn("paced", caught.exception.remedy)

    def test_an_error_carries_the_end_of_its_request(self):
        with open_session(reduce_reject_nonfinite=True) as session:
            gradient = session.buffer("f32", 4)
            gradient.memoryview()[1] = float("nan")
            request = session.reduce(gradient, user_data=7)
            with self.assertRaises(pace.Refused) as caught:
                request.wait()
            self.assertEqual(caught.exception.status_name, "PACE_E_REFUSED")
            self.assertEqual(caught.exception.info.user_data, 7)
            with self.assertRaises(pace.Refused):
                request.wait()
            gradient.memoryview()[1] = 1
            self.assertEqual(session.reduce(gradient).wait().member_count, 1)

    def test_a_verb_that_does_not_fit_is_refused(self):
        with open_session() as session:
            with self.assertRaises(pace.Verb):
                session.average(session.buffer("f32", 4))

    def test_arguments_of_verbs_are_checked(self):
        with open_session() as session:
            gradient = session.buffer("f32", 4)
            for call, argument in ((lambda: session.reduce(gradient, op="maen"), "op"),
                                   (lambda: session.reduce([1.0]), "slices"),
                                   (lambda: session.reduce(gradient, iteration=-1), "iteration"),
                                   (lambda: session.reduce(gradient, iteration=0.5), "iteration"),
                                   (lambda: session.broadcast(gradient, root=2 ** 32), "root"),
                                   (lambda: session.buffer("f33", 4), "type"),
                                   (lambda: session.buffer("f32", (2, -3)), "count"),
                                   (lambda: session.reduce(pace.Slice(gradient, 0, 9)), "slices[0].count")):
                with self.assertRaises(pace.Invalid) as caught:
                    call()
                self.assertEqual(caught.exception.argument, argument)

    def test_errors_are_also_the_ones_of_python(self):
        self.assertTrue(issubclass(pace.Timeout, TimeoutError))
        self.assertTrue(issubclass(pace.Invalid, ValueError))
        again = pickle.loads(pickle.dumps(pace.Taken("held", "rank")))
        self.assertEqual((type(again), again.message, again.argument), (pace.Taken, "held", "rank"))


if __name__ == "__main__":
    support.main()
