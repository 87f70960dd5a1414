"""The common figures of all studies: the curve of a run, the time of reaching the target, and the file of results."""

import json
import statistics


def curve_of(run):
    """[seconds, accuracy] of each measurement of the average of all workers' models, and of the final model."""
    return [[line["seconds"], line["accuracy"]] for line in run.curve] + [[run.seconds_of_training, run.accuracy]]


def seconds_to(target, curve):
    """The first time at which the mean of three measurements in a row has reached the target."""
    for last in range(2, len(curve)):
        if statistics.fmean(accuracy for _, accuracy in curve[last - 2:last + 1]) >= target:
            return curve[last][0]
    return None


def write_json(settings, rows, runs, path):
    """One line for each row and each run."""
    lines = {name: ",\n".join(json.dumps(item) for item in items) for name, items in (("rows", rows), ("runs", runs))}
    path.write_text(f'{{"settings": {json.dumps(settings)},\n"rows": [\n{lines["rows"]}\n],\n"runs": [\n'
                    f'{lines["runs"]}\n]}}\n', encoding="utf-8")
