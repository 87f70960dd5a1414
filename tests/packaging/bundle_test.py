#!/usr/bin/env python3
"""The bundle works where it is unpacked, and takes nothing but glibc from its host: bundle_test.py BUILD COMPILER.

BUILD is installed and bundled as it is. 77 if a tool that makes bundles is missing.
"""

import contextlib
import ctypes
import filecmp
import os
import pathlib
import re
import select
import shutil
import signal
import subprocess
import sys
import tarfile
import tempfile
import time
import unittest

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parents[1]
SKIPPED = 77
SOON_S = 30

# What the host has to give: glibc and its loader, and what glibc's name service brings.
HOST = re.compile(r"(ld-linux[\w-]*|linux-vdso|libc|libm|libmvec|libdl|libpthread|librt|libresolv|libutil|libanl|"
                  r"libnss_\w+)\.so(\.\d+)*")

EXPECTED = (
    "README", "bin/pacectl", "bin/pace-sim", "sbin/paced", "sbin/pace-controller", "include/pace.h",
    "lib/libpace.so", "lib/libpace.so.1", "lib/libpaced.so.1", "lib/pkgconfig/pace.pc",
    "lib/systemd/system/paced.service", "lib/systemd/system/pace-controller.service",
    "lib/sysusers.d/pace.conf", "lib/tmpfiles.d/pace.conf", "lib/systemd/catalog/pace.catalog", "etc/pace/paced.toml",
    "share/doc/pace/LICENSE", "share/doc/pace/configuration.md", "share/doc/pace/pace-controller.toml",
    "share/doc/pace/examples/minimal/trainer.c", "share/doc/pace/third-party.tsv",
    "lib/libucp.so.0", "lib/libzmq.so.5", "lib/libstdc++.so.6", "lib/libgcc_s.so.1",
)


def run(*command, **options):
    """What a command that must succeed writes to both of its outputs."""
    result = subprocess.run([str(word) for word in command], check=False, text=True, timeout=120,
                            stdout=subprocess.PIPE, stderr=subprocess.STDOUT, **options)
    if result.returncode != 0:
        raise AssertionError(f"{command} ended with {result.returncode}:\n{result.stdout}")
    return result.stdout


def environment(**more):
    """Ours, without what would show a program another Pace or other libraries."""
    ours = {name: value for name, value in os.environ.items()
            if not name.startswith(("PACE_", "LD_", "UCX_"))}
    return {**ours, **more}


def is_elf(path):
    with open(path, "rb") as file:
        return file.read(4) == b"\x7fELF"


def elf_files(folder):
    return [path for path in sorted(folder.rglob("*"))
            if path.is_file() and not path.is_symlink() and is_elf(path)]


def run_paths(path):
    """The entries of RPATH and RUNPATH."""
    found = re.findall(r"\((?:RPATH|RUNPATH)\).*\[(.*)\]", run("readelf", "--dynamic", "--wide", path))
    return [entry for line in found for entry in line.split(":")]


def foreign(libraries, folder):
    """Those that are neither in the folder nor the host's to give."""
    return sorted(library for library in set(libraries)
                  if not pathlib.Path(os.path.normpath(library)).is_relative_to(folder)
                  and not HOST.fullmatch(pathlib.Path(library).name))


def loaded_libraries(prefix):
    """What the loader says it loaded, with LD_DEBUG=libs and LD_DEBUG_OUTPUT=prefix."""
    texts = [path.read_text(encoding="utf-8", errors="replace")
             for path in prefix.parent.glob(prefix.name + ".*")]
    return [os.path.normpath(library) for text in texts
            for library in re.findall(r"calling init: (\S+\.so\S*)", text)]


def die_with_us():
    """A daemon that outlived a test that was killed would stay for ever."""
    pr_set_pdeathsig = 1
    ctypes.CDLL(None).prctl(pr_set_pdeathsig, signal.SIGKILL)


class Program:
    """A program of the bundle that serves: ready when it has said so, stopped and gone at the end."""

    def __init__(self, path, log, flags, says):
        self.log_ = log
        self.debug_ = log.with_suffix(".libraries")
        with open(self.log_, "wb") as errors:
            self.process_ = subprocess.Popen(
                [path, *flags], stdout=subprocess.PIPE, stderr=errors, preexec_fn=die_with_us,
                env=environment(LD_DEBUG="libs", LD_DEBUG_OUTPUT=str(self.debug_)))
        self.says_ = says
        self.said = None  # the rest of the line that begins with `says`

    def __enter__(self):
        self.said = self.wait_for(self.says_)
        if self.said is None:
            self.process_.kill()
            self.process_.wait()
            self.process_.stdout.close()
            raise AssertionError(f"{self.says_!r} was not said:\n{self.log_.read_text()}")
        return self

    def __exit__(self, *_):
        self.process_.send_signal(signal.SIGTERM)
        try:
            status = self.process_.wait(SOON_S)
        finally:
            self.process_.kill()
            self.process_.stdout.close()
        if status != 0:
            raise AssertionError(f"it ended with {status}:\n{self.log_.read_text()}")

    def wait_for(self, prefix):
        deadline = time.monotonic() + SOON_S
        output = self.process_.stdout.fileno()
        said = ""
        while not (found := re.search(f"^{prefix}(.*)\n", said, re.MULTILINE)):
            left = deadline - time.monotonic()
            if left <= 0 or not select.select([output], [], [], left)[0]:
                return None
            more = os.read(output, 4096)
            if not more:
                return None
            said += more.decode()
        return found.group(1)

    def libraries(self):
        """What it has mapped now, and what its loader loaded before."""
        maps = pathlib.Path(f"/proc/{self.process_.pid}/maps").read_text(encoding="utf-8")
        return re.findall(r"(/\S+\.so[.\d]*)$", maps, re.MULTILINE) + loaded_libraries(self.debug_)


class Bundle(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.build, cls.compiler = pathlib.Path(sys.argv[1]).resolve(), sys.argv[2]
        cls.scratch = pathlib.Path(tempfile.mkdtemp(prefix="pace-bundle-test-")).resolve()
        cls.addClassCleanup(shutil.rmtree, cls.scratch)
        archive = cls.scratch / "pace.tar.zst"
        cls.said = cls.make(archive)
        run("zstd", "--quiet", "--decompress", archive, "-o", cls.scratch / "pace.tar")
        with tarfile.open(cls.scratch / "pace.tar") as tar:
            cls.members = tar.getmembers()
            tar.extractall(cls.scratch / "elsewhere")
        # Neither the place where it was made nor the name that it was packed under.
        (unpacked,) = (cls.scratch / "elsewhere").iterdir()
        cls.bundle = unpacked.rename(cls.scratch / "elsewhere/moved")

    @classmethod
    def make(cls, archive):
        return run(ROOT / "packaging/bundle/make", "--no-install", "--level", "1",
                   "--build-dir", cls.build, "--output", archive)

    def test_the_archive_is_named_and_the_same_every_time(self):
        archive, again = self.scratch / "pace.tar.zst", self.scratch / "again.tar.zst"
        self.assertIn(f"{archive} {archive.stat().st_size} bytes\n", self.said)
        names = [member.name for member in self.members]
        self.assertEqual(names, sorted(names, key=lambda name: name.split("/")))
        self.assertEqual({(member.uid, member.gid) for member in self.members}, {(0, 0)})
        self.assertEqual(len({member.mtime for member in self.members}), 1)
        self.make(again)
        self.assertTrue(filecmp.cmp(archive, again, shallow=False))

    def test_everything_a_user_needs_is_there(self):
        missing = [name for name in EXPECTED if not (self.bundle / name).is_file()]
        self.assertEqual(missing, [])
        if (self.build / "plugins/pace-device-cuda.so").exists():
            self.assertTrue((self.bundle / "lib/pace/plugins/pace-device-cuda.so").is_file())
        self.assertNotEqual(list((self.bundle / "lib/ucx").glob("libuct_*.so.*")), [])

    def test_glibc_stays_the_hosts(self):
        names = [path.name for path in elf_files(self.bundle)]
        self.assertEqual([name for name in names if HOST.fullmatch(name)], [])

    def test_every_library_is_found_inside(self):
        for path in elf_files(self.bundle):
            text = run("ldd", path, env=environment())
            self.assertNotIn("not found", text, path)
            found = re.findall(r"=> (\S+)", text)
            self.assertEqual(foreign(found, self.bundle), [], path)

    def test_no_file_knows_where_it_was_made(self):
        for path in elf_files(self.bundle):
            self.assertEqual([entry for entry in run_paths(path) if not entry.startswith("$ORIGIN")], [],
                             path)
        for path in sorted(self.bundle.rglob("*")):
            if path.is_file() and not path.is_symlink() and not is_elf(path):
                text = path.read_bytes()
                self.assertNotIn(str(self.build).encode(), text, path)
                self.assertNotIn(b"pace-bundle.", text, path)

    def test_a_trainer_runs_on_a_daemon_of_its_own(self):
        with tempfile.TemporaryDirectory(dir=self.scratch) as name:
            folder = pathlib.Path(name)
            trainer = self.compile_trainer(folder)
            with self.daemon(folder, "alone") as daemon:
                endpoint = f"unix:{folder / 'alone.sock'}"
                pacectl = (self.bundle / "bin/pacectl", "--endpoint", endpoint)
                run(*pacectl, "status", env=environment())
                self.assertIn("alone", run(*pacectl, "daemon", env=environment()))
                self.assertEqual(run(trainer, endpoint, 0, 1, env=environment()), "reduced\n")
                self.assertEqual(foreign(daemon.libraries(), self.bundle), [])

    def test_daemons_of_a_cluster_find_the_modules_of_ucx(self):
        with tempfile.TemporaryDirectory(dir=self.scratch) as name, contextlib.ExitStack() as stack:
            folder = pathlib.Path(name)
            trainer = self.compile_trainer(folder)
            controller = stack.enter_context(Program(
                self.bundle / "sbin/pace-controller", folder / "controller.log",
                ["--listen", "tcp://127.0.0.1:0", "--journal", folder / "journal"], "listening "))
            daemons = [stack.enter_context(self.daemon(
                folder, node, "--controller", controller.said, "--data-interface", "lo", "--data-transport", "tcp,cma"))
                for node in ("first", "second")]
            trainers = [subprocess.Popen(
                [trainer, f"unix:{folder / node}.sock", rank, "2"], env=environment(),
                stdout=subprocess.PIPE, preexec_fn=die_with_us)
                for rank, node in (("0", "first"), ("1", "second"))]
            for process in trainers:
                stack.callback(process.kill)
            for process in trainers:
                self.assertEqual(process.communicate(timeout=SOON_S)[0], b"reduced\n")
            self.assertEqual(foreign(controller.libraries(), self.bundle), [])
            for daemon in daemons:
                self.assertEqual(foreign(daemon.libraries(), self.bundle), [])
                self.assertIn(str(self.bundle / "lib/ucx/libuct_cma.so.0"), daemon.libraries())

    def test_a_trainer_hosts_the_daemon_itself(self):
        with tempfile.TemporaryDirectory(dir=self.scratch) as name:
            folder = pathlib.Path(name)
            trainer = self.compile_trainer(folder)
            debug = folder / "trainer.libraries"
            said = run(trainer, "embedded:", 0, 1, env=environment(LD_DEBUG="libs", LD_DEBUG_OUTPUT=str(debug)))
            self.assertIn("reduced\n", said)
            loaded = loaded_libraries(debug)
            self.assertIn(str(self.bundle / "lib/libpaced.so.1"), loaded)
            # A GPU's driver is its host's.
            self.assertEqual([library for library in foreign(loaded, self.bundle)
                              if not re.match(r"lib(cuda|nvidia)", pathlib.Path(library).name)], [])

    def test_installing_alone_stays_below_the_prefix(self):
        prefix = self.scratch / "installed"
        said = run("cmake", "--install", self.build, "--prefix", prefix)
        places = re.findall(r"^-- (?:Installing|Up-to-date): (.*)$", said, re.MULTILINE)
        self.assertEqual([place for place in places if not place.startswith(f"{prefix}/")], [])
        self.assertIn(f"ExecStart={prefix}/sbin/paced\n",
                      (prefix / "lib/systemd/system/paced.service").read_text(encoding="utf-8"))
        for path in elf_files(prefix):
            self.assertEqual(run_paths(path), [], path)

    def daemon(self, folder, name, *flags):
        socket = folder / f"{name}.sock"
        return Program(self.bundle / "sbin/paced", folder / f"{name}.log",
                       ["--socket", socket, "--name", name, "--gpu", "off", *flags], "ready")

    def compile_trainer(self, folder):
        library = self.bundle / "lib"
        flags = [f"-I{self.bundle / 'include'}", f"-L{library}", "-lpace"]
        if shutil.which("pkg-config"):
            flags = run("pkg-config", "--cflags", "--libs", "pace",
                        env=environment(PKG_CONFIG_PATH=str(library / "pkgconfig"))).split()
        trainer = folder / "trainer"
        run(self.compiler, "-std=c99", "-Wall", "-Wextra", "-Werror", HERE / "trainer.c", "-o", trainer,
            *flags, f"-Wl,-rpath,{library}")
        return trainer


def main():
    for tool in ("patchelf", "zstd"):
        if not shutil.which(tool):
            print(f"skipped: {tool} is not installed (tools/setup/install test)")
            return SKIPPED
    result = unittest.main(argv=[sys.argv[0]], exit=False, verbosity=2).result
    return 0 if result.wasSuccessful() else 1


if __name__ == "__main__":
    sys.exit(main())
