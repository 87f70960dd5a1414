"""The page of results, and the picture."""

from contenders import LEVELS, METHODS, PROBLEMS  # noqa: E402


def _number(value, form):
    return "never" if value is None else format(value, form)


def line_of(row):
    return (f"{row['problem']:12} level {row['level']} {METHODS[row['method']].label:16} learning rate {row['learning_rate']:8g}: "
            f"time {_number(row['time'], '.1f')}, updates {_number(row['updates'], '.0f')}")


def real_line_of(record):
    return (f"real daemons: {record['problem']} {METHODS[record['method']].label}: time {_number(record['time'], '.1f')}, "
            f"simulated {_number(record['simulated'], '.1f')}")


def _row(row):
    cells = [METHODS[row["method"]].label, f"{row['learning_rate']:g}", _number(row["time"], ".1f")]
    spread = row["time_spread"]
    cells.append("" if spread is None else f"{spread[0]:.1f} .. {spread[1]:.1f}")
    cells += [_number(row["updates"], ".0f"), "" if row["time"] is None else f"{row['time'] / row['updates']:.4f}"]
    cells += [f"{row['accuracy']:.3f}", f"{row['versions_max']}", f"{row['memory']:.1%}"]
    return "| " + " | ".join(cells) + " |"


def _section(problem, level, rows):
    own = [row for row in rows if (row["problem"], row["level"]) == (problem, level)]
    if not own:
        return []
    kind = PROBLEMS[problem]
    lines = [f"### {kind.label}, {LEVELS[level]}", "", f"Until the objective is {kind.target:g}.", "",
             "| method | learning rate | time | of all runs | updates | time / update | accuracy then | live versions | their memory, of the model's |",
             "|---|---|---|---|---|---|---|---|---|"]
    return lines + [_row(row) for row in own] + [""]


def _real_section(records):
    if not records:
        return []
    lines = ["## With real daemons", "", "The same training by 30 sessions with real daemons on loopback, 20 % of the workers 2 times slower. Looked at is what one fast "
             "worker pulls: after each step under BSP, about every fourth with s = 3, every eleventh with s = 10, so that times are as coarse.", "",
             "| problem | method | time | in virtual time | updates | accuracy then |", "|---|---|---|---|---|---|"]
    for record in records:
        lines.append(f"| {PROBLEMS[record['problem']].label} | {METHODS[record['method']].label} | {_number(record['time'], '.1f')} | "
                     f"{_number(record['simulated'], '.1f')} | {_number(record['updates'], '.0f')} | {record['accuracy']:.3f} |")
    return lines + [""]


def _memory_section(records):
    if not records:
        return []
    lines = ["## Memory of DynSGD's live versions", "", "On the URL-like data, 20 % of the workers 2 times slower; updates are sparse, and so are versions less than half full.", "",
             "| s | live versions, at most | their memory, of the model's, at most |", "|---|---|---|"]
    return lines + [f"| {record['staleness']} | {record['versions_max']} | {record['memory']:.1%} |" for record in records] + [""]


def write(rows, memory, real, flags):
    lines = ["# Parameter servers, measured", "", "Written by `bench/servers/run`; [README.md](README.md) says what the figures are. "
             "Times are in steps of a worker of the usual speed.",
             "A row of SSPSGD (or of sums under BSP and ASP) that says \"never\" is no measure of it: the search for its learning rate does not find the "
             "best one of trainings that miss the target.", "", "![objective over time](servers.png)", "", "## In virtual time", ""]
    for problem in PROBLEMS:
        for level in LEVELS:
            lines += _section(problem, level, rows)
    lines += _memory_section(memory) + _real_section(real)
    (flags.out / "RESULTS.md").write_text("\n".join(lines), encoding="utf-8")
    draw(rows, flags.out / "servers.png")


def draw(rows, path):
    import matplotlib  # slow to load, and not needed for --help

    matplotlib.use("Agg")  # draws into a file and needs no display
    from matplotlib import pyplot

    problems = [name for name in PROBLEMS if any(row["problem"] == name for row in rows)]
    levels = [name for name in LEVELS if any(row["level"] == name for row in rows)]
    figure, axes = pyplot.subplots(len(levels), len(problems), figsize=(5 * len(problems), 4 * len(levels)), layout="constrained",
                                   squeeze=False)
    for line, level in enumerate(levels):
        for column, problem in enumerate(problems):
            axis = axes[line][column]
            for row in rows:
                if (row["problem"], row["level"]) == (problem, level):
                    method = METHODS[row["method"]]
                    axis.plot(*zip(*row["curve"]), color=method.colour, linewidth=1.3, label=method.label)
            target = PROBLEMS[problem].target
            axis.axhline(target, color="black", linewidth=0.8, linestyle="--")
            axis.set(title=f"{PROBLEMS[problem].label}\n{LEVELS[level]}", xlabel="time, in steps", ylabel="objective",
                     ylim=(target * 0.9, target * 3), xlim=(0, 50))
    axes[-1][0].legend(fontsize=8)
    figure.savefig(path, dpi=90)
    pyplot.close(figure)
