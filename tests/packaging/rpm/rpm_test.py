#!/usr/bin/env python3
"""The packages for Enterprise Linux 9, as far as they can be tried on Debian: rpm_test.py BUILD COMPILER. 77 where a tool is missing.

BUILD is packed as it is. The programs run in an overlay of this machine's own system.
"""

import contextlib
import filecmp
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import unittest

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parents[2]
sys.path.insert(0, str(HERE.parent))

import enterprise_linux
import root as overlay
from bundle_test import Program, elf_files, run, run_paths

SKIPPED = 77
SOON_S = 60
NAMES = {"paced", "pace-controller", "pace-tools", "pace-libs", "pace-devel", "python3-pace"}
TOOLS = ("rpmbuild", "rpmlint", "createrepo_c", "dnf", "patchelf", "unshare", "cpio")


class Packages(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.build, cls.compiler = pathlib.Path(sys.argv[1]).resolve(), sys.argv[2]
        cls.scratch = pathlib.Path(tempfile.mkdtemp(prefix="pace-rpm-test-")).resolve()
        cls.scratch.chmod(0o755)
        cls.addClassCleanup(shutil.rmtree, cls.scratch, ignore_errors=True)
        cls.packages = cls.scratch / "packages"
        cls.make(cls.packages)
        cls.files = sorted(cls.packages.glob("*.rpm"))
        cls.tree = cls.scratch / "tree"
        cls.tree.mkdir()
        for package in cls.files:
            run("sh", "-c", 'rpm2cpio "$1" | cpio --extract --make-directories --quiet', "sh", package, cwd=cls.tree)

    @classmethod
    def make(cls, output):
        run(ROOT / "packaging/rpm/make", "--no-install", "--level", "1", "--build-dir", cls.build, "--output", output)


class Contents(Packages):
    def test_there_is_a_package_for_each_part(self):
        names = {run("rpm", "-qp", "--queryformat", "%{NAME}", package) for package in self.files}
        self.assertEqual(names - {"pace-cuda"}, NAMES)

    def test_the_same_build_gives_the_same_packages(self):
        again = self.scratch / "again"
        self.make(again)
        self.assertEqual([path.name for path in self.files], sorted(path.name for path in again.iterdir()))
        self.assertEqual([path.name for path in self.files if not filecmp.cmp(path, again / path.name, shallow=False)], [])

    def test_rpmlint_finds_nothing_that_is_not_argued_for(self):
        said = run("rpmlint", "--config", ROOT / "packaging/rpm/rpmlint.toml", *self.files, ROOT / "packaging/rpm/pace.spec")
        self.assertIn(" 0 errors, 0 warnings", said)

    def test_no_file_needs_a_newer_runtime_than_enterprise_linux_9_has(self):
        newer, seen = [], 0
        for path in elf_files(self.tree):
            for name in re.findall(r"\*UND\*.*[( ]((?:GLIBC|GLIBCXX|CXXABI|GCC)_[\d.]+)[) ]", run("objdump", "--dynamic-syms", path)):
                seen += 1
                if enterprise_linux.is_newer(name):
                    newer.append((str(path.relative_to(self.tree)), name))
            # Also versions that no symbol asks for: the loader refuses the file for the name.
            needs = run("readelf", "--version-info", "--wide", path).partition("Version needs section")[2]
            newer += [(str(path), name) for name in re.findall(r"Name: (\S+)", needs) if enterprise_linux.is_newer(name)]
        self.assertGreater(seen, 1000)
        self.assertEqual(newer, [])

    def test_libraries_are_the_hosts_or_in_the_private_folder(self):
        ours = {path.name for path in self.tree.rglob("*.so*")}
        for path in elf_files(self.tree):
            wanted = set(re.findall(r"\(NEEDED\).*\[(.*)\]", run("readelf", "--dynamic", "--wide", path)))
            self.assertEqual(wanted - ours - set(enterprise_linux.LIBRARIES), set(), path)
            self.assertTrue(all(entry.startswith("$ORIGIN") for entry in run_paths(path)), path)

    def test_dnf_resolves_them_against_enterprise_linux_9(self):
        repository = self.scratch / "repository"
        shutil.copytree(self.packages, repository)
        enterprise_linux.make_package(repository)
        run("createrepo_c", "--quiet", repository)
        said = run("dnf", f"--installroot={self.scratch}/installroot", f"--repofrompath=pace,{repository}", "--repo=pace", "--nogpgcheck",
                   "--releasever=9", f"--setopt=cachedir={self.scratch}/cache", f"--setopt=logdir={self.scratch}", "--setopt=tsflags=test",
                   "--assumeyes", "install", *NAMES)
        self.assertIn("Transaction test succeeded.", said)
        # The host alone, whose capabilities are as old as Enterprise Linux's.
        self.assertIn("enterprise-linux", said)

    def test_dnf_refuses_a_host_without_their_libraries(self):
        repository = self.scratch / "alone"
        shutil.copytree(self.packages, repository)
        run("createrepo_c", "--quiet", repository)
        with self.assertRaisesRegex(AssertionError, r"nothing provides libstdc\+\+\.so\.6"):
            run("dnf", f"--installroot={self.scratch}/other", f"--repofrompath=pace,{repository}", "--repo=pace", "--nogpgcheck",
                "--releasever=9", f"--setopt=cachedir={self.scratch}/cache-alone", f"--setopt=logdir={self.scratch}", "--assumeyes", "install", "paced")


class Installed(Packages):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.root = overlay.Root()
        cls.addClassCleanup(cls.root.close)
        cls.root.rpm("--initdb")
        cls.root.rpm("-i", "--nodeps", *cls.files)

    def test_1_scriptlets_have_made_user_folders_and_services(self):
        for user, home in (("paced", "/var/lib/pace"), ("pace-controller", "/var/lib/pace-controller")):
            self.assertIn(f":{home}:", run(*self.root.inside("getent", "passwd", user)))
        self.assertIn(":paced\n", run(*self.root.inside("getent", "group", "pace")))
        for folder in ("/etc/pace/keys", "/etc/pace/keys/allowed"):
            self.assertEqual(run(*self.root.inside("stat", "--format=%U %G %a", folder)), "root root 755\n")
        for service in ("paced", "pace-controller"):
            result = subprocess.run(self.root.inside("systemctl", "is-enabled", service), check=False, capture_output=True, text=True)
            self.assertIn(result.stdout, ("enabled\n", "disabled\n"), result.stderr)
            run(*self.root.inside("systemd-analyze", "verify", "--recursive-errors=no", f"/usr/lib/systemd/system/{service}.service"))

    def test_2_two_workers_train_over_two_daemons(self):
        self.compile_trainer()
        with contextlib.ExitStack() as stack:
            controller = stack.enter_context(self.program("pace-controller", "listening ", "--listen", "tcp://127.0.0.1:0", "--journal", ""))
            daemons = [stack.enter_context(self.program(
                "paced", "ready", "--socket", f"/tmp/{node}.sock", "--name", node, "--gpu", "off", "--controller", controller.said,
                "--data-interface", "lo", "--http-listen", "127.0.0.1:0")) for node in ("first", "second")]
            trainers = [subprocess.Popen(self.root.inside("/tmp/trainer", f"unix:/tmp/{node}.sock", rank, 2, user="paced"), stdout=subprocess.PIPE)
                        for rank, node in enumerate(("first", "second"))]
            for process in trainers:
                stack.callback(process.kill)
            self.assertEqual([process.communicate(timeout=SOON_S)[0] for process in trainers], 2 * [b"reduced\n"])
            for daemon in daemons:
                mapped = pathlib.Path(f"/proc/{daemon.process_.pid}/maps").read_text(encoding="utf-8")
                for library in ("libucp.so.0", "libzmq.so.5", "ucx/libuct_cma.so.0"):
                    self.assertRegex(mapped, rf"/usr/lib64/pace/{re.escape(library)}\n")
                    self.assertNotRegex(mapped, rf"/x86_64-linux-gnu/{re.escape(library)}\n")

    def test_3_python_trains_with_a_daemon_that_it_hosts(self):
        script = "import pace\nwith pace.Session('one', 'all-reduce', rank=0, world=1, endpoint='embedded:') as s:\n" \
                 "    print(s.reduce(s.buffer('f32', 4)).wait().member_count, pace.__file__)\n"
        said = run(*self.root.inside("env", "PYTHONPATH=/usr/lib/python3.9/site-packages", "/usr/bin/python3", "-B", "-c", script))
        self.assertEqual(said, "1 /usr/lib/python3.9/site-packages/pace/__init__.py\n")
        said = run(*self.root.inside("env", "PYTHONPATH=/usr/lib/python3.9/site-packages", "pace", "--help"))
        self.assertIn("usage: ", said)

    def test_4_an_upgrade_keeps_the_administrators_configuration(self):
        configuration = self.root.path / "etc/pace/paced.toml"
        configuration.write_text("name = \"mine\"\n", encoding="ascii")
        self.root.rpm("-U", "--nodeps", "--replacepkgs", *self.files)
        self.assertEqual(configuration.read_text(encoding="ascii"), "name = \"mine\"\n")

    def test_5_removal_leaves_no_file(self):
        self.root.rpm("-e", "--nodeps", *run("rpm", "-qp", "--queryformat", "%{NAME} ", *self.files).split())
        packed = [path.relative_to(self.tree) for path in self.tree.rglob("*") if not path.is_dir()]
        self.assertGreater(len(packed), 50)
        # /usr/share/doc/pace and the like of this machine's own may be there.
        self.assertEqual([str(path) for path in packed if os.path.lexists(self.root.path / path) and not os.path.lexists(f"/{path}")], [])
        self.assertEqual((self.root.path / "etc/pace/paced.toml.rpmsave").read_text(encoding="ascii"), "name = \"mine\"\n")

    def program(self, name, says, *flags):
        (path, *words) = self.root.inside(f"/usr/sbin/{name}", *flags, user="paced")
        return Program(shutil.which(path), self.scratch / f"{name}.log", words, says)

    def compile_trainer(self):
        shutil.copy(HERE.parent / "trainer.c", self.root.path / "tmp/trainer.c")
        flags = run(*self.root.inside("env", "PKG_CONFIG_PATH=/usr/lib64/pkgconfig", "pkg-config", "--cflags", "--libs", "pace")).split()
        run(*self.root.inside(self.compiler, "-std=c99", "-Wall", "-Wextra", "-Werror", "/tmp/trainer.c", "-o", "/tmp/trainer", *flags))


def why_not():
    """Why this cannot run here; empty if it can."""
    path = os.environ.get("PATH", "") + ":/usr/sbin:/sbin"
    missing = [tool for tool in TOOLS if not shutil.which(tool, path=path)]
    if missing:
        return f"{', '.join(missing)} missing (tools/setup/install rpm)"
    if os.geteuid() != 0:
        return "an overlay of the system needs root"
    return ""


def main():
    reason = why_not()
    if reason:
        print(f"skipped: {reason}")
        return SKIPPED
    overlay.enter()
    result = unittest.main(argv=[sys.argv[0], *sys.argv[3:]], exit=False, verbosity=2).result
    return 0 if result.wasSuccessful() else 1


if __name__ == "__main__":
    sys.exit(main())
