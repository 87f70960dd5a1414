"""Completion for zsh: a function for each command, over _arguments."""

from shlex import quote

from values import first_sentence, options_of, values_of

_PATH = "usr/share/zsh/vendor-completions/_{}"

# The functions of commands see their part of the line alone: the whole of it is kept.
_GROUP = """
{function}() {{
    (( ${{+line_words}} )) || local -a line_words=("${{words[@]}}")
    local -a commands=(
{commands}
    )
    local command=""
    _arguments -C \\
{options}
        '1: :->command' '*:: :->rest' && return
    case $state in
        command) _describe command commands ;;
        rest)
            case $words[1] in
{cases}
            esac ;;
    esac
}}
"""

_LEAF = """
{function}() {{
    _arguments{ends} \\
{options}
}}
"""

_LISTED = """
# The names that a command lists, of the daemon that the line names.
{function}_listed() {{
    local -a names endpoint
    local at=${{line_words[(I)--endpoint]}}
    if ((at)); then endpoint=(--endpoint $line_words[at+1]); fi
    names=(${{(f)"$(timeout 2 {program} $endpoint "$@" 2>/dev/null | awk 'NR > 1 {{ print $1 }}')"}})
    compadd -a names
}}
"""


def script(program):
    name = program.name
    parts = [f"#compdef {name}\n# Completion of {name} for zsh. Made by packaging/completion/generate of what {name} --help says.\n"]
    function = _function(program)
    if any(values_of(option, command, program).listed for command in program.everything()
           for option in [*options_of(command, program), *command.positionals]):
        parts.append(_LISTED.format(function=function, program=name))
    parts += [_command(command, program) for command in program.everything()]
    return "".join(parts) + f"\n{function} \"$@\"\n"


def file_name(program):
    return _PATH.format(program.name)


def _function(command):
    return "_" + "_".join(command.path).replace("-", "_")


def _command(command, program):
    lines = [line for option in options_of(command, program) for line in _option(option, command, program)]
    if command.commands:
        described = "\n".join(f"        {quote(_escaped(below.name) + ':' + first_sentence(below.summary))}" for below in command.commands)
        cases = "\n".join(f"                {below.name}) {_function(below)} ;;" for below in command.commands)
        return _GROUP.format(function=_function(command), commands=described, cases=cases,
                             options="\n".join(f"        {line} \\" for line in lines))
    lines += [quote(f":{positional.names[0]}:{_action(values_of(positional, command, program), program)}")
              for positional in command.positionals]
    # The values of a program's own flags of settings are never files.
    return _LEAF.format(function=_function(command), ends="" if command.positionals else " -S",
                        options=" \\\n".join(f"        {line}" for line in lines))


def _option(option, command, program):
    exclusive = "*" if option.may_repeat else ""
    described = f"[{_escaped(first_sentence(option.text))}]"
    lines = []
    for name in option.names:
        if not option.value:
            lines.append(quote(f"{exclusive}{name}{described}"))
        else:
            ending = "=" if name.startswith("--") else "+"
            action = _action(values_of(option, command, program), program)
            lines.append(quote(f"{exclusive}{name}{ending}{described}:{_escaped(option.value.lower())}:{action}"))
    return lines


def _action(values, program):
    if values.words:
        return f"({' '.join(values.words)})"
    if values.listed:
        # Behind a space the words are taken as they are.
        return f" {_function(program)}_listed {' '.join(values.listed)}"
    return "_files" if values.are_files else ""


def _escaped(text):
    for character in "\\[]:":
        text = text.replace(character, "\\" + character)
    return text
