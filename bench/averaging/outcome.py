"""From runs to figures: a record of each run, and rows that compare methods with all-reduce."""

import statistics

import figures
from contenders import METHODS, REFERENCE, SETTINGS
from study import DemoError

UNCOUNTED = 0.1  # share of a run at its beginning: connections are made, and step times learned


def figures_of(run):
    """The parts of a run that are kept."""
    end = run.curve[-1]["seconds"]
    begin = UNCOUNTED * end
    counted = [[event for event in worker if begin <= event["seconds"] < end] for worker in run.events]
    if not all(counted):
        raise DemoError(f"{run.name}: worker {counted.index([])} made no update; give it more --seconds")
    per_worker = [len(events) / (end - begin) for events in counted]
    events = [event for worker in counted for event in worker]
    return {
        "updates_per_s": sum(per_worker),
        "update_ms": 1000 / statistics.median(per_worker),
        "members": statistics.fmean(max(1, len(event["members"]), event["contributors"]) for event in events),
        "queued_ms": statistics.median(event["queued_ms"] for event in events),
        "moving_ms": statistics.median(event["moving_ms"] for event in events),
        "steps": [result["steps"] for result in run.results],
        "accuracy": run.accuracy,
        "distance": run.distance,
        "busy": run.busy,
        "curve": figures.curve_of(run),
    }


def rows_of(records, target):
    """A row for each method in each setting: medians over the seeds, extremes, and ratios over all-reduce."""
    rows = []
    for setting in SETTINGS:
        found = {method: group for method in METHODS
                 if (group := [record for record in records
                               if record["setting"] == setting and record["method"] == method])}
        medians = {method: _row(setting, method, group, target) for method, group in found.items()}
        rows += [{**row, **_beside(row, medians.get(REFERENCE))} for row in medians.values()]
    return rows


def _row(setting, method, group, target):
    times = [figures.seconds_to(target, record["curve"]) for record in group]
    measured = {name: [record[name] for record in group]
                for name in ("update_ms", "updates_per_s", "accuracy", "members", "queued_ms", "moving_ms", "distance", "busy")}
    measured["seconds_to_target"] = None if None in times else times
    row = {"setting": setting, "method": method, "seeds": len(group)}
    for name, values in measured.items():
        row[name] = statistics.median(values) if values else None
        row[f"{name}_range"] = [min(values), max(values)] if values else None
    return row


def _beside(row, reference):
    def ratio(ours, theirs):
        return ours / theirs if ours and theirs else None

    reference = reference or {}
    return {"updates_ratio": ratio(row["updates_per_s"], reference.get("updates_per_s")),
            "time_ratio": ratio(reference.get("seconds_to_target"), row["seconds_to_target"])}


def write_json(rows, records, flags, path):
    names = ("workers", "daemons", "batch", "learning_rate", "momentum", "hidden", "step_ms", "target", "seed")
    figures.write_json({name: vars(flags)[name] for name in names}, rows, records, path)
