"""Case: one file of cases/, read into its steps."""

import dataclasses
import pathlib
import shlex
from typing import Dict, List, Tuple

SCENE_VERBS = ("kill", "freeze", "thaw", "signal", "start")
DEFAULT_STATUS = "PACE_OK"


class CaseError(Exception):
    """A case that cannot be read; the message names its file and line."""


@dataclasses.dataclass(frozen=True)
class Step:
    """One line: who does what, and how it must end."""

    line: int
    actor: str  # a process; "" for the scene itself
    words: Tuple[str, ...]
    repeats: bool = False
    status: str = DEFAULT_STATUS
    values: Tuple[Tuple[str, str], ...] = ()

    @property
    def text(self) -> str:
        return " ".join(filter(None, [self.actor, *self.words]))


@dataclasses.dataclass(frozen=True)
class Case:
    name: str
    title: str
    steps: Tuple[Step, ...]
    daemons: int
    settings: Tuple[Tuple[str, str], ...]
    languages: Tuple[str, ...]  # empty: all


def read(path: pathlib.Path) -> Case:
    """Raises CaseError."""
    lines = path.read_text().splitlines()
    if not lines or not lines[0].startswith("# "):
        raise CaseError(f"{path}:1: the first line is no title; write '# What this case shows'")
    steps: List[Step] = []
    daemons = 1
    settings: Dict[str, str] = {}
    languages: Tuple[str, ...] = ()
    for number, line in enumerate(lines, 1):
        words = shlex.split(line, comments=True)
        if not words:
            continue
        if words[0] == "daemons" and len(words) == 2 and words[1].isdigit():
            daemons = int(words[1])
        elif words[0] == "setting" and len(words) == 3:
            settings[words[1]] = words[2]
        elif words[0] == "only":
            languages = tuple(words[1:])
        else:
            steps.append(_step(f"{path}:{number}", number, words))
    if not steps:
        raise CaseError(f"{path}: it has no steps")
    return Case(path.stem, lines[0][2:], tuple(steps), daemons, tuple(settings.items()), languages)


def _step(where: str, number: int, words: List[str]) -> Step:
    command, expected = words, []
    if "=>" in words:
        arrow = words.index("=>")
        command, expected = words[:arrow], words[arrow + 1:]
    if len(command) < 2:
        raise CaseError(f"{where}: '{' '.join(command)}' is no step; write PROCESS COMMAND ..., or a step of the scene")
    if command[0] in SCENE_VERBS:
        if expected:
            raise CaseError(f"{where}: a step of the scene has no answer")
        return Step(number, "", tuple(command))
    repeats = command[1] == "until"
    status = expected.pop(0) if expected and "=" not in expected[0] else DEFAULT_STATUS
    values = [part.partition("=") for part in expected]
    wrong = [name for name, equals, _ in values if not equals]
    if wrong:
        raise CaseError(f"{where}: '{wrong[0]}' is no key=value")
    return Step(number, command[0], tuple(command[2 if repeats else 1:]), repeats, status,
                tuple((name, value) for name, _, value in values))
