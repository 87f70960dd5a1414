"""The words of a comment as Markdown: paragraphs, examples and lists, with names as code and as links to their headings."""

import re

# What the comments of a call say in this form, each in an item of its own.
LABELS = ("Owns", "Lives until", "Threads", "Threads and tasks", "Blocks", "Returns", "Returns also", "Fails with", "Fails also with", "Each fails with",
          "Source")
LABEL = re.compile(rf"(?:(?<=[.)])\s+|^)({'|'.join(LABELS)}): ")

_TOKEN = re.compile(r"(?<![\w/])docs/(?P<document>[\w-]+\.md)|"
                    r"\[`(?P<reference>[^`]+)`\]\(@ref\)|`(?P<span>[^`]+)`"
                    r"|(?<![\w/.\"'-])(?P<name>[*&]?[A-Za-z_]\w*(?:\(\))?(?:(?:->|\.|::)~?\w+(?:\(\))?)*)")
_SPECIAL = re.compile(r"[\\*<\[|~]|(?<!\w)_|_(?!\w)")
_ITEM = re.compile(r"(?P<term>\S(?:.*?\S)?)\s{2,}(?P<words>\S.*)|(?P<word>[\w.-]+)$")


def no_links(_name, _is_certain):
    return None


class Prose:
    """Turns the text of one heading into Markdown. `find(name, is_certain)` gives the anchor of a name, or None; `is_certain` is
    true of a name that the source marks as one. Each name is linked where it comes first.
    """

    def __init__(self, find=no_links, language=""):
        self._find = find
        self._language = language
        self._linked = set()

    def blocks(self, text):
        """The text as blocks of Markdown, which empty lines divide."""
        made, paragraph, indented = [], [], []

        def end_paragraph():
            if paragraph:
                made.extend(self._paragraph(" ".join(paragraph)))
                paragraph.clear()

        def end_indented():
            while indented and not indented[-1]:
                indented.pop()
            if indented:
                made.append(self._indented(indented[:]))
                indented.clear()

        for line in text.expandtabs().split("\n"):
            if not line.strip():
                end_paragraph()
                if indented:
                    indented.append("")
            elif len(line) - len(line.lstrip()) >= 2:
                end_paragraph()
                indented.append(line)
            else:
                end_indented()
                paragraph.append(line.strip())
        end_paragraph()
        end_indented()
        return made

    def inline(self, text, is_cell=False):
        """A text without paragraphs; `is_cell`: for a cell of a table."""
        text = re.sub(r"\s+", " ", text).strip()
        made, at = [], 0
        for token in _TOKEN.finditer(text):
            shown = self._token(token)
            if shown is not None:
                made.append(_SPECIAL.sub(r"\\\g<0>", text[at:token.start()]))
                made.append(shown.replace("|", r"\|") if is_cell else shown)
                at = token.end()
        made.append(_SPECIAL.sub(r"\\\g<0>", text[at:]))
        joined = "".join(made)
        return re.sub(r"^(?=[#>]|[-+] )|^(?<!\d)(\d+)(?=[.)] )", r"\1\\", joined)

    def _token(self, token):
        """How a name is shown; None: as the word that it is."""
        if token["document"] is not None:
            return f"[{token.group()}](../{token['document']})"
        if token["reference"] is not None:
            return self._code(token["reference"], True)
        if token["span"] is not None:
            return self._code(token["span"], False)
        name = token["name"]
        if "_" in name or "->" in name or "::" in name or name.endswith("()") or ("." in name and self._find(name, False)):
            return self._code(name, False)
        return None

    def _code(self, name, is_certain):
        anchor = self._find(name.strip("*&"), is_certain)
        if anchor is None or anchor in self._linked:
            return f"`{name}`"
        self._linked.add(anchor)
        return f"[`{name}`](#{anchor})"

    def _paragraph(self, text):
        """The text, and its labelled parts as a list."""
        labels = list(LABEL.finditer(text))
        lead = text[:labels[0].start()] if labels else text
        if lead.strip():
            yield self.inline(lead)
        if labels:
            ends = [label.start() for label in labels[1:]] + [len(text)]
            yield "\n".join(f"* **{label.group(1)}:** {self.inline(text[label.end():end])}" for label, end in zip(labels, ends))

    def _indented(self, lines):
        margin = min(len(line) - len(line.lstrip()) for line in lines if line)
        lines = [line[margin:] for line in lines]
        first = lines[0]
        if not (_ITEM.match(first) or (len(lines) == 1 and not re.search(r"[;(){}=]", first))):
            return "\n".join([f"```{self._language}", *lines, "```"])
        listed = []
        for line in lines:
            if line.startswith(" ") and listed:
                listed[-1] += " " + line.strip()
            elif line:
                listed.append(line)
        return "\n".join(self._listed(line) for line in listed)

    def _listed(self, line):
        found = _ITEM.match(line)
        if not found:
            return f"* {self.inline(line)}"
        if found["word"]:
            return f"* `{found['word']}`"
        return f"* `{found['term']}`: {self.inline(found['words'])}"
