"""The results as a page of Markdown: the table, the aims, and the meaning of the words."""

import os
import pathlib

from contenders import METHODS, REFERENCE, SETTINGS

# An aim of this project. Prague's 4.4 is the speed-up of a whole training, with 5 iteration times
# added to one worker's.
UPDATES_RATIO = 4.4
# Also an aim of this project. In the partial reduce paper, 2 or 3 of 8 workers share a GPU.
TIME_RATIO = 2.0
AUTO_SHARE = 0.9  # relative to the best policy

HEAD = """\
# Results

`bench/averaging/run` on {processors} processors ({model}): {workers} workers on {daemons} daemons of this machine, which meet on loopback; Fashion-MNIST,
{bytes:.0f} KB of parameters. A step lasts {step_ms:g} ms, mostly asleep, and on the last worker as much longer as the setting says. {rounds}
Ratios are over all-reduce in the same setting: above 1 is faster.

![updates and time to accuracy](averaging.png)
"""

AIMS = """\
These aims are ours. 4.4 is a number of Prague's paper, too; there it is the speed-up of a whole training, with five iteration times added to one
worker's, so that an aim which is met or missed here says nothing of that figure.
"""

FOOT = """\
* **An update**: time from one of a worker's averages to the next, its step included; the median worker. **Updates/s**: of all workers together. Both
  without the first tenth of the run. How much an update mixes, this does not say: **workers** is how many were in one on average.
* **To {target:.0%}**: seconds from the common start until the mean of all workers' models, which the evaluator takes twice a second while they go on, has
  this accuracy on the 10,000 test images (mean of three measurements).
* **Accuracy**: of the one model that all workers end with, the mean of theirs after the time given for the setting ({times}). Two models of
  equal quality differ by some 0.4 points on so many images.
* **Busy**: share of this machine's processors that was in use meanwhile, by whomever. Near 100 % the workers would slow each other down.
* All policies start from one model and use the same step, batch ({batch}), learning rate ({learning_rate:g}), momentum ({momentum:g}) and data.
* One seed tells no small difference: those between constant and dynamic weights are noise of that size. The slow workers are not those of the papers, and neither are the figures comparable with theirs
  ([README.md](README.md)).
"""


def text(rows, records, flags):
    aims = list(_aims(rows, flags.target))
    if aims:
        aims = ["## What was aimed at", "", AIMS, "| aim | measured | |", "|---|---|---|", *aims, ""]
    return "\n".join([_head(flags), *_table(rows, flags), "", *aims, _foot(records, flags)])


def _head(flags):
    rounds = f"Medians (least .. most) of {len(flags.seed)} rounds." if len(flags.seed) > 1 else "One round."
    parameters = (784 + 1) * flags.hidden + (flags.hidden + 1) * 10
    return HEAD.format(**{**vars(flags), "processors": os.cpu_count(), "model": _processor_model(),
                          "bytes": parameters * 4 / 1000, "rounds": rounds})


def _processor_model():
    for line in pathlib.Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines():
        if line.startswith("model name"):
            return line.partition(":")[2].strip()
    return os.uname().machine


def _foot(records, flags):
    seconds = {record["setting"]: record["seconds"] for record in records}
    times = ", ".join(f"{SETTINGS[setting].title}: {seconds[setting]:g} s" for setting in SETTINGS if setting in seconds)
    return FOOT.format(**vars(flags), times=times)


def _table(rows, flags):
    yield f"| setting | policy | an update | updates/s | ratio | to {flags.target:.0%} | ratio | accuracy | workers | busy |"
    yield "|---|---|---|---|---|---|---|---|---|---|"
    before = None
    for row in rows:
        cells = [SETTINGS[row["setting"]].title if row["setting"] != before else "", METHODS[row["method"]].label,
                 _cell(row, "update_ms", "{:.1f}", " ms"), _cell(row, "updates_per_s", "{:.1f}"), _ratio(row["updates_ratio"]),
                 _cell(row, "seconds_to_target", "{:.1f}", " s"), _ratio(row["time_ratio"]),
                 _cell(row, "accuracy", "{:.2%}"), f"{row['members']:.1f}", f"{row['busy']:.0%}"]
        yield "| " + " | ".join(cells) + " |"
        before = row["setting"]


def _cell(row, name, form, unit=""):
    """The median. If there are several rounds, the extremes follow it."""
    if row[name] is None:
        return "never"
    least, most = row[f"{name}_range"]
    spread = f" ({form.format(least)} .. {form.format(most)})" if row["seeds"] > 1 else ""
    return form.format(row[name]) + unit + spread


def _ratio(value):
    return f"{value:.2f}x" if value else ""


def _aims(rows, target):
    """A line for each aim whose settings and policies have been measured."""
    ours = {(row["setting"], row["method"]): row for row in rows if row["method"] != REFERENCE}
    in_slow = [row for (setting, _), row in ours.items() if setting == "slow-5"]
    yield from _best_aim(in_slow, "updates_ratio", UPDATES_RATIO, "updates/s")
    yield from _best_aim(in_slow, "time_ratio", TIME_RATIO, f"time to {target:.0%}")
    for method in ("prague-smart", "prague-static"):
        ratio = ours.get(("even", method), {}).get("updates_ratio")
        if ratio:
            yield _aim(f"equal speeds: {METHODS[method].label} at least as many updates/s as all-reduce", _ratio(ratio), ratio >= 1)
    for setting in SETTINGS:
        for field, what in (("updates_ratio", "updates/s"), ("time_ratio", f"time to {target:.0%}")):
            yield from _auto_aim([row for row in rows if row["setting"] == setting], setting, field, what)


def _best_aim(rows, field, least, what):
    best = max((row for row in rows if row[field]), key=lambda row: row[field], default=None)
    if best:
        yield _aim(f"one worker 5 times slower: the best policy at least {least:g}x over all-reduce in {what}",
                   f"{_ratio(best[field])}, {METHODS[best['method']].label}", best[field] >= least)


def _auto_aim(rows, setting, field, what):
    best = max((row for row in rows if row[field]), key=lambda row: row[field], default=None)
    auto = next((row for row in rows if row["method"] == "auto"), None)
    if best and auto:
        share = (auto[field] or 0) / best[field]  # 0 means that the target was never reached
        yield _aim(f"{SETTINGS[setting].title}: auto within {1 - AUTO_SHARE:.0%} of the best in {what}",
                   f"{share:.0%} of {METHODS[best['method']].label}", share >= AUTO_SHARE)


def _aim(aim, measured, met):
    return f"| {aim} | {measured} | {'met' if met else 'missed'} |"
