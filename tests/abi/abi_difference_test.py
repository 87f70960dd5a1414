#!/usr/bin/env python3
"""Checks which changes abi_difference.py allows and which it finds, for libraries that are made here from changed headers."""

import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import unittest

import abi_difference

HEADER = pathlib.Path(__file__).resolve().parents[2] / "capi" / "pace.h"


def make(folder, name, header):
    """Builds a library with each function of a header. The functions do nothing."""
    path = pathlib.Path(folder) / f"{name}.c"
    path.write_text(re.sub(r"^PACE_API ([^;]*);", r"\1 { __builtin_trap(); }", header, flags=re.MULTILINE), encoding="utf-8")
    library = path.with_suffix(".so")
    subprocess.run(["cc", "-shared", "-fPIC", "-g", "-w", "-o", str(library), str(path)], check=True)
    return library


class DifferenceTest(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="pace-abi-")
        self.addCleanup(folder.cleanup)
        self.folder = folder.name
        self.header = HEADER.read_text(encoding="utf-8")
        self.release = make(self.folder, "release", self.header)

    def code_after(self, old, new):
        self.assertEqual(self.header.count(old), 1, old)
        return abi_difference.difference(self.release, make(self.folder, "changed", self.header.replace(old, new)))[0]

    def test_the_same_is_no_difference(self):
        self.assertEqual(self.code_after("#define PACE_VERSION_PATCH 0", "#define PACE_VERSION_PATCH 1"), 0)

    def test_a_function_may_be_added(self):
        self.assertEqual(self.code_after("PACE_API void pace_text_free", "PACE_API void pace_new(void);\nPACE_API void pace_text_free"), 0)

    def test_a_struct_that_grows_must_be_named_as_such(self):
        self.assertEqual(self.code_after("} pace_buffer_info;", "    double more;\n} pace_buffer_info;") & 4, 4)

    def test_a_struct_for_ever_must_not_grow(self):
        self.assertEqual(self.code_after("} pace_slice;", "    uint64_t more;\n} pace_slice;") & 4, 4)

    def test_a_field_must_not_change(self):
        self.assertEqual(self.code_after("    uint32_t rank;  /* this worker", "    uint64_t rank;  /* this worker") & 4, 4)

    def test_a_function_must_not_go(self):
        self.assertEqual(self.code_after("PACE_API void pace_text_free", "void pace_other_free") & 8, 8)

    def test_a_parameter_must_not_change(self):
        self.assertEqual(self.code_after("void pace_text_free(char* text)", "void pace_text_free(char* text, int how)") & 4, 4)


if __name__ == "__main__":
    if shutil.which("abidiff") is None:
        print("skipped: there is no abidiff here (Debian's abigail-tools)")
        sys.exit(77)
    unittest.main()
