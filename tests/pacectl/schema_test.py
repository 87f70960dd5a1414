#!/usr/bin/env python3
"""Every --json of pacectl fits its schema, with real documents of a real cluster. schema_test.py BUILD"""

import copy
import json
import pathlib
import signal
import sys
import tempfile
import unittest

from cluster import Cluster, soon

SKIPPED = 77
try:
    import jsonschema
except ImportError:
    print("skipped: jsonschema is not installed (Debian's python3-jsonschema; tools/setup/install test)")
    sys.exit(SKIPPED)

BUILD = sys.argv.pop(1)
FOLDER = pathlib.Path(__file__).resolve().parents[2] / "service/pacectl/schema"
SCHEMAS = {path.name: json.loads(path.read_text(encoding="utf-8")) for path in sorted(FOLDER.glob("*.json"))}


def validator(name):
    schema = SCHEMAS[f"{name}.schema.json"]
    return jsonschema.Draft202012Validator(schema, resolver=jsonschema.RefResolver.from_schema(schema, store=dict(SCHEMAS)))


def objects_in(document, path=()):
    """The path of every object of the document."""
    if isinstance(document, dict):
        yield path
    pairs = document.items() if isinstance(document, dict) else enumerate(document) if isinstance(document, list) else ()
    for key, value in pairs:
        yield from objects_in(value, (*path, key))


def shortened(document, name=""):
    """The document with two elements of each list, but with all jobs. The other elements are like these two."""
    if isinstance(document, dict):
        return {key: shortened(value, key) for key, value in document.items()}
    if isinstance(document, list):
        return [shortened(value) for value in (document if name == "jobs" else document[:2])]
    return document


def at(document, path):
    for key in path:
        document = document[key]
    return document


class Schemas(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.cluster = cls.enterClassContext(Cluster(BUILD))
        cls.cluster.train("reduced")
        cls.cluster.train("averaged", world=4, mode="average")
        cls.cluster.train("static", mode="average", policy="prague-static")
        cls.cluster.train("chosen", mode="average", policy="auto")
        cls.cluster.train("served", mode="served", policy="ssp")
        cls.cluster.train("compressed", mode="sparse", elements=1000)
        cls.cluster.train("over", steps=20)
        cls.cluster.pacectl("job", "create", "planned", "--world", 3, "--policy", "all-reduce")
        cls.stopped = cls.cluster.train("stopped")[1]
        cls.stopped.process.send_signal(signal.SIGSTOP)
        soon(lambda: sum(job["started"] for job in cls.cluster.status()["jobs"]) >= 7, "the jobs' start")
        soon(lambda: cls.told("reduced", "steps", "left_s") and cls.told("compressed", "residual", "exchanges"), "steps, and what is kept back")
        soon(lambda: all(node["memory"] for node in cls.cluster.status()["nodes"]), "the nodes' memory")

    @classmethod
    def told(cls, name, what, field):
        """The progress that a job's workers have reported. It is empty until a worker has reported."""
        job = next(job for job in cls.cluster.status()["jobs"] if job["name"] == name)
        return job[what] and job[what][field]

    def fits(self, name, document):
        errors = sorted(validator(name).iter_errors(document), key=lambda error: str(error.path))
        self.assertEqual([f"{error.json_path}: {error.message[:300]}" for error in errors], [], name)

    def refuses_what_it_does_not_name(self, name, document):
        """Checks that an unknown field in any object of the document is an error."""
        self.fits(name, document)
        check = validator(name)
        document = shortened(document)
        for path in objects_in(document):
            unknown = at(document, path)
            unknown["not_in_the_schema"] = 1
            self.assertFalse(check.is_valid(document), f"{name}: an unknown field at {path}")
            del unknown["not_in_the_schema"]

    def test_schemas_are_schemas(self):
        self.assertGreaterEqual(len(SCHEMAS), 10)
        for name, schema in SCHEMAS.items():
            jsonschema.Draft202012Validator.check_schema(schema)
            self.assertEqual(schema["$id"], name)

    def test_status(self):
        self.refuses_what_it_does_not_name("status", self.cluster.status())

    def test_status_while_things_change(self):
        for _ in range(20):
            self.fits("status", self.cluster.status())

    def test_a_field_of_another_kind_is_refused(self):
        status = self.cluster.status()
        for path, value in ((("jobs", 0, "name"), 7), (("nodes", 0, "status"), "asleep"), (("jobs", 0, "workers", 0, "rank"), -1),
                            (("jobs", 0, "waits"), None)):
            broken = copy.deepcopy(status)
            at(broken, path[:-1])[path[-1]] = value
            self.assertFalse(validator("status").is_valid(broken), path)

    def test_daemon(self):
        soon(lambda: self.cluster.document("daemon")["clients"])
        self.refuses_what_it_does_not_name("daemon", self.cluster.document("daemon"))

    def test_jobs(self):
        self.refuses_what_it_does_not_name("job-list", self.cluster.document("job", "list"))
        for job in self.cluster.status()["jobs"]:
            if job["name"] != "over":
                self.refuses_what_it_does_not_name("job-show", self.cluster.document("job", "show", job["name"]))
        self.refuses_what_it_does_not_name("job-created", self.cluster.document("job", "create", "brief", "--world", 2,
                                                                                "--policy", "full"))
        self.refuses_what_it_does_not_name("job-deleted", self.cluster.document("job", "delete", "brief"))

    def test_nodes(self):
        # The test has a cluster of its own, because the workers of a drained node leave.
        with Cluster(BUILD) as cluster:
            node = cluster.status()["nodes"][0]["name"]
            for command, draining in (("drain", True), ("undrain", False)):
                document = cluster.document("node", command, node)
                self.assertEqual(document, {"node": node, "draining": draining})
                self.refuses_what_it_does_not_name("node-drained", document)

    def test_options_and_that_a_job_may_have_each(self):
        options = self.cluster.document("options")
        self.refuses_what_it_does_not_name("options", options)
        known = SCHEMAS["status.schema.json"]["$defs"]["options"]["properties"]
        self.assertEqual([option["name"] for option in options["options"] if option["name"] not in known], [])

    def test_doctor(self):
        self.refuses_what_it_does_not_name("doctor", self.cluster.document("doctor"))

    def test_keygen(self):
        with tempfile.TemporaryDirectory() as folder:
            self.refuses_what_it_does_not_name("keygen", self.cluster.document("keygen", f"{folder}/node"))

    def test_keys(self):
        with tempfile.TemporaryDirectory() as folder:
            key = self.cluster.document("keygen", f"{folder}/pair")["key"]
            (pathlib.Path(folder) / "allowed").mkdir()
            flags = ("--folder", f"{folder}/allowed")
            added = self.cluster.document("key", "add", "node-1", f"{folder}/pair.public", "--users", "1000-1999,0", *flags)
            self.assertEqual(added, {"name": "node-1", "key": key, "added": True})
            self.refuses_what_it_does_not_name("key-changed", added)
            keys = self.cluster.document("key", "list", *flags)
            self.assertEqual(keys, {"keys": [{"name": "node-1", "users": "1000-1999,0", "key": key}], "problems": []})
            self.refuses_what_it_does_not_name("key-list", keys)
            removed = self.cluster.document("key", "remove", "node-1", *flags)
            self.assertEqual(removed, {"name": "node-1", "key": None, "added": False})
            self.refuses_what_it_does_not_name("key-changed", removed)

    def test_changes(self):
        lines = self.cluster.pacectl("watch", "--json", "--timeout", 0.3).splitlines()
        self.assertGreater(len(lines), 4)
        for line in lines:
            self.refuses_what_it_does_not_name("change-line", json.loads(line))

    def test_events(self):
        lines = self.cluster.pacectl("events", "--json").splitlines()
        self.assertGreater(len(lines), 4)
        for line in lines:
            self.refuses_what_it_does_not_name("event-line", json.loads(line))
        for line in ({"dropped": {"first": 1, "last": 2}}, {"restarted": True}):
            self.refuses_what_it_does_not_name("event-line", line)


if __name__ == "__main__":
    unittest.main()
