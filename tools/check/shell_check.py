#!/usr/bin/env python3
"""Every bash script passes shellcheck and is executable."""

import os
import shutil
import subprocess
import sys

import tree


def scripts():
    for path in tree.files():
        if tree.is_script(path) or path.suffix == ".sh":
            first = tree.read(path).split("\n", 1)[0]
            if "bash" in first or first.endswith("/sh"):
                yield path


def main():
    if not shutil.which("shellcheck"):
        tree.skip("shellcheck is not installed (tools/setup/install test)")
    paths = list(scripts())
    problems = [f"{path}: not executable" for path in paths
                if not os.access(tree.ROOT / path, os.X_OK)]
    result = subprocess.run(["shellcheck", "--format=gcc", "--external-sources",
                             *map(str, paths)],
                            cwd=tree.ROOT, check=False, capture_output=True, text=True)
    problems += result.stdout.splitlines() + result.stderr.splitlines()
    return tree.report("shell", problems)


if __name__ == "__main__":
    sys.exit(main())
