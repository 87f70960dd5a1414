"""The picture: accuracy over time, a line for each method."""

import matplotlib

matplotlib.use("Agg")  # draws into a file and needs no display
from matplotlib import pyplot  # noqa: E402

from methods import IMBALANCES, METHODS  # noqa: E402


def draw(records, flags, path):
    present = [name for name in IMBALANCES if any(record["imbalance"] == name for record in records)]
    figure, axes = pyplot.subplots(1, len(present), figsize=(7 * len(present), 5), layout="constrained",
                                   squeeze=False, sharey=True)
    for axis, imbalance in zip(axes[0], present):
        _draw_imbalance(axis, imbalance, records, flags)
    figure.suptitle(f"Fashion-MNIST, {flags.workers} workers, {flags.steps_max} steps each")
    figure.savefig(path, dpi=110)
    pyplot.close(figure)


def _draw_imbalance(axis, imbalance, records, flags):
    top = flags.target
    for name, method in METHODS.items():
        runs = [record for record in records if record["imbalance"] == imbalance and record["method"] == name]
        for number, run in enumerate(runs):
            seconds, accuracy = zip(*run["curve"])
            axis.plot(seconds, accuracy, color=method.colour, linewidth=1.3, alpha=1 if number == 0 else 0.35,
                      label=f"{method.label}: {run['accuracy']:.2%}" if number == 0 else None)
            axis.plot(seconds[-1], accuracy[-1], marker="o", color=method.colour, markersize=4)
            top = max(top, *accuracy)
    axis.axhline(flags.target, color="black", linewidth=0.8, linestyle="--")
    axis.set(xlabel="seconds", ylabel="accuracy on the test set", ylim=(flags.target - 0.09, top + 0.01),
             title=IMBALANCES[imbalance].title)
    axis.set_xlim(left=0)
    axis.legend(loc="lower right", fontsize=8)
