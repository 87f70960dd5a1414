"""The picture: for each setting, accuracy over time, and below it each policy's speed relative to all-reduce."""

import matplotlib

matplotlib.use("Agg")  # draws into a file and needs no display
from matplotlib import pyplot  # noqa: E402

from contenders import METHODS, REFERENCE, SETTINGS  # noqa: E402


def draw(rows, records, flags, path):
    present = [name for name in SETTINGS if any(record["setting"] == name for record in records)]
    figure, axes = pyplot.subplots(2, len(present), figsize=(6.5 * len(present), 9), layout="constrained", squeeze=False)
    for column, setting in enumerate(present):
        _draw_curves(axes[0][column], setting, records, flags.target)
        _draw_bars(axes[1][column], [row for row in rows if row["setting"] == setting], flags.target)
    axes[0][0].legend(loc="lower right", fontsize=8)  # the other charts have the same colours
    figure.suptitle(f"Fashion-MNIST, {flags.workers} workers on {flags.daemons} daemons, steps of {flags.step_ms:g} ms")
    figure.savefig(path, dpi=100)
    pyplot.close(figure)


def _draw_curves(axis, setting, records, target):
    for name, method in METHODS.items():
        runs = [record for record in records if record["setting"] == setting and record["method"] == name]
        for number, run in enumerate(runs):
            axis.plot(*zip(*run["curve"]), color=method.colour, linewidth=1.3, alpha=1 if number == 0 else 0.3,
                      label=method.label if number == 0 else None)
    axis.axhline(target, color="black", linewidth=0.8, linestyle="--")
    axis.set(xlabel="seconds", ylabel="accuracy on the test set", ylim=(target - 0.11, target + 0.05),
             title=SETTINGS[setting].title)
    axis.set_xlim(left=0)


def _draw_bars(axis, rows, target):
    """Two bars for each policy. The solid one is updates in a second. The hatched one is time to accuracy."""
    rows = [row for row in rows if row["method"] != REFERENCE]
    fields = (("updates_ratio", "updates in a second", -0.2, None), ("time_ratio", f"time to {target:.0%}", 0.2, "///"))
    for field, label, offset, hatch in fields:
        axis.barh([number + offset for number in range(len(rows))], [row[field] or 0 for row in rows], height=0.36,
                  color=[METHODS[row["method"]].colour for row in rows], hatch=hatch, edgecolor="white")
        axis.barh([0], [0], color="gray", hatch=hatch, edgecolor="white", label=label)
        for number, row in enumerate(rows):
            axis.text(row[field] or 0, number + offset, f" {_word_of(row, field)}", va="center", fontsize=7)
    axis.axvline(1, color="black", linewidth=0.8, linestyle="--")
    axis.set_yticks(range(len(rows)), [METHODS[row["method"]].label for row in rows], fontsize=8)
    axis.invert_yaxis()
    axis.margins(x=0.1)
    axis.set(xlabel="times as fast as all-reduce")
    axis.legend(loc="lower right", fontsize=8)


def _word_of(row, field):
    if row[field]:
        return f"{row[field]:.2f}"
    return "never" if field == "time_ratio" and row["seconds_to_target"] is None else "nothing to compare with"
