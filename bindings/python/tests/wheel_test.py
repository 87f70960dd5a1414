"""The wheel: built, small, installed apart from the tree, and used by every Python that is here."""

import os
import shutil
import subprocess
import sys
import tempfile
import unittest
import zipfile

from support import FOLDER, main

BYTES_MAX = 1_000_000
PYTHONS = [f"python3.{minor}" for minor in range(8, 14)]
PROGRAM = """
import pace, pace._library, pathlib
assert pathlib.Path(pace._library.library_file()).parent == pathlib.Path(pace.__file__).parent, pace._library.library_file()
assert any(one["name"] == "group.size" for one in pace.query("options"))
with pace.Session("wheel", "all-reduce", rank=0, world=1) as session:
    buffer = session.buffer("f32", 4)
    session.reduce(buffer).wait()
print("done", pace.library_version())
"""


def run(*command, cwd=None, **environment):
    done = subprocess.run(command, cwd=cwd, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False,
                          env={**os.environ, **environment})
    if done.returncode != 0:
        raise AssertionError(f"{' '.join(command)} ended with {done.returncode}:\n{done.stdout}")
    return done.stdout


class WheelTest(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.mkdtemp(prefix="pace-wheel-")
        self.addCleanup(shutil.rmtree, self.folder)
        # A copy: building leaves folders beside the sources.
        shutil.copytree(FOLDER, f"{self.folder}/python", ignore=shutil.ignore_patterns("build", "*.egg-info", "__pycache__"))
        try:
            import setuptools
            import wheel
        except ImportError as missing:
            self.skipTest(f"{missing} (Debian's python3-setuptools and python3-wheel)")
        assert setuptools and wheel
        run(sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps", "--no-build-isolation", "--wheel-dir", self.folder,
            f"{self.folder}/python")
        self.wheel = next(name for name in os.listdir(self.folder) if name.endswith(".whl"))

    def test_one_small_wheel_serves_every_python(self):
        self.assertRegex(self.wheel, r"^pace-\d+\.\d+\.\d+-py3-none-manylinux_2_34_\w+\.whl$")
        path = f"{self.folder}/{self.wheel}"
        self.assertLess(os.path.getsize(path), BYTES_MAX)
        names = zipfile.ZipFile(path).namelist()
        self.assertIn("pace/py.typed", names)
        self.assertIn("pace/torch/__init__.py", names)
        self.assertIn("pace/jax/__init__.py", names)
        self.assertEqual(len([name for name in names if name.startswith("pace/libpace.so.")]), 1, names)
        entries = next(name for name in names if name.endswith(".dist-info/entry_points.txt"))
        self.assertIn("[torch.backends]\npace = pace.torch_backend:register", zipfile.ZipFile(path).read(entries).decode())
        # What pip does with a wheel that has no scripts to write is to unpack it; so no Python needs a pip of its own.
        with zipfile.ZipFile(path) as archive:
            archive.extractall(f"{self.folder}/site")
        found = [sys.executable] + [python for python in map(shutil.which, PYTHONS) if python]
        for python in found:
            with self.subTest(python=python):
                if subprocess.run([python, "-c", ""], stderr=subprocess.DEVNULL, check=False).returncode != 0:
                    continue  # a launcher of versions that has not this one
                self.assertIn("done", run(python, "-B", "-c", PROGRAM, cwd=f"{self.folder}/site", PYTHONPATH="", PACE_LIBRARY=""))


if __name__ == "__main__":
    main()
