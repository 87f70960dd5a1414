#!/usr/bin/python3
"""Draws top.svg: the screen of `pacectl top` with a real cluster in which one worker is stopped. top.py BUILD"""

import html
import pathlib
import signal
import sys

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parents[1] / "tests/pacectl"))

from cluster import Cluster, soon  # noqa: E402
from seat import Seat  # noqa: E402

ROWS, COLUMNS = 14, 80
CELL_W, CELL_H, EDGE = 8.4, 18, 12
COLOURS = {"default": "#e6edf3", "red": "#ff7b72", "green": "#7ee787", "brown": "#e3b341", "yellow": "#e3b341",
           "blue": "#79c0ff", "magenta": "#d2a8ff", "cyan": "#76e3ea", "white": "#e6edf3", "black": "#484f58"}


def runs(line):
    """Neighbouring characters that look alike: (column, text, style)."""
    found = []
    for column in range(COLUMNS):
        cell = line[column]
        style = (cell.fg, cell.bold, cell.reverse)
        if found and found[-1][2] == style and found[-1][0] + len(found[-1][1]) == column:
            found[-1][1] += cell.data
        else:
            found.append([column, cell.data, style])
    return [run for run in found if run[1].strip() or run[2][2]]


def text_of(row, column, text, style):
    colour, bold, reverse = style
    x, y = EDGE + column * CELL_W, EDGE + row * CELL_H
    fill = COLOURS.get(colour, COLOURS["default"])
    parts = []
    if reverse:
        parts.append(f'<rect x="{x:.1f}" y="{y}" width="{len(text) * CELL_W:.1f}" height="{CELL_H}" fill="{fill}"/>')
        fill = "#0d1117"
    weight = ' font-weight="bold"' if bold else ""
    parts.append(f'<text x="{x:.1f}" y="{y + 13}" fill="{fill}"{weight} textLength="{len(text) * CELL_W:.1f}" '
                 f'xml:space="preserve">{html.escape(text)}</text>')
    return parts


def draw(screen):
    width, height = round(2 * EDGE + COLUMNS * CELL_W), 2 * EDGE + ROWS * CELL_H
    lines = [f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}" viewBox="0 0 {width} {height}" role="img">',
             "<!-- Written by docs/images/top.py. -->",
             "<title>pacectl top: a job of four workers, one of which is stopped by a signal</title>",
             "<style>text { font-family: ui-monospace, Menlo, Consolas, monospace; font-size: 14px; }</style>",
             f'<rect width="{width}" height="{height}" rx="6" fill="#0d1117"/>']
    for row in range(ROWS):
        for run in runs(screen.buffer[row]):
            lines += text_of(row, *run)
    return "\n".join([*lines, "</svg>", ""])


def main():
    with Cluster(sys.argv[1]) as cluster:
        workers = cluster.train("fashion", world=4, mode="average")
        soon(lambda: cluster.status()["jobs"][0]["started"], "the job's start")
        seat = Seat(cluster.command("top"), ROWS, COLUMNS)
        try:
            soon(lambda: min(worker["iteration"] for worker in cluster.status()["jobs"][0]["workers"]) > 200, "some steps")
            workers[3].process.send_signal(signal.SIGSTOP)
            seat.see("stopped")
            (HERE / "top.svg").write_text(draw(seat.screen), encoding="utf-8")
        finally:
            seat.close()
            workers[3].process.send_signal(signal.SIGCONT)


if __name__ == "__main__":
    main()
