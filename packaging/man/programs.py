"""The parts of a page that come from the program itself: its options, commands, settings and the
notes at the end of --help."""

import roff


def options(command, without=()):
    """The options that --help lists, but for the flags that another page describes."""
    return "\n".join(_option(option) for option in command.options if option.long_name not in without)


def positionals(command):
    return "\n".join(roff.tagged(roff.italic(positional.names[0]), _words(positional)) for positional in command.positionals)


def commands(program):
    """A subsection for each command that does something itself."""
    return "\n".join(_command(command) for command in program.everything() if command is not program and not command.commands)


def footer(command):
    return roff.example(command.footer.split("\n"))


def settings(listed):
    return "\n".join(_setting(setting) for setting in listed)


def _command(command):
    words = [roff.bold(" ".join(command.path[1:]))]
    words += [roff.italic(positional.names[0]) for positional in command.positionals]
    own = [option for option in command.options if not option.is_common]
    required = [f"{roff.bold(option.long_name)} {roff.italic(option.value)}" for option in own if option.is_required]
    words += required + (["[\\fIoption\\fR ...]"] if len(own) > len(required) else [])
    parts = [f".SS {' '.join(words)}", roff.text(command.summary)]
    parts += [roff.tagged(roff.italic(positional.names[0]), _words(positional)) for positional in command.positionals if positional.text]
    return "\n".join(parts + [_option(option) for option in own])


def _option(option):
    names = ", ".join(roff.bold(name) for name in option.names)
    tag = f"{names} {roff.italic(option.value)}" if option.value else names
    return roff.tagged(tag, _words(option))


def _words(option):
    text = option.text
    if option.long_name == "--help":
        text = "What the command line may be."
    elif option.long_name == "--version":
        text = "The version."
    required = " Must be given." if option.is_required and option.long_name.startswith("-") else ""
    repeats = " May be given several times." if option.may_repeat else ""
    return roff.text(text + required + repeats) or "\\&"


def _setting(setting):
    value = setting.initial if setting.initial != '""' else "nothing"
    facts = (f"Accepts {roff.text(setting.accepted)}; default {roff.bold(value)}. "
             f"{roff.bold(setting.variable)}, {roff.bold(setting.flag)}.")
    return "\n".join([roff.tagged(roff.bold(setting.name), roff.inline(setting.text)), ".br", facts])
