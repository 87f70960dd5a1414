#!/usr/bin/env python3
"""What a person sees on the status page of a real cluster: browser_test.py BUILD [--pictures FOLDER]. 77 without Chromium."""

import pathlib
import re
import signal
import sys
import time
import unittest

import browser
from cluster import Cluster

SOON_S = 2  # within which the page names what is wrong
JOB = "fashion-mnist"
OTHER = "language-model"


class StatusPage(unittest.TestCase):
    build = ""
    pictures = None

    @classmethod
    def setUpClass(cls):
        cls.cluster = Cluster(cls.build)
        cls.addClassCleanup(cls.cluster.close)
        cls.cluster.start_job(JOB, "partial-reduce", 4, 0.05, slow=3, strange=2)
        cls.cluster.start_job(OTHER, "partial-reduce", 2, 0.05)
        cls.page = browser.Browser()
        cls.addClassCleanup(cls.page.close)

    def setUp(self):
        self.page.show_as()
        self.page.open(self.cluster.url)
        self.page.wait_for_text("#jobs-list", JOB)

    def tearDown(self):
        self.assertEqual(self.page.console(), [])

    def test_it_tells_of_each_job_how_far_how_fast_and_how_well(self):
        self.page.wait_for_text("#jobs-list", OTHER)
        card = f"#jobs-list article:has(button[aria-label='Details of job {JOB}'])"
        self.page.wait_for_text(card, "4 of 4")
        self.page.wait_for_text(card, "partial-reduce, running")
        # The loss of the others, and that one of them is no number.
        self.page.wait_for_text(card, "(not finite at 1)")
        # 100,000 steps of 0.05 s take more than an hour.
        self.page.wait("the time left", lambda: re.search(r"time left\s*\d+ (h \d+ )?min \([\d,]+ of 100,000 steps\)", self.page.text(card)))
        shown = self.page.run("return [...document.querySelectorAll(arguments[0] + ' dl > div')].filter(one => !one.hidden).map(one => one.textContent)", card)
        self.assertNotIn("kept back by top-k", " ".join(shown), "it has no top-k")
        self.assertIn("kept back by top-k", self.page.text(card))
        rate = f"[...document.querySelector(\"{card}\").querySelectorAll('dt')].find(one => one.textContent === 'updates a second')"
        self.page.wait("updates a second", lambda: self.page.run(f"return Number({rate}.nextSibling.textContent) > 10"))
        # A line, once the controller has two points of it.
        self.page.wait("the line of the loss", lambda: self.page.run(
            "return document.querySelector(arguments[0] + ' svg path').getAttribute('d')?.startsWith('M')", card))
        self.assertIn("Loss of job", self.page.run("return document.querySelector(arguments[0] + ' svg').getAttribute('aria-label')", card))

    def test_it_names_who_is_slow_and_why(self):
        self.page.wait_for_text("#slow tbody", JOB)
        row = self.page.text("#slow tbody tr")
        self.assertRegex(row, r"^3\d")
        self.assertIn("computing", row)
        self.assertIn("n2", row)
        self.page.wait_for_text("#verdict-text", f"Rank 3 of job {JOB} on n2 is ")
        self.page.wait_for_text("#verdict-more", f"The loss that rank 2 of job {JOB} told is not finite.")

    def test_it_shows_ranks_nodes_groups_and_events_of_the_chosen_job(self):
        self.page.wait("four ranks", lambda: self.page.run("return document.querySelectorAll('#ranks tbody tr').length === 4"))
        self.page.wait_for_text("#ranks tbody", "not finite")
        for part in ("computing", "waiting", "exchanging"):
            self.page.wait(f"time of {part}", lambda part=part: self.page.run(
                "return document.querySelector('#ranks-strip path.' + arguments[0]).getAttribute('d') !== null", part))
        self.page.wait("who met whom", lambda: self.page.run("return document.querySelectorAll('#meetings tbody td[title]').length > 2"))
        self.page.wait_for_text("#staleness tbody", "%")
        self.page.wait_for_text("#links tbody", "B/s")
        for word in ("n1", "rack-a", "n2", "rack-b", "alive"):
            self.page.wait_for_text("#nodes tbody", word)
        self.page.wait("the nodes' memory", lambda: len(re.findall(r"[\d.]+ [KMGT]iB of [\d.]+ [KMGT]iB", self.page.text("#nodes tbody"))) >= 2)
        self.page.wait_for_text("#events", JOB)
        self.page.run("document.querySelector(arguments[0]).click()", f"button[aria-label='Details of job {OTHER}']")
        self.page.wait("two ranks", lambda: self.page.run("return document.querySelectorAll('#ranks tbody tr').length === 2"))
        self.assertEqual(self.page.focused(), "job")

    def test_a_stopped_worker_is_named_within_two_seconds(self):
        self.page.wait_for_refreshes(2)
        worker = self.cluster.workers[OTHER, 1]
        worker.send(signal.SIGSTOP)
        try:
            spent = self.page.wait_for_text("#verdict-text", f"Rank 1 of job {OTHER} on n2 is stopped by a signal", SOON_S)
            print(f"a stopped worker was named after {spent:.2f} s")
            self.page.wait_for_text("#slow tbody", "stopped")
            self.assertEqual(self.page.run("return document.getElementById('verdict').dataset.level"), "bad")
        finally:
            worker.send(signal.SIGCONT)
        self.page.wait("the others' sentence", lambda: f"Rank 1 of job {OTHER}" not in self.page.text("#verdict"))

    def test_pictures(self):
        if self.pictures is None:
            self.skipTest("no --pictures FOLDER")
        self.page.wait_for_text("#slow tbody", JOB)
        self.page.wait("the line of the loss", lambda: self.page.run("return document.querySelector('.chart path').getAttribute('d')?.length > 60"))
        self.page.wait_for_text("#links tbody", "B/s")
        self.page.picture(pathlib.Path(self.pictures, "status-page.png"), 1280, 1330)
        self.page.show_as(360, 780, dark=True, phone=True)
        self.page.wait_for_refreshes(2)
        self.page.picture(pathlib.Path(self.pictures, "status-page-phone.png"), 360, 1000)


class TopK(unittest.TestCase):
    """A job that keeps most of its gradients back."""

    build = ""

    def test_a_job_tells_what_top_k_keeps_back(self):
        cluster = Cluster(self.build)
        self.addCleanup(cluster.close)
        cluster.start_job(JOB, "all-reduce", 2, 0.05)
        page = browser.Browser()
        self.addCleanup(page.close)
        page.open(cluster.url)
        # 1,024 elements of four bytes, at two nodes.
        page.wait("what is kept back", lambda: re.search(r"kept back by top-k\s*8 KiB, for \d\d+ exchanges", page.text("#jobs-list")))
        self.assertEqual(page.console(), [])


class WithoutAnswer(unittest.TestCase):
    """A controller that dies while somebody looks."""

    build = ""

    def test_the_page_says_so_and_goes_on_when_it_is_back(self):
        cluster = Cluster(self.build, nodes=1)
        self.addCleanup(cluster.close)
        page = browser.Browser()
        self.addCleanup(page.close)
        page.open(cluster.url)
        page.wait_for_text("#verdict-text", "All is well: 1 node, no job.")
        shown = page.text("#connection").removeprefix("As of ")
        address = cluster.url.removeprefix("http://").rstrip("/")

        cluster.controller.end(signal.SIGKILL)
        page.wait_for_text("#verdict-text", "The controller does not answer. What is shown is of ")
        self.assertIn(shown[:5], page.text("#verdict-text"))
        page.wait_for_text("#connection", "It is asked again in ")
        # What was known is still there.
        self.assertIn("n1", page.text("#nodes tbody"))
        page.requests()
        began = time.monotonic()
        page.wait_for_text("#connection", "asked again in 4 s")
        asked = len([url for _, url, _ in page.requests() if url.endswith("/api/status")])
        self.assertLess(asked, time.monotonic() - began, "it is asked less often than each second")

        cluster.start_controller(address, cluster.endpoint)
        page.wait_for_text("#verdict-text", "All is well: 1 node, no job.")


def main():
    browser.skip_without_chromium()
    build = sys.argv.pop(1)
    if "--pictures" in sys.argv:
        at = sys.argv.index("--pictures")
        StatusPage.pictures = sys.argv.pop(at + 1)
        sys.argv.pop(at)
    StatusPage.build = TopK.build = WithoutAnswer.build = build
    unittest.main(verbosity=2)


if __name__ == "__main__":
    main()
