"""The page of capi/pace.h."""

import re

import c_source
import signature
from page import Entry, Field, Page, Section

SOURCE = "capi/pace.h"
_BANNER = re.compile(r"-{20,}\n\s*")
_MACRO = re.compile(r"#define (?P<name>\w+)(?P<parameters>\([^)]*\))?(?:\s+(?P<value>.*))?$")


def read(root):
    return page_of((root / SOURCE).read_text(encoding="utf-8"), SOURCE)


def page_of(text, source):
    page = Page("The C interface: pace.h", f"`{source}`", "c")
    section = Section("general")
    for item in c_source.items(c_source.without_regions_of_cplusplus(text)):
        if not item.code:
            words = item.comment
            if _BANNER.match(words):
                title, _, rest = _BANNER.sub("", words, count=1).partition("\n")
                section = Section(title.strip(), c_source.comment_text(rest.split("\n")))
                page.sections.append(section)
            elif not page.intro and not page.sections:
                page.intro = words.partition("\n")[2].lstrip("\n") if "\n" in words else words
            else:
                section.text = "\n\n".join(part for part in (section.text, words) if part)
            continue
        _add(section, item, source)
        if section.entries and section not in page.sections:
            page.sections.append(section)
    return page


def _add(section, item, source):
    made = _entry_of(item)
    if made is None:
        return
    where = f"{source}:{item.line}"
    name = made.names[0]
    owner = next((entry for entry in section.entries if f"{entry.names[0].upper()}_INIT" == name), None)
    if owner is not None:
        owner.code += ["", *made.code]
    elif section.entries and not item.begins_run and not item.comment:
        _join(section.entries[-1], made)
    else:
        made.where = where
        section.entries.append(made)


def _join(entry, added):
    entry.names += added.names
    entry.code += added.code
    entry.texts += added.texts
    entry.fields += added.fields


def _entry_of(item):
    """What the item declares; None for what is no part of the interface."""
    texts = [text for text in (item.comment, item.trailing) if text]
    if item.code.startswith("#"):
        macro = _MACRO.match(item.code)
        if macro is None or not macro["value"] or "__attribute__" in macro["value"]:
            return None
        return Entry([macro["name"]], code=_macro_lines(item.code), texts=texts)
    code = re.sub(r"^PACE_API ", "", item.code)
    if item.body is not None and re.match(r"(typedef )?enum\b", code):
        listed = constants(item)
        names = [item.tail] if item.tail else [row.name for row in listed if row.name]
        return Entry(names, code=enumeration(code, item), texts=texts, fields=listed, field_title="constant")
    if item.body is not None and re.match(r"(typedef )?(struct|union)\b", code):
        return Entry([item.tail or code.split()[-1]], code=_structure(item), texts=texts, fields=fields(item))
    if code.startswith("typedef "):
        return Entry([re.search(r"(\w+)(\[.*\])?$", code).group(1)], code=[code + ";"], texts=texts)
    name = re.search(r"(\w+)\(", code)
    return Entry([name.group(1)], code=signature.broken(code + ";"), texts=texts) if name else None


def _macro_lines(code):
    return [code] if len(code) <= signature.LINE_CHARACTERS else re.sub(r"(\) )?\{", r"\1\\\n    {", code, count=1).split("\n")


def constants(item):
    """The rows of an enumeration."""
    return rows(c_source.items(item.body, ",", item.body_line), lambda constant: re.match(r"\w+", constant.code).group())


def enumeration(code, item):
    """The lines of an enumeration without its comments."""
    lines = [constant.code for constant in c_source.items(item.body, ",", item.body_line) if constant.code]
    tail = f" {item.tail}" if item.tail else ""
    flat = f"{code} {{ {', '.join(lines)} }}{tail};"
    if len(flat) <= signature.LINE_CHARACTERS:
        return [flat]
    return [f"{code} {{", *(f"    {line}," for line in lines), f"}}{tail};"]


def fields(item, prefix=""):
    """The rows of a struct's fields; those of a union within it are named with it."""
    made = []
    for inner in _members(item):
        made += _rows_of(inner, prefix + declared_name(inner))
        if inner.body is not None:
            made += fields(inner, f"{prefix}{inner.tail}.")
    return made


def _members(item):
    return [member for member in c_source.items(item.body, ";", item.body_line) if member.code]


def rows(declared, name_of):
    """The rows of fields or constants."""
    return [row for item in declared if item.code for row in _rows_of(item, name_of(item))]


def _rows_of(item, name):
    """A comment in front of a field that has one behind it is about several: a row of its own."""
    if item.comment and item.trailing:
        return [Field("", item.comment), Field(name, item.trailing)]
    return [Field(name, item.text)]


def declared_name(field):
    """The name that a declaration of a field or a variable gives."""
    if field.tail:
        return field.tail
    code = re.sub(r"\s*(=.*|\{.*\}|\[[^\]]*\])$", "", re.sub(r"\s*=.*", "", field.code))
    return re.search(r"(\w+)\W*$", code).group(1)


def _structure(item, indent=""):
    lines = [f"{indent}{item.code} {{"]
    for member in _members(item):
        lines += _structure(member, indent + "    ") if member.body is not None else [f"{indent}    {member.code};"]
    return lines + [f"{indent}}}{' ' + item.tail if item.tail else ''};"]
