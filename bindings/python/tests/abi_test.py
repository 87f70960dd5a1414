#!/usr/bin/env python3
"""The structures and constants of pace/_abi.py are those of the library."""

import ctypes
import re
import unittest

import support
from pace import _abi
from pace.errors import CLASSES

LAYOUT = (support.ROOT / "tests/abi/layout.txt").read_text(encoding="utf-8")


class Abi(unittest.TestCase):
    def test_every_structure_has_the_layout_of_the_library(self):
        named = re.findall(r"^struct (\w+) size (\d+)\n((?:  .*\n)*)", LAYOUT, re.MULTILINE)
        self.assertGreater(len(named), 10)
        for name, size, text in named:
            with self.subTest(name):
                kind = getattr(_abi, name)
                self.assertEqual(ctypes.sizeof(kind), int(size))
                fields = [(field[0], str(getattr(kind, field[0]).offset), str(getattr(kind, field[0]).size))
                          for field in kind._fields_]
                self.assertEqual(fields, re.findall(r"  (\w+) offset (\d+) size (\d+)", text))

    def test_every_constant_has_the_value_of_the_library(self):
        constants = re.findall(r"^(PACE_\w+) = (-?\d+)$", LAYOUT, re.MULTILINE)
        self.assertGreater(len(constants), 40)
        for name, value in constants:
            self.assertEqual(getattr(_abi, name), int(value), name)

    def test_every_exported_function_is_declared(self):
        exported = re.findall(r"\bpace_\w+", (support.ROOT / "tests/abi/symbols.txt").read_text(encoding="utf-8"))
        self.assertEqual(sorted({name for name, _, _ in _abi.FUNCTIONS}), sorted(set(exported)))

    def test_every_status_has_a_class_that_names_it(self):
        statuses = [int(value) for name, value in re.findall(r"^(PACE_\w+) = (-?\d+)$", LAYOUT.split("PACE_INT =")[0], re.MULTILINE)
                    if name != "PACE_OK"]
        self.assertGreater(len(statuses), 20)
        for status in statuses:
            error = CLASSES[status]("why")
            self.assertEqual(error.status_name, support.pace.status_name(status))
            self.assertTrue(error.remedy)


if __name__ == "__main__":
    support.main()
