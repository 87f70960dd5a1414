#!/usr/bin/env python3
"""pacectl top as a user sees it: on a pseudo-terminal, with a real cluster. top_test.py BUILD"""

import re
import signal
import sys
import termios
import unittest

from cluster import Cluster, soon

SKIPPED = 77
try:
    from seat import Seat
except ImportError:
    print("skipped: pyte is not installed (Debian's python3-pyte; tools/setup/install test)")
    sys.exit(SKIPPED)

BUILD = sys.argv.pop(1)
UP, DOWN, PAGE_DOWN, HOME, END = "\033[A", "\033[B", "\033[6~", "\033[H", "\033[F"
ALTERNATE, NORMAL = b"\033[?1049h", b"\033[?1049l"


class Top(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.cluster = cls.enterClassContext(Cluster(BUILD))
        cls.cluster.train("reduced", world=2)
        cls.cluster.train("averaged", world=4, mode="average")
        soon(lambda: all(job["started"] for job in cls.cluster.status()["jobs"]), "both jobs' start")

    def sit(self, *flags, rows=24, columns=80, **more):
        seat = Seat(self.cluster.command("top", "--interval", "0.1", *flags), rows, columns, **more)
        self.addCleanup(seat.close)
        seat.see(r"^job \w+:")
        return seat

    def ranks(self, seat):
        """The ranks of the job that is shown alone, from top to bottom."""
        seat.see(r"RANK\s+NODE")
        lines = seat.text.split("\n")
        start = next(i for i, line in enumerate(lines) if re.search(r"RANK\s+NODE", line))
        return [int(match.group(1)) for line in lines[start + 1:] if (match := re.match(r"\s*(\d+)\s", line))]

    def test_it_shows_jobs_workers_and_nodes_within_80_columns(self):
        seat = self.sit(rows=40)
        seat.see(r"^nodes: 2 alive")
        seat.see(r"^job averaged: partial-reduce of \d.*4 of 4 workers")
        seat.see(r"^NODE\s+STATUS")
        self.assertEqual(self.ranks(seat).count(3), 1)
        self.assertFalse([line for line in seat.text.split("\n") if len(line) > 80])
        self.assertRegex(seat.text, r"\? keys.*q ends")

    def test_workers_are_sorted_by_keys(self):
        seat = self.sit("--job", "averaged", "--sort", "rank")
        self.assertEqual(self.ranks(seat), [0, 1, 2, 3])
        seat.type("r")
        seat.see("by rank, reversed")
        self.assertEqual(self.ranks(seat), [3, 2, 1, 0])
        seat.type("n")
        seat.see("by node")
        self.assertEqual([rank % 2 for rank in self.ranks(seat)], [0, 0, 1, 1], "alpha's before beta's")
        for key, name in (("s", "step"), ("w", "waited"), ("p", "progress")):
            seat.type(key)
            seat.see(f"by {name}")

    def test_jobs_are_selected_and_workers_filtered(self):
        seat = self.sit(rows=40)
        seat.type("j")
        first = seat.see(r"job (reduced|averaged)$|, job (\S+)").group(0)
        seat.see_no_more(r"^NODE\s+STATUS")
        seat.type("j")
        seat.see_no_more(re.escape(first) + "$")
        seat.type("\t")
        seat.see(r"^NODE\s+STATUS")
        seat.type("/beta")
        seat.see("^/beta")
        seat.see_no_more(r"^\s*\d+\s+alpha")
        seat.type("\r")
        seat.see(r"\? keys")
        seat.see("filter beta")
        seat.type("\033")
        seat.see(r"^\s*\d+\s+alpha")

    def test_it_scrolls_and_keeps_head_and_foot(self):
        seat = self.sit(rows=8)
        seat.type(END)
        seat.see(r"^beta\s+alive")
        seat.see(r"^pacectl top")
        seat.see(r"q ends")
        seat.type(HOME)
        first = seat.see(r"^job \w+:").group(0)
        seat.type(PAGE_DOWN + DOWN + UP)
        seat.see_no_more("^" + first)

    def test_it_pauses_and_goes_on(self):
        seat = self.sit("--job", "reduced")
        progress = r"^\s*0\s+alpha.*?(\d+)\s*$"
        seat.type(" ")
        seat.see("PAUSED")
        still = seat.see(progress).group(1)
        rounds = lambda: self.cluster.status()["jobs"]
        before = rounds()
        soon(lambda: rounds() != before)
        seat.read()
        self.assertEqual(seat.see(progress).group(1), still)
        seat.type(" ")
        seat.see_no_more("PAUSED")
        soon(lambda: seat.see(progress).group(1) != still, "progress")

    def test_help_names_the_keys(self):
        seat = self.sit()
        seat.type("?")
        seat.see("median step, the longest first")
        seat.type("x")
        seat.see("job reduced")

    def test_a_resized_terminal_is_filled_anew(self):
        seat = self.sit(rows=40)
        seat.see(r"^NODE\s+STATUS")
        seat.resize(10, 40)
        seat.see_no_more(r"^NODE\s+STATUS")
        seat.see(r"^\? keys")
        self.assertFalse([line for line in seat.text.split("\n") if len(line) > 40])
        seat.resize(40, 120)
        seat.see(r"^NODE\s+STATUS")

    def test_colours_are_off_with_no_color(self):
        coloured = self.sit()
        self.assertRegex(coloured.raw, rb"\033\[3[123]m")
        plain = self.sit(NO_COLOR="1")
        plain.see(r"q ends")
        self.assertNotRegex(plain.raw, rb"\033\[\d+m.*job")
        self.assertNotRegex(self.sit(TERM="dumb").raw, rb"\033\[3[123]m")

    def assert_given_back(self, seat):
        self.assertEqual(termios.tcgetattr(seat.child), seat.before)
        self.assertGreater(seat.raw.rindex(NORMAL), seat.raw.rindex(ALTERNATE))
        self.assertIn(b"\033[?25h", seat.raw[seat.raw.rindex(ALTERNATE):])

    def test_every_way_out_gives_the_terminal_back(self):
        ways = {"q": lambda seat: seat.type("q"), "Ctrl-C": lambda seat: seat.type("\x03"),
                "Ctrl-\\": lambda seat: seat.type("\x1c"),
                "SIGTERM": lambda seat: seat.process.send_signal(signal.SIGTERM),
                "SIGHUP": lambda seat: seat.process.send_signal(signal.SIGHUP)}
        for name, leave in ways.items():
            with self.subTest(name):
                seat = self.sit()
                self.assertTrue(seat.is_raw())
                leave(seat)
                self.assertEqual(seat.end(), 0)
                self.assert_given_back(seat)
        with self.subTest("a fault"):
            seat = self.sit()
            seat.process.send_signal(signal.SIGSEGV)
            self.assertNotEqual(seat.end(), 0)
            self.assert_given_back(seat)

    def test_the_stop_key_gives_the_terminal_to_the_shell_and_fg_takes_it_again(self):
        seat = Seat(["bash", "--norc", "--noediting", "-i"], PS1="prompt$ ")
        self.addCleanup(seat.close)
        seat.see(r"prompt\$")
        seat.type(" ".join(self.cluster.command("top", "--interval", "0.1")) + "\n")
        seat.see("job reduced")
        self.assertTrue(seat.is_raw())
        seat.type("\x1a")
        soon(lambda: seat.read() or b"Stopped" in seat.raw.rsplit(NORMAL, 1)[-1], "the shell")
        self.assertFalse(seat.is_raw())
        seat.raw = b""
        seat.type("fg\n")
        soon(lambda: seat.read() or ALTERNATE in seat.raw and b"job reduced" in seat.raw, "top again")
        self.assertTrue(seat.is_raw())
        seat.type("q")
        soon(lambda: seat.read() or NORMAL in seat.raw, "the end")
        seat.type("echo code $?\n")
        soon(lambda: seat.read() or b"code 0" in seat.raw, "the exit code")

    def test_a_daemon_that_is_frozen_is_told_and_keys_still_work(self):
        seat = self.sit("--job", "reduced")
        daemon = self.cluster.daemons["alpha"].process
        daemon.send_signal(signal.SIGSTOP)
        try:
            seat.type("s")
            seat.see("by step")
            seat.see(r"^the daemon|^no daemon|does not answer|did not answer|deadline")
            seat.type("q")
            self.assertEqual(seat.end(), 0)
        finally:
            daemon.send_signal(signal.SIGCONT)
        self.assert_given_back(seat)


if __name__ == "__main__":
    unittest.main()
