"""A Prometheus on a free port that scrapes programs once a second, for as long as a test."""

import pathlib
import re
import urllib.parse

from cluster import Program, get, until

CONFIGURATION = """
global: {{scrape_interval: 1s, evaluation_interval: 1s}}
rule_files: [{rules}]
scrape_configs:
  - job_name: pace-controller
    static_configs: [{{targets: ["{controller}"]}}]
  - job_name: paced
    static_configs: [{{targets: ["{daemon}"]}}]
"""


def listening_port(process):
    """The port at which a process listens; nothing as long as there is none."""
    inodes = set()
    for link in pathlib.Path(f"/proc/{process.pid}/fd").iterdir():
        try:
            found = re.fullmatch(r"socket:\[(\d+)\]", str(link.readlink()))
        except OSError:
            continue
        if found:
            inodes.add(found.group(1))
    for line in pathlib.Path(f"/proc/{process.pid}/net/tcp").read_text(encoding="ascii").splitlines()[1:]:
        words = line.split()
        if words[3] == "0A" and words[9] in inodes:
            return int(words[1].split(":")[1], 16)
    return None


class Prometheus:
    def __init__(self, folder, controller_url, daemon_url, rules):
        folder = pathlib.Path(folder)
        configuration = folder / "prometheus.yml"
        configuration.write_text(CONFIGURATION.format(rules=rules, controller=controller_url.split("//")[1],
                                                      daemon=daemon_url.split("//")[1]), encoding="utf-8")
        self.program = Program(["prometheus", f"--config.file={configuration}", f"--storage.tsdb.path={folder}/prometheus",
                                "--web.listen-address=127.0.0.1:0", "--log.level=warn"], folder / "prometheus.log")
        port = until(lambda: listening_port(self.program.process), "a port at which Prometheus listens")
        self.url = f"http://127.0.0.1:{port}"
        until(self._is_ready, "Prometheus being ready")

    def _is_ready(self):
        try:
            return get(f"{self.url}/-/ready").status == 200
        except OSError:
            return False

    def query(self, expression):
        """The samples of an expression now. Raises AssertionError with what Prometheus says against it."""
        answer = get(f"{self.url}/api/v1/query?{urllib.parse.urlencode({'query': expression})}").json()
        if answer["status"] != "success":
            raise AssertionError(f"{expression}: {answer.get('error')}")
        result = answer["data"]["result"]
        return result if isinstance(result, list) else []

    def alerts(self, *states):
        """The names of those that are "pending" (their condition holds) or "firing" (it has held for long enough)."""
        alerts = get(f"{self.url}/api/v1/alerts").json()["data"]["alerts"]
        return {alert["labels"]["alertname"] for alert in alerts if alert["state"] in states}

    def stop(self):
        self.program.stop()
