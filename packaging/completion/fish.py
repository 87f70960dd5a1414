"""Completion for fish."""

from values import first_sentence, options_of, values_of

_PATH = "usr/share/fish/vendor_completions.d/{}.fish"

_HEAD = """# Completion of {program} for fish. Made by packaging/completion/generate of what {program} --help says.

# Whether the line so far names exactly this command.
function {function}_is
    set -l command {program}
    set -l skipped 0
    for word in (commandline -opc)[2..-1]
        if test $skipped = 1
            set skipped 0
            continue
        end
        switch "$command $word"
{cases}
        end
    end
    test "$command" = "$argv"
end
"""

_LISTED = """
# The names that a command lists, of the daemon that the line names.
function {function}_listed
    set -l words (commandline -opc)
    set -l endpoint
    if set -l at (contains -i -- --endpoint $words)
        set endpoint --endpoint $words[(math $at + 1)]
    end
    timeout 2 {program} $endpoint $argv 2>/dev/null | awk 'NR > 1 {{ print $1 }}'
end
"""


def script(program):
    name = program.name
    function = _function(program)
    commands = list(program.everything())
    lines = [_HEAD.format(program=name, function=function, cases=_cases(commands))]
    if any(values_of(option, command, program).listed for command in commands
           for option in [*options_of(command, program), *command.positionals]):
        lines.append(_LISTED.format(program=name, function=function))
    lines.append(f"\ncomplete -c {name} -f\n")
    for command in commands:
        lines += [f"{line}\n" for line in _command(command, program)]
    return "".join(lines)


def file_name(program):
    return _PATH.format(program.name)


def _function(program):
    return "__" + program.name.replace("-", "_")


def _cases(commands):
    skipped = sorted({name for command in commands for option in command.options if option.value for name in option.names})
    lines = []
    if skipped:
        lines += [f"            case {' '.join(_quoted('* ' + name) for name in skipped)}", "                set skipped 1"]
    if commands[1:]:
        lines += [f"            case {' '.join(_quoted(' '.join(command.path)) for command in commands[1:])}",
                  '                set command "$command $word"']
    return "\n".join(lines)


def _command(command, program):
    base = f"complete -c {program.name} -n {_quoted(_function(program) + '_is ' + ' '.join(command.path))}"
    for below in command.commands:
        yield f"{base} -a {below.name} -d {_quoted(first_sentence(below.summary))}"
    for option in options_of(command, program):
        names = " ".join(f"-l {name[2:]}" if name.startswith("--") else f"-s {name[1:]}" for name in option.names)
        yield f"{base} {names}{_argument(option, command, program)} -d {_quoted(first_sentence(option.text))}"
    for positional in command.positionals:
        yield f"{base}{_values(values_of(positional, command, program), program)}"


def _argument(option, command, program):
    if not option.value:
        return ""
    values = values_of(option, command, program)
    return " -r" + _values(values, program) if values.are_files else " -x" + _values(values, program)


def _values(values, program):
    if values.words:
        return f" -a {_quoted(' '.join(values.words))}"
    if values.listed:
        return f" -a {_quoted(f'({_function(program)}_listed ' + ' '.join(values.listed) + ')')}"
    return " -F" if values.are_files else ""


def _quoted(text):
    return "'" + text.replace("\\", "\\\\").replace("'", "\\'") + "'"
