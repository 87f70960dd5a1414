"""The page of the Julia package, from its docstrings: what Pace.jl exports, and what its list PUBLIC names."""

import re
from dataclasses import dataclass

import signature
from page import Entry, Field, Page, Section

FOLDER = "bindings/julia/src"
MAIN = "Pace.jl"
# In the order in which they are used. Others follow, by name.
ORDER = ("session", "launch", "buffer", "memory", "verbs", "request", "options", "info", "types", "library", "errors")

_DOCSTRING = re.compile(r'^"""\n?(?P<long>(?:[^\\]|\\.)*?)"""\n|^"(?P<short>(?:[^"\\\n]|\\.)*)"\n', re.MULTILINE | re.DOTALL)
_DEFINITION = re.compile(r"(?:(?:mutable )?struct|abstract type|const|macro|function|module)? *(?P<name>(?:Base\.)?[\w.]*\w!?)")


@dataclass
class Definition:
    name: str  # as it is called: Pace.buffer, wait
    line: int
    code: list
    text: str
    file: str
    is_described: bool  # the docstring begins with the signature


def read(root):
    paths = sorted(path for path in (root / FOLDER).glob("*.jl") if path.name != "abi.jl")
    return page_of({path.name: path.read_text(encoding="utf-8") for path in paths})


def page_of(sources):
    """The page of files, by their names."""
    exported, listed = public_names(sources[MAIN])
    names = {name: name for name in exported} | {name: f"Pace.{name}" for name in listed}
    page = Page("The Julia package: Pace", f"`{FOLDER}`", "julia")
    found = [definition for file, text in sources.items() for definition in definitions(text, file)]
    described = {definition.name for definition in found if definition.is_described}
    page.intro = next((definition.text for definition in found if definition.file == MAIN), "")
    stems = [f"{stem}.jl" for stem in ORDER if f"{stem}.jl" in sources]
    for file in stems + sorted(set(sources) - set(stems) - {MAIN}):
        section = Section(file, file_comment(sources[file]))
        for one in (one for one in found if one.file == file and (one.is_described or one.name not in described)):
            public = names.get(one.name) or (one.name[5:] if one.name.startswith("Base.") else None)
            if public is None and one.is_described:
                public = f"Pace.{one.name}"
                page.complaints.append(f"{FOLDER}/{file}:{one.line}: {one.name} is described with its signature, and is not in PUBLIC")
            if public is not None:
                _add(section, public, one)
        if section.entries:
            page.sections.append(section)
    present = {name for entry in page.entries() for name in entry.names}
    for name, public in names.items():
        if public not in present:
            page.complaints.append(f"{FOLDER}/{MAIN}: {public} has no comment")
    return page


def _add(section, public, one):
    same = next((entry for entry in section.entries if entry.names == [public]), None)
    if same is None:
        section.entries.append(Entry([public], f"{FOLDER}/{one.file}:{one.line}", one.code, [one.text]))
    else:
        same.code += one.code
        same.texts.append(one.text)


def public_names(text):
    """What the module exports, and what PUBLIC lists."""
    exported = re.search(r"^export (.*)$", text, re.MULTILINE)
    listed = re.search(r"^const PUBLIC = \((.*?)\)$", text, re.MULTILINE | re.DOTALL)
    return ([name.strip() for name in exported.group(1).split(",")] if exported else [],
            re.findall(r":([\w!]+)", listed.group(1)) if listed else [])


def file_comment(text):
    """The comment that a file begins with."""
    lines = []
    for line in text.split("\n"):
        if not line.startswith("#"):
            break
        lines.append(re.sub(r"^# ?", "", line))
    words = re.sub(r"^[\w ]+: ", "", "\n".join(lines))
    return words[:1].upper() + words[1:] if re.match(r"[a-z]+[ ,]", words) else words


def definitions(text, file):
    """Everything with a docstring."""
    for found in _DOCSTRING.finditer(text):
        following = text[found.end():].split("\n")
        named = _DEFINITION.match(following[0])
        if named is None or not following[0].strip():
            continue
        words = found["long"] if found["long"] is not None else found["short"].replace('\\"', '"')
        code, words, is_described = _signature(words.strip("\n"), following)
        yield Definition(named["name"], text.count("\n", 0, found.end()) + 1, code, words, file, is_described)


def _signature(words, following):
    """The code and the words of a docstring, and whether it begins with the code."""
    described = re.match(r"((?:    .*\n)+)(?:\n|$)", words + "\n")
    if described:
        lines = [line[4:] for line in described.group(1).rstrip("\n").split("\n")]
        return _calls(lines), (words + "\n")[described.end():].strip("\n"), True
    return _definition(following), words, False


def _calls(lines):
    """Calls as the docstring gives them."""
    code = []
    for line in lines:
        if line.startswith(" ") and code:
            code[-1] += " " + line.strip()
        else:
            code.append(line)
    return [part for line in code for part in signature.broken(line)]


def _definition(following):
    """The definition without its body: a struct with its fields, another one by its first line. What a mutable struct has is the
    package's own.
    """
    first = following[0]
    if first.startswith("struct "):
        lines = []
        for line in following[1:]:
            if line.startswith("end") or re.match(r"\s+function ", line):
                break
            line = re.sub(r"\s*#.*", "", line)
            if line.strip():
                lines.append(line.rstrip())
        return [first, *lines, "end"]
    return [re.sub(r"(\S.*\)) = .*", r"\1", first).removeprefix("function ")]
