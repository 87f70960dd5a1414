#!/usr/bin/env python3
"""Every C and C++ file is as clang-format leaves it. `format_check.py --fix` formats in place."""

import shutil
import subprocess
import sys

import tree

CLANG_FORMAT = "clang-format-16"  # other versions format differently


def main():
    if not shutil.which(CLANG_FORMAT):
        tree.skip(f"{CLANG_FORMAT} is not installed (tools/setup/install test)")
    paths = [str(path) for path in tree.files() if tree.is_cpp(path)]
    if "--fix" in sys.argv[1:]:
        return subprocess.run([CLANG_FORMAT, "-i", *paths], cwd=tree.ROOT, check=False).returncode
    result = subprocess.run([CLANG_FORMAT, "--dry-run", "-Werror", "--ferror-limit=1", *paths],
                            cwd=tree.ROOT, check=False, capture_output=True, text=True)
    wrong = sorted({line.split(": ")[0] for line in result.stderr.splitlines()
                    if "clang-format-violations" in line})
    if result.returncode != 0 and not wrong:
        wrong = [result.stderr.strip()]
    if wrong:
        wrong.append("tools/check/format_check.py --fix formats them")
    return tree.report("format", wrong)


if __name__ == "__main__":
    sys.exit(main())
