#!/usr/bin/env python3
"""The manifests for Kubernetes fit each other, the image and the programs: manifests_test.py BUILD. 77 without PyYAML.

Against Kubernetes's own schemas they are checked where the Python package kubernetes-validate is installed, which brings them.
"""

import pathlib
import re
import subprocess
import sys
import unittest

SKIPPED = 77
try:
    import yaml
except ImportError:
    print("skipped: PyYAML is missing (tools/setup/install image)")
    sys.exit(SKIPPED)
try:
    import kubernetes_validate
except ImportError:
    kubernetes_validate = None

ROOT = pathlib.Path(__file__).resolve().parents[3]
MANIFESTS = sorted((ROOT / "packaging/kubernetes").glob("*.yaml"))
SCHEMAS = ("1.29", "1.34")
PROGRAMS = {"paced": "daemon/paced", "pace-controller": "service/controller/shell/pace-controller"}
UNITS = {"Mi": 2**20, "Gi": 2**30, "MiB": 2**20, "GiB": 2**30}


def documents():
    return [document for path in MANIFESTS for document in yaml.safe_load_all(path.read_text(encoding="utf-8"))]


def of_kind(*kinds):
    return [document for document in documents() if document["kind"] in kinds]


def pods():
    return [(document, document["spec"]["template"]["spec"]) for document in of_kind("DaemonSet", "StatefulSet", "Job")]


def configurations():
    """(program, its configuration as text) of each ConfigMap."""
    return [(document["metadata"]["name"], next(iter(document["data"].values()))) for document in of_kind("ConfigMap")]


def settings(text):
    return dict(re.findall(r"^(\w+) = \"?(.*?)\"?$", text, re.MULTILINE))


def amount(text):
    number, unit = re.fullmatch(r"(\d+) ?(\w+)", text).groups()
    return int(number) * UNITS[unit]


def pod_of(program):
    (found,) = [pod for _, pod in pods() if pod["containers"][0]["name"] == program]
    return found


class Manifests(unittest.TestCase):
    @unittest.skipIf(kubernetes_validate is None, "the Python package kubernetes-validate is not installed")
    def test_they_are_as_kubernetes_wants_them(self):
        for document in documents():
            for version in SCHEMAS:
                kubernetes_validate.validate(document, version, strict=True)

    def test_they_say_that_they_have_not_been_run(self):
        for path in MANIFESTS:
            self.assertIn("Not run on a cluster", path.read_text(encoding="utf-8").partition("\napiVersion")[0], path.name)

    def test_programs_know_their_settings(self):
        build = pathlib.Path(sys.argv[1])
        for program, text in configurations():
            result = subprocess.run([build / PROGRAMS[program], "--help-config"], check=True, capture_output=True, text=True)
            known = set(re.findall(r"^#?(\w+) =", result.stdout, re.MULTILINE))
            self.assertIn("log_level", known)
            # A program that serves no HTTP knows none of its settings.
            has_http = "http_listen" in known
            unknown = {name for name in settings(text) if name not in known and (has_http or not name.startswith("http_"))}
            self.assertEqual(unknown, set(), program)

    def test_files_that_a_configuration_names_are_mounted(self):
        for program, text in configurations():
            mounts = [mount["mountPath"] for mount in pod_of(program)["containers"][0]["volumeMounts"]]
            for path in [value for value in settings(text).values() if value.startswith("/")]:
                self.assertTrue(any(f"{path}/".startswith(f"{mount}/") for mount in mounts), f"{program}: {path}")

    def test_volumes_are_there_and_used(self):
        for document, pod in pods():
            there = {volume["name"] for volume in pod["volumes"]}
            there |= {claim["metadata"]["name"] for claim in document["spec"].get("volumeClaimTemplates", [])}
            containers = pod.get("initContainers", []) + pod["containers"]
            used = {mount["name"] for container in containers for mount in container.get("volumeMounts", [])}
            self.assertEqual(there, used, document["metadata"]["name"])

    def test_checks_of_health_ask_where_the_program_listens(self):
        for program, text in configurations():
            container = pod_of(program)["containers"][0]
            ports = {port["name"]: port["containerPort"] for port in container.get("ports", [])}
            for probe, path in (("startupProbe", "/healthz"), ("livenessProbe", "/healthz"), ("readinessProbe", "/readyz")):
                asked = container[probe]["httpGet"]
                port = ports.get(asked["port"], asked["port"])
                self.assertEqual((asked["path"], str(port)), (path, settings(text)["http_listen"].rpartition(":")[2]), program)

    def test_the_daemons_memory_is_below_its_limit(self):
        (text,) = [text for program, text in configurations() if program == "paced"]
        limit = amount(pod_of("paced")["containers"][0]["resources"]["limits"]["memory"])
        for name in ("memory_max", "user_bytes_max"):
            self.assertLess(amount(settings(text)[name]), limit)

    def test_all_have_limits_and_the_images_user(self):
        image = (ROOT / "packaging/image/make").read_text(encoding="utf-8")
        users = {program: int(re.search(rf"^{name}=(\d+)$", image, re.MULTILINE)[1])
                 for program, name in (("paced", "user"), ("pace-controller", "controller"))}
        sockets = users["paced"]
        version = re.search(r"project\(pace VERSION (\S+)", (ROOT / "CMakeLists.txt").read_text(encoding="utf-8"))[1]
        for program in PROGRAMS:
            pod = pod_of(program)
            context, container = pod["securityContext"], pod["containers"][0]
            self.assertEqual((context["runAsUser"], context["runAsGroup"], context["runAsNonRoot"]), (users[program], users[program], True))
            self.assertNotEqual(context["fsGroup"], sockets, "trainers are in the group of the socket, and may have no keys")
            self.assertTrue(container["securityContext"]["readOnlyRootFilesystem"])
            self.assertEqual(container["image"], f"registry.example/pace:{version}")
        self.assertEqual(pod_of("trainer")["securityContext"]["supplementalGroups"], [sockets])
        for _, pod in pods():
            for container in pod.get("initContainers", []) + pod["containers"]:
                self.assertIn("memory", container["resources"]["limits"])

    def test_the_trainers_find_the_socket_where_the_daemon_has_it(self):
        paths = [next(volume["hostPath"]["path"] for volume in pod_of(name)["volumes"] if volume["name"] == "socket")
                 for name in ("paced", "trainer")]
        self.assertEqual(paths, ["/run/pace", "/run/pace"])


def main():
    result = unittest.main(argv=[sys.argv[0], *sys.argv[2:]], exit=False, verbosity=2).result
    return 0 if result.wasSuccessful() else 1


if __name__ == "__main__":
    sys.exit(main())
