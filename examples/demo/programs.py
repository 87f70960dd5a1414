"""The programs that a run starts, and their places in a build folder."""

import pathlib

from process import DemoError

PROGRAMS = {
    "pace-controller": "service/controller/shell/pace-controller",
    "paced": "daemon/paced",
    "demo-trainer": "examples/demo/demo-trainer",
    "demo-evaluator": "examples/demo/demo-evaluator",
}


def find_programs(build, names=tuple(PROGRAMS)):
    """The path of each program, by its name."""
    programs = {name: pathlib.Path(build).resolve() / PROGRAMS[name] for name in names}
    for path in programs.values():
        if not path.exists():
            raise DemoError(f"{path} is not there; build {path.name} first")
    return programs
