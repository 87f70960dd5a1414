"""Frozen: clients of an earlier release, kept as they were: their drivers, the cases that they know, and the library that they had.

They lie in frozen/VERSION/clients.tar.xz, which `freeze` has made. A program that was built once must go on running, so nothing in
there is ever changed.
"""

import pathlib
import platform
import shutil
import tarfile
from typing import List

from languages import Places, Unavailable, julia_command, python_command

FOLDER = pathlib.Path(__file__).resolve().parent / "frozen"
ARCHIVE = "clients.tar.xz"
MACHINE = "x86_64"
PROGRAMS = ("c", "cpp", "rust")
# By which programs look for the library.
SONAME = "libpace.so.1"


def releases() -> List[str]:
    """Those that are kept, the oldest first."""
    found = [path.parent.name for path in FOLDER.glob(f"*/{ARCHIVE}")]
    return sorted(found, key=lambda name: [int(part) for part in name.split(".")])


class Frozen:
    """A release's clients, unpacked. `cases` is the folder of the cases that they know, `library` the libpace that they had."""

    def __init__(self, release: str, build: pathlib.Path):
        self._folder = build / f"release-{release}"
        shutil.rmtree(self._folder, ignore_errors=True)
        with tarfile.open(FOLDER / release / ARCHIVE) as archive:
            archive.extractall(self._folder)
        self.cases = self._folder / "cases"
        self.library = self._folder / MACHINE / SONAME

    def driver(self, language: str, places: Places) -> List[str]:
        """How the driver of that language is started, with the library of these places. Raises Unavailable."""
        if language in PROGRAMS and platform.machine() != MACHINE:
            raise Unavailable(f"its program is for {MACHINE}")
        if language in PROGRAMS:
            loaded = self._folder / f"loaded-{language}"
            loaded.mkdir()
            (loaded / SONAME).symlink_to(places.library.resolve())
            return ["env", f"LD_LIBRARY_PATH={loaded}", str(self._folder / MACHINE / f"driver-{language}")]
        if language == "python":
            return python_command(self._folder / "python")
        return julia_command(places, self._folder / "julia")
