#!/usr/bin/env python3
"""Every source compiles alone: alone_check.py UNITY_BUILD [PATTERN].

A unity build compiles a dozen sources at a time, so a source may compile only because of what the
ones before it include. A package's build, which compiles one at a time, then fails at it. This check
compiles each installed source by itself. It begins with the sources that were committed last, or
that include a header that was, and stops after a minute; with PACE_TIDY_ALL=1 it looks at all.
PATTERN, a regular expression, must be found in a source's path.
"""

import concurrent.futures
import os
import pathlib
import re
import subprocess
import sys
import time

import tidy_check
import tree

SECONDS = 60
NEEDS_FILE = {"-o", "-MF", "-MT", "-MQ"}  # options of what is written, which is nothing


def command(unit, source):
    """The command that compiles `source` alone, with the options of `unit`, and writes nothing."""
    words = [word for word in unit.words if not word.endswith("/ccache")]
    kept = [word for before, word in zip([""] + words, words)
            if word not in NEEDS_FILE and before not in NEEDS_FILE and word != str(unit.path)]
    return kept + ["-fsyntax-only", str(source)]


def sources_of(build):
    """(source, command) of everything installed, in the order in which it is looked at."""
    found = {}
    for unit in tidy_check.units_of(build):
        if unit.is_installed():
            for source in unit.sources:
                name = source.relative_to(tree.ROOT).as_posix()
                if not tidy_check.APART.search(name):
                    found.setdefault(name, command(unit, source))
    ages = tree.commit_ages()
    headers = tidy_check.Digests()

    def age(name):
        """That of the source, or of the youngest header that it includes itself."""
        files = [tree.ROOT / name, *headers.direct(tree.ROOT / name)]
        names = (file.resolve().relative_to(tree.ROOT).as_posix() for file in files)
        return min(ages.get(one, len(ages)) for one in names)

    return sorted(found.items(), key=lambda item: (age(item[0]), item[0]))


def main():
    build = pathlib.Path(sys.argv[1]).resolve()
    pattern = re.compile(sys.argv[2] if len(sys.argv) > 2 else "")
    is_whole = os.environ.get("PACE_TIDY_ALL") == "1"
    deadline = time.monotonic() + SECONDS
    jobs = int(os.environ.get("PACE_JOBS", os.cpu_count() or 1))
    os.nice(19)

    def compiles(words):
        if not is_whole and time.monotonic() > deadline:
            return None
        result = subprocess.run(words, cwd=build, check=False, capture_output=True, text=True)
        return "" if result.returncode == 0 else result.stderr

    waiting = [item for item in sources_of(build) if pattern.search(item[0])]
    with concurrent.futures.ThreadPoolExecutor(jobs) as pool:
        said = list(pool.map(compiles, [words for _, words in waiting]))
    looked_at = sum(text is not None for text in said)
    print(f"{looked_at} of {len(waiting)} sources looked at")
    return tree.report("alone", [text for text in said if text])


if __name__ == "__main__":
    sys.exit(main())
