"""The values that may follow an option, or stand for a positional argument."""

from dataclasses import dataclass, field
from typing import List

_NUMBERS = ("UINT", "INT", "FLOAT", "NUMBER", "NUM", "whole number", "milliseconds", "bytes")


@dataclass
class Values:
    words: List[str] = field(default_factory=list)  # one of these
    listed: List[str] = field(default_factory=list)  # the first column of what this command prints
    are_files: bool = False
    is_other: bool = False  # a number, or a word that no list has

    @property
    def are_paths(self):
        return self.are_files and not self.words and not self.listed


def values_of(option, command, program):
    """The values of an option or a positional argument of a command of the program."""
    if option.choices:
        return Values(words=option.choices)
    if option.value.split(" [")[0] in _NUMBERS or "-" in option.value:
        return Values(is_other=True)
    group = _group_of(option, command, program)
    if group is not None:
        return Values(is_other=True) if command.name == "create" else Values(listed=[*group.path[1:], "list"])
    return Values(are_files=True)


def _group_of(option, command, program):
    """The commands about what is named here, if they can list it: `--job`, or the name in `job show`."""
    wanted = option.long_name.lstrip("-")
    if option.long_name == wanted:  # a positional argument
        wanted = command.path[-2] if wanted == "name" and len(command.path) > 1 else wanted
    group = program.find(wanted)
    return group if group is not None and group.find("list") is not None else None


def options_of(command, program):
    """Those that may be given there: its own, and the program's, which may stand behind a command as well."""
    if command is program:
        return command.options
    own = {option.long_name for option in command.options}
    return command.options + [option for option in program.options if not option.is_common and option.long_name not in own]


def first_sentence(text):
    """The text that fits beside a word in a list."""
    end = next((at + 1 for at, character in enumerate(text)
                if character in ".:" and text[at + 1:at + 2] in ("", " ") and at > 8), len(text))
    return text[:end].rstrip(".:")
