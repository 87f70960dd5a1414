"""The loaded libpace: found once, on first use.

It is looked for in this order: the file that PACE_LIBRARY names, next to this package (a wheel
bundles it there), and where the system's loader finds libpace.so.1.
"""

import ctypes
import os
import pathlib
import threading
from typing import Any, List, Optional

from pace import _abi
from pace.errors import Invalid, NotFound, Version, error_from

SONAME = "libpace.so.1"
_OLDEST = 10000 * _abi.PACE_VERSION_MAJOR + 100 * _abi.PACE_VERSION_MINOR
_lock = threading.Lock()
_loaded: Optional[ctypes.CDLL] = None
_file = ""


def candidates() -> List[str]:
    """Where libpace is looked for."""
    named = os.environ.get("PACE_LIBRARY", "")
    if named:
        return [named]
    beside = pathlib.Path(__file__).resolve().parent / SONAME
    return ([str(beside)] if beside.exists() else []) + [SONAME]


def library() -> Any:
    """libpace. Raises NotFound when there is none, and Version when its release is not this package's."""
    global _loaded, _file
    with _lock:
        if _loaded is None:
            _loaded, _file = _load()
        return _loaded


def library_file() -> str:
    """The name by which libpace was loaded."""
    library()
    return _file


def _load() -> Any:
    reasons = []
    for file in candidates():
        try:
            loaded = ctypes.CDLL(file)
            _abi.declare(loaded)
        except (OSError, AttributeError) as error:
            reasons.append(str(error))
            continue
        number = loaded.pace_library_version()
        # Later minor releases add to the ABI and change nothing.
        if not _OLDEST <= number < 10000 * (_abi.PACE_VERSION_MAJOR + 1):
            raise Version(f"{file} is version {version_text(number)} and this package needs {version_text(_OLDEST)} or a later one of "
                          f"{_abi.PACE_VERSION_MAJOR}.x; install libpace of this package's release")
        return loaded, file
    raise NotFound(f"libpace cannot be loaded ({'; '.join(reasons)}); install Pace or this package's wheel, "
                   "or name the file in PACE_LIBRARY")


def version_text(number: int) -> str:
    return f"{number // 10000}.{number // 100 % 100}.{number % 100}"


def call(function: Any, *arguments: Any) -> None:
    """Calls a function whose last argument is a pace_error. Raises what it fails with.

    If a signal ends the call early, Python handles the signal here, between two calls.
    """
    error = _abi.pace_error()
    while True:
        status = function(*arguments, ctypes.byref(error))
        if status == _abi.PACE_OK:
            return
        if status != _abi.PACE_INTERRUPTED:
            raise error_from(status, error)


def text(value: "Optional[str]", argument: str) -> "Optional[bytes]":
    """A string for C. Raises Invalid when it holds a zero byte, which would cut it."""
    if value is None:
        return None
    if not isinstance(value, str):
        raise Invalid(f"{argument}: {value!r} is no text; give a str", argument)
    if "\0" in value:
        raise Invalid(f"{argument}: {value!r} holds a zero character", argument)
    return value.encode()
