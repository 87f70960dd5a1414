"""Text as roff with the macros of man."""

import re

_SPAN = re.compile(r"`(?P<code>[^`]+)`|\*\*(?P<bold>[^*]+)\*\*|(?<!\\)\*(?P<italic>[^*]+)\*|\[(?P<linked>(?:`[^`]+`|[^\]])+)\]\((?P<to>[^)]+)\)"
                   r"|\\(?P<escaped>[\\*<\[|~_>#+-])")
_LABELLED = re.compile(r"\* \*\*(?P<label>[^*]+):\*\* (?P<words>.*)$", re.DOTALL)
_TERM = re.compile(r"\* `(?P<label>[^`]+)`(?:: (?P<words>.*))?$", re.DOTALL)
_NAMED = {"\\": "\\e", "-": "\\-", "'": "\\(aq", "`": "\\(ga", "^": "\\(ha", "~": "\\(ti"}


def text(words):
    """Words as they are: what roff would take for its own is written so that it does not."""
    made = "".join(_NAMED.get(character) or (character if ord(character) < 128 else f"\\[u{ord(character):04X}]") for character in words)
    return re.sub(r"^(?=\.)", r"\\&", made, flags=re.MULTILINE)


def bold(words):
    return f"\\fB{text(words)}\\fR"


def italic(words):
    return f"\\fI{text(words)}\\fR"


def tagged(tag, words):
    """A paragraph that hangs from its tag; both are roff."""
    return f".TP\n{tag}\n{words}"


def example(lines):
    return "\n".join([".PP", ".in +4n", ".EX", *(text(line) for line in lines), ".EE", ".in"])


def from_markdown(block):
    """A block of the Markdown that bindings/reference writes: a paragraph, a list or an example."""
    lines = block.split("\n")
    if lines[0].startswith("```"):
        return example(lines[1:-1])
    if lines[0].startswith("* "):
        return "\n".join(_item(line) for line in lines)
    return f".PP\n{inline(block)}"


def _item(line):
    found = _LABELLED.match(line) or _TERM.match(line)
    if found:
        return tagged(bold(found["label"]), inline(found["words"] or "") or "\\&")
    return f".IP \\(bu 2\n{inline(line[2:])}"


def inline(words):
    """Markdown within a paragraph."""
    made, at = [], 0
    for span in _SPAN.finditer(words):
        made.append(text(words[at:span.start()]))
        made.append(_shown(span))
        at = span.end()
    made.append(text(words[at:]))
    joined = "".join(made).replace("\n", " ")
    return joined


def _shown(span):
    if span["code"] is not None:
        return bold(span["code"])
    if span["bold"] is not None:
        return f"\\fB{inline(span['bold'])}\\fR"
    if span["italic"] is not None:
        return italic(span["italic"])
    if span["escaped"] is not None:
        return text(span["escaped"])
    document = re.match(r"(?:\.\./)*([\w-]+\.md)(?:#.*)?$", span["to"])
    return italic(f"/usr/share/doc/pace/{document[1]}") if document else inline(span["linked"])
