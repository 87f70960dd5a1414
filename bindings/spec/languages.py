"""Languages: how each one's driver is made, and why it cannot be."""

import dataclasses
import os
import pathlib
import shutil
import subprocess
from typing import Callable, Dict, List

BINDINGS = pathlib.Path(__file__).resolve().parents[1]
HEADER = BINDINGS.parent / "capi"
BUILD_SECONDS = 540


class Unavailable(Exception):
    """The language is not here; the message says what is missing."""


@dataclasses.dataclass(frozen=True)
class Places:
    """Where the library is, and where drivers may be built."""

    library: pathlib.Path
    build: pathlib.Path


def _ran(command: List[str], **environment: str) -> str:
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=BUILD_SECONDS,
                          env={**os.environ, **environment}, check=False)
    if done.returncode != 0:
        raise RuntimeError(f"{' '.join(command)} ended with {done.returncode}:\n{done.stdout}")
    return done.stdout


def _tool(*names: str) -> str:
    for name in names:
        found = name if os.path.isabs(name) and os.access(name, os.X_OK) else shutil.which(name)
        if found:
            return found
    raise Unavailable(f"there is no {names[-1]} here")


def _link_flags(places: Places) -> List[str]:
    return [str(places.library), f"-Wl,-rpath,{places.library.parent}", "-pthread"]


def _c(places: Places) -> List[str]:
    target = places.build / "driver-c"
    sources = [str(path) for path in sorted((BINDINGS / "spec" / "c").glob("*.c"))]
    _ran([_tool("cc", "gcc"), "-std=c11", "-D_GNU_SOURCE", "-O1", "-g", "-Wall", "-Wextra", "-Werror", f"-I{HEADER}", *sources,
          "-o", str(target), *_link_flags(places)])
    return [str(target)]


def _cpp(places: Places) -> List[str]:
    folder = BINDINGS / "cpp"
    if not folder.is_dir():
        raise Unavailable("there is no binding for it yet")
    target = places.build / "driver-cpp"
    sources = [str(path) for path in sorted(folder.glob("spec_driver/*.cpp"))]
    _ran([_tool("c++", "g++"), "-std=c++17", "-O1", "-g", "-Wall", "-Wextra", "-Werror", f"-I{HEADER}", f"-I{folder / 'include'}",
          *sources, "-o", str(target), *_link_flags(places)])
    return [str(target)]


def python_command(folder: pathlib.Path) -> List[str]:
    """How the driver of the Python binding in that folder is started."""
    return [_tool("/usr/bin/python3", "python3"), "-B", str(folder / "spec" / "driver.py")]


def _python(_: Places) -> List[str]:
    return python_command(BINDINGS / "python")


def _rust(places: Places) -> List[str]:
    folder = BINDINGS / "rust"
    cargo = _tool("/usr/bin/cargo", "cargo")
    path = f"{os.path.dirname(cargo)}:{os.environ['PATH']}"
    target = os.environ.get("PACE_RUST_TARGET", str(places.build / "rust"))
    _ran([cargo, "build", "--quiet", "--offline", "--manifest-path", str(folder / "Cargo.toml"), "--package", "spec-driver"],
         PATH=path, CARGO_TARGET_DIR=target, PACE_LIB_DIR=str(places.library.parent))
    return [f"{target}/debug/spec-driver"]


def _julia(places: Places) -> List[str]:
    return julia_command(places, BINDINGS / "julia")


def julia_command(places: Places, folder: pathlib.Path) -> List[str]:
    """How the driver of the Julia binding in that folder is started. Raises Unavailable."""
    setup = subprocess.run([str(BINDINGS.parent / "tools" / "setup" / "julia")], stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                           text=True, timeout=BUILD_SECONDS, check=False)
    if setup.returncode != 0:
        raise Unavailable(setup.stderr.strip().splitlines()[-1] if setup.stderr.strip() else "Julia cannot be installed here")
    julia = setup.stdout.strip()
    os.environ.setdefault("JULIA_DEPOT_PATH", str(places.build / "julia-depot"))
    project = f"--project={folder}"
    _ran([julia, "--startup-file=no", project, "-e", "using Pace"])  # compiled once, not by each driver
    return [julia, "--startup-file=no", project, str(folder / "spec" / "driver.jl")]


# C first: a failure of C's is Pace's own.
DRIVERS: Dict[str, Callable[[Places], List[str]]] = {
    "c": _c, "cpp": _cpp, "python": _python, "rust": _rust, "julia": _julia}
