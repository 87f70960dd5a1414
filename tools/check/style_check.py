#!/usr/bin/env python3
"""The style rules for text: lengths, white space, guards, first lines, forbidden calls.

A line that must break a rule says so and why in a comment: `style: allow RULE, because ...`.
"""

import re
import sys

import tree

LINES_MAX = 400
WHOLE_FILE_EXEMPT = {
    "capi/pace.h": {"length", "guard"},  # the one public header: kept in one piece, C guards
    "LICENSE": {"length"},
    "bindings/python/pace/_abi.py": {"length"},  # written by generate.py
    "tests/cluster/trainers/trainer_steps.cpp": {"sleep"},  # the work of a step, simulated
    "tests/storms/trainer/trainer.cpp": {"sleep"},  # as well
    "tests/boot/trainer.c": {"sleep"},  # as well
    "tests/simulated_gpu/driver/calls.cpp": {"sleep"},  # a slow driver, simulated
    "tests/simulated_gpu/nccl/nccl_calls.cpp": {"sleep"},  # a slow NCCL, simulated
    "tests/simulated_gpu/driver/stream_words.cpp": {"sleep"},  # a stream that waits, simulated
    "bench/loopback/loopback_worker.cpp": {"sleep"},  # as well
    "bench/servers/real.cpp": {"sleep"},
    "tests/abi/header.h": {"guard"},  # what a C compiler makes of pace.h
    "packaging/deb/debian/rules": {"tab"},  # make wants them
    # Pure: reads the text of endpoints, and binds none.
    "service/controller/shell/settings/listen_policy_test.cpp": {"fixed-port"},
}

CODE_SUFFIXES = tree.CPP_SUFFIXES | {".py", ".cmake", ".fbs"}

LIBRARIES = ("base", "protocol", "settings", "transports", "daemon", "libclient", "capi",
             "bindings", "service/controller")

SLEEP = re.compile(r"\b(u?sleep|nanosleep|sleep_for|sleep_until)\s*\(")
SHELL_SLEEP = re.compile(r"(^|[;&|]\s*|\bdo\s+)sleep\s+[\d.$]")
FIXED_PORT = re.compile(r"(127\.0\.0\.1|localhost|0\.0\.0\.0|\*|\[::1?\]):[1-9]\d*|"
                        r"htons\(\s*[1-9]")
ENDING = re.compile(r"std::(abort|_?exit|_Exit|quick_exit)\s*\(|(?<![\w>])::(abort|_?exit)\s*\(|"
                    r"(?<![\w.:>])abort\(\)\s*;|(?<![\w.:>])_?exit\(\s*(\d+|EXIT_\w+)\s*\)")
# Put together here so that this file does not break its own rule.
MACHINE_PATH = re.compile(r"(?<![\w.])/(" + "|".join([r"wor" r"k/", r"hom" r"e/\w", r"roo" r"t/",
                                                       r"User" r"s/"]) + ")")
ALLOW = re.compile(r"style: allow (\w[\w-]*)")


def in_library(path):
    name = path.as_posix()
    if tree.is_test(path) or path.name == "main.cpp" or path.stem.endswith("_bench"):
        return False
    return any(name.startswith(folder + "/") for folder in LIBRARIES)


def line_rules(path, line):
    """Names of the rules that one line breaks, each with what is wrong."""
    is_test = tree.is_test(path)
    is_cpp = tree.is_cpp(path)
    if "\t" in line:
        yield "tab", "a tab; indent with spaces"
    if line != line.rstrip():
        yield "trailing", "white space at the end of the line"
    if MACHINE_PATH.search(line):
        yield "machine-path", "a path of somebody's machine"
    if is_test and SLEEP.search(line):
        yield "sleep", "tests wait for readiness, they do not sleep"
    if is_test and not is_cpp and path.suffix == "" and SHELL_SLEEP.search(line):
        yield "sleep", "tests wait for readiness, they do not sleep"
    if is_test and FIXED_PORT.search(line):
        yield "fixed-port", "a fixed port; use port 0 and read it back"
    if is_cpp and in_library(path) and ENDING.search(line):
        yield "ending", "a library never ends its host process"


def guard_problem(path, text):
    if path.suffix not in (".h", ".hpp", ".cuh") or path.name.endswith("-inl.h"):
        return None
    return None if re.search(r"^#pragma once$", text, re.MULTILINE) else "no #pragma once"


def first_line_problem(path, text):
    if path.suffix not in (".h", ".hpp", ".cuh"):
        return None
    if re.match(r"(// |/\* ?)\S", text):
        return None
    return "the first line of a header is a comment that says what it is"


def check_file(path, text):
    """Problems of one file; `path` is relative to the root."""
    exempt = WHOLE_FILE_EXEMPT.get(path.as_posix(), set())
    problems = []
    lines = text.split("\n")
    is_code = path.suffix in CODE_SUFFIXES or path.name == "CMakeLists.txt" or path.suffix == ""
    if is_code and len(lines) > LINES_MAX + 1 and "length" not in exempt:
        problems.append(f"{path}: {len(lines) - 1} lines; past {LINES_MAX} a second thing lives "
                        "there: give it a file")
    if text and not text.endswith("\n"):
        problems.append(f"{path}: no newline at the end")
    if "guard" not in exempt and (problem := guard_problem(path, text)):
        problems.append(f"{path}: {problem}")
    if problem := first_line_problem(path, text):
        problems.append(f"{path}:1: {problem}")
    for number, line in enumerate(lines, 1):
        allowed = set(ALLOW.findall(line)) | exempt
        for rule, problem in line_rules(path, line):
            if rule not in allowed:
                problems.append(f"{path}:{number}: {problem}")
    return problems


def folders_without_readme(paths, read=tree.read):
    """Folders with code or build rules that neither have a README.md nor are named in their parent's."""
    folders = {path.parent for path in paths
               if tree.is_cpp(path) or path.name == "CMakeLists.txt" or path.suffix == ".py"}
    present = set(paths)
    problems = []
    for folder in sorted(folder for folder in folders if folder.parts):
        above = folder.parent / "README.md"
        named = above in present and f"{folder.name}/" in read(above)
        if folder / "README.md" not in present and not named:
            problems.append(f"{folder}/: neither a README.md here nor a word in {above} says what "
                            "the folder owns")
    return problems


def main():
    paths = tree.files()
    problems = folders_without_readme(paths)
    for path in paths:
        if tree.is_text(path):
            problems += check_file(path, tree.read(path))
    return tree.report("style", problems)


if __name__ == "__main__":
    sys.exit(main())
