"""Section 3: a page for each function of pace.h, with the types and constants that stand in front of it."""

import pathlib
import re
import sys
from dataclasses import dataclass, field
from typing import List

import roff

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "bindings" / "reference"))

import c_page
from page import Entry
from prose import Prose

SECTION = "3"
OVERVIEW = "libpace"


@dataclass
class LibraryPage:
    name: str
    section: str  # of the header
    functions: List[Entry] = field(default_factory=list)
    others: List[Entry] = field(default_factory=list)

    @property
    def names(self):
        """The names by which the page is found: functions and types, not each of many constants."""
        listed = [name for entry in self.functions + self.others for name in entry.names if re.match(r"pace_[a-z]", name)]
        return [self.name] + [name for name in dict.fromkeys(listed) if name != self.name]


def files():
    """The name and the text of every page, without its heading. Other names of a page are pages that lead to it."""
    header = c_page.read(ROOT)
    pages = pages_of(header)
    yield f"{OVERVIEW}.{SECTION}", _overview(header, pages)
    yield f"pace.h.{SECTION}", _lead_to(OVERVIEW)
    for page in pages:
        yield f"{page.name}.{SECTION}", _page(page, [other for other in pages if other.section == page.section and other is not page])
        for name in page.names[1:]:
            yield f"{name}.{SECTION}", _lead_to(page.name)


def pages_of(header):
    """Types and constants go to the page of the function behind them; what stands behind the last, to that one's."""
    pages = []
    for section in header.sections:
        waiting = []
        for entry in section.entries:
            if not is_function(entry):
                waiting.append(entry)
                continue
            pages.append(LibraryPage(entry.names[0], section.title, [entry], waiting))
            waiting = []
        if waiting and pages and pages[-1].section == section.title:
            pages[-1].others += waiting
    return pages


def is_function(entry):
    return bool(re.match(r"(?!typedef|enum|struct|union|#)[^({]*\b\w+\(", entry.code[0])) if entry.code else False


def _lead_to(name):
    return f".so man{SECTION}/{name}.{SECTION}\n"


def _page(page, related):
    function = page.functions[0]
    parts = [".SH NAME", f"{', '.join(roff.text(name) for name in page.names)} \\- {roff.text(summary_of(function))}",
             ".SH LIBRARY", "Pace (libpace, \\-lpace)",
             ".SH SYNOPSIS", ".nf", ".B #include <pace.h>", ".PP", *(f"\\fB{roff.text(line)}\\fR" for line in function.code if line), ".fi",
             ".SH DESCRIPTION", *_blocks(function), *_fields(function)]
    if page.others:
        parts.append(".SH TYPES AND CONSTANTS")
    for entry in page.others:
        parts += [f".SS {roff.text(_title(entry))}", roff.example(entry.code), *_blocks(entry), *_fields(entry)]
    see = [f"\\fB{roff.text(OVERVIEW)}\\fR(3)"] + [f"\\fB{roff.text(other.name)}\\fR(3)" for other in related]
    return "\n".join([*parts, ".SH SEE ALSO", ",\n".join(see)]) + "\n"


def _title(entry):
    return ", ".join(entry.names) if len(entry.names) <= 2 else f"{entry.names[0]} ... {entry.names[-1]}"


def _blocks(entry):
    return [roff.from_markdown(block) for text in entry.texts for block in Prose(language="c").blocks(text)]


def _fields(entry):
    prose = Prose(language="c")
    return [roff.tagged(roff.bold(row.name) if row.name else "\\&", roff.inline(prose.inline(row.text.replace("\n\n", " "))))
            for row in entry.fields if row.text]


def summary_of(entry):
    """The first sentence, as one says it behind a dash."""
    words = re.sub(r"\s+", " ", " ".join(entry.texts)).replace("`", "")
    # A full stop within parentheses ends no sentence.
    sentence = re.match(r"(?:\([^()]*\)|[^.(]|\.(?! |$)|\()+", words)[0].rstrip()
    return sentence if sentence[1:2].isupper() else sentence[:1].lower() + sentence[1:]


def _overview(header, pages):
    parts = [".SH NAME", f"{OVERVIEW}, pace.h \\- the C interface of Pace", ".SH LIBRARY", "Pace (libpace, \\-lpace)", ".SH SYNOPSIS",
             ".nf", ".B #include <pace.h>", ".PP", ".B cc trainer.c $(pkg\\-config \\-\\-cflags \\-\\-libs pace)", ".fi", ".SH DESCRIPTION"]
    parts += [roff.from_markdown(block) for block in Prose(language="c").blocks(header.intro)]
    for section in header.sections:
        of_section = [page for page in pages if page.section == section.title]
        if not of_section:
            continue
        parts.append(f".SS {roff.text(section.title.capitalize())}")
        parts += [roff.from_markdown(block) for block in Prose(language="c").blocks(section.text)]
        parts += [roff.tagged(f"{roff.bold(page.name)}(3)", roff.text(summary_of(page.functions[0]))) for page in of_section]
    parts += [".SH FILES", roff.tagged(roff.italic("/usr/share/doc/libpace-dev/examples/minimal/trainer.c"), "A trainer, with errors looked at."),
              ".SH SEE ALSO", ".BR pace (7),", ".BR paced (8),", ".BR pacectl (1)"]
    return "\n".join(parts) + "\n"
