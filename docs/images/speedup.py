#!/usr/bin/env python3
"""Draws docs/images/speedup.svg from the table in README.md that compares DistributedDataParallel and Pace.

    docs/images/speedup.py            writes the picture
    docs/images/speedup.py --check    ends with 1 if the picture is not the one that the table gives
"""

import html
import pathlib
import re
import sys

FOLDER = pathlib.Path(__file__).resolve().parent
README = FOLDER.parents[1] / "README.md"
PICTURE = FOLDER / "speedup.svg"
COMMAND = "docs/images/speedup.py"

WIDTH = 760  # pixels
LABELS = 190  # width of the column of names
BARS = 490  # length of the longest bar
ROW = 58
BAR = 20
TOP = 64
SECONDS = re.compile(r"(\d+(?:\.\d+)?) s")

# The colours keep a contrast of at least 3 to white and to GitHub's dark background, as the text does of 4.5.
STYLE = """
text { font-family: system-ui, "Segoe UI", Helvetica, Arial, sans-serif; font-size: 14px; fill: #1f2328; }
.title { font-size: 15px; font-weight: 600; }
.small { font-size: 12px; fill: #57606a; }
.goal { fill: #0969da; }
.end { fill: #8c959f; }
@media (prefers-color-scheme: dark) {
text { fill: #e6edf3; }
.small { fill: #9198a1; }
.goal { fill: #4493f8; }
.end { fill: #6e7681; }
}
"""


class Wrong(Exception):
    """README.md has no such table."""


def cells_of(line):
    return [cell.strip() for cell in line.strip().strip("|").split("|")]


def table_of(text):
    """(names of the two times, [(name, seconds of each)]) of the table whose first column begins with DistributedDataParallel."""
    lines = text.splitlines()
    first = next((at for at, line in enumerate(lines) if line.startswith("| DistributedDataParallel")), None)
    if first is None or first < 2:
        raise Wrong("there is no table with a row of DistributedDataParallel")
    rows = []
    for line in lines[first:]:
        if not line.startswith("|"):
            break
        name, *values = cells_of(line)
        seconds = [SECONDS.fullmatch(value) for value in values[:2]]
        if not all(seconds):
            raise Wrong(f"the row of {name} does not begin with two times in seconds")
        rows.append((name, [float(match[1]) for match in seconds]))
    return cells_of(lines[first - 2])[1:3], rows


def text_at(x, y, text, kind=None):
    style = f' class="{kind}"' if kind else ""
    return f'<text x="{x}" y="{y}"{style}>{html.escape(text)}</text>'


def bar_at(y, length, seconds, kind):
    return [f'<rect x="{LABELS}" y="{y}" width="{length:.1f}" height="{BAR}" rx="2" class="{kind}"/>',
            text_at(f"{LABELS + length + 6:.1f}", y + 15, f"{seconds:g} s")]


def row_at(y, name, seconds, longest):
    title, _, more = name.partition(", ")
    lines = [text_at(0, y + 17, title)]
    if more:
        lines.append(text_at(0, y + 35, more, "small"))
    for at, (value, kind) in enumerate(zip(seconds, ("goal", "end"))):
        lines += bar_at(y + at * (BAR + 2), value / longest * BARS, value, kind)
    return lines


def legend(names):
    lines, x = [], LABELS
    for name, kind in zip(names, ("goal", "end")):
        lines += [f'<rect x="{x}" y="36" width="12" height="12" rx="2" class="{kind}"/>', text_at(x + 18, 47, name, "small")]
        x += 150
    return lines


def drawing(names, rows):
    height = TOP + ROW * len(rows)
    longest = max(value for _, seconds in rows for value in seconds)
    told = "; ".join(f"{name}: " + ", ".join(f"{value:g} s {what}" for value, what in zip(seconds, names)) for name, seconds in rows)
    lines = [f'<svg xmlns="http://www.w3.org/2000/svg" width="{WIDTH}" height="{height}" viewBox="0 0 {WIDTH} {height}" role="img">',
             f"<!-- Written by {COMMAND} from the table in README.md. -->",
             f"<title>{html.escape(told)}</title>", f"<style>{STYLE}</style>",
             text_at(0, 18, "Seconds of one training: one worker slowed down, one killed and started again", "title")]
    lines += legend(names)
    for at, (name, seconds) in enumerate(rows):
        lines += row_at(TOP + at * ROW, name, seconds, longest)
    return "\n".join([*lines, "</svg>", ""])


def main(arguments):
    if arguments not in ([], ["--check"]):
        print(__doc__)
        return 2
    try:
        drawn = drawing(*table_of(README.read_text(encoding="utf-8")))
    except Wrong as wrong:
        print(f"{README}: {wrong}")
        return 1
    if not arguments:
        PICTURE.write_text(drawn, encoding="utf-8")
        return 0
    if not PICTURE.exists() or PICTURE.read_text(encoding="utf-8") != drawn:
        print(f"{PICTURE} is not what the table in README.md gives; {COMMAND} draws it")
        return 1
    print("the picture is what the table gives")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
