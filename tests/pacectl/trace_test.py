#!/usr/bin/env python3
"""pacectl trace of every family, and the requests of --otlp, with a real cluster and a real HTTP server. trace_test.py BUILD"""

import json
import pathlib
import re
import shutil
import socket
import subprocess
import sys
import tempfile
import time
import unittest

from cluster import Cluster, environment, soon
from collector import Collector, attributes

BUILD = sys.argv.pop(1)
DONE, NO, WRONG_USE = range(3)
PHASES = ("computing", "waiting", "exchanging")
STEPS = 30
STEP_US = 100_000


def run(cluster, *arguments, node="alpha", code=DONE, **variables):
    """pacectl without this machine's settings of proxies and telemetry."""
    ours = {name: value for name, value in environment().items() if not name.lower().endswith("_proxy") and not name.startswith("OTEL_")}
    done = subprocess.run(cluster.command(*arguments, node=node), check=False, text=True, timeout=60, capture_output=True,
                          env={**ours, **variables})
    if done.returncode != code:
        raise AssertionError(f"pacectl {arguments} ended with {done.returncode} instead of {code}:\n{done.stdout}\n{done.stderr}")
    return done


class Traces(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.began_s, cls.began_unix_s = time.monotonic(), time.time()
        cls.cluster = cls.enterClassContext(Cluster(BUILD))
        # These jobs are slow, so that the recorder's memory is left to the job that is over.
        cls.cluster.train("reduced", world=4, step_us=STEP_US)
        cls.cluster.train("averaged", world=4, mode="average", step_us=STEP_US)
        cls.cluster.train("served", mode="served", policy="ssp", step_us=STEP_US)
        for trainer in cls.cluster.train("over", steps=STEPS):
            trainer.process.wait(60)
        # Each job has made two rounds, and a group.
        soon(lambda: all(len(cls.bars(cls.trace("--job", job), cls.last_phase(job))) > 4 for job in ("reduced", "averaged", "served")),
             "what is traced")

    @staticmethod
    def last_phase(job):
        return "pull" if job == "served" else "exchanging"

    @classmethod
    def trace(cls, *arguments, node="alpha"):
        return json.loads(run(cls.cluster, "trace", *arguments, node=node).stdout)

    @staticmethod
    def bars(trace, name=None):
        return [event for event in trace["traceEvents"] if event["ph"] == "X" and name in (None, event["name"])]

    @staticmethod
    def processes(trace):
        return {event["args"]["name"]: event["pid"] for event in trace["traceEvents"] if event["name"] == "process_name"}


class Pictures(Traces):
    def test_an_all_reduce_jobs_ranks_compute_wait_and_exchange(self):
        trace = self.trace("--job", "reduced")
        self.assertEqual(list(self.processes(trace)), ["alpha, job reduced"])
        self.assertEqual({bar["tid"] for bar in self.bars(trace)}, {0, 2}, "this node's ranks")
        for name in PHASES:
            self.assertGreater(len(self.bars(trace, name)), 4, name)
        self.assertGreater(trace["otherData"]["calls"], 4)
        for bar in self.bars(trace, "exchanging"):
            self.assertEqual(sorted(bar["args"]["nodes"]), ["alpha", "beta"])
            self.assertIn(bar["args"]["verb"], ("reduce", "broadcast"))
        waits = self.bars(trace, "waiting")
        self.assertTrue(all(bar["args"].get("last_to_call", 0) in (0, 2) for bar in waits))
        self.assertTrue(any("last_to_call" in bar["args"] for bar in waits))

    def test_the_spans_of_a_rank_follow_one_another(self):
        trace = self.trace()
        tracks = {}
        for bar in self.bars(trace):
            tracks.setdefault((bar["pid"], bar["tid"]), []).append((bar["ts"], bar["ts"] + bar["dur"]))
        for track in tracks.values():
            track.sort()
            for (_, end), (begin, _) in zip(track, track[1:]):
                self.assertLessEqual(end, begin)

    def test_all_families_lie_on_one_axis(self):
        trace = self.trace()
        self.assertEqual(trace["otherData"]["clock_of_calls"], "the controller's")
        processes = self.processes(trace)
        self.assertLessEqual({"alpha, job averaged", "beta, job averaged", "alpha, job reduced", "alpha, job served", "alpha, job over"},
                             set(processes))
        self.assertNotIn("beta, job reduced", processes)
        # The error of the node's estimate of the controller's clock, which is this machine's clock.
        error_us = 50_000
        for bar in self.bars(trace):
            self.assertGreater(bar["ts"], self.began_s * 1e6 - error_us)
            self.assertLess(bar["ts"] + bar["dur"], time.monotonic() * 1e6 + error_us)

    def test_a_parameter_servers_calls_are_named_by_their_verbs(self):
        names = {bar["name"] for bar in self.bars(self.trace("--job", "served"))}
        self.assertLessEqual({"push", "pull", "computing"}, names)

    def test_one_rounds_exchanges_overlap_on_both_nodes(self):
        rounds = [{bar["args"]["round"]: (bar["ts"], bar["ts"] + bar["dur"]) for bar in self.bars(self.trace("--job", "over", node=node),
                                                                                                  "exchanging")}
                  for node in ("alpha", "beta")]
        both = set(rounds[0]) & set(rounds[1])
        self.assertGreaterEqual(len(both), STEPS)
        error_us = 50_000
        for number in both:
            (begin, end), (other_begin, other_end) = (of_node[number] for of_node in rounds)
            self.assertLess(max(begin, other_begin), min(end, other_end) + error_us)

    def test_what_is_followed_comes_once(self):
        path = self.cluster.folder / "trace.json"
        before = self.trace("--job", "reduced")
        said = run(self.cluster, "trace", "--job", "reduced", "--follow", 3, "--output", path).stdout
        self.assertRegex(said, r"^\S+trace\.json: 0 groups, \d+ calls; open it at https://ui\.perfetto\.dev\n$")
        after = json.loads(path.read_text(encoding="utf-8"))
        self.assertGreater(after["otherData"]["calls"], before["otherData"]["calls"])
        calls = [(bar["tid"], bar["args"]["request"]) for bar in self.bars(after, "exchanging")]
        self.assertEqual(len(calls), len(set(calls)))
        self.assertGreater(len(calls), len(self.bars(before, "exchanging")))

    def test_a_job_of_which_nothing_is_known_here_is_said_to_be_so(self):
        self.cluster.pacectl("job", "create", "planned", "--world", 2, "--policy", "all-reduce")
        said = run(self.cluster, "trace", "--job", "planned", code=NO)
        self.assertEqual(said.stdout, "")
        self.assertIn("node 'alpha' has recorded no call of it", said.stderr)


class Spans(Traces):
    def setUp(self):
        self.collector = self.enterContext(Collector())

    def send(self, *arguments, command="trace", collector=None, **options):
        collector = collector or self.collector
        said = run(self.cluster, command, *arguments, "--otlp", collector.url, **options)
        return said, collector.spans()

    def of_job(self, spans, job):
        return [span for span in spans if attributes(span)["pace.job"] == job]

    def test_spans_have_valid_identifiers_times_and_parents(self):
        said, spans = self.send()
        self.assertIn(f"{len(spans)} spans", said.stdout)
        self.assertNotIn("traceEvents", said.stdout)
        for path, headers, body in self.collector.requests:
            self.assertEqual(path, "/v1/traces")
            self.assertEqual(headers["content-type"], "application/json")
            self.assertLessEqual(body.count(b'"spanId"'), 1000)
        by_id = {span["spanId"]: span for span in spans}
        self.assertEqual(len(by_id), len(spans), "each is its own")
        error_ns = 50_000_000
        now_ns = time.time_ns()
        for span in spans:
            self.assertRegex(span["traceId"], "^[0-9a-f]{32}$")
            self.assertRegex(span["spanId"], "^[0-9a-f]{16}$")
            self.assertEqual(span["kind"], 1)
            begin, end = int(span["startTimeUnixNano"]), int(span["endTimeUnixNano"])
            self.assertLessEqual(begin, end)
            self.assertGreater(begin, self.began_unix_s * 1e9 - error_ns)
            self.assertLess(end, now_ns + error_ns)
            self.assertEqual(span["resource"]["service.name"], "pace")
            self.assertIn(span["resource"]["host.name"], self.cluster.nodes)
            if span["name"] == "step":
                self.assertNotIn("parentSpanId", span)
                continue
            parent = by_id[span["parentSpanId"]]
            self.assertEqual((parent["name"], parent["traceId"]), ("step", span["traceId"]))
            self.assertLessEqual(int(parent["startTimeUnixNano"]), begin)
            self.assertGreaterEqual(int(parent["endTimeUnixNano"]), end)

    def test_all_families_are_sent(self):
        _, spans = self.send()
        names = {job: {span["name"] for span in self.of_job(spans, job)} for job in ("reduced", "averaged", "served")}
        self.assertEqual(names["reduced"], {"step", *PHASES})
        self.assertEqual(names["averaged"], {"step", "waiting", "exchanging"})
        self.assertLessEqual({"step", "push", "pull", "computing"}, names["served"])
        self.assertEqual({span["resource"]["host.name"] for span in self.of_job(spans, "averaged")}, {"alpha", "beta"})

    def test_one_rounds_spans_of_both_nodes_meet_in_one_trace(self):
        traces = {}
        for node in ("alpha", "beta"):
            _, spans = self.send("--job", "over", node=node)
        for span in spans:
            if span["name"] == "exchanging":
                traces.setdefault((span["traceId"], attributes(span)["pace.round"]), set()).add(span["resource"]["host.name"])
        self.assertGreaterEqual(len(traces), STEPS)
        self.assertEqual(len({trace for trace, _ in traces}), len(traces))
        self.assertEqual({tuple(sorted(nodes)) for nodes in traces.values()}, {("alpha", "beta")})

    def test_what_is_sent_again_is_the_same(self):
        _, once = self.send("--job", "over")
        with Collector() as other:
            _, again = self.send("--job", "over", collector=other)
        self.assertGreater(len(once), STEPS)
        self.assertEqual({span["spanId"] for span in once}, {span["spanId"] for span in again})

    def test_the_file_is_written_beside(self):
        path = self.cluster.folder / "beside.json"
        self.send("--job", "over", "--output", path)
        self.assertGreater(len(self.bars(json.loads(path.read_text(encoding="utf-8")))), STEPS)

    def test_a_recording_is_sent_as_well(self):
        _, spans = self.send(command="record")
        for job in ("reduced", "averaged", "served"):
            self.assertTrue(self.of_job(spans, job), job)
        self.assertEqual({span["resource"]["host.name"] for span in spans}, {"alpha", "beta"}, "the calls of all nodes")
        _, rounds = self.send("--job", "over")
        traces = [{span["traceId"] for span in self.of_job(sent, "over") if span["name"] == "exchanging"} for sent in (spans, rounds)]
        self.assertEqual(*traces)
        run(self.cluster, "record", "--merge", "a.json", "--otlp", self.collector.url, code=WRONG_USE)

    def test_headers_of_the_environment_are_sent_and_their_values_not_told(self):
        url = self.collector.url + "/tenant/traces?a=1"
        run(self.cluster, "trace", "--job", "over", "--otlp", url, OTEL_EXPORTER_OTLP_HEADERS="authorization=Bearer%20k%2C1, x-tenant=7")
        path, headers, _ = self.collector.requests[-1]
        self.assertEqual(path, "/tenant/traces?a=1")
        self.assertEqual((headers["authorization"], headers["x-tenant"]), ("Bearer k,1", "7"))
        said = run(self.cluster, "trace", "--otlp", url, code=NO, OTEL_EXPORTER_OTLP_HEADERS="authorization=k3y%0d%0aother: 1")
        self.assertIn("'authorization'", said.stderr)
        self.assertNotIn("k3y", said.stderr)

    def fails(self, *words, url=None, code=NO, **variables):
        said = run(self.cluster, "trace", "--job", "over", "--otlp", url or self.collector.url, code=code, **variables)
        self.assertNotIn(" spans\n", said.stdout)
        for word in words:
            self.assertIn(word, said.stderr)
        return said.stderr

    def test_an_answer_that_is_no_success_is_an_error(self):
        self.collector.answer = (503, b"full\x1b[31m" + 300 * b"x", {})
        said = self.fails(f"{self.collector.url}/v1/traces answers with status 503: full?[31m")
        self.assertNotIn("\x1b", said)
        self.assertEqual(len(re.search("x{9,}", said)[0]), 200 - len("full?[31m"))
        self.assertEqual(len(self.collector.requests), 1)

    def test_a_redirect_is_not_followed(self):
        with Collector() as other:
            self.collector.answer = (307, b"", {"Location": other.url})
            self.fails("status 307")
            self.assertEqual(other.requests, [])

    def test_spans_that_are_rejected_are_told(self):
        for rejected in ("3", 3):
            self.collector.answer = (200, json.dumps({"partialSuccess": {"rejectedSpans": rejected, "errorMessage": "too old"}}).encode(), {})
            self.fails("has rejected 3 spans: too old")
        self.collector.answer = (200, b'{"partialSuccess":{"errorMessage":"soon no more"}}', {})
        self.assertIn("soon no more", self.send("--job", "over")[0].stderr)

    def test_a_url_that_is_none_is_wrong_use(self):
        self.fails("http://", url="ftp://here", code=WRONG_USE)
        self.fails("no user or password", url="http://me:k3y@here", code=WRONG_USE)

    def test_nobody_there_is_an_error(self):
        with socket.socket() as nobody:
            nobody.bind(("127.0.0.1", 0))
            self.fails("cannot post to", url=f"http://127.0.0.1:{nobody.getsockname()[1]}")

    def test_a_collector_that_never_answers_is_given_up(self):
        with socket.create_server(("127.0.0.1", 0)) as silent:
            began = time.monotonic()
            self.fails("cannot post to", "timed out", url=f"http://127.0.0.1:{silent.getsockname()[1]}")
            self.assertLess(time.monotonic() - began, 30)

    @unittest.skipUnless(shutil.which("openssl"), "no openssl to make a certificate with")
    def test_a_certificate_must_be_trusted(self):
        folder = pathlib.Path(self.enterContext(tempfile.TemporaryDirectory(prefix="pace-certificate-")))
        certificate, key = folder / "certificate.pem", folder / "key.pem"
        subprocess.run(["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-subj", "/CN=localhost", "-addext",
                        "subjectAltName=IP:127.0.0.1", "-keyout", key, "-out", certificate], check=True, capture_output=True)
        with Collector((certificate, key)) as secret:
            self.fails("certificate", url=secret.url)
            self.assertEqual(secret.requests, [])
            _, spans = self.send("--job", "over", collector=secret, OTEL_EXPORTER_OTLP_CERTIFICATE=str(certificate))
            self.assertGreater(len(spans), STEPS)


del Traces  # the base class has no tests of its own


if __name__ == "__main__":
    unittest.main()
