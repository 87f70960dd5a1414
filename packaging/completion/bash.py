"""Completion for bash, over the functions of the package bash-completion."""

from shlex import quote

from values import options_of, values_of

_PATH = "usr/share/bash-completion/completions/{}"

_LISTED = """
# The names that a command lists, of the daemon that the line names.
{function}_listed() {{
    local endpoint=() i
    for ((i = 1; i < cword; i++)); do
        if [[ ${{words[i]}} == --endpoint ]]; then endpoint=(--endpoint "${{words[i + 1]}}"); fi
    done
    COMPREPLY=($(compgen -W "$(timeout 2 {program} "${{endpoint[@]}}" "$@" 2>/dev/null | awk 'NR > 1 {{ print $1 }}')" -- "$cur"))
}}
"""

_MAIN = """
{function}() {{
    local cur prev words cword split command={program} i
    _init_completion -s -n : || return
    for ((i = 1; i < cword; i++)); do
        case "$command ${{words[i]}}" in
{commands}
        esac
    done
    case "$command $prev" in
{values}
    esac
    $split && return
    if [[ $cur == -* ]]; then
        case "$command" in
{options}
        esac
        if [[ ${{COMPREPLY-}} == *= ]]; then compopt -o nospace; fi
        return
    fi
    case "$command" in
{arguments}
    esac
}}

complete -F {function} {program}
"""


def script(program):
    name = program.name
    function = "_" + name.replace("-", "_")
    commands = list(program.everything())
    listed = any(values_of(option, command, program).listed
                 for command in commands for option in [*options_of(command, program), *command.positionals])
    text = f"# Completion of {name} for bash. Made by packaging/completion/generate of what {name} --help says.\n"
    if listed:
        text += _LISTED.format(function=function, program=name)
    return text + _MAIN.format(
        function=function, program=name, commands=_commands(commands), values=_values(commands, program, function),
        options=_options(commands, program), arguments=_arguments(commands, program, function))


def file_name(program):
    return _PATH.format(program.name)


def _case(patterns, action, depth):
    return f"{' ' * depth}{' | '.join(patterns)}) {action} ;;"


def _commands(commands):
    below = [quote(" ".join(command.path)) for command in commands[1:]]
    skipped = sorted({quote(name) for command in commands for option in command.options if option.value for name in option.names})
    lines = []
    if skipped:
        # The value of an option is no command.
        lines.append(_case([f"*' '{name}" for name in skipped], "((i++))", 12))
    if below:
        lines.append(_case(below, 'command+=" ${words[i]}"', 12))
    return "\n".join(lines)


def _action(values, function):
    if values.words:
        return f"COMPREPLY=($(compgen -W {quote(' '.join(values.words))} -- \"$cur\"))"
    if values.listed:
        return f"{function}_listed {' '.join(values.listed)}"
    return "_filedir" if values.are_files else ""


def _values(commands, program, function):
    patterns = {}
    for command in commands:
        for option in options_of(command, program):
            if option.value:
                action = _action(values_of(option, command, program), function)
                patterns.setdefault(action, []).extend(quote(f"{' '.join(command.path)} {name}") for name in option.names)
    return "\n".join(_case(found, f"{action}; return" if action else "return", 8) for action, found in patterns.items())


def _options(commands, program):
    return "\n".join(
        _case([quote(" ".join(command.path))],
              "COMPREPLY=($(compgen -W " + quote(" ".join(name for option in options_of(command, program) for name in option.names
                                                         if name.startswith("--"))) + " -- \"$cur\"))", 12)
        for command in commands)


def _arguments(commands, program, function):
    lines = []
    for command in commands:
        if command.commands:
            words = " ".join(below.name for below in command.commands)
            action = f"COMPREPLY=($(compgen -W {quote(words)} -- \"$cur\"))"
        elif command.positionals:
            action = _action(values_of(command.positionals[0], command, program), function) or ":"
        else:
            continue
        lines.append(_case([quote(" ".join(command.path))], action, 8))
    return "\n".join(lines)
