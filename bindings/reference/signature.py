"""Signatures that fit in a line, or are broken between their parameters."""

LINE_CHARACTERS = 100
_OPENING, _CLOSING = "([{<", ")]}>"


def broken(code, indent="    "):
    """The code on one line, or with each few parameters of its last long list on a line of their own."""
    if len(code) <= LINE_CHARACTERS:
        return [code]
    start = _list_of_parameters(code)
    if start is None:
        return [code]
    parts, end = _parts(code, start + 1)
    lines, line = [code[:start + 1]], indent
    for position, part in enumerate(parts):
        behind = code[end:] if position == len(parts) - 1 else ""
        if line.strip() and len(line) + len(part) + len(behind) > LINE_CHARACTERS:
            lines.append(line.rstrip())
            line = indent
        line += part + " "
    return lines + [line.rstrip() + code[end:]]


def _list_of_parameters(code):
    """Where the first parenthesis is opened that is not within another bracket."""
    depth = 0
    for at, character in enumerate(code):
        if character == "(" and depth == 0 and at and code[at - 1] not in " (":
            return at
        depth += (character in _OPENING) - (character in _CLOSING and code[at - 1:at + 1] != "->")
    return None


def _parts(code, at):
    """The parameters from there on, each with its comma, and where the list ends."""
    parts, depth, begin = [], 0, at
    while at < len(code):
        character = code[at]
        if character == '"':
            at = code.index('"', at + 1)
        elif character == ")" and depth == 0:
            break
        elif character in ",;" and depth == 0:
            parts.append(code[begin:at + 1].strip())
            begin = at + 1
        else:
            depth += (character in _OPENING) - (character in _CLOSING and code[at - 1:at + 1] not in ("->", "=>"))
        at += 1
    return parts + [code[begin:at].strip()], at
