"""A page of the reference: sections, a heading for each public name, and a list of them in front."""

import re
from dataclasses import dataclass, field
from typing import Callable, List, Optional

from prose import Prose

HEADING_NAMES_CHARACTERS = 100  # a heading with longer names shows the first and the last one


@dataclass
class Field:
    """A row of a table: a member of a struct, or a constant. Without a name it is words about those that follow."""

    name: str
    text: str = ""


@dataclass
class Entry:
    """What one heading is about: a function with all its forms, a class, a group of constants."""

    names: List[str]
    where: str = ""  # the file and line, for faults
    code: List[str] = field(default_factory=list)
    texts: List[str] = field(default_factory=list)
    fields: List[Field] = field(default_factory=list)
    members: List["Entry"] = field(default_factory=list)
    field_title: str = "field"
    context: str = ""  # the class that unqualified names in the text are of
    anchor: str = ""

    @property
    def heading(self):
        everything = ", ".join(f"`{name}`" for name in self.names)
        if len(everything) <= HEADING_NAMES_CHARACTERS:
            return everything
        return f"`{self.names[0]}` … `{self.names[-1]}`"

    @property
    def short(self):
        """The heading as it is listed."""
        return f"[{self.heading}](#{self.anchor})"


@dataclass
class Section:
    title: str
    text: str = ""
    entries: List[Entry] = field(default_factory=list)
    anchor: str = ""


@dataclass
class Page:
    title: str
    source: str  # what the page is made from
    language: str  # of its code
    intro: str = ""
    sections: List[Section] = field(default_factory=list)
    separator: str = "."  # between a class and its member
    complaints: List[str] = field(default_factory=list)  # other faults that its reader found

    def entries(self):
        for section in self.sections:
            for entry in section.entries:
                yield entry
                yield from entry.members

    def faults(self):
        """Public names without a comment, and the like, each as a line that says where."""
        return self.complaints + [f"{entry.where}: {entry.heading} has no comment" for entry in self.entries()
                if not any(text.strip() for text in entry.texts)]

    def markdown(self):
        self._set_anchors()
        made = f"Made from {self.source} by `bindings/reference/generate`: change the comments there, not this page."
        lines = [f"# {self.title}", "", made, ""]
        lines += self._contents()
        lines += self._blocks(self.intro)
        for section in self.sections:
            lines += [f"## {section.title}", "", *self._blocks(section.text)]
            for entry in section.entries:
                lines += self._entry(entry, "###")
                for member in entry.members:
                    lines += self._entry(member, "####")
        return "\n".join(lines).rstrip("\n") + "\n"

    def _set_anchors(self):
        """As the web view names headings: of several with one name the later ones are numbered."""
        counts = {}

        def anchor(heading):
            slug = anchor_of(heading)
            number = counts.get(slug, 0)
            counts[slug] = number + 1
            return f"{slug}-{number}" if number else slug

        anchor(self.title)
        for section in self.sections:
            section.anchor = anchor(section.title)
            for entry in section.entries:
                entry.anchor = anchor(entry.heading)
                for member in entry.members:
                    member.anchor = anchor(member.heading)
        self._anchors = {name: entry.anchor for entry in self.entries() for name in entry.names}
        for entry in self.entries():
            for row in entry.fields if entry.field_title == "constant" else ():
                self._anchors.setdefault(row.name, entry.anchor)
        for name, target in list(self._anchors.items()):
            if name.startswith(("pace.", "Pace.")):
                self._anchors.setdefault(name.partition(".")[2], target)

    def _contents(self):
        lines = []
        for section in self.sections:
            names = ", ".join(entry.short for entry in section.entries)
            lines.append(f"* [{section.title}](#{section.anchor})" + (f": {names}" if names else ""))
        return lines + [""]

    def _blocks(self, text, entry=None):
        prose = Prose(self._finder(entry), self.language)
        return [line for block in prose.blocks(text) for line in (block, "")]

    def _finder(self, entry) -> Callable[[str, bool], Optional[str]]:
        own = entry.anchor if entry else ""
        context = (entry.context or entry.names[0]) if entry else ""

        def find(name, is_certain):
            plain = name[:-2] if name.endswith("()") else name
            member = self._anchors.get(f"{context}{self.separator}{plain}")
            is_marked = is_certain or plain != name or "_" in plain or self.separator in plain
            found = (member or self._anchors.get(plain)) if is_marked else None
            return None if found == own else found
        return find

    def _entry(self, entry, level):
        lines = [f"{level} {entry.heading}", ""]
        if entry.code:
            lines += [f"```{self.language}", *entry.code, "```", ""]
        prose = Prose(self._finder(entry), self.language)
        for text in entry.texts:
            lines += [line for block in prose.blocks(text) for line in (block, "")]
        if any(row.text for row in entry.fields):
            lines += self._table(entry, prose)
        if entry.members:
            links = ", ".join(f"[{shown}](#{member.anchor})" for member in entry.members
                              for shown in [member.heading.replace(f"{entry.context or entry.names[0]}{self.separator}", "")])
            lines += [f"Members: {links}", ""]
        return lines

    def _table(self, entry, prose):
        lines = [f"| {entry.field_title} | |", "|---|---|"]
        for row in (row for row in entry.fields if row.text):  # the code in front has them all
            words = " ".join(prose.inline(part, is_cell=True) for part in row.text.split("\n\n"))
            lines.append(f"| `{row.name}` | {words} |" if row.name else f"| | *{words}* |")
        return lines + [""]


def anchor_of(heading):
    """How the web view names a heading in links."""
    return re.sub(r"[^\w\- ]", "", heading.strip().lower()).replace(" ", "-")
