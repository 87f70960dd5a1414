"""The needs of a test, the message when this machine lacks something, and the frame of a test that
boots a machine."""

import os
import pathlib
import re
import shutil
import sys
import unittest

import image
from packages import Packages

SKIPPED = 77
CAP_SYS_ADMIN = 21


def may_administer():
    status = pathlib.Path("/proc/self/status").read_text(encoding="utf-8")
    effective = int(re.search(r"^CapEff:\s*(\w+)", status, re.MULTILINE).group(1), 16)
    return os.geteuid() == 0 and bool(effective >> CAP_SYS_ADMIN & 1)


def missing(*names):
    """The first that is not there, in words; "" if all are. "root" is the right to make mounts and namespaces."""
    for name in names:
        if name == "root":
            if not may_administer():
                return "this needs root with CAP_SYS_ADMIN, to make mounts and namespaces"
        elif shutil.which(name) is None:
            return f"{name} is not installed (tools/setup/install boot)"
    return ""


def skip(reason):
    print(f"skipped: {reason}")
    return SKIPPED


def boot_tests(prepare, *tools):
    """The main of a test that is called with PACKAGES SCRATCH: calls prepare(packages, scratch), and runs the tests of its module. The
    root that SCRATCH's folder holds is shared by such tests, and is for their caller to remove."""
    packages, scratch = Packages(sys.argv[1]), pathlib.Path(sys.argv[2]).resolve()
    reason = missing("root", "mmdebstrap", "dpkg-deb", "gcc", *tools)
    if not reason and packages.missing():
        reason = f"{packages.folder} has no packages {', '.join(packages.missing())} (packaging/deb/make)"
    if reason:
        return skip(reason)
    scratch.mkdir(parents=True)
    try:
        prepare(packages, scratch)
        result = unittest.main(argv=[sys.argv[0], *sys.argv[3:]], exit=False, verbosity=2).result
    finally:
        image.remove(scratch)
    return 0 if result.wasSuccessful() else 1
