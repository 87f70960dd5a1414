#!/usr/bin/env python3
"""Counts the instructions that the C++ binding takes beyond the C calls, for a verb and its wait: count.py LOOP.

LOOP is the program of loop.cpp. valgrind counts the program's instructions for a few steps and for many steps. The difference
is the cost of the steps, and each run gives the same number. Ends with 1 if the cost is too high, and with 77 if valgrind is
missing.
"""

import re
import shutil
import subprocess
import sys

MOST = 100
FEW, MANY = 1000, 11000
SKIPPED = 77


def instructions(valgrind: str, loop: str, how: str, steps: int) -> int:
    done = subprocess.run([valgrind, "--tool=callgrind", "--callgrind-out-file=/dev/null", loop, how, str(steps)],
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, check=False)
    counted = re.search(r"Collected : (\d+)", done.stderr)
    if done.returncode != 0 or done.stdout.strip() != str(steps) or not counted:
        sys.exit(f"{loop} {how} {steps} ended with {done.returncode}: {done.stdout}{done.stderr}")
    return int(counted.group(1))


def per_step(valgrind: str, loop: str, how: str) -> float:
    return (instructions(valgrind, loop, how, MANY) - instructions(valgrind, loop, how, FEW)) / (MANY - FEW)


def main() -> int:
    valgrind = shutil.which("valgrind")
    if valgrind is None:
        print("skipped: valgrind is not installed")
        return SKIPPED
    floor = per_step(valgrind, sys.argv[1], "c")
    print(f"c: {floor:.1f} instructions a step")
    worst = 0.0
    for how in ("throwing", "nothrow"):
        more = per_step(valgrind, sys.argv[1], how) - floor
        worst = max(worst, more)
        print(f"{how}: {more:.1f} more; at most {MOST}")
    return 0 if worst < MOST else 1


if __name__ == "__main__":
    sys.exit(main())
