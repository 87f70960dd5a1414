#!/usr/bin/env python3
"""Manual pages are good roff, and say all that the programs and pace.h say: man_test.py BUILD. 77 if man is missing."""

import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import unittest

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parents[1]
sys.path.insert(0, str(ROOT / "packaging"))

import command_line

import programs

SKIPPED = 77
PAGES = {"pacectl": "man1/pacectl.1", "pace-sim": "man1/pace-sim.1", "paced": "man8/paced.8", "pace-controller": "man8/pace-controller.8"}
PLACEHOLDER = r"@[A-Z]+ [\w-]+@"  # what packaging/man/generate should have replaced


def run(*command, **options):
    """What a command writes to its two outputs."""
    done = subprocess.run([str(word) for word in command], check=False, text=True, timeout=60, stdin=subprocess.DEVNULL,
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE, **options)
    if done.returncode != 0:
        raise AssertionError(f"{' '.join(map(str, command))} ended with {done.returncode}:\n{done.stdout}{done.stderr}")
    return done.stdout, done.stderr


class Manual(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        scratch = pathlib.Path(tempfile.mkdtemp(prefix="pace-man-"))
        cls.addClassCleanup(shutil.rmtree, scratch)
        prefix = programs.install_links(pathlib.Path(sys.argv[1]).resolve(), scratch)
        cls.folder = prefix / "share/man"
        cls.generate(prefix, cls.folder)
        cls.generate(prefix, scratch / "again")
        cls.again = scratch / "again"
        cls.read = {name: command_line.read(name, prefix / place) for name, place in command_line.PROGRAMS.items()}
        cls.settings = {name: command_line.read_settings(name, prefix / command_line.PROGRAMS[name]) for name in command_line.WITH_SETTINGS}
        files = sorted(path for path in cls.folder.rglob("*") if path.is_file())
        cls.links = {path.name: path.read_text()[len(".so "):].strip() for path in files if path.read_text().startswith(".so ")}
        cls.pages = [path for path in files if path.name not in cls.links]
        cls.shown = {}

    @staticmethod
    def generate(prefix, folder):
        run(ROOT / "packaging/man/generate", "--programs", prefix, "--output", folder, env={**os.environ, "SOURCE_DATE_EPOCH": "1700000000"})

    def show(self, page):
        """As a reader sees it, each run of spaces as one."""
        if page not in self.shown:
            text, warnings = run("man", "--warnings", "--encoding", "UTF-8", "--local-file", page,
                                 env={"PATH": os.environ["PATH"], "LC_ALL": "C.UTF-8", "MANWIDTH": "4000", "MAN_KEEP_FORMATTING": ""})
            self.assertEqual(warnings, "", page)
            self.shown[page] = re.sub(r"\s+", " ", re.sub(".\b", "", text))
        return self.shown[page]

    def test_no_page_has_a_warning(self):
        self.assertGreater(len(self.pages), 30)
        for page in self.pages:
            self.assertNotRegex(self.show(page), PLACEHOLDER, page)

    def test_every_page_is_found_by_its_names(self):
        for page in self.pages:
            found, _ = run("lexgrog", page, env={"PATH": os.environ["PATH"], "LC_ALL": "C.UTF-8"})
            self.assertIn(f'"{page.stem} - ', found, page)

    def test_every_option_and_command_has_its_place(self):
        for name, program in self.read.items():
            page = self.show(self.folder / PAGES[name])
            flags = {setting.flag for setting in self.settings.get(name, [])}
            for command in program.everything():
                self.assertIn(" ".join(command.path[1:]), page)
                missing = [option.long_name for option in command.options if option.long_name not in page and option.long_name not in flags]
                self.assertEqual(missing, [], name)

    def test_every_setting_has_its_place_and_its_words(self):
        for name, settings in self.settings.items():
            page = self.show(self.folder / f"man5/{name}.toml.5")
            self.assertGreater(len(settings), 15)
            for setting in settings:
                self.assertIn(f" {setting.name} ", page)
                self.assertIn(f"{setting.variable}, {setting.flag}.", page)
                self.assertIn(re.sub(r"\s+", " ", setting.text.replace("`", "")), page)

    def test_every_function_of_the_library_has_a_page(self):
        header = (ROOT / "capi/pace.map").read_text(encoding="utf-8")
        functions = re.findall(r"^\s+(pace_\w+);", header, re.MULTILINE)
        self.assertGreater(len(functions), 30)
        names = {page.name for page in self.pages}
        self.assertEqual([name for name in functions if f"{name}.3" not in names], [])
        for name in functions:
            self.assertIn(f"{name}(", self.show(self.folder / f"man3/{name}.3"))

    def test_links_lead_somewhere(self):
        self.assertIn("pace_session_options.3", self.links)
        for link, target in self.links.items():
            self.assertTrue((self.folder / target).is_file(), link)

    def test_references_lead_to_pages(self):
        known = {page.name for page in self.pages} | set(self.links)
        for page in self.pages:
            for name, section in re.findall(r"(?<![\w.-])([a-z][\w.-]*)\((\d)\)", self.show(page)):
                self.assertIn(f"{name}.{section}", known, page)

    def test_the_same_programs_give_the_same_pages(self):
        run("diff", "--recursive", self.folder, self.again)


def main():
    if not shutil.which("man") or not shutil.which("lexgrog"):
        print("skipped: man is not installed (tools/setup/install deb)")
        return SKIPPED
    result = unittest.main(argv=[sys.argv[0]], exit=False, verbosity=2).result
    return 0 if result.wasSuccessful() else 1


if __name__ == "__main__":
    sys.exit(main())
