#!/usr/bin/env python3
"""What packaging/command_line.py reads of --help and --help-config, and what it refuses."""

import pathlib
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "packaging"))

import command_line
from command_line import NotUnderstood, choices_in, command_of, option_of, settings_of

HELP = """Looks at things.
Usage: look [OPTIONS] SUBCOMMAND

Positionals:
  file TEXT REQUIRED          What is looked at.

Options:
  -h,--help                   Print this help message and exit
  --a-name-that-is-longer-than-the-column NUMBER
                              How far. Default: 3.
  --colour WORD ...           The paint: red, green or blue. Default: red.

Subcommands:
  near                        Looks near.
  far                         Looks far.

Notes: these are words,
  and not options.
"""

CONFIG = """# The configuration of look: every setting with its default.

# How far to look. Less is
# faster.
# 1 .. 60000 ms. LOOK_FAR_MS, --far-ms
#far_ms = 200

# What is told.
# one of error, info. LOOK_LEVEL, --level
#level = "info"
"""


class Help(unittest.TestCase):
    def test_everything_is_read(self):
        command = command_of(HELP, ["look"])
        self.assertEqual(command.summary, "Looks at things.")
        self.assertEqual([(one.names, one.is_required, one.text) for one in command.positionals], [(["file"], True, "What is looked at.")])
        self.assertEqual([one.names for one in command.options], [["-h", "--help"], ["--a-name-that-is-longer-than-the-column"], ["--colour"]])
        self.assertEqual((command.options[1].value, command.options[1].text), ("NUMBER", "How far. Default: 3."))
        self.assertEqual((command.options[2].choices, command.options[2].may_repeat), (["red", "green", "blue"], True))
        self.assertEqual([(one.path, one.summary) for one in command.commands],
                         [(["look", "near"], "Looks near."), (["look", "far"], "Looks far.")])
        self.assertEqual(command.footer, "Notes: these are words,\n  and not options.")

    def test_what_is_not_in_this_form_is_refused(self):
        for text in (HELP.replace("Usage: ", "Use: "), HELP.replace("  -h,--help ", "  -?        ")):
            with self.assertRaises(NotUnderstood):
                command_of(text, ["look"])

    def test_headings_of_options(self):
        self.assertEqual(option_of("--insecure{true}").names, ["--insecure"])
        self.assertEqual(option_of("--world UINT REQUIRED").value, "UINT")
        self.assertTrue(option_of("--world UINT REQUIRED").is_required)
        self.assertEqual(option_of("--every FLOAT:FLOAT in [0.1 - 3600]").value, "FLOAT [0.1 - 3600]")
        self.assertEqual(option_of("--edges RANK-RANK,...").value, "RANK-RANK,...")
        self.assertEqual(option_of("--format TEXT:{plain,json}").choices, ["plain", "json"])

    def test_words_are_the_last_sentence_that_lists_some(self):
        self.assertEqual(choices_in("Which, of many. all, some or none. Default: none."), ["all", "some", "none"])
        self.assertEqual(choices_in("Who: near, far."), ["near", "far"])
        self.assertEqual(choices_in("A name. Default: 0.5."), [])


class Configuration(unittest.TestCase):
    def test_everything_is_read(self):
        far, level = settings_of(CONFIG, "look")
        self.assertEqual((far.name, far.initial, far.accepted, far.variable, far.flag, far.text),
                         ("far_ms", "200", "1 .. 60000 ms", "LOOK_FAR_MS", "--far-ms", "How far to look. Less is faster."))
        self.assertEqual((level.initial, level.choices), ('"info"', ["error", "info"]))

    def test_what_is_not_in_this_form_is_refused(self):
        for text in ("", "# Words alone.\n", CONFIG.replace("# one of error, info. LOOK_LEVEL, --level\n", ""), CONFIG + "level = 3\n"):
            with self.assertRaises(NotUnderstood):
                settings_of(text, "look")


class Programs(unittest.TestCase):
    def test_a_program_that_fails_is_told(self):
        with self.assertRaisesRegex(NotUnderstood, "ended with 1"):
            command_line.read("pacectl", "/bin/false")


if __name__ == "__main__":
    unittest.main()
