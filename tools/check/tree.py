"""The files of the tree that are ours, and how a check reports what it found."""

import os
import pathlib
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]

# Exit codes of every check: CTest shows 77 as skipped.
CLEAN, FOUND, SKIPPED = 0, 1, 77

IGNORED_FOLDERS = {"build", "__pycache__", "corpus", "third_party"}
CPP_SUFFIXES = {".h", ".hpp", ".cpp", ".c", ".cu", ".cuh"}
TEXT_SUFFIXES = CPP_SUFFIXES | {
    ".py", ".md", ".cmake", ".txt", ".fbs", ".toml", ".service", ".socket", ".conf", ".json",
    ".sh", ".map", ".jl", ".rs", ".supp", ".in",
}


def files(root=ROOT):
    """Every file of ours, as paths relative to the root, in order."""
    found = []
    for folder, subfolders, names in os.walk(root):
        subfolders[:] = sorted(
            name for name in subfolders
            if name not in IGNORED_FOLDERS and (not name.startswith(".") or name == ".ci"))
        for name in sorted(names):
            path = pathlib.Path(folder, name)
            if not path.is_symlink():
                found.append(path.relative_to(root))
    return found


def is_cpp(path):
    return path.suffix in CPP_SUFFIXES


def is_script(path, root=ROOT):
    """A file without suffix that begins with #!."""
    if path.suffix:
        return False
    with open(root / path, "rb") as file:
        return file.read(2) == b"#!"


def is_text(path, root=ROOT):
    return path.suffix in TEXT_SUFFIXES or is_script(path, root)


def is_test(path):
    """Tests and what only tests use; benchmarks, which may look into everything, too."""
    return path.parts[0] in ("tests", "bench") or \
        path.stem.endswith(("_test", "_tests", "_bench", "_fixture")) or \
        path.stem.startswith("test_") or not {"testing", "conformance"}.isdisjoint(path.parts)


def read(path, root=ROOT):
    return (root / path).read_text(encoding="utf-8", errors="replace")


def commit_ages():
    """For each path how many were committed after it; nothing outside a repository."""
    result = subprocess.run(
        ["git", "-c", f"safe.directory={ROOT}", "log", "--format=", "--name-only", "-n", "300"],
        cwd=ROOT, check=False, capture_output=True, text=True)
    youngest_first = dict.fromkeys(line for line in result.stdout.splitlines() if line)
    return {name: age for age, name in enumerate(youngest_first)}


def report(name, problems):
    """Prints the problems, one a line, and gives the exit code."""
    for problem in problems:
        print(problem)
    print(f"{name}: {len(problems)} problem{'' if len(problems) == 1 else 's'}")
    return FOUND if problems else CLEAN


def skip(reason):
    print(f"skipped: {reason}")
    sys.exit(SKIPPED)
