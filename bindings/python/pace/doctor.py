"""Doctor: looks at what commonly goes wrong on a trainer's side, and says what to do.

`pacectl doctor` looks at the daemon's side.
"""

import importlib
import os
import resource
import shutil
from typing import Any, Callable, Iterator, List, NamedTuple, Optional

import pace
from pace._library import library_file
from pace.daemon import find_paced
from pace.errors import PaceError
from pace.options import query

_SHARED_MEMORY_MIN = 64 << 20
_MEBIBYTE = 1 << 20


class Finding(NamedTuple):
    """One line. `remedy` is given exactly when something is wrong."""

    subject: str
    text: str
    remedy: Optional[str] = None


def _library(_: Optional[str]) -> Iterator[Finding]:
    try:
        version = pace.library_version()
    except PaceError as error:
        yield Finding("library", error.message, error.remedy if isinstance(error, pace.Version) else
                      "install Pace or the wheel of this package, or set PACE_LIBRARY")
        return
    protocol = query("versions")["protocol"]
    yield Finding("library", f"{library_file()} {version}, package {pace.__version__}, "
                  f"protocol {protocol['least']} to {protocol['greatest']}")


def _daemon(endpoint: Optional[str]) -> Iterator[Finding]:
    try:
        versions = query("versions", endpoint or "")
    except PaceError as error:
        program = _startable() if endpoint is None and not os.environ.get("PACE_ENDPOINT") else None
        if program:
            yield Finding("daemon", f"none runs here; python -m pace run and pace.torch start {program} for their workers")
        else:
            yield Finding("daemon", error.message, error.remedy)
        return
    yield Finding("daemon", f"{versions['daemon']} on node {versions['node']}")
    try:
        status = query("status", endpoint or "")
    except PaceError as error:
        yield Finding("controller", error.message, error.remedy)
        return
    alive = sum(node.get("status") == "alive" for node in status["nodes"])
    yield Finding("controller", f"{status['version']}, {alive} of {len(status['nodes'])} nodes alive, {len(status['jobs'])} jobs")


def _startable() -> Optional[str]:
    try:
        return find_paced()
    except PaceError:
        return None


def _shared_memory(_: Optional[str]) -> Iterator[Finding]:
    try:
        free = shutil.disk_usage("/dev/shm").free
    except OSError as error:
        yield Finding("shared memory", f"/dev/shm: {error.strerror}", "mount a tmpfs at /dev/shm")
        return
    yield Finding("shared memory", f"{free // _MEBIBYTE} MiB free in /dev/shm", None if free >= _SHARED_MEMORY_MIN else
                  "remove what is left in /dev/shm, or make it larger (of a container: --shm-size)")


def _locked_memory(_: Optional[str]) -> Iterator[Finding]:
    limit = resource.getrlimit(resource.RLIMIT_MEMLOCK)[0]
    text = "unlimited" if limit == resource.RLIM_INFINITY else f"{limit // 1024} KiB; only RDMA and GPUs need more"
    yield Finding("locked memory", text, None if limit != 0 else "raise the limit of locked memory (ulimit -l)")


def _modules(_: Optional[str]) -> Iterator[Finding]:
    for name in ("numpy", "torch"):
        try:
            yield Finding(name, str(getattr(importlib.import_module(name), "__version__", "of unknown version")))
        except ImportError:
            yield Finding(name, "not installed; Pace does without")
        except Exception as error:  # a module that is installed and broken raises anything
            yield Finding(name, f"cannot be imported: {error}", f"install {name} anew")


def _gpus(_: Optional[str]) -> Iterator[Finding]:
    folder = "/proc/driver/nvidia/gpus"
    try:
        names = [_model(os.path.join(folder, gpu, "information")) for gpu in sorted(os.listdir(folder))]
    except OSError:
        names = []
    if not names:
        yield Finding("GPUs", "none")
        return
    visible = os.environ.get("CUDA_VISIBLE_DEVICES")
    hidden = visible is not None and visible.strip() in ("", "-1")
    yield Finding("GPUs", ", ".join(names) + (f"; CUDA_VISIBLE_DEVICES={visible}" if visible is not None else ""),
                  "unset CUDA_VISIBLE_DEVICES, which hides all GPUs" if hidden else None)


def _model(file: str) -> str:
    with open(file, encoding="utf-8", errors="replace") as lines:
        return next((line.partition(":")[2].strip() for line in lines if line.startswith("Model:")), "a GPU")


CHECKS: List[Callable[[Optional[str]], Iterator[Finding]]] = [
    _library, _daemon, _shared_memory, _locked_memory, _modules, _gpus]


def findings(endpoint: Optional[str] = None) -> List[Finding]:
    """All findings. Without a library no daemon is asked. Blocks for at most forty seconds, while a daemon does not answer."""
    found: List[Finding] = []
    for check in CHECKS:
        if check is _daemon and found[0].remedy is not None:
            continue
        found.extend(check(endpoint))
    return found


def main(given: Any) -> int:
    """Prints the findings. 1 when something is wrong, else 0."""
    found = findings(given.endpoint)
    for finding in found:
        print(f"{'ok' if finding.remedy is None else 'problem':8}{finding.subject}: {finding.text}")
        if finding.remedy is not None:
            print(f"{'':8}-> {finding.remedy}")
    return 1 if any(finding.remedy is not None for finding in found) else 0
