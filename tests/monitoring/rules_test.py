#!/usr/bin/env python3
"""The alert rules: each is tested, in a fault and in health, and says where to read on. 77 without promtool."""

import pathlib
import re
import shutil
import subprocess
import sys
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
FOLDER = ROOT / "packaging/monitoring"
sys.path.insert(0, str(ROOT / "tools/check"))

import docs_check  # noqa: E402


def promtool(*arguments):
    result = subprocess.run(["promtool", *[str(word) for word in arguments]], check=False, capture_output=True, text=True,
                            timeout=60)
    return result.returncode, result.stdout + result.stderr


class Rules(unittest.TestCase):
    def setUp(self):
        self.rules = (FOLDER / "pace-alerts.yml").read_text(encoding="utf-8")
        self.tests = (FOLDER / "pace-alerts-test.yml").read_text(encoding="utf-8")
        self.names = re.findall(r"- alert: (\w+)", self.rules)

    def test_promtool_takes_them(self):
        self.assertEqual(promtool("check", "rules", FOLDER / "pace-alerts.yml")[0], 0)
        code, said = promtool("test", "rules", FOLDER / "pace-alerts-test.yml")
        self.assertEqual(code, 0, said)

    def test_each_fires_in_a_fault_and_not_in_health(self):
        self.assertGreaterEqual(len(self.names), 15)
        self.assertEqual(len(self.names), len(set(self.names)))
        fires = set(re.findall(r"alertname: (\w+)\n\s+eval_time: \S+\n\s+exp_alerts:\n", self.tests))
        silent = re.findall(r"alertname: (\w+), eval_time: \S+, exp_alerts: \[\]", self.tests)
        for name in self.names:
            self.assertIn(name, fires)
            self.assertGreaterEqual(silent.count(name), 3, name)

    def test_each_says_what_to_do(self):
        for rule in self.rules.split("- alert: ")[1:]:
            name = rule.split("\n")[0]
            for key in ("severity:", "summary:", "description:", "runbook:"):
                self.assertIn(key, rule, name)
            page, heading = re.search(r"runbook: (\S+)#(\S+)", rule).groups()
            text = (ROOT / page).read_text(encoding="utf-8")
            self.assertIn(heading, docs_check.anchors(text), name)

    def test_the_page_names_what_there_is(self):
        """docs/operations.md's table of faults: metrics, alerts, and what the log says."""
        page = (ROOT / "docs/operations.md").read_text(encoding="utf-8")
        rows = [row.split(" | ") for row in re.findall(r"(?m)^\| .+ \|$", page.split("## What each fault looks like")[1])][1:]
        self.assertGreater(len(rows), 12)
        sources = "".join(path.read_text(encoding="utf-8") for path in (ROOT / "service/metrics").glob("*.cpp"))
        metrics = set(re.findall(r'"(pace_\w+)"', sources))
        log = (ROOT / "docs/log-messages.md").read_text(encoding="utf-8")
        for fault, metric, alert, _, said, _ in rows:
            for name in re.findall(r"`(pace_\w+)`", metric):
                self.assertIn(re.sub("_(total|info)$", "", name), metrics, fault)
            for name in re.findall(r"`(\w+)`", alert):
                self.assertIn(name, self.names, fault)
            for text in re.findall(r"`([^`]+)`", said):
                self.assertIn(f"| `{text}` |", log, fault)


if __name__ == "__main__":
    if not shutil.which("promtool"):
        print("skipped: promtool is not installed (tools/setup/install test)")
        sys.exit(77)
    unittest.main(verbosity=2)
