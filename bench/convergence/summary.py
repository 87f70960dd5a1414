"""From runs to figures: a record of each run, the table, the JSON file."""

import statistics

import figures
from methods import IMBALANCES, METHODS

LEGEND = """\
accuracy    on the 10,000 test images, of the model that all workers end with after {steps} steps of {batch} images each
            ({passes:.1f} passes over the training set){spread}
points      of accuracy above (+) or below (-) dense all-reduce under the same imbalance
to {target:.0%}      seconds from the common start until the average of all workers' models has this accuracy (mean of three
            measurements, two a second); speed-up over dense all-reduce
training    seconds until the last worker has made its last step
rounds      exchanges of all workers together, and how many workers' steps were in one on average
sent        bytes that a node sent for an exchange, on average
apart       how far the worker farthest from the final model was before the last, common average, relative
            to the model's length
{workers} workers on {daemons} daemons share this machine; their pace is simulated by sleeping. A step lasts {step_ms:g} ms, and longer where
the worker is delayed: light, one worker, drawn anew for each step, by {light_ms:g} ms; severe, worker i by i times {severe_ms:g} ms, and
who is worker i shifts from step to step. All methods use the same plain gradient descent, learning rate {learning_rate:g}
falling to 0 at the last step, and the same first model, data and batches."""


def figures_of(run):
    """The parts of a run that are kept."""
    first = run.events[0]
    events = [event for worker in run.events for event in worker]
    steps = sum(result["steps"] for result in run.results)
    return {
        "accuracy": run.accuracy,
        "training_seconds": run.seconds_of_training,
        "rounds": sum(event["rounds"] for event in first),
        "contributors": statistics.fmean(event["contributors"] for event in first),
        "bytes_per_step": sum(event["bytes_sent"] for event in events) / steps,
        "distance": run.distance,
        "curve": figures.curve_of(run),
    }


def rows_of(records, flags):
    """A row of figures, averaged over the seeds, for each method under each imbalance."""
    rows = []
    for imbalance in IMBALANCES:
        dense = None
        for method in METHODS:
            group = [record for record in records
                     if record["imbalance"] == imbalance and record["method"] == method]
            if group:
                row = _row(imbalance, method, group, flags.target)
                dense = row if method == "dense" else dense
                rows.append({**row, **_beside(row, dense)})
    return rows


def _row(imbalance, method, group, target):
    times = [figures.seconds_to(target, record["curve"]) for record in group]
    mean = {name: statistics.fmean(record[name] for record in group)
            for name in ("accuracy", "training_seconds", "rounds", "contributors", "bytes_per_step", "distance")}
    return {"imbalance": imbalance, "method": method, "seeds": len(group), **mean,
            "accuracy_min": min(record["accuracy"] for record in group),
            "accuracy_max": max(record["accuracy"] for record in group),
            "seconds_to_target": None if None in times else statistics.fmean(times)}


def _beside(row, dense):
    if not dense:
        return {"points": None, "speed_up": None}
    both = row["seconds_to_target"] and dense["seconds_to_target"]
    return {"points": 100 * (row["accuracy"] - dense["accuracy"]),
            "speed_up": dense["seconds_to_target"] / row["seconds_to_target"] if both else None}


def text(records, flags):
    rows = rows_of(records, flags)
    lines = []
    for imbalance, kind in IMBALANCES.items():
        table = [["", "accuracy", "points", f"to {flags.target:.0%}", "speed-up", "training", "rounds", "of workers",
                  "sent", "apart"]]
        table += [_cells(row) for row in rows if row["imbalance"] == imbalance]
        if len(table) == 1:
            continue
        widths = [max(map(len, column)) for column in zip(*table)]
        lines.append(kind.title)
        for cells in table:
            line = "  ".join([cells[0].ljust(widths[0])] + [cell.rjust(width) for cell, width
                                                            in zip(cells[1:], widths[1:])])
            lines.append(line.rstrip())
        lines.append("")
    return "\n".join(lines + [_legend(records, flags)])


def _cells(row):
    seconds, points, speed_up = row["seconds_to_target"], row["points"], row["speed_up"]
    accuracy = f"{row['accuracy']:.2%}"
    if row["seeds"] > 1:
        accuracy += f" ({100 * row['accuracy_min']:.2f} .. {100 * row['accuracy_max']:.2f})"
    return [METHODS[row["method"]].label, accuracy,
            "" if points is None or row["method"] == "dense" else f"{points:+.2f}",
            f"{seconds:.1f} s" if seconds else "never",
            f"{speed_up:.2f}" if speed_up else "", f"{row['training_seconds']:.1f} s", f"{row['rounds']:.0f}",
            f"{row['contributors']:.1f}", f"{row['bytes_per_step'] / 1000:.1f} kB", f"{row['distance']:.2%}"]


def _legend(records, flags):
    seeds = len({record["seed"] for record in records})
    spread = f"; mean (least .. most) of {seeds} seeds" if seeds > 1 else ""
    passes = flags.steps_max * flags.batch * flags.workers / 60000
    return LEGEND.format(**{**vars(flags), "steps": flags.steps_max, "passes": passes, "spread": spread})


def write_json(records, flags, path):
    names = ("workers", "daemons", "steps_max", "batch", "learning_rate", "density", "target", "step_ms", "light_ms",
             "severe_ms")
    figures.write_json({name: vars(flags)[name] for name in names}, rows_of(records, flags), records, path)
