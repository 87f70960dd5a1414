#!/usr/bin/env python3
"""The log as documented is the log as written: log_check.py PATH/TO/log_reference.
docs/log-messages.md and the catalogue of systemd are what log_reference prints from the tables in
base/. Some program logs each event of a table, and each event has an identifier of its own. Every
warning and error of the daemon and the controller is an event of a table."""

import re
import subprocess
import sys

import tree

PAGES = {"docs/log-messages.md": (), "service/systemd/pace.catalog": ("catalogue",)}
TABLES = ("base/log/daemon_events.h", "base/log/training_events.h", "base/log/controller_events.h")
LIST = "base/log/log_events.h"
PROGRAMS = ("base/", "daemon/", "service/controller/")
# Where the core of the controller notes an event by its text.
NOTING = "service/controller/"

ROW = re.compile(r"LogEvent\s+(k\w+)\s*\{((?:\s*\"(?:[^\"\\]|\\.)*\"|\s*,|\s*LogLevel::\w+)*)\s*\}")
STRING = re.compile(r'"((?:[^"\\]|\\.)*)"')
# A random UUID: its version and its variant are in the digits.
IDENTIFIER = re.compile(r"[0-9a-f]{12}4[0-9a-f]{3}[89ab][0-9a-f]{15}")
# A warning or an error with words of its own.
PLAIN = re.compile(r"\blog_(warning|error)\(\s*\"")


def rows_of(text):
    """{constant: (name, text, identifier)} of a table."""
    found = {}
    for constant, body in ROW.findall(text):
        strings = STRING.findall(re.sub(r'"\s+"', "", body))
        found[constant] = tuple(strings[:3])
    return found


def doubled(rows):
    """Names, texts and identifiers that two rows share."""
    problems = []
    for index, what in enumerate(("name", "text", "identifier")):
        seen = {}
        for constant, row in rows.items():
            if row[index] in seen:
                problems.append(f"{constant} has the {what} of {seen[row[index]]}: {row[index]}")
            seen[row[index]] = constant
    return problems


def unsaid(rows, texts):
    """Events that no program says. `texts`: of the programs, by path."""
    problems = []
    for constant, (_, text, _) in rows.items():
        used = re.compile(rf"\bevents::{constant}\b")
        if any(used.search(source) for source in texts.values()):
            continue
        if any(f'"{text}"' in source for path, source in texts.items() if path.startswith(NOTING)):
            continue
        problems.append(f"{constant} is in a table, and no program says it")
    return problems


def without_event(path, text):
    return [f"{path}:{text.count(chr(10), 0, match.start()) + 1}: a {match[1]} in words of its own; "
            f"give it a row in a table of base/" for match in PLAIN.finditer(text)]


def main():
    program = sys.argv[1]
    problems = []
    for page, arguments in PAGES.items():
        printed = subprocess.run([program, *arguments], check=True, capture_output=True, text=True).stdout
        if (tree.ROOT / page).read_text(encoding="utf-8") != printed:
            problems.append(f"{page} is out of date: run {' '.join([program, *arguments])} > {page}")
    rows = {}
    for table in TABLES:
        rows |= rows_of(tree.read(table))
    if not rows:
        problems.append("no table of events was found")
    problems += [f"{constant}: {row[2]} is no random UUID" for constant, row in rows.items()
                 if not IDENTIFIER.fullmatch(row[2])]
    problems += doubled(rows)
    listed = tree.read(LIST)
    problems += [f"{constant} is not listed in {LIST}" for constant in rows
                 if not re.search(rf"&{constant}\b", listed)]
    texts = {str(path): tree.read(path) for path in tree.files()
             if tree.is_cpp(path) and not tree.is_test(path) and str(path).startswith(PROGRAMS)
             and str(path) not in (*TABLES, LIST)}
    problems += unsaid(rows, texts)
    for path, text in texts.items():
        if not path.startswith("base/"):
            problems += without_event(path, text)
    return tree.report("log", problems)


if __name__ == "__main__":
    sys.exit(main())
