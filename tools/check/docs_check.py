#!/usr/bin/env python3
"""Links between documents lead to files and headings that exist."""

import re
import sys

import tree

LINK = re.compile(r"(?<!!)\[[^\]]*\]\(([^)\s]+)[^)]*\)|!\[[^\]]*\]\(([^)\s]+)\)")
FENCE = re.compile(r"^(```|~~~)")


def anchor_of(heading):
    """How a heading is named in a link."""
    # Underscores that mark emphasis are at the ends of words; those within a name, or within code, stay.
    parts = re.split(r"`([^`]*)`", heading.strip().lower())
    parts[::2] = [re.sub(r"(?<!\w)_|_(?!\w)", "", part.replace("*", "")) for part in parts[::2]]
    text = "".join(parts)
    return re.sub(r"[^\w\- ]", "", text).replace(" ", "-")


def prose(text):
    """The lines outside fenced code, with their numbers."""
    fenced = False
    for number, line in enumerate(text.split("\n"), 1):
        if FENCE.match(line.strip()):
            fenced = not fenced
        elif not fenced:
            yield number, line


def anchors(text):
    """The names of all headings. If several headings have one name, the later ones get a number."""
    named, counts = set(), {}
    for _, line in prose(text):
        if line.startswith("#"):
            anchor = anchor_of(line.lstrip("#"))
            number = counts.get(anchor, 0)
            counts[anchor] = number + 1
            named.add(f"{anchor}-{number}" if number else anchor)
    return named


def check_file(path, text, root):
    problems = []
    for number, line in prose(text):
        for match in LINK.finditer(re.sub(r"`[^`]*`", "", line)):
            target = match.group(1) or match.group(2)
            if re.match(r"[a-z]+:", target):
                continue
            name, _, anchor = target.partition("#")
            file = (root / path).parent / name if name else root / path
            if not file.exists():
                problems.append(f"{path}:{number}: {target} does not exist")
            elif anchor and file.suffix == ".md" and \
                    anchor not in anchors(file.read_text(encoding="utf-8")):
                problems.append(f"{path}:{number}: {name or path} has no heading '{anchor}'")
    return problems


def main():
    problems = []
    for path in tree.files():
        if path.suffix == ".md":
            problems += check_file(path, tree.read(path), tree.ROOT)
    return tree.report("links", problems)


if __name__ == "__main__":
    sys.exit(main())
