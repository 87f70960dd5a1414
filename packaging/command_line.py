"""The command line of a program, read from its own --help and --help-config: what manual pages and completions are made from.

The program's own output is the only source, so nothing can be missing in a second list. A line that
is not understood is an error, never left out.
"""

import re
import subprocess
from dataclasses import dataclass, field
from typing import Dict, List

PROGRAMS = {"pacectl": "bin/pacectl", "pace-sim": "bin/pace-sim", "paced": "sbin/paced", "pace-controller": "sbin/pace-controller"}
WITH_SETTINGS = ("paced", "pace-controller")

_TITLE = re.compile(r"\[?[A-Z][\w :-]*\]?:$|\[Option Group: .*\]$")
_WORD = r"[a-z0-9][a-z0-9-]*"
_CHOICES = re.compile(rf"(?:^|(?<=[:.;] )|(?<=[:.;]))(?P<words>{_WORD}(?:, {_WORD})*(?: or {_WORD})?)\.(?= |$)")
_SETTING = re.compile(r"#(?P<name>\w+) = (?P<initial>.*)$")
_ACCEPTED = re.compile(r"# (?P<accepted>.*)\. (?P<variable>[A-Z0-9_]+), (?P<flag>--[a-z0-9-]+)$")


class NotUnderstood(Exception):
    """A program's output is not in the form that is read here."""


@dataclass
class Option:
    names: List[str]  # "-h", "--help"
    value: str = ""  # what it takes: "WORD"; empty: nothing
    text: str = ""
    choices: List[str] = field(default_factory=list)  # the only values that it takes, where there are such
    is_required: bool = False
    may_repeat: bool = False

    @property
    def long_name(self):
        return next((name for name in self.names if name.startswith("--")), self.names[0])

    @property
    def is_common(self):
        """One that every program has, and that asks for nothing but a text."""
        return self.long_name in ("--help", "--help-config", "--version")


@dataclass
class Setting:
    """One of a program's configuration."""

    name: str
    initial: str  # in the words of TOML
    accepted: str  # "one of error, warning"
    variable: str
    flag: str
    text: str

    @property
    def choices(self):
        return self.accepted[len("one of "):].split(", ") if self.accepted.startswith("one of ") else []

    @property
    def is_switch(self):
        return self.accepted == "true or false"

    @property
    def is_text(self):
        return self.accepted.startswith(("a text", "text"))


@dataclass
class Command:
    path: List[str]  # "pacectl", "job", "create"
    summary: str = ""
    usage: str = ""
    options: List[Option] = field(default_factory=list)
    positionals: List[Option] = field(default_factory=list)
    commands: List["Command"] = field(default_factory=list)
    footer: str = ""

    @property
    def name(self):
        return self.path[-1]

    def everything(self):
        """This command and all below it, each before its own."""
        yield self
        for command in self.commands:
            yield from command.everything()

    def find(self, name):
        return next((command for command in self.commands if command.name == name), None)


def read(program, file):
    """The whole command line of a program."""
    command = _read(file, [program])
    if program in WITH_SETTINGS:
        _apply(read_settings(program, file), command)
    return command


def read_settings(program, file):
    """The settings of a program with a configuration."""
    return settings_of(_said(file, ["--help-config"]), program)


def _read(file, path):
    command = command_of(_said(file, [*path[1:], "--help"]), path)
    command.commands = [_with_summary(_read(file, [*path, below.name]), below) for below in command.commands]
    return command


def _with_summary(command, listed):
    command.summary = command.summary or listed.summary
    return command


def _said(file, arguments):
    done = subprocess.run([str(file), *arguments], check=False, text=True, encoding="utf-8", timeout=60, stdin=subprocess.DEVNULL,
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    if done.returncode != 0 or not done.stdout:
        raise NotUnderstood(f"{file} {' '.join(arguments)} ended with {done.returncode}: {done.stderr.strip()}")
    return done.stdout


def command_of(text, path):
    """What one --help says."""
    command = Command(path)
    lines = text.rstrip("\n").split("\n")
    at = next((number for number, line in enumerate(lines) if line.startswith("Usage: ")), None)
    if at is None:
        raise NotUnderstood(f"{' '.join(path)} --help has no line 'Usage: ...'")
    command.summary = " ".join(line.strip() for line in lines[:at]).strip()
    command.usage = lines[at][len("Usage: "):].strip()
    column = _column(lines, path)
    title = ""
    for number in range(at + 1, len(lines)):
        line = lines[number]
        if not line.strip():
            continue
        if _is_title(lines, number):
            title = line.rstrip(":")
        elif not title or not line.startswith("  "):
            command.footer = "\n".join(lines[number:])
            break
        else:
            _take_row(command, title, line, column)
    return command


def _is_title(lines, number):
    """Whether the line is the title of rows, not part of the text behind them: rows of options
    begin with a dash."""
    following = next((line for line in lines[number + 1:] if line.strip()), "")
    return bool(_TITLE.match(lines[number])) and (lines[number] in ("Positionals:", "Subcommands:") or following.startswith("  -"))


def _column(lines, path):
    """Where the descriptions begin: where that of the flag for help does."""
    for line in lines:
        found = re.match(r"  (?:-h,--help|--help,-h)\s+(?=\S)", line)
        if found:
            return found.end()
    raise NotUnderstood(f"{' '.join(path)} --help does not list --help")


def _take_row(command, title, line, column):
    """A heading with its description, a heading alone, or the description of the one before."""
    if line[:column].strip():
        is_long = len(line) > column and line[column - 1] != " "
        heading, text = (line.strip(), "") if is_long else (line[:column].strip(), line[column:].strip())
        if title == "Subcommands":
            command.commands.append(Command([*command.path, heading], text))
        else:
            rows = command.positionals if title == "Positionals" else command.options
            rows.append(option_of(heading))
            _describe(rows[-1], text)
        return
    rows = command.commands if title == "Subcommands" else command.positionals if title == "Positionals" else command.options
    if not rows:
        raise NotUnderstood(f"{' '.join(command.path)} --help: a description without a name: {line.strip()}")
    if title == "Subcommands":
        rows[-1].summary = f"{rows[-1].summary} {line.strip()}".strip()
    else:
        _describe(rows[-1], line.strip())


def _describe(option, text):
    option.text = f"{option.text} {text}".strip()
    if option.value == "WORD" and not option.choices:
        option.choices = choices_in(option.text)


def choices_in(text):
    """The words of a sentence that lists nothing but words: "constant or dynamic."; the last such sentence but the default's."""
    text = re.sub(r"Default: [^.]*(\.[^.]+)*\.?$", "", text).strip()
    found = [re.split(r", | or ", match["words"]) for match in _CHOICES.finditer(text)]
    return next((words for words in reversed(found) if len(words) > 1), [])


def option_of(heading):
    """"--policy WORD REQUIRED", "-h,--help", "--interval FLOAT:FLOAT in [0.1 - 3600]", "--insecure{true}"."""
    names, _, rest = heading.partition(" ")
    option = Option([re.sub(r"\{.*\}$", "", name) for name in names.split(",")])
    rest = rest.strip()
    if rest.endswith("..."):
        is_list = rest.endswith(",...")
        option.may_repeat = not is_list
        rest = rest if is_list else rest[:-3].strip()
    if re.search(r"\bREQUIRED\b", rest):
        option.is_required = True
        rest = re.sub(r"\s*\bREQUIRED\b", "", rest).strip()
    rest = re.sub(r"\s*(Needs|Excludes): .*", "", rest)
    listed = re.match(r"(?P<type>[A-Z-]+):\{(?P<words>[^}]*)\}", rest)
    if listed:
        option.choices = re.split(r"[,|]", listed["words"])
        rest = listed["type"]
    option.value = re.sub(r"^(\w+):\1 in ", r"\1 ", re.sub(r"\s*\(Env:.*\)", "", rest)).replace("UINT:INT in", "UINT").strip()
    return option


def settings_of(text, program):
    """Reads the output of --help-config: blocks of comments, each with the accepted values and the
    default."""
    made, comment = [], []
    for line in text.split("\n"):
        found = _SETTING.match(line)
        if found:
            accepted = _ACCEPTED.match(comment[-1]) if comment else None
            if accepted is None:
                raise NotUnderstood(f"{program} --help-config does not say what {found['name']} accepts")
            words = " ".join(one.lstrip("#").strip() for one in comment[:-1])
            made.append(Setting(found["name"], found["initial"], accepted["accepted"], accepted["variable"], accepted["flag"], words))
            comment = []
        elif line.startswith("# "):
            comment.append(line)
        elif line:
            raise NotUnderstood(f"{program} --help-config: neither a comment nor a setting: {line}")
        else:
            comment = []
    if not made:
        raise NotUnderstood(f"{program} --help-config lists no settings")
    return made


def _apply(settings, command):
    """Flags of settings take the values that the settings accept. Their --help names no type for a text."""
    by_flag: Dict[str, Setting] = {setting.flag: setting for setting in settings}
    for option in command.options:
        setting = by_flag.pop(option.long_name, None)
        if setting is None:
            continue
        option.choices = setting.choices
        if setting.is_switch:
            option.value = ""
        elif not option.value:
            option.value = "WORD" if setting.choices else "TEXT"
    if by_flag:
        raise NotUnderstood(f"{command.name} --help lacks {', '.join(sorted(by_flag))}")
