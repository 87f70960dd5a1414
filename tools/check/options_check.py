#!/usr/bin/env python3
"""docs/options.md and the constants of pace.h are what option_reference prints from the tables:
options_check.py PATH/TO/option_reference"""

import re
import subprocess
import sys

import tree

DOCUMENT = "docs/options.md"
HEADER = "capi/pace.h"
DEFINITION = re.compile(r'^#define PACE_(?:POLICY|OPT)_.*\n', re.MULTILINE)


def read(name):
    return (tree.ROOT / name).read_text(encoding="utf-8")


def printed(*command):
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


def main():
    program = sys.argv[1]
    problems = []
    if read(DOCUMENT) != printed(program):
        problems.append(f"{DOCUMENT} is out of date: run {program} > {DOCUMENT}")
    in_tables = printed(program, "constants").replace("\n\n", "\n")
    if "".join(DEFINITION.findall(read(HEADER))) != in_tables:
        problems.append(f"{HEADER} has other constants, or another order, than the tables: {program} constants")
    return tree.report("options", problems)


if __name__ == "__main__":
    sys.exit(main())
