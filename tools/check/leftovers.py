#!/usr/bin/env python3
"""A test run leaves no process and no shared memory behind: leftovers.py before|after BUILD_FOLDER.

A process is the run's if its program lies in the build folder. A file in /dev/shm is a leftover if
it appeared during the run, belongs to this user and no living process has it open or mapped. Files
of other users of the machine are not looked at. Other tests may still be ending their processes:
`after` waits for those it finds, a short while, on their descriptors.
"""

import json
import os
import pathlib
import select
import signal
import sys

import tree

SHARED_MEMORY = pathlib.Path("/dev/shm")
GRACE_S = 2.0


def processes_of(build):
    """Process ids whose program lies in the build folder, with their command lines."""
    found = {}
    for entry in pathlib.Path("/proc").iterdir():
        if not entry.name.isdigit() or int(entry.name) == os.getpid():
            continue
        try:
            program = os.readlink(entry / "exe").removesuffix(" (deleted)")
            if pathlib.Path(program).is_relative_to(build):
                command = (entry / "cmdline").read_bytes().replace(b"\0", b" ").decode()
                found[int(entry.name)] = command.strip()
        except OSError:
            continue  # gone, or another user's
    return found


def wait_for_end(pids):
    """Waits until all have ended, GRACE_S at most; gives those that have not."""
    poller = select.poll()
    waiting = {}
    for pid in pids:
        try:
            fd = os.pidfd_open(pid)
        except OSError:
            continue
        waiting[fd] = pid
        poller.register(fd, select.POLLIN)
    while waiting:
        ready = poller.poll(GRACE_S * 1000)
        if not ready:
            break
        for fd, _ in ready:
            poller.unregister(fd)
            os.close(fd)
            del waiting[fd]
    return set(waiting.values())


def shared_files():
    user = os.getuid()
    names = set()
    for path in SHARED_MEMORY.iterdir() if SHARED_MEMORY.is_dir() else ():
        try:
            if path.stat().st_uid == user:
                names.add(path.name)
        except OSError:
            continue
    return names


def is_in_use(name):
    """Whether a living process that we may look at has the file open or mapped."""
    path = str(SHARED_MEMORY / name)
    for entry in pathlib.Path("/proc").iterdir():
        if not entry.name.isdigit():
            continue
        try:
            if any(os.readlink(fd) == path for fd in (entry / "fd").iterdir()):
                return True
            if path in (entry / "maps").read_text():
                return True
        except OSError:
            continue
    return False


def before(build, state):
    # Processes that a broken earlier run left are not this run's fault, but they must not disturb
    # it.
    for pid, command in processes_of(build).items():
        print(f"ending {pid}, which an earlier run left: {command}")
        try:
            os.kill(pid, signal.SIGKILL)
        except ProcessLookupError:
            continue
    state.write_text(json.dumps(sorted(shared_files())))
    return tree.CLEAN


def after(build, state):
    problems = []
    running = processes_of(build)
    for pid in sorted(wait_for_end(running)):
        problems.append(f"process {pid} is still there: {running[pid]}")
        try:
            os.kill(pid, signal.SIGKILL)
        except ProcessLookupError:
            continue
    known = set(json.loads(state.read_text())) if state.exists() else shared_files()
    for name in sorted(shared_files() - known):
        if not is_in_use(name):
            problems.append(f"{SHARED_MEMORY / name} was left behind")
    return tree.report("leftovers", problems)


def main():
    build = pathlib.Path(sys.argv[2]).resolve()
    state = build / "shared-memory-before.json"
    return {"before": before, "after": after}[sys.argv[1]](build, state)


if __name__ == "__main__":
    sys.exit(main())
