#!/usr/bin/env python3
"""What a real Prometheus makes of a real cluster: prometheus_test.py BUILD. 77 without Prometheus."""

import json
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import unittest

from cluster import ROOT, Cluster, get, refused_by, until
from prometheus import Prometheus

FOLDER = ROOT / "packaging/monitoring"
OPEN = "application/openmetrics-text; version=1.0.0; charset=utf-8"

# Series that a healthy cluster does not have: a model without checkpoints, nobody who is slow.
HEALTHY = ("pace_model_checkpoint_age_seconds", "pace_worker_slow_factor{pace_job=~\".*\"} > 1")
# Series that follow from fields which a controller of an older release does not tell.
NEEDS = {"pace_worker_computed_seconds_total": "computed", "pace_worker_stopped": "activity",
         "pace_worker_slow_factor": "activity"}


def board_expressions():
    board = json.loads((FOLDER / "grafana-pace.json").read_text(encoding="utf-8"))
    targets = [target["expr"] for panel in board["panels"] for target in panel.get("targets", [])]
    variables = [re.sub(r"label_values\((\w+), (\w+)\)", r"count by (\2) (\1)", variable["definition"])
                 for variable in board["templating"]["list"] if variable["type"] == "query"]
    return [expression.replace("$pace_job", ".*").replace("$node", ".*").replace("$__rate_interval", "30s")
            for expression in targets + variables]


def alert_expressions():
    text = (FOLDER / "pace-alerts.yml").read_text(encoding="utf-8")
    return [" ".join(words.split()) for words in re.findall(r"expr: >-\n(.*?)\n        (?:for|labels):", text, re.DOTALL)]


def names_in(plain):
    return set(re.findall(r"^(\w+)[{ ]", plain, re.MULTILINE))


class Metrics(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory(prefix="pace-monitoring-")
        cls.addClassCleanup(cls.folder.cleanup)
        cls.cluster = Cluster(sys.argv[1], cls.folder.name)
        cls.addClassCleanup(cls.cluster.stop)
        cls.averaging = cls.cluster.work("averaging", "partial-reduce")
        cls.serving = cls.cluster.work("serving", "ssp")
        cls.prometheus = Prometheus(cls.folder.name, cls.cluster.controller_url, cls.cluster.daemon_url,
                                    FOLDER / "pace-alerts.yml")
        cls.addClassCleanup(cls.prometheus.stop)

    def test_0_formats(self):
        """promtool takes the plain format, and a strict parser OpenMetrics; both tell the same."""
        from prometheus_client.openmetrics.parser import text_string_to_metric_families
        texts = [get(f"{url}/metrics") for url in (self.cluster.controller_url, self.cluster.daemon_url)]
        self.assertTrue(all(text.type == "text/plain; version=0.0.4; charset=utf-8" for text in texts))
        for text in [texts[0].text, texts[1].text, self.cluster.pacectl("metrics")]:
            checked = subprocess.run(["promtool", "check", "metrics"], check=False, input=text, capture_output=True, text=True,
                                     timeout=60)
            self.assertEqual((checked.returncode, checked.stdout + checked.stderr), (0, ""))
        for url, before in ((self.cluster.controller_url, texts[0]), (self.cluster.daemon_url, texts[1])):
            answer = get(f"{url}/metrics", Accept=OPEN)
            self.assertEqual(answer.type, OPEN)
            families = list(text_string_to_metric_families(answer.text))
            series = {sample.name for family in families for sample in family.samples}
            # Some come up while jobs go on.
            self.assertLessEqual(names_in(before.text), series)
            until(lambda page=f"{url}/metrics", named=series: named <= names_in(get(page).text), "the same series in the plain format")

    def test_1_scrapes(self):
        """Prometheus scrapes both, as OpenMetrics; its own labels are not in the way of Pace's."""
        until(lambda: len(self.prometheus.query("up == 1")) == 2, "both programs scraped")
        self.assertEqual(self.prometheus.query('{exported_job!=""}'), [])
        self.assertEqual(self.prometheus.query('{exported_instance!=""}'), [])
        for job in ("averaging", "serving"):
            until(lambda name=job: self.prometheus.query(f'rate(pace_job_progress_first{{pace_job="{name}"}}[30s]) > 0'),
                  lambda name=job: f"{name} going on; its workers have said: {self.cluster.said_by_workers()}")
        self.assertEqual(len(self.prometheus.query('pace_worker_iteration{pace_job="averaging", node="node-a"}')), 2)

    def test_2_expressions(self):
        """Every expression of the board has an answer, and every rule's has a sense."""
        document = json.loads(self.cluster.pacectl("status", "--json"))
        told = document["jobs"][0]["workers"][0]
        expressions = board_expressions()
        self.assertGreater(len(expressions), 30)
        for expression in expressions:
            untold = [field for series, field in NEEDS.items() if series in expression and field not in told]
            if untold or any(series in expression for series in HEALTHY):
                self.prometheus.query(expression)
                continue
            with self.subTest(expression):
                until(lambda asked=expression: self.prometheus.query(asked), expression)
        for expression in alert_expressions():
            self.prometheus.query(expression)

    def test_3_health(self):
        """In health nothing fires, and all are ready."""
        # The machine that runs the tests may be so busy that loops stand still.
        self.assertEqual(self.prometheus.alerts("firing") - {"PaceEventLoopStalls", "PaceNodeSuspected"}, set())
        for url in (self.cluster.controller_url, self.cluster.daemon_url):
            self.assertEqual(get(f"{url}/healthz").status, 200)
            self.assertEqual(get(f"{url}/readyz").text, "ready\n")

    def test_4_a_worker_is_stopped(self):
        document = json.loads(self.cluster.pacectl("status", "--json"))
        if "activity" not in document["jobs"][0]["workers"][0]:
            self.skipTest("this controller does not tell what workers do")
        worker = self.averaging[1].process
        worker.send_signal(signal.SIGSTOP)
        try:
            until(lambda: self.prometheus.query('pace_worker_stopped{pace_job="averaging", rank="1"} == 1'), "a stopped worker")
            until(lambda: "PaceWorkerStopped" in self.prometheus.alerts("pending", "firing"), "the alert")
        finally:
            worker.send_signal(signal.SIGCONT)

    def test_5_the_controller_dies(self):
        """The daemon says why it is not ready, and both alerts begin."""
        self.cluster.controller.process.kill()
        answer = until(lambda: refused_by(f"{self.cluster.daemon_url}/readyz"), "a daemon that is not ready")
        self.assertIn("not attached to the controller tcp://", answer.text)
        self.assertEqual(answer.text.count("\n"), 1)
        self.assertEqual(get(f"{self.cluster.daemon_url}/healthz").status, 200)
        until(lambda: {"PaceTargetDown", "PaceControllerUnreachable"} <= self.prometheus.alerts("pending", "firing"), "both alerts")


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit("usage: prometheus_test.py BUILD")
    if not shutil.which("prometheus") or not shutil.which("promtool"):
        print("skipped: prometheus is not installed (tools/setup/install test)")
        sys.exit(77)
    try:
        import prometheus_client  # noqa: F401
    except ImportError:
        print("skipped: python3-prometheus-client is not installed (tools/setup/install test)")
        sys.exit(77)
    unittest.main(argv=sys.argv[:1], verbosity=2)
