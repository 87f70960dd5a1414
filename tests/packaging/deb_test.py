#!/usr/bin/env python3
"""The Debian packages are what they should be: deb_test.py BUILD, or deb_test.py --packages FOLDER [--write].

Packages of BUILD are made in a temporary folder, with its programs as they are; with --packages those in a folder are judged, as
`packaging/deb/make` has made them. --write writes deb_contents/ anew. 77 if a tool is missing.
"""

import functools
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import unittest

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parents[1]
GOLDENS = HERE / "deb_contents"
DEBIAN = ROOT / "packaging" / "deb" / "debian"
SKIPPED = 77
ALWAYS = ("libpace-dev", "libpace1", "libpaced1", "pace-controller", "pace-doc", "pace-tools", "paced", "python3-pace")
WITH_CUDA = "pace-cuda"
DECISION = re.compile(r"decisions/(\d{4}-\S+\.md)$")
# A build that is taken as it is has the flags of its preset: Debian's hardening is judged with packages that were compiled for it.
HARDENING = "hardening-no-bindnow,hardening-no-fortify-functions,hardening-no-pie,hardening-no-relro"


def run(*command, **options):
    """What a command that must succeed writes to both of its outputs."""
    done = subprocess.run([str(word) for word in command], check=False, text=True, timeout=900, stdin=subprocess.DEVNULL,
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT, **options)
    if done.returncode != 0:
        raise AssertionError(f"{' '.join(map(str, command))} ended with {done.returncode}:\n{done.stdout}")
    return done.stdout


def read(path):
    return path.read_text(encoding="utf-8")


def field(package, name):
    return run("dpkg-deb", "--field", package, name).strip()


def contents(package):
    """Modes, owners, names and what links lead to; without what differs from machine to machine and release to release.

    The decisions are one line: every one of the tree's is there, whatever its name.
    """
    machine = run("dpkg-architecture", "--query", "DEB_HOST_MULTIARCH").strip()
    lines = []
    for line in run("dpkg-deb", "--contents", package).splitlines():
        mode, owner, _, _, _, name = line.split(maxsplit=5)
        name = name.replace(machine, "MULTIARCH").replace(version(), "VERSION")
        lines.append(f"{mode} {owner} {DECISION.sub('decisions/DECISION', name)}\n")
    return "".join(sorted(set(lines), key=lambda line: line.split()[2]))


@functools.lru_cache(maxsize=None)
def version():
    return re.search(r"project\(pace VERSION (\S+)", read(ROOT / "CMakeLists.txt"))[1]


def symbols_of(map_file):
    """What a version script exports, as dpkg-gensymbols writes it."""
    found = set()
    for node, body in re.findall(r"^(\w+) \{\s*(.*?)^\}", read(map_file), re.MULTILINE | re.DOTALL):
        names = re.findall(r"^\s*(\w+);", body.split("local:")[0], re.MULTILINE)
        found |= {f"{name}@{node}" for name in [node, *names]}
    return found


class Sources(unittest.TestCase):
    """What needs no package."""

    def test_every_exported_symbol_is_listed_with_its_version(self):
        for package, map_file in (("libpace1", "capi/pace.map"), ("libpaced1", "daemon/libpaced.map")):
            listed = re.findall(r"^ (\S+@\S+) [\d.]+$", read(DEBIAN / f"{package}.symbols"), re.MULTILINE)
            self.assertEqual(sorted(listed), sorted(symbols_of(ROOT / map_file)))

    def test_the_changelog_has_this_release_on_top(self):
        self.assertTrue(read(DEBIAN / "changelog").startswith(f"pace ({version()}) "))

    def test_build_dependencies_are_what_the_tree_installs(self):
        rows = [line.split() for line in read(ROOT / "tools/setup/packages").splitlines() if line and not line.startswith("#")]
        build = {package for group, package in rows if group == "build"}
        listed = build | {package for group, package in rows if group == "deb"}
        wanted = re.search(r"^Build-Depends:\n((?: .*\n)+)", read(DEBIAN / "control"), re.MULTILINE)[1]
        names = set(re.findall(r"^ ([a-z0-9+.-]+)", wanted, re.MULTILINE)) - {"debhelper-compat"}
        self.assertEqual(names - listed - {"python3"}, set())
        # Debian's builders have a compiler, and no cache.
        self.assertEqual(build - names - {"g++", "ccache"}, set())


class Packages(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        if FOLDER is not None:
            cls.folder = FOLDER
        else:
            cls.folder = pathlib.Path(tempfile.mkdtemp(prefix="pace-deb-test-"))
            cls.addClassCleanup(shutil.rmtree, cls.folder)
            run(ROOT / "packaging/deb/make", "--no-install", "--build-dir", BUILD, "--output", cls.folder,
                env={**os.environ, "DEB_BUILD_OPTIONS": "noautodbgsym"})
        cls.packages = {path.name.split("_")[0]: path for path in sorted(cls.folder.glob("*.deb")) if "-dbgsym_" not in path.name}

    def test_there_is_one_of_each(self):
        self.assertEqual(sorted(set(self.packages) - {WITH_CUDA}), sorted(ALWAYS))

    def test_contents_are_those_that_were_agreed_on(self):
        for name, package in self.packages.items():
            golden = GOLDENS / f"{name}.txt"
            if WRITE:
                golden.write_text(contents(package), encoding="utf-8")
            self.assertEqual(contents(package), read(golden), f"{name}; after a change on purpose: deb_test.py --packages FOLDER --write")

    def test_every_decision_is_in_the_documentation(self):
        names = [line.split()[-1] for line in run("dpkg-deb", "--contents", self.packages["pace-doc"]).splitlines()]
        packed = {found[1] for found in map(DECISION.search, names) if found}
        self.assertEqual(packed, {path.name for path in (ROOT / "docs/decisions").glob("[0-9]*.md")})

    def test_lintian_finds_no_fault(self):
        changes = sorted(self.folder.glob("*.changes"))
        self.assertEqual(len(changes), 1)
        suppressed = ("--suppress-tags", HARDENING) if FOLDER is None else ()
        run("lintian", "--allow-root", "--fail-on", "error,warning", *suppressed, changes[0])

    def test_conffiles_are_the_configuration(self):
        for name, package in self.packages.items():
            listed = self.control_file(package, "conffiles").split()
            self.assertEqual(listed, ["/etc/pace/paced.toml"] if name == "paced" else [], name)

    def test_scripts_of_maintainers_are_good_shell(self):
        for name, package in self.packages.items():
            for script in ("preinst", "postinst", "prerm", "postrm"):
                text = self.control_file(package, script)
                if text:
                    self.assertNotIn("#DEBHELPER#", text, name)
                    subprocess.run(["sh", "-n"], input=text, text=True, check=True, timeout=60)

    def test_units_are_started_and_restarted_after_an_upgrade(self):
        for name in ("paced", "pace-controller"):
            self.assertIn(f"{name}.service", self.control_file(self.packages[name], "postinst"))
            # Stopped before the new files are there, the daemon would be away for the whole of the upgrade.
            self.assertRegex(self.control_file(self.packages[name], "prerm"), r'"\$1" = remove \][^\n]*\n[^\n]*invoke stop')

    def test_the_client_library_needs_glibc_alone(self):
        names = [one.split()[0] for one in field(self.packages["libpace1"], "Depends").split(", ")]
        self.assertEqual(names, ["libc6"])

    def test_the_daemon_needs_what_moves_data(self):
        for name in ("paced", "libpaced1"):
            self.assertLess({"libucx0", "libzmq5"}, {one.split()[0] for one in field(self.packages[name], "Depends").split(", ")})

    def control_file(self, package, name):
        """A file beside `control`; empty if there is none."""
        done = subprocess.run(["dpkg-deb", "--info", package, name], check=False, text=True, timeout=60, stdout=subprocess.PIPE,
                              stderr=subprocess.DEVNULL)
        return done.stdout if done.returncode == 0 else ""


def main():
    for tool in ("dpkg-buildpackage", "dh", "dh_python3", "lintian"):
        if not shutil.which(tool):
            print(f"skipped: {tool} is not installed (tools/setup/install deb)")
            return SKIPPED
    result = unittest.main(argv=[sys.argv[0]], exit=False, verbosity=2).result
    return 0 if result.wasSuccessful() else 1


if __name__ == "__main__":
    WRITE = "--write" in sys.argv
    FOLDER = pathlib.Path(sys.argv[2]).resolve() if sys.argv[1] == "--packages" else None
    BUILD = None if FOLDER else pathlib.Path(sys.argv[1]).resolve()
    sys.exit(main())
