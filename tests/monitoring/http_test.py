#!/usr/bin/env python3
"""HTTP of the programs: tokens, TLS, readiness, and when they do not start: http_test.py BUILD."""

import os
import pathlib
import resource
import shutil
import subprocess
import sys
import tempfile
import unittest

from cluster import Cluster, environment, get, refused_by, until

READER = "reader-0123456789abcdef"
OPERATOR = "operator-0123456789abcdef"


class Http(unittest.TestCase):
    def setUp(self):
        self.build = pathlib.Path(sys.argv[1]).resolve()
        scratch = tempfile.TemporaryDirectory(prefix="pace-http-")
        self.addCleanup(scratch.cleanup)
        self.folder = pathlib.Path(scratch.name)

    def file(self, name, text, mode=0o600):
        path = self.folder / name
        path.write_text(text, encoding="ascii")
        path.chmod(mode)
        return path

    def cluster(self, *flags):
        started = Cluster(self.build, self.folder, controller=flags, daemon=flags)
        self.addCleanup(started.stop)
        return started

    def served(self, url, line):
        """Waits until the page has the line: a page may be older than the answer of /readyz."""
        until(lambda: line in get(url).text.splitlines(), f"{line!r} on {url}")

    def start_fails(self, *flags):
        """What the controller says when it does not start."""
        result = subprocess.run([self.build / "service/controller/shell/pace-controller", "--listen", "tcp://127.0.0.1:0",
                                 "--journal", "", *[str(flag) for flag in flags]],
                                check=False, capture_output=True, text=True, timeout=30, env=environment())
        self.assertEqual(result.returncode, 1, result.stderr)
        return result.stderr

    def test_documents(self):
        """The controller serves its document and events; a daemon that has its controller elsewhere does not."""
        cluster = self.cluster()
        answer = get(f"{cluster.controller_url}/api/status")
        self.assertEqual((answer.status, answer.type), (200, "application/json"))
        until(lambda: [node["name"] for node in get(f"{cluster.controller_url}/api/status").json()["nodes"]] == ["node-a"],
              "the node in the document")
        self.assertIn("events", get(f"{cluster.controller_url}/api/events?since=0").json())
        self.assertEqual(get(f"{cluster.controller_url}/api/events?since=x").status, 400)
        self.assertEqual(get(f"{cluster.daemon_url}/api/status").status, 404)
        self.assertEqual(get(f"{cluster.controller_url}/api/status", Host="evil.example").status, 403)

    def test_a_daemon_with_its_own_controller_serves_all(self):
        cluster = self.cluster()
        alone = cluster.start("daemon/paced", "alone", "--socket", self.folder / "alone.socket", "--socket-group", "",
                               "--name", "alone", "--http-listen", "127.0.0.1:0")
        url = alone.says("http (.*)")
        alone.says("ready")
        until(lambda: get(f"{url}/readyz").status == 200, "a ready daemon")
        self.assertIn("jobs", get(f"{url}/api/status").json())
        for series in ('pace_node_alive{node="alone"} 1', 'pace_daemon_controller_reachable{node="alone"} 1'):
            self.served(f"{url}/metrics", series)

    def test_tokens(self):
        reader, operator = self.file("reader", READER + "\n"), self.file("operator", OPERATOR, 0o640)
        cluster = self.cluster("--http-token-file", str(reader), "--http-operator-token-file", str(operator))
        for url in (cluster.controller_url, cluster.daemon_url):
            self.assertEqual(get(f"{url}/healthz").status, 200)
            self.assertEqual(get(f"{url}/metrics").status, 401)
            self.assertEqual(get(f"{url}/metrics", Authorization="Bearer wrong-0123456789abc").status, 401)
            for token in (READER, OPERATOR):
                self.assertEqual(get(f"{url}/metrics", Authorization=f"Bearer {token}").status, 200)

    def test_tls(self):
        if not shutil.which("openssl"):
            self.skipTest("openssl is not installed")
        certificate, key = self.folder / "certificate.pem", self.folder / "key.pem"
        subprocess.run(["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-days", "1",
                        "-subj", "/CN=localhost", "-addext", "subjectAltName=IP:127.0.0.1,DNS:localhost",
                        "-keyout", str(key), "-out", str(certificate)], check=True, capture_output=True)
        key.chmod(0o600)
        cluster = self.cluster("--http-tls-certificate", str(certificate), "--http-tls-key", str(key))
        for url in (cluster.controller_url, cluster.daemon_url):
            self.assertTrue(url.startswith("https://127.0.0.1:"))
            for _ in range(3):
                self.assertEqual(get(f"{url}/healthz", authority=certificate).status, 200)
            self.assertIn("pace_http_requests_total", get(f"{url}/metrics", authority=certificate).text)

    def test_what_does_not_start(self):
        for flags, said in (
                (("--http-listen", "0.0.0.0:0"), "http_token_file"),
                (("--http-listen", "somewhere:80"), "somewhere:80"),
                (("--http-listen", "127.0.0.1:0", "--http-token-file", self.folder / "none"), "No such file"),
                (("--http-listen", "127.0.0.1:0", "--http-token-file", self.file("open", READER, 0o644)), "chmod"),
                (("--http-listen", "127.0.0.1:0", "--http-tls-key", self.file("key", READER)), "http_tls_certificate")):
            with self.subTest(said):
                self.assertIn(said, self.start_fails(*flags))

    def test_a_journal_that_cannot_be_written(self):
        """A controller that takes no new jobs lives, and is not ready; its metrics say so."""
        cluster = self.cluster()
        self.assertEqual(get(f"{cluster.controller_url}/readyz").status, 200)
        # A file that may not grow stands for a full disk.
        resource.prlimit(cluster.controller.process.pid, resource.RLIMIT_FSIZE, (1, 1))
        # Refused already, if the record of the node's arrival was the first that did not fit.
        cluster.pacectl("job", "create", "filling", "--policy", "all-reduce", "--world", "2", check=False)
        answer = until(lambda: refused_by(f"{cluster.controller_url}/readyz"), "a controller that is not ready")
        self.assertIn("the journal", answer.text)
        self.assertIn("no new job is accepted", answer.text)
        self.assertEqual(answer.text.count("\n"), 1)
        self.assertEqual(get(f"{cluster.controller_url}/healthz").status, 200)
        self.served(f"{cluster.controller_url}/metrics", "pace_journal_failed 1")


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit("usage: http_test.py BUILD")
    os.umask(0o022)
    unittest.main(argv=sys.argv[:1], verbosity=2)
