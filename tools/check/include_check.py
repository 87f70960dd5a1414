#!/usr/bin/env python3
"""Who may include whom: the table of docs/architecture.md, as a test.

CMake already keeps folders apart (a folder is visible only to targets that link it); this check
sees what CMake cannot: headers of the system that only some folders may use, and links that a
CMakeLists.txt should not have made.
"""

import re
import sys

import tree

ALWAYS = {"base"}

# The folders of this tree that a folder may include besides itself. The longest matching folder
# decides.
MAY_INCLUDE = {
    "base": set(),
    "protocol": {"base"},
    "protocol/options": {"base"},
    "settings": {"base"},
    "transports": {"base"},
    # The daemon of a single machine runs the controller in its own process.
    "daemon": {"base", "protocol", "settings", "transports", "daemon", "service/controller/shell",
               "service/controller/zmq",
               "service/controller/core", "service/controller/vocabulary", "service/controller/web", "service/http",
               "service/metrics"},
    "daemon/device": {"base"},
    "daemon/recorder": {"base"},
    "daemon/kernels": {"base", "protocol"},
    "daemon/kernels/cuda": {"base", "protocol", "daemon/kernels", "daemon/device/plugin.h"},
    "daemon/collectives": {"base", "protocol", "transports", "daemon/kernels"},
    "daemon/sparse": {"base", "protocol", "transports", "daemon/kernels", "daemon/collectives"},
    "daemon/partial": {"base", "protocol", "transports", "daemon/kernels", "daemon/collectives"},
    "daemon/runtime": {"base", "protocol", "transports", "daemon/kernels", "daemon/collectives",
                       "daemon/device", "daemon/recorder", "daemon/control"},
    "daemon/gpu": {"base", "protocol", "transports", "daemon/runtime", "daemon/device",
                   "daemon/kernels", "daemon/collectives", "daemon/sparse"},
    "daemon/members": {"base", "protocol", "daemon/runtime", "daemon/gpu", "daemon/control",
                       "daemon/collectives", "daemon/sparse", "daemon/partial", "daemon/server"},
    "daemon/exchange": {"base", "protocol", "transports", "daemon/runtime", "daemon/gpu",
                        "daemon/members", "daemon/control", "daemon/kernels",
                        "daemon/collectives", "daemon/sparse", "daemon/partial"},
    "daemon/families/rounds": {"base", "protocol", "daemon/runtime", "daemon/gpu",
                               "daemon/members", "daemon/exchange", "daemon/control",
                               "daemon/kernels", "daemon/collectives", "daemon/sparse",
                               "daemon/partial"},
    "daemon/families/groups": {"base", "protocol", "daemon/runtime", "daemon/members",
                               "daemon/exchange", "daemon/control"},
    "daemon/families/serving": {"base", "protocol", "daemon/runtime", "daemon/members",
                                "daemon/control", "daemon/kernels", "daemon/collectives",
                                "daemon/server"},
    "daemon/families/vetting": {"base", "protocol", "daemon/runtime", "daemon/members",
                                "daemon/kernels"},
    "daemon/jobs": {"base", "protocol", "daemon/runtime", "daemon/recorder", "daemon/gpu", "daemon/members",
                    "daemon/exchange", "daemon/families", "daemon/control",
                    "daemon/collectives"},
    "libclient": {"base", "protocol"},
    "capi": {"base", "protocol", "libclient"},
    "bindings": {"capi/pace.h", "pace.h"},
    "service": {"base", "protocol", "settings"},
    "service/controller": {"base", "protocol", "settings"},
    "service/controller/vocabulary": {"base", "protocol/options", "protocol/control_messages.h"},
    "service/controller/core": {"base", "protocol/options", "service/controller/vocabulary", "service/controller/policies"},
    "service/controller/policies": {"base", "protocol/options", "service/controller/vocabulary"},
    "service/controller/zmq": {"base"},
    "service/controller/keys": {"base", "protocol/options", "service/controller/zmq"},
    "service/controller/shell": {"base", "protocol", "settings", "service/controller",
                                 "service/http"},
    "service/controller/web": {"base", "service/controller/shell", "service/http", "service/page",
                               "service/metrics"},
    "service/http": {"base", "settings"},
    "service/page": {"base", "service/http"},
    "service/metrics": {"base", "service/http"},
    "service/pacectl": {"base", "protocol", "libclient", "service/controller/zmq",
                        "service/controller/keys", "service/metrics"},
    "service/simulator": {"base", "protocol/static_groups.h", "settings", "service/controller/core", "service/controller/vocabulary",
                          "service/pacectl/columns/columns.h", "service/pacectl/columns/nearest.h"},
    "examples": {"capi/pace.h", "pace.h", "bindings"},
    "tools": {"base", "protocol/options", "settings"},
}

# Folders that have floors, from the ground up: each floor sees those below it. "." are the files that lie
# in the folder itself.
FLOORS = {
    "base": (".", "threads", "simulation", "memory", "loop", "log", "cuda"),
    "daemon/collectives": ("layout", "messages", "."),
    "daemon/sparse": ("wire", "residual", "exchange", "algorithms", "."),
    "daemon/exchange": ("run", "ways", "."),
    "libclient": ("options", "link", "memory", "connection", "requests", "session"),
    "service/controller/core": ("journal", "nodes", "members", "serving", "options", "groups", "jobs", "status", "."),
    "service/controller/shell": ("settings", "journal", "dispatch", "status", "door", "."),
    "service/pacectl": ("columns", "console", "facts", "findings", "status", "recordings", "spans", "top", "verbs", "."),
    "service/simulator": ("model", "files", "timing", "runs", "choice", "measured", "."),
    "transports/tls": ("wire", "session", "links", "."),
}

# The policies stand beside the core's lower floors, which do not see them.
CORE = "service/controller/core"
for name in ("journal", "nodes", "members"):
    MAY_INCLUDE[f"{CORE}/{name}"] = MAY_INCLUDE[CORE] - {"service/controller/policies"}

# Headers from outside the tree that only these folders may use.
RESTRICTED = [
    (r"zmq\.h(pp)?$", ("daemon/control", "service/controller/zmq", "service/pacectl/verbs/keygen",
                       "tests", "bench")),
    (r"(ucp|uct|ucs)/", ("transports/ucx", "bench", "tests")),
    (r"toml\+\+/", ("settings",)),
    (r"CLI/", ("settings", "service/pacectl", "service/simulator", "bench", "examples", "tests")),
    (r"openssl/", ("daemon/runtime", "transports/tls", "tests")),
    (r"hwy/", ("daemon/kernels", "bench")),
    (r"cuda", ("daemon/kernels/cuda", "daemon/clients/cuda", "transports/nccl")),
    (r"nccl", ("transports/nccl",)),
    (r"systemd/", ("daemon", "service")),
    (r"microhttpd", ("service/http",)),
    (r"flatbuffers/", ("protocol", "daemon", "libclient", "service/controller/shell",
                       "service/pacectl", "tests")),
    (r"(mpi|gloo)", ("bench",)),
    (r"gtest/|gmock/", ()),
]

# The pure core: decisions take time and chance as arguments.
PURE = ("service/controller/vocabulary", "service/controller/core", "service/controller/policies")
IMPURE_HEADERS = re.compile(r"^(sys/|unistd\.h|thread|mutex|future|condition_variable|random|"
                            r"fstream|iostream|filesystem|pthread\.h|time\.h|ctime|cstdio|"
                            r"base/(loop/event_loop|log/log|memory/memfd|random_bytes|unique_fd)\.h)")

INCLUDE = re.compile(r'^\s*#\s*include\s*([<"])([^>"]+)[>"]')
OUR_FOLDERS = {folder.split("/")[0] for folder in MAY_INCLUDE} | {"tests", "bench"}


def within(path, folder):
    return path == folder or path.startswith(folder + "/") or path.startswith(folder + ".")


def folder_rule(path):
    """The entry of MAY_INCLUDE that governs a path; None if anything is allowed (tests, bench)."""
    folders = [folder for folder in MAY_INCLUDE if within(path, folder)]
    return max(folders, key=len) if folders else None


def floored(folder):
    """The folder whose floor a folder is; otherwise the folder itself."""
    parent = folder.rsplit("/", 1)[0]
    return parent if parent in FLOORS else folder


def floor_of(path, folder):
    """The floor of a folder that a path below it lies on; None if it lies on none, as fixtures do."""
    rest = path[len(folder) + 1:]
    name = rest.split("/")[0] if "/" in rest else "."
    return name if name in FLOORS[folder] else None


def above(path, target):
    """The folder in which a file includes a header of a higher floor; None if there is none. What lies on no floor,
    as fixtures do, is only for the highest one and for its like."""
    for folder, floors in FLOORS.items():
        if not (within(path, folder) and within(target, folder)):
            continue
        mine, other = floor_of(path, folder), floor_of(target, folder) or floors[-1]
        if mine and floors.index(other) > floors.index(mine):
            return folder
    return None


def check_ours(path, target, is_test):
    if is_test:
        return None
    folder = above(path, target)
    if folder:
        return f"{target} lies above {path}: the floors of {folder} are {', '.join(FLOORS[folder])}, from the ground up"
    rule = folder_rule(path)
    if rule is None or within(target, rule) or within(target, floored(rule)):
        return None
    # A header beside the file is its own folder's, whatever the rule for the parent.
    if target.rsplit("/", 1)[0] == path.rsplit("/", 1)[0]:
        return None
    if any(within(target, allowed) or target == allowed for allowed in MAY_INCLUDE[rule]):
        return None
    return f"{rule} may not include {target}"


def check_foreign(path, target, is_test):
    for pattern, folders in RESTRICTED:
        if not re.match(pattern, target):
            continue
        allowed = is_test or any(within(path, folder) for folder in folders)
        return None if allowed else f"<{target}> is only for {', '.join(folders) or 'tests'}"
    return None


def check_file(path, text, is_test=False):
    """Problems of one file; `path` is relative to the root, with slashes."""
    problems = []
    for number, line in enumerate(text.splitlines(), 1):
        match = INCLUDE.match(line)
        if not match:
            continue
        target = match.group(2)
        problem = None
        if path == "capi/pace.h" and target not in ("stddef.h", "stdint.h"):
            problem = "pace.h includes only <stddef.h> and <stdint.h>"
        elif target.startswith("."):
            problem = "includes are written from the root of the tree"
        elif not is_test and any(within(path, pure) for pure in PURE) and \
                IMPURE_HEADERS.match(target):
            problem = f"the core is pure: {target} brings clocks, threads or input/output"
        elif target.split("/")[0] in OUR_FOLDERS:
            problem = check_ours(path, target, is_test)
        else:
            problem = check_foreign(path, target, is_test)
        if problem:
            problems.append(f"{path}:{number}: {problem}")
    return problems


def main():
    problems = []
    for path in tree.files():
        if tree.is_cpp(path):
            problems += check_file(path.as_posix(), tree.read(path), tree.is_test(path))
    return tree.report("includes", problems)


if __name__ == "__main__":
    sys.exit(main())
