"""The page of the C++ headers in bindings/cpp/include/pace."""

import re

import c_page
import c_source
import signature
from page import Entry, Field, Page, Section

FOLDER = "bindings/cpp/include/pace"
ALL = "pace"  # the header that includes the others, whose comment is about all of them
# In the order in which they are used. Others follow, by name.
ORDER = ("session", "option", "verbs", "verb_options", "buffer", "operands", "request", "wait_any", "info", "status", "failure",
         "error", "result", "query", "element", "tensor", "span")

_ATTRIBUTE = re.compile(r"\[\[[^\]]*\]\] ?")
_FUNCTION = re.compile(r"(?:operator\s*(?:bool|[\w:]+|\(\)|[^\s(]+)|~?\w+)\s*(?=\()")
_INITIALIZERS = re.compile(r"(?<=[)\w]) : .*$")


def read(root):
    found = {path.stem: path.read_text(encoding="utf-8") for path in sorted((root / FOLDER).glob("*.hpp"))}
    return page_of(found, FOLDER)


def page_of(headers, folder):
    """The page of headers, by their names without suffix."""
    page = Page("The C++ interface: pace.hpp", f"`{folder}`", "cpp", separator="::")
    page.intro = _file_comment(headers.get(ALL, ""))
    names = [name for name in ORDER if name in headers] + [name for name in sorted(headers) if name not in (*ORDER, ALL)]
    for name in names:
        section = Section(f"{name}.hpp", _file_comment(headers[name]))
        section.entries = _entries(headers[name], f"{folder}/{name}.hpp")
        if section.entries:
            page.sections.append(section)
    return page


def _file_comment(text):
    """The comment that a header begins with, without the header's name in front."""
    first = next((item for item in c_source.items(text)), None)
    words = re.sub(r"^\w+: ", "", first.comment) if first and not first.code else ""
    return words[:1].upper() + words[1:] if re.match(r"[a-z]+[ ,]", words) else words


def _entries(text, source):
    entries = []
    for item in c_source.items(text):
        if re.match(r"(inline )?namespace\b", item.code) and item.body is not None:
            entries += _of_namespace(item, source)
    return entries


def _of_namespace(item, source):
    if "detail" in item.code:
        return []
    entries, skipped = [], None
    for inner in c_source.items(item.body, ";", item.body_line):
        if re.match(r"(inline )?namespace\b", inner.code):
            for entry in _of_namespace(inner, source):
                _merge(entries, entry, True)
            continue
        entry = _entry_of(inner, source)
        if entry is None:
            skipped = inner if skipped is None or inner.begins_run else skipped
            continue
        if skipped is not None and not inner.begins_run:
            # A run that begins with a declaration in advance: its comment is for what follows.
            inner.begins_run = True
            entry.texts = [text for text in (skipped.comment, *entry.texts) if text]
        skipped = None
        _merge(entries, entry, inner.begins_run or bool(entry.members))
    return entries


def _merge(entries, added, begins_run):
    """Forms of one name have one heading, and so have the names of one run."""
    same = next((entry for entry in entries if set(added.names) & set(entry.names)), None)
    if same is None and not begins_run and entries and not any(added.texts):
        same = entries[-1]
    if same is None:
        entries.append(added)
        return
    same.names += [name for name in added.names if name not in same.names]
    if not set(added.code) <= set(same.code):
        same.code += added.code
    same.texts += [text for text in added.texts if text and text not in same.texts]
    same.fields += added.fields
    for member in added.members:
        _merge(same.members, member, True)


def _entry_of(item, source):
    """What a declaration in a namespace declares; None for what is no part of the interface, or told elsewhere."""
    if not item.code or item.code.startswith(("#", "static_assert")):
        return None
    code = _ATTRIBUTE.sub("", item.code)
    texts = [text for text in (item.comment, item.trailing) if text]
    where = f"{source}:{item.line}"
    if c_source.AGGREGATE.match(code) and not re.search(r"\b\w+ \w+ =", code.partition("{")[0]):
        if item.body is None:
            return None  # a declaration in advance
        return _type(code, item, texts, where, source)
    if code.startswith("using ") or re.match(r"template <[^;]*> using ", code):
        return _value(re.search(r"using (\w+)", code).group(1), code, item, where)
    name = _function_name(code)
    if name is None:
        return _value(c_page.declared_name(item), code, item, where)
    if re.search(r"::\s*$", code[:code.index(name + "(")]):
        return None  # the body of a member that its class declares
    return Entry([name], where, _lines(_declaration(code)), texts)


def _value(name, code, item, where):
    """Another name for a type, or a constant. Those of one run have their words in a table."""
    is_row = item.trailing and (item.comment or not item.begins_run)
    return Entry([name], where, _lines(f"{code};"), [item.comment] if is_row else [item.text],
                 [Field(name, item.trailing)] if is_row else [], field_title="name")


def _type(code, item, texts, where, source):
    head, _, base = code.partition(" : ")
    named = re.search(r"\b(?:class|struct) (\w+)(?P<special><.*>)?(?: final)?$|\benum (?:class )?(\w+)$", head)
    name = next(group for group in (named.group(1), named.group(3)) if group)
    if "enum" in head.split(" ")[:1]:
        return Entry([name], where, c_page.enumeration(code, item), texts, c_page.constants(item), field_title="constant")
    shown = head + (f" : {base}" if base and "detail" not in base else "")
    entry = Entry([name], where, _lines(f"{shown};"), texts)
    is_struct = not re.search(r"\bclass (?![^<]*>)", head)
    entry.fields, entry.members, plain = _members(item, name, is_struct, bool(named["special"]), source)
    if plain:
        entry.code = [*_lines(f"{shown} {{"), *(f"    {line}" for line in plain), "};"]
    if named["special"] and not entry.members and not texts:
        return None  # says something of one type, in the way that the template says it
    return entry


def _members(item, name, is_public, is_special, source):
    """The rows of a class's public fields, an entry for each other member, and the lines that declare fields and constructors."""
    members, fields, plain = [], [], []
    for inner in c_source.items(item.body, ";", item.body_line):
        if re.fullmatch(r"(public|protected|private):", inner.code):
            is_public = inner.code == "public:"
            continue
        code = _ATTRIBUTE.sub("", inner.code)
        if not is_public or not code or code.startswith(("#", "friend ", "static_assert")):
            continue
        if "detail::" in code.partition(" : ")[0]:
            continue  # for the library itself
        if code.startswith("using ") or re.match(r"(class|struct|union|enum)\b", code):
            plain.append(f"{code};")
            continue
        function = _function_name(code)
        if function is None:
            fields.append(inner)
            plain.append(f"{code};")
        elif not _is_copying(code, function, name):
            texts = [text for text in (inner.comment, inner.trailing) if text]
            if function in (name, "operator=") and not texts:
                plain += _lines(_declaration(code))
                continue
            shown = f"{name}::{_shown(function, name)}"
            entry = Entry([shown], f"{source}:{inner.line}", _lines(_declaration(code)), texts, context=name)
            _merge(members, entry, inner.begins_run or is_special)
    return c_page.rows(fields, c_page.declared_name), members, plain


def _shown(function, name):
    return f"{name}()" if function == name else function


def _is_copying(code, function, name):
    """Destructors, and what copies or moves: a class's comment says which of these it has."""
    parameter = rf"\((?:const )?{name}\s*&&?\s*\w*\)"
    return function.startswith("~") or "= delete" in code or \
        (function in (name, "operator=") and re.search(parameter, code) is not None)


def _function_name(code):
    """The name of the function that the code declares; None where it declares none."""
    plain = _without_lists(code)
    if re.match(r"[^(]*=", re.sub(r"operator\s*[^\s(]+", "", plain)) or "(" not in plain:
        return None
    found = _FUNCTION.search(plain)
    return found.group().strip() if found else None


def _without_lists(code):
    """The code without what is within angle brackets, where commas and parentheses mean something else."""
    depth, kept = 0, []
    for at, character in enumerate(code):
        if character == "<" and not code[:at].rstrip().endswith("operator"):
            depth += 1
        elif character == ">" and depth and code[at - 1] != "-":
            depth -= 1
        elif depth == 0:
            kept.append(character)
    return "".join(kept)


def _declaration(code):
    """A function's declaration as a caller reads it."""
    code = _INITIALIZERS.sub("", _ATTRIBUTE.sub("", code))
    return re.sub(r"^(template <.*?> )?inline (?!constexpr)", r"\1", code).strip() + ";"


def _lines(code):
    """The code, with what a template is of on a line of its own."""
    if not code.startswith("template <"):
        return signature.broken(code)
    depth = 0
    for at, character in enumerate(code):
        depth += (character == "<") - (character == ">")
        if character == ">" and depth == 0:
            return [code[:at + 1], *signature.broken(code[at + 1:].strip())]
    return [code]
