"""The picture of the runs: accuracy over time, and which workers met."""

import matplotlib

matplotlib.use("Agg")  # draws into a file and needs no display
from matplotlib import pyplot  # noqa: E402

from policies import forms_groups  # noqa: E402

COLOURS = {"all-reduce": "tab:gray", "partial-constant": "tab:blue", "partial-dynamic": "tab:orange",
           "solo": "tab:red", "majority": "tab:green", "spardl": "tab:purple",
           "prague-random": "tab:brown", "prague-smart": "tab:cyan", "ad-psgd": "tab:pink", "full": "tab:olive", "prague-static": "navy",
           "auto": "black"}


def draw(runs, flags, path):
    partial = [run for run in runs if forms_groups(run.name)]
    figure, axes = pyplot.subplots(1, 1 + len(partial), figsize=(6 + 4.2 * len(partial), 4.6),
                                   width_ratios=[1.5] + [1] * len(partial), layout="constrained",
                                   squeeze=False)
    _draw_accuracy(axes[0][0], runs, flags)
    for axis, run in zip(axes[0][1:], partial):
        _draw_meetings(axis, run, flags)
    figure.suptitle(f"{flags.workers} workers, worker {flags.slow_rank} slowed {flags.slowdown:g} times, "
                    f"Fashion-MNIST")
    figure.savefig(path, dpi=120)
    pyplot.close(figure)


def _draw_accuracy(axis, runs, flags):
    for run in runs:
        colour = COLOURS[run.name]
        axis.plot([line["seconds"] for line in run.curve], [line["accuracy"] for line in run.curve],
                  color=colour, label=f"{run.name}: {run.seconds:.1f} s" if run.reached else run.name)
        if run.reached:
            axis.axvline(run.seconds, color=colour, linestyle=":")
    axis.axhline(flags.target, color="black", linewidth=0.8, linestyle="--")
    axis.set(xlabel="seconds", ylabel="accuracy on the test set", ylim=(0.6, 0.9), title="accuracy over time")
    axis.set_xlim(left=0)
    axis.legend(loc="lower right")


def _draw_meetings(axis, run, flags):
    axis.imshow(run.meetings, cmap="Blues", vmin=0)
    top = max(map(max, run.meetings))
    for a, row in enumerate(run.meetings):
        for b, count in enumerate(row):
            if a != b:
                axis.text(b, a, count, ha="center", va="center", fontsize=7,
                          color="white" if count > top / 2 else "black")
    ranks = range(flags.workers)
    axis.set(title=f"{run.name}: who met whom", xlabel="worker", ylabel="worker", xticks=ranks, yticks=ranks)
