#!/usr/bin/env python3
"""The image for containers: image_test.py BUILD COMPILER. 77 where a tool is missing.

BUILD is bundled as it is, and run by buildah in a chroot with namespaces; trainers of the host use its daemon over the socket.
"""

import contextlib
import json
import os
import pathlib
import shutil
import subprocess
import sys
import tarfile
import tempfile
import unittest

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parents[2]
sys.path.insert(0, str(HERE.parent))

from bundle_test import Program, run

SKIPPED = 77
USER, CONTROLLER = 64010, 64011
TOOLS = ("buildah", "patchelf", "zstd")


class Image(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.build, cls.compiler = pathlib.Path(sys.argv[1]).resolve(), sys.argv[2]
        cls.scratch = pathlib.Path(tempfile.mkdtemp(prefix="pace-image-test-")).resolve()
        cls.scratch.chmod(0o755)
        # Not through anything that is mounted below it.
        cls.addClassCleanup(subprocess.run, ["rm", "-rf", "--one-file-system", cls.scratch], check=True)
        cls.bundle = cls.scratch / "pace.tar.zst"
        run(ROOT / "packaging/bundle/make", "--no-install", "--level", "1", "--build-dir", cls.build, "--output", cls.bundle)
        cls.digest = cls.make("image.tar")
        cls.storage = ("buildah", "--root", cls.scratch / "storage", "--runroot", cls.scratch / "run", "--storage-driver", "vfs")
        cls.container = run(*cls.storage, "from", "--quiet", f"docker-archive:{cls.scratch}/image.tar").split()[-1]
        cls.addClassCleanup(run, *cls.storage, "rm", cls.container)

    @classmethod
    def make(cls, name):
        """Gives the digest."""
        said = run(ROOT / "packaging/image/make", "--no-install", "--bundle", cls.bundle, "--output", cls.scratch / name)
        digest, path = said.split("\n")[-2].split(" ")
        assert path == str(cls.scratch / name)
        return digest

    def inside(self, *command, volume=None):
        """The command line that runs `command` in the container, with the folder `volume` at the socket's place."""
        volumes = ["--volume", f"{volume}:/run/pace"] if volume else []
        return [*map(str, self.storage), "run", "--isolation=chroot", *volumes, self.container, "--", *map(str, command)]

    def test_the_same_bundle_gives_the_same_image(self):
        self.assertEqual(self.make("again.tar"), self.digest)

    def test_it_says_how_it_is_run(self):
        with tarfile.open(self.scratch / "image.tar") as archive:
            manifest = json.load(archive.extractfile("manifest.json"))[0]
            image = json.load(archive.extractfile(manifest["Config"]))
        self.assertEqual(f"sha256:{pathlib.Path(manifest['Config']).stem}", self.digest)
        config = image["config"]
        self.assertEqual((config["User"], config["Cmd"]), (f"{USER}:{USER}", ["paced"]))
        self.assertEqual(config["Healthcheck"]["Test"], ["CMD", "pacectl", "daemon"])
        self.assertEqual(image["created"], "1970-01-01T00:00:00Z")

    def test_there_is_no_shell_and_nothing_that_changes_its_user(self):
        root = pathlib.Path(run(*self.storage, "mount", self.container).strip())
        files = [path for path in root.rglob("*") if path.is_file() and not path.is_symlink()]
        self.assertGreater(len(files), 50)
        self.assertEqual([path for path in files if path.name in ("sh", "bash", "dash", "busybox")], [])
        self.assertEqual([path for path in files if path.stat().st_mode & 0o6000], [])
        # What the services may write is theirs, and nothing else is.
        writable = {str(path.relative_to(root)) for path in root.rglob("*") if path.lstat().st_uid == USER}
        self.assertEqual(writable, {"run/pace", "var/lib/pace"})
        writable = {str(path.relative_to(root)) for path in root.rglob("*") if path.lstat().st_uid == CONTROLLER}
        self.assertEqual(writable, {"var/lib/pace-controller"})

    def test_every_program_finds_its_libraries(self):
        for program in ("paced", "pace-controller", "pacectl", "pace-sim"):
            self.assertIn("1.0.0" if program == "pacectl" else program, run(*self.inside(program, "--version")))

    def test_trainers_of_the_host_use_its_daemon(self):
        folder = self.scratch / "socket"
        folder.mkdir()
        os.chown(folder, USER, USER)
        trainer = self.scratch / "trainer"
        run(self.compiler, "-std=c99", HERE.parent / "trainer.c", "-o", trainer, f"-I{ROOT}/capi", f"-L{self.build}/capi", "-lpace",
            f"-Wl,-rpath,{self.build}/capi")
        with contextlib.ExitStack() as stack:
            (buildah, *words) = self.inside("paced", "--gpu", "off", volume=folder)
            daemon = Program(shutil.which(buildah), self.scratch / "paced.log", words, "ready")
            # buildah itself ends with 1 when what it runs is ended.
            stack.callback(daemon.process_.stdout.close)
            stack.callback(daemon.process_.wait, 30)
            stack.callback(daemon.process_.terminate)
            self.assertEqual(daemon.wait_for("ready"), "", (self.scratch / "paced.log").read_text(encoding="utf-8"))
            # The check of health, where it runs.
            self.assertIn("paced 1.0.0", run(*self.inside("pacectl", "daemon", volume=folder)))
            self.assertEqual((folder / "paced.sock").stat().st_gid, USER)
            self.assertEqual(run(trainer, f"unix:{folder}/paced.sock", 0, 1), "reduced\n")
        failed = subprocess.run(self.inside("pacectl", "daemon", volume=folder), check=False, capture_output=True)
        self.assertNotEqual(failed.returncode, 0, "the check of health passes without a daemon")


def main():
    missing = [tool for tool in TOOLS if not shutil.which(tool)]
    if missing:
        print(f"skipped: {', '.join(missing)} missing (tools/setup/install image package)")
        return SKIPPED
    if os.geteuid() != 0:
        print("skipped: making the image needs root")
        return SKIPPED
    result = unittest.main(argv=[sys.argv[0], *sys.argv[3:]], exit=False, verbosity=2).result
    return 0 if result.wasSuccessful() else 1


if __name__ == "__main__":
    sys.exit(main())
