#!/usr/bin/env python3
"""Checks that the messages which a page quotes are in the sources: messages.py PAGE.

A quotation is a code span with which an item of a list begins, each of several with "or" or a comma between them, and every
code span with a "…". That sign stands for what differs, or is left out. The pieces between have to be in one string of the
sources, in their order. Strings that the compiler joins are one string. Tests, comments and docstrings do not count.
"""

import ast
import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
FOLDERS = ("base", "bindings/python/pace", "capi", "daemon", "libclient", "protocol", "service", "settings", "transports")
TEST_FOLDERS = {"testing", "tests", "conformance"}
TEST_STEM = re.compile(r"test_|.*_(test|fixture|bench)$")

ITEM = re.compile(r"^ *[*-] (?P<spans>`[^`\n]+`(?:(?:, | or )`[^`\n]+`)*)", re.MULTILINE)
BLOCK = re.compile(r"^```.*?^```", re.MULTILINE | re.DOTALL)
SPAN = re.compile(r"`([^`\n]+)`")
ELLIPSIS = "…"
# What a string has in place of a value. A quotation never has it, so that it cannot reach across by chance.
VALUE = "\0"
# The longest piece of a quotation; shorter ones are found anywhere.
PIECE_MIN = 8

# A comment, a raw string, a string, a character, or what stands between strings that are joined.
CPP = re.compile(r'(?P<between>//[^\n]*|/\*.*?\*/|\s+)|R"(?P<mark>[^(\s"]*)\((?P<raw>.*?)\)(?P=mark)"'
                 r'|"(?P<text>(?:[^"\\\n]|\\.)*)"|(?<!\w)\'(?:[^\'\\\n]|\\.)+\'', re.DOTALL)
CPP_VALUE = re.compile(r"\{[^{}\"]*\}")
ESCAPE = re.compile(r"\\(.)", re.DOTALL)
ESCAPES = {"n": "\n", "t": "\t"}


def cpp_strings(source):
    """Each string of a C++ source, those that are joined as one, a field of fmt as VALUE."""
    found, joined, at = [], None, 0
    while at < len(source):
        token = CPP.match(source, at)
        at = token.end() if token else at + 1
        part = None
        if token and token["text"] is not None:
            part = ESCAPE.sub(lambda escape: ESCAPES.get(escape[1], escape[1]), token["text"])
        elif token and token["raw"] is not None:
            part = token["raw"]
        if part is not None:
            joined = (joined or "") + part
        elif joined is not None and not (token and token["between"]):
            found.append(joined)
            joined = None
    if joined is not None:
        found.append(joined)
    return [CPP_VALUE.sub(VALUE, text) for text in found]


def python_strings(source):
    """Each string of a Python source but docstrings, those that are joined as one, a value of an f-string as VALUE."""
    found, passed = [], set()
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant):
            passed.add(id(node.value))
        elif isinstance(node, ast.JoinedStr):
            passed |= {id(part) for part in node.values}
            found.append("".join(part.value if isinstance(part, ast.Constant) else VALUE for part in node.values))
        elif isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in passed:
            found.append(node.value)
    return found


READERS = {".cpp": cpp_strings, ".h": cpp_strings, ".py": python_strings}


def source_strings(root):
    """All strings of the sources below these folders of the root."""
    found = []
    for folder in FOLDERS:
        for path in sorted((root / folder).rglob("*")):
            reader = READERS.get(path.suffix)
            if reader and not TEST_STEM.match(path.stem) and not TEST_FOLDERS & set(path.relative_to(root).parts[:-1]):
                found += reader(path.read_text(encoding="utf-8"))
    return found


def quotations(page):
    """(line, quotation) of each, in order. Blocks of commands have none."""
    page = BLOCK.sub(lambda block: "\n" * block[0].count("\n"), page)
    found = {(item.start("spans") + span.start(), span[1]) for item in ITEM.finditer(page) for span in SPAN.finditer(item["spans"])}
    found |= {(span.start(), span[1]) for span in SPAN.finditer(page) if ELLIPSIS in span[1]}
    return [(page.count("\n", 0, at) + 1, text) for at, text in sorted(found)]


def is_in(quotation, strings):
    pattern = re.compile(".*".join(re.escape(piece) for piece in quotation.split(ELLIPSIS)), re.DOTALL)
    return any(pattern.search(text) for text in strings)


def wrong_quotations(page, strings):
    """One line for each quotation that is not right, and one for a page without any."""
    quoted = quotations(page)
    wrong = [] if quoted else ["it quotes no message"]
    for line, text in quoted:
        if max(map(len, text.split(ELLIPSIS))) < PIECE_MIN:
            wrong.append(f"line {line}: {text!r} is too short to be looked for; quote more of it")
        elif not is_in(text, strings):
            wrong.append(f"line {line}: {text!r} is in no string of the sources")
    return wrong


def main(page):
    text = pathlib.Path(page).read_text(encoding="utf-8")
    wrong = wrong_quotations(text, source_strings(ROOT))
    for line in wrong:
        print(f"{page}: {line}")
    if not wrong:
        print(f"{len(quotations(text))} messages are as the sources have them")
    return 1 if wrong else 0


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    sys.exit(main(sys.argv[1]))
