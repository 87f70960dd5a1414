#!/usr/bin/env python3
"""clang-tidy over what is installed: tidy_check.py UNITY_BUILD BUILD [PATTERN].

The check begins with the sources that were committed last, and begins no other unit after two
minutes. With PACE_TIDY_ALL=1 it looks at every unit, also those of tests, fuzz targets and
benchmarks, which takes an hour.

A unity build compiles a dozen sources at a time, and clang-tidy then reads their common headers
once, in a quarter of the time: those units come first, then the units that only the other build
compiles. PATTERN, a regular expression, must be found in the path of a unit's source.

Units run in parallel. A clean unit is recorded in UNITY_BUILD/tidy-clean under a digest of its
sources, of every header of ours that they reach, of the rules and of the command line. A second run
therefore looks only at changed units. The check runs at low priority.
"""

import concurrent.futures
import hashlib
import json
import os
import pathlib
import re
import shlex
import shutil
import subprocess
import sys
import time

import tree

CLANG_TIDY = "clang-tidy-16"
SECONDS = 120
APART = re.compile(r"^(tests|bench)/|_(test|bench|fixture)\.cpp$")
COMMANDS = "commands-for-tidy"
# Headers that were compiled before hide a missing include, and GCC's are nothing to clang.
PRECOMPILED = re.compile(r" (-Winvalid-pch|-fpch-preprocess|--param=ggc\S+|-include \S+/cmake_pch\.hxx"
                         r"|-Xclang -fno-pch-timestamp|-fpch-instantiate-templates|-Xclang -include-pch -Xclang \S+/cmake_pch\.hxx\.pch|-Xclang -include -Xclang \S+/cmake_pch\.hxx)(?= )")
INCLUDE = re.compile(rb'^\s*#\s*include\s*"([^"]+)"', re.MULTILINE)


class Digests:
    """Digests of files together with all headers of ours that they reach."""

    def __init__(self):
        self.reached_ = {}

    def reach(self, path):
        """The file and every header of the tree it includes, directly or not."""
        seen, todo = set(), [path]
        while todo:
            current = todo.pop()
            if current in seen:
                continue
            seen.add(current)
            todo += self.direct(current)
        return sorted(seen)

    def direct(self, path):
        if path not in self.reached_:
            names = [name.decode() for name in INCLUDE.findall(path.read_bytes())]
            candidates = [tree.ROOT / name for name in names] + \
                [path.parent / name for name in names]
            self.reached_[path] = [file for file in candidates if file.is_file()]
        return self.reached_[path]

    def of(self, path, extra):
        digest = hashlib.sha256(extra.encode())
        for file in self.reach(path):
            digest.update(str(file).encode() + b"\0" + file.read_bytes())
        return digest.hexdigest()


class Unit:
    """The sources of one compiler run: a source of ours, or a unity build's list of them."""

    def __init__(self, build, path, command):
        self.build = build
        self.path = path
        self.words = shlex.split(command)
        self.flags = " ".join(self.words[1:])
        self.sources = [path]
        if path.is_relative_to(build):
            names = INCLUDE.findall(path.read_bytes())
            self.sources = [pathlib.Path(name.decode()) for name in names]

    def is_installed(self):
        """Whether any source is part of what is installed."""
        names = [source.relative_to(tree.ROOT).as_posix() for source in self.sources]
        return not all(APART.search(name) for name in names)

    def age(self, ages):
        """That of the source that was committed last."""
        names = [source.relative_to(tree.ROOT).as_posix() for source in self.sources]
        return min(ages.get(name, len(ages)) for name in names)

    def matches(self, pattern):
        return any(pattern.search(source.relative_to(tree.ROOT).as_posix())
                   for source in self.sources)


def entries_of(build):
    """The compilation database, without precompiled headers."""
    entries = json.loads((build / "compile_commands.json").read_text())
    return [entry | {"command": PRECOMPILED.sub("", entry["command"])} for entry in entries]


def write_commands(build):
    """Writes the compilation database that clang-tidy reads."""
    (build / COMMANDS).mkdir(exist_ok=True)
    (build / COMMANDS / "compile_commands.json").write_text(json.dumps(entries_of(build)))


def units_of(build):
    """Every unit of the compilation database that compiles a source of ours, once each."""
    units = {}
    for entry in entries_of(build):
        path = pathlib.Path(entry["directory"], entry["file"])
        is_unity = path.is_relative_to(build) and path.name.startswith("unity_")
        is_ours = path.is_relative_to(tree.ROOT) and not path.is_relative_to(build)
        if path.suffix in tree.CPP_SUFFIXES | {".cxx"} and (is_unity or is_ours):
            units.setdefault(path, Unit(build, path, entry["command"]))
    return [units[path] for path in sorted(units)]


def all_units(unity_build, build):
    units = units_of(unity_build)
    seen = {source for unit in units for source in unit.sources}
    return units + [unit for unit in units_of(build) if not seen.issuperset(unit.sources)]


def lint(unit):
    """Everything clang-tidy says of one unit; empty if it is clean."""
    result = subprocess.run(
        [CLANG_TIDY, "--quiet", "-p", str(unit.build / COMMANDS), "--extra-arg=-Wno-unknown-warning-option",
         "--extra-arg=-Wno-ignored-optimization-argument", str(unit.path)],
        cwd=tree.ROOT, check=False, capture_output=True, text=True)
    if result.returncode == 0:
        return ""
    noise = re.compile(r"^\d+ (warnings|errors) |^Suppressed |^Use -header-filter|^$")
    lines = (result.stdout + result.stderr).splitlines()
    return "\n".join(line for line in lines if not noise.match(line)) or f"{unit.path}: clang-tidy died"


def main():
    if not shutil.which(CLANG_TIDY):
        tree.skip(f"{CLANG_TIDY} is not installed (tools/setup/install test)")
    unity_build, build = (pathlib.Path(name).resolve() for name in sys.argv[1:3])
    pattern = re.compile(sys.argv[3] if len(sys.argv) > 3 else "")
    for folder in {unity_build, build}:
        write_commands(folder)
    clean = unity_build / "tidy-clean"
    clean.mkdir(exist_ok=True)
    rules = (tree.ROOT / ".clang-tidy").read_text()
    is_whole = os.environ.get("PACE_TIDY_ALL") == "1"
    digests = Digests()
    os.nice(19)

    waiting = []
    for unit in all_units(unity_build, build):
        if unit.matches(pattern) and (is_whole or unit.is_installed()):
            marker = clean / digests.of(unit.path, rules + unit.flags)
            if not marker.exists():
                waiting.append((unit, marker))
    ages = tree.commit_ages()
    waiting.sort(key=lambda item: item[0].age(ages))
    deadline = time.monotonic() + SECONDS

    def look(item):
        return lint(item[0]) if is_whole or time.monotonic() < deadline else None

    problems = []
    jobs = int(os.environ.get("PACE_JOBS", os.cpu_count() or 1))
    with concurrent.futures.ThreadPoolExecutor(jobs) as pool:
        found = list(pool.map(look, waiting))
    for (_, marker), text in zip(waiting, found):
        if text:
            problems.append(text)
        elif text is not None:
            marker.touch()
    print(f"{sum(text is not None for text in found)} of {len(waiting)} units looked at")
    return tree.report("tidy", problems)


if __name__ == "__main__":
    sys.exit(main())
