"""Declarations of C and C++ as clang-format leaves them: each with the comments that belong to it.

A comment belongs to the declaration that follows it without an empty line, or that ends on the line on which it begins.
Declarations that follow each other without an empty line or a comment of their own are one run: the first one's comment is for
all.
"""

import re
from dataclasses import dataclass
from typing import List, Optional

AGGREGATE = re.compile(r"(?:template <.*> )?(?:typedef )?(?:class|struct|union|enum)\b(?![^{(]*\()")
ACCESS = re.compile(r"(public|protected|private)\s*:(?!:)")
_CLOSING = {"(": ")", "[": "]", "{": "}"}


@dataclass
class Item:
    """One declaration, one directive of the preprocessor, or a comment that belongs to none (`code` is empty)."""

    line: int
    code: str = ""  # on one line, without comments, up to its body
    body: Optional[str] = None  # what is within the braces of a class, an enumeration, a namespace or a function
    body_line: int = 0  # where the body begins
    tail: str = ""  # what follows the body
    comment: str = ""  # in front of it
    trailing: str = ""  # behind it on its line
    begins_run: bool = True

    @property
    def text(self):
        return "\n\n".join(part for part in (self.comment, self.trailing) if part)


def items(text, end=";", line=1):
    """The items of a text. `end` is what ends a declaration: "," in an enumeration."""
    return _Reader(text, end, line).read()


def comment_text(lines):
    """The words of a comment's lines, indented as they are among each other."""
    lines = [line.rstrip() for line in lines]
    while lines and not lines[0]:
        lines.pop(0)
    while lines and not lines[-1]:
        lines.pop()
    return "\n".join(lines)


def without_regions_of_cplusplus(text):
    """A header of C without what it has for C++ alone; the lines keep their numbers."""
    region = re.compile(r"^#ifdef __cplusplus\n(?:.*\n)*?#endif\n", re.MULTILINE)
    return region.sub(lambda found: "\n" * found.group().count("\n"), text)


def one_line(code):
    code = re.sub(r"\s+", " ", code).strip()
    return re.sub(r"(?<=\() | (?=[),]|\[(?!\[))", "", code)


class _Reader:
    def __init__(self, text, end, line):
        self._text = text
        self._end = end
        self._at = 0
        self._first_line = line
        self._items: List[Item] = []
        self._pending: Optional[Item] = None  # a comment of which it is not known yet whose it is
        self._newlines = 2  # since the last item or comment

    def read(self):
        while self._at < len(self._text):
            character = self._text[self._at]
            if character.isspace():
                self._newlines += character == "\n"
                self._at += 1
            elif self._text.startswith(("/*", "//"), self._at):
                self._take_comment()
            elif character == "#":
                self._take_directive()
            elif character == ";":
                self._at += 1
            else:
                self._take_declaration()
        self._give_up_pending()
        return self._items

    def _line(self, at=None):
        return self._first_line + self._text.count("\n", 0, self._at if at is None else at)

    def _give_up_pending(self):
        if self._pending is not None:
            self._items.append(self._pending)
            self._pending = None

    def _take_comment(self):
        line = self._line()
        text = self._comment()
        if self._newlines == 0 and self._items and self._pending is None:
            self._items[-1].trailing = (self._items[-1].trailing + "\n" + text).strip()
        else:
            self._give_up_pending()
            self._pending = Item(line, comment=text)
        self._newlines = 0

    def _comment(self):
        """Reads the comment that begins here: one of C, or all lines of C++ that are one below the other."""
        if self._text.startswith("/*", self._at):
            end = self._text.index("*/", self._at)
            raw = self._text[self._at + 2:end].rstrip().split("\n")
            self._at = end + 2
            starred = all(re.match(r"\s*\*", part) for part in raw[1:]) and len(raw) > 1
            rest = [re.sub(r"^\s*\* ?" if starred else r"^\s*", "", part) for part in raw[1:]]
            return comment_text([raw[0].strip(), *rest])
        column = self._column(self._at)
        lines = []
        while self._text.startswith("//", self._at):
            end = self._text.find("\n", self._at)
            end = len(self._text) if end < 0 else end
            lines.append(re.sub(r"^// ?", "", self._text[self._at:end]))
            self._at = end
            following = re.compile(r"\n[ \t]*(?=//)").match(self._text, end)
            if following is None or self._column(following.end()) != column:
                break
            self._at = following.end()
        return comment_text(lines)

    def _column(self, at):
        return at - (self._text.rfind("\n", 0, at) + 1)

    def _new_item(self, takes_comment=True):
        item = Item(self._line(), begins_run=self._pending is not None or self._newlines >= 2 or not self._items)
        if takes_comment and self._pending is not None and self._newlines < 2:
            item.comment = self._pending.comment
            self._pending = None
        self._give_up_pending()
        self._newlines = 0
        self._items.append(item)
        return item

    def _take_directive(self):
        item = self._new_item(takes_comment=self._text.startswith("#define", self._at))
        end = re.compile(r"(?:[^\n\\]|\\\n|\\.)*").match(self._text, self._at).end()
        code = self._text[self._at:end]
        self._at = end
        comment = re.search(r"\s*/\*(.*?)\*/\s*$", code, re.DOTALL)
        if comment and code.startswith("#define"):
            item.trailing = one_line(comment.group(1))
            code = code[:comment.start()]
        item.code = re.sub(r"\s*\\\n\s*", " ", code).strip()

    def _take_declaration(self):
        access = ACCESS.match(self._text, self._at)
        item = self._new_item()
        if access:
            item.code = access.group(1) + ":"
            self._at = access.end()
            return
        code = []
        while self._at < len(self._text):
            character = self._text[self._at]
            if self._text.startswith(("/*", "//"), self._at):
                item.trailing = (item.trailing + "\n" + self._comment()).strip()
            elif character == self._end:
                self._at += 1
                break
            elif character == "{" and self._is_body("".join(code)):
                close = self._closing(self._at)
                item.body, item.body_line = self._text[self._at + 1:close], self._line(self._at + 1)
                self._at = close + 1
                item.code = one_line("".join(code))
                if AGGREGATE.match(item.code):
                    stop = self._text.find(self._end, self._at)
                    stop = len(self._text) if stop < 0 else stop
                    item.tail = one_line(self._text[self._at:stop])
                    self._at = stop + 1
                return
            elif character in _CLOSING:
                close = self._closing(self._at)
                code.append(re.sub(r"//.*|/\*.*?\*/", " ", self._text[self._at:close + 1]))
                self._at = close + 1
            elif character in "\"'":
                literal = self._literal(self._at)
                code.append(self._text[self._at:literal])
                self._at = literal
            else:
                code.append(character)
                self._at += 1
        item.code = one_line("".join(code))

    def _is_body(self, code):
        """Whether a brace after this code begins a body, and not a value: values follow a name or an equals sign."""
        return not re.search(r"(=\s*|[\w>])$", code) or bool(AGGREGATE.match(one_line(code)) and not code.rstrip().endswith("="))

    def _literal(self, at):
        return re.compile(r'"(?:[^"\\]|\\.)*"|\'(?:[^\'\\]|\\.)*\'').match(self._text, at).end()

    def _closing(self, at):
        """Where the bracket is closed that is opened here."""
        open_ones = []
        while at < len(self._text):
            character = self._text[at]
            comment = re.compile(r"//[^\n]*|/\*.*?\*/", re.DOTALL).match(self._text, at)
            if comment:
                at = comment.end()
                continue
            if character == '"' or (character == "'" and not self._text[at - 1].isalnum()):
                at = self._literal(at)
                continue
            if character in _CLOSING:
                open_ones.append(_CLOSING[character])
            elif open_ones and character == open_ones[-1]:
                open_ones.pop()
                if not open_ones:
                    return at
            at += 1
        raise ValueError(f"line {self._line()}: a bracket is opened and not closed")
