#!/usr/bin/env python3
"""Compares a library's ABI with that of a release: abi_difference.py RELEASE.abi LIBRARY.

Exit status 0: programs that were linked to the release run with the library. 1: something that the release had is gone or another;
abidiff's report says what. 77: there is no abidiff here. Functions may be added, and fields at the ends of the structs that
may_grow.ini names.
"""

import pathlib
import shutil
import subprocess
import sys

MAY_GROW = pathlib.Path(__file__).resolve().with_name("may_grow.ini")
# Bits of abidiff's exit status: abidiff failed, or there are changes that nothing excuses.
TROUBLE = 1 | 2
CHANGED = 4 | 8


def difference(release, library):
    """Returns the exit status and report of abidiff."""
    done = subprocess.run(["abidiff", "--no-added-syms", "--exported-interfaces-only", "--suppressions", str(MAY_GROW), str(release),
                           str(library)], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False)
    return done.returncode, done.stdout


def main(release, library):
    if shutil.which("abidiff") is None:
        print("skipped: there is no abidiff here (Debian's abigail-tools)")
        return 77
    code, report = difference(release, library)
    if code & TROUBLE:
        print(f"abidiff failed: {report}")
        return 1
    if code & CHANGED:
        print(f"{library} is not what programs of {pathlib.Path(release).parent.name} were linked to:\n{report}")
        return 1
    return 0


if __name__ == "__main__":
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    sys.exit(main(*sys.argv[1:]))
