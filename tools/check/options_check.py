#!/usr/bin/env python3
"""docs/options.md is what option_reference prints from the tables: options_check.py PATH/TO/option_reference"""

import subprocess
import sys

import tree

DOCUMENT = "docs/options.md"


def main():
    program = sys.argv[1]
    printed = subprocess.run([program], check=True, capture_output=True, text=True).stdout
    problems = []
    if (tree.ROOT / DOCUMENT).read_text(encoding="utf-8") != printed:
        problems.append(f"{DOCUMENT} is out of date: run {program} > {DOCUMENT}")
    return tree.report("options", problems)


if __name__ == "__main__":
    sys.exit(main())
