"""Setup: the wheel bundles libpace, stripped, and is for every Python 3 on Linux with glibc 2.34.

The library is the file that PACE_LIBRARY names, else the newest of this tree's builds. Without either the package has none, and
takes the one that the system's loader finds.
"""

import os
import pathlib
import re
import shutil
import subprocess

from setuptools import Distribution, setup
from setuptools.command.build_py import build_py
from wheel.bdist_wheel import bdist_wheel

FOLDER = pathlib.Path(__file__).resolve().parent
GLIBC = (2, 34)  # what libpace needs; a test of the tree looks


def library():
    named = os.environ.get("PACE_LIBRARY")
    found = [pathlib.Path(named)] if named else list(FOLDER.parents[1].glob("build/*/capi/libpace.so"))
    return max((path.resolve() for path in found), key=lambda path: path.stat().st_mtime, default=None)


def soname_of(file):
    return re.sub(r"(\.so\.\d+).*", r"\1", file.name)


def version():
    text = (FOLDER / "pace" / "_abi.py").read_text(encoding="ascii")
    return ".".join(re.search(rf"^PACE_VERSION_{part} = (\d+)$", text, re.MULTILINE).group(1) for part in ("MAJOR", "MINOR", "PATCH"))


class BuildWithLibrary(build_py):
    def run(self):
        super().run()
        file = library()
        if file is not None:
            target = pathlib.Path(self.build_lib) / "pace" / soname_of(file)
            shutil.copyfile(file, target)
            target.chmod(0o755)
            if shutil.which("strip"):
                subprocess.run(["strip", "--strip-unneeded", str(target)], check=True)


class WithLibrary(Distribution):
    def has_ext_modules(self):
        return library() is not None


class PlatformWheel(bdist_wheel):
    def get_tag(self):
        if library() is None:
            return "py3", "none", "any"
        return "py3", "none", f"manylinux_{GLIBC[0]}_{GLIBC[1]}_{os.uname().machine}"


setup(version=version(), distclass=WithLibrary, cmdclass={"build_py": BuildWithLibrary, "bdist_wheel": PlatformWheel})
