#!/usr/bin/env python3
"""Compares docs/pacectl.md with pacectl --help, command by command: reference_test.py PACECTL"""

import json
import pathlib
import re
import subprocess
import sys
import unittest

PACECTL = sys.argv.pop(1)
PAGE = (pathlib.Path(__file__).resolve().parents[2] / "docs/pacectl.md").read_text(encoding="utf-8")
HEADING = re.compile(r"^## (pacectl[^\n]*)\n(.*?)(?=^## |\Z)", re.MULTILINE | re.DOTALL)
ROW = re.compile(r"^\| `([^`]+)` \|", re.MULTILINE)


def printed(*arguments):
    return subprocess.run([PACECTL, *arguments], check=True, capture_output=True, text=True, timeout=60).stdout


def block(help_text, title):
    """The lines below "Title:" of a --help."""
    found = re.search(rf"^{title}:\n((?:  .*\n?)+)", help_text, re.MULTILINE)
    return found.group(1) if found else ""


def commands(*path):
    """Each command that does something, as its words, with its --help."""
    help_text = printed(*path, "--help")
    names = re.findall(r"^  (\w[\w-]*)", block(help_text, "Subcommands"), re.MULTILINE)
    if not names or not path:
        yield path, help_text
    for name in names:
        yield from commands(*path, name)


def arguments_of(help_text):
    options = set(re.findall(r"^  (?:-\w,)?(--[\w-]+)", block(help_text, "Options"), re.MULTILINE)) - {"--help"}
    return options | set(re.findall(r"^  (\w+)", block(help_text, "Positionals"), re.MULTILINE))


class Reference(unittest.TestCase):
    maxDiff = None

    @classmethod
    def setUpClass(cls):
        cls.sections = {title: text for title, text in HEADING.findall(PAGE)}
        cls.helps = {" ".join(("pacectl", *path)): text for path, text in commands()}
        names = (option["name"] for option in json.loads(printed("options", "--json"))["options"])
        cls.job_flags = {"--" + re.sub(r"[._]", "-", name) for name in names}

    def test_each_command_has_a_section_and_no_other(self):
        self.assertGreater(len(self.helps), 12)
        self.assertEqual(sorted(self.sections), sorted(self.helps))

    def test_each_option_has_a_row_and_no_other(self):
        for command, help_text in self.helps.items():
            expected = arguments_of(help_text)
            if command == "pacectl job create":
                expected -= self.job_flags - {"--world", "--policy"}
            # Tables of keys and subjects have rows as well. Options begin with dashes, and --help
            # names positionals.
            positionals = set(re.findall(r"^  (\w+)", block(help_text, "Positionals"), re.MULTILINE))
            written = {row for row in ROW.findall(self.sections[command]) if row.startswith("--") or row in positionals}
            self.assertEqual(written, expected, command)

    def test_the_exit_codes_are_those_of_help(self):
        section = PAGE.split("## Exit codes\n", 1)[1].split("\n## ", 1)[0]
        written = re.findall(r"^\| (\d) \| (\S+ \S+)", section, re.MULTILINE)
        said = re.findall(r"^  (\d)  (\S+ \S+)", printed("--help"), re.MULTILINE)
        self.assertEqual(len(said), 6)
        self.assertEqual(written, said)

    def test_every_schema_is_named(self):
        folder = pathlib.Path(__file__).resolve().parents[2] / "service/pacectl/schema"
        for path in folder.glob("*.schema.json"):
            self.assertIn(f"| `{path.name.removesuffix('.schema.json')}` |", PAGE)

    def test_every_command_that_shows_something_has_json(self):
        without = [command for command, text in self.helps.items() if "--json" not in arguments_of(text)]
        self.assertEqual(sorted(without), ["pacectl", "pacectl metrics", "pacectl record", "pacectl top", "pacectl trace"])


if __name__ == "__main__":
    unittest.main()
