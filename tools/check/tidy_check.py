#!/usr/bin/env python3
"""clang-tidy over every file of ours that a build compiles: tidy_check.py BUILD_FOLDER [PATTERN].

Files run in parallel. What was clean is remembered in BUILD_FOLDER/tidy-clean under a digest of
the file, of every header of ours that it reaches, of the rules and of the command line, so that a
second run looks only at what changed.
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

import tree

CLANG_TIDY = "clang-tidy-16"
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


def compiled_files(build):
    """(file, command line) of every file of ours in the compilation database, once each."""
    entries = {}
    for entry in json.loads((build / "compile_commands.json").read_text()):
        path = pathlib.Path(entry["directory"], entry["file"])
        inside = path.is_relative_to(tree.ROOT) and not path.is_relative_to(build)
        if inside and path.suffix in tree.CPP_SUFFIXES:
            entries.setdefault(path, entry["command"])
    return sorted(entries.items())


def lint(path, build):
    """Everything clang-tidy says of one file; empty if it is clean."""
    result = subprocess.run(
        [CLANG_TIDY, "--quiet", "-p", str(build), "--extra-arg=-Wno-unknown-warning-option",
         "--extra-arg=-Wno-ignored-optimization-argument", str(path)],
        cwd=tree.ROOT, check=False, capture_output=True, text=True)
    if result.returncode == 0:
        return ""
    noise = re.compile(r"^\d+ (warnings|errors) |^Suppressed |^Use -header-filter|^$")
    lines = (result.stdout + result.stderr).splitlines()
    return "\n".join(line for line in lines if not noise.match(line)) or f"{path}: clang-tidy died"


def main():
    if not shutil.which(CLANG_TIDY):
        tree.skip(f"{CLANG_TIDY} is not installed (tools/setup/install test)")
    build = pathlib.Path(sys.argv[1]).resolve()
    pattern = re.compile(sys.argv[2] if len(sys.argv) > 2 else "")
    clean = build / "tidy-clean"
    clean.mkdir(exist_ok=True)
    rules = (tree.ROOT / ".clang-tidy").read_text()
    digests = Digests()

    waiting = []
    for path, command in compiled_files(build):
        if pattern.search(path.relative_to(tree.ROOT).as_posix()):
            flags = " ".join(shlex.split(command)[1:])
            marker = clean / digests.of(path, rules + flags)
            if not marker.exists():
                waiting.append((path, marker))
    problems = []
    jobs = int(os.environ.get("PACE_JOBS", os.cpu_count() or 1))
    with concurrent.futures.ThreadPoolExecutor(jobs) as pool:
        found = pool.map(lambda item: lint(item[0], build), waiting)
        for (_, marker), text in zip(waiting, found):
            if text:
                problems.append(text)
            else:
                marker.touch()
    print(f"{len(waiting)} files looked at")
    return tree.report("tidy", problems)


if __name__ == "__main__":
    sys.exit(main())
