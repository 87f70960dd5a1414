#!/usr/bin/env python3
"""Makes the mistakes that docs/troubleshooting.md explains, with real programs: mistakes_test.py BUILD.

It makes each mistake of some sections once, beside a cluster at work, and looks for the page's own words where the page says
that they are. 77 if this user may make no network namespaces.
"""

import contextlib
import pathlib
import re
import select
import signal
import sys
import unittest

HERE = pathlib.Path(__file__).resolve().parent
sys.path.append(str(HERE.parent / "storms"))

import messages
import network as networks
from mistakes import cases, of_http, of_the_controller, of_the_network
from mistakes.scene import HOSTS, Scene, wait_until

SKIPPED = 77
PAGE = messages.ROOT / "docs/troubleshooting.md"
SECTIONS = (of_the_network.SECTION, of_the_controller.SECTION, of_http.SECTION)
HOSTILE_CLIENTS = "service/http/tests/server_hostile_test.cpp"
# What cannot be provoked cheaply from outside: the message, and the file of the test that brings it forth, its name, its words.
ELSEWHERE = {
    "the connection has taken nothing for … ms":
        ("transports/ucx/ucx_transport_test.cpp", "LosesAPeerWhoseHostTakesAConnectionThatNobodyAnswers", "has taken nothing"),
    # A peer would have to take all small messages, and no large one. No test does this, so that only the sources are compared.
    "connecting anew to a peer that does not move": ("tests/documents/messages.py", "is_in", "is in no string of the sources"),
    # A controller would have to answer heartbeats, and not a question.
    "the controller does not answer; check that it runs and that this daemon's …":
        ("daemon/jobs/questions_test.cpp", "WithoutAnAnswerAreToldWhyThereIsNoControllerNow", "the controller does not answer"),
    # The answers of a small cluster are made and read too soon.
    "too many requests at once; come back in a second":
        (HOSTILE_CLIENTS, "RequestsOfManyAtOnceDoNotHoldUpTheLoop", "too many requests at once; come back in a second"),
    "clients read too slowly; come back later":
        (HOSTILE_CLIENTS, "UnreadAnswersAreBounded", "clients read too slowly; come back later"),
}


def quoted_messages():
    """The section and the message of each quotation of the sections."""
    page = PAGE.read_text(encoding="utf-8")
    found = set()
    for section in SECTIONS:
        _, heading, rest = page.partition(f"\n## {section}\n")
        if not heading:
            raise AssertionError(f"the page has no section {section!r}")
        text = re.split(r"^## ", rest, maxsplit=1, flags=re.MULTILINE)[0]
        found |= {(section, message) for _, message in messages.quotations(text)}
    return found


def all_cases():
    """The cases, with the page's own words."""
    quoted = quoted_messages()
    return [case.with_words_of(quoted) for case in cases.CASES]


class ThePage(unittest.TestCase):
    def test_each_message_has_a_case_or_is_elsewhere(self):
        made = {(case.section, quotation) for case in all_cases() for quotation in case.quotations}
        left = quoted_messages() - made
        self.assertEqual({message for _, message in left}, set(ELSEWHERE), "messages without a case, and those of ELSEWHERE")
        self.assertEqual(len(left), len(ELSEWHERE), left)

    def test_other_tests_have_the_words(self):
        for message, (path, test, words) in ELSEWHERE.items():
            with self.subTest(message):
                text = (messages.ROOT / path).read_text(encoding="utf-8")
                self.assertTrue(test in text and words in text, f"{path} does not have {test} with {words!r}")


class Mistakes(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        if NETWORK.why:
            raise unittest.SkipTest(NETWORK.why)
        cls.scene = CLEANUPS.enter_context(Scene(pathlib.Path(sys.argv[1]).resolve(), NETWORK))

    def test_each_is_answered_as_the_page_says(self):
        def ended(run, seconds):
            print(f"  {run.case.name}: {'not as the page says' if run.why else 'ok'}, {seconds:.1f} s", flush=True)
            with self.subTest(run.case.name):
                if run.why:
                    self.fail(run.why)

        cases.run_all(all_cases(), self.scene, lambda: select.select([], [], [], 0.05), ended)

    def test_z_none_has_disturbed_the_cluster(self):
        wait_until(self.scene.works, "both nodes alive in `pacectl status`")
        for process in (self.scene.controller, *self.scene.nodes):
            self.assertTrue(process.still_runs(), process.name)


if __name__ == "__main__":
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    with contextlib.ExitStack() as CLEANUPS:
        NETWORK = networks.make(HOSTS, "namespaces")
        CLEANUPS.callback(NETWORK.close)
        result = unittest.main(argv=[sys.argv[0], *sys.argv[2:]], exit=False, verbosity=2).result
    if NETWORK.why:
        print(f"skipped: {NETWORK.why}")
    sys.exit(1 if not result.wasSuccessful() else SKIPPED if NETWORK.why else 0)
