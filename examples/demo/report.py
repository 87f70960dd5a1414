"""The figures of the runs: a table for people, JSON for programs."""

import json

from policies import forms_groups, group_size_of

LEGEND = """\
time to accuracy  from the first common model until the average of all workers' models has the target
                  accuracy on the 10,000 test images (mean of the last three measurements)
updates           exchanges until then: rounds of all workers, or groups of some
per update        time to accuracy / updates
accuracy          of the one model that all workers end with, on the 10,000 test images
apart             how far the worker farthest from that model was before the last, common average,
                  relative to the model's length
The workers share this machine. Their pace is simulated by sleeping: every step lasts {step_ms:g} ms, and
{slow_ms:g} ms on worker {slow_rank}. All policies use the same step, batch, learning rate, momentum, data and target."""


def speed_up(run, runs):
    """The speed relative to all-reduce, if both were run and reached the target."""
    reference = next((other.seconds for other in runs if other.name == "all-reduce"), None)
    return reference / run.seconds if reference and run.seconds else None


def table(runs, flags):
    rows = [("policy", "time to accuracy", "updates", "per update", "accuracy", "apart", "speed-up")]
    for run in runs:
        ratio = speed_up(run, runs)
        rows.append((
            run.name,
            f"{run.seconds:.1f} s" if run.reached else "not reached",
            str(run.updates),
            f"{run.seconds_per_update * 1000:.1f} ms",
            f"{run.accuracy:.2%}",
            f"{run.distance:.2%}",
            f"{ratio:.2f}" if ratio else "-"))
    widths = [max(map(len, column)) for column in zip(*rows)]
    lines = ["  ".join([row[0].ljust(widths[0])] + [cell.rjust(width) for cell, width in zip(row[1:], widths[1:])])
             for row in rows]
    lines.insert(1, "-" * len(lines[0]))
    legend = LEGEND.format(step_ms=flags.step_ms, slow_ms=flags.step_ms * flags.slowdown,
                           slow_rank=flags.slow_rank)
    return "\n".join([*lines, "", legend])


def write_json(runs, flags, path):
    figures = {
        "target": flags.target,
        "runs": [{
            "policy": run.name,
            "workers": flags.workers,
            "group_size": group_size_of(run.name, flags) if forms_groups(run.name) else flags.workers,
            "slowdown": flags.slowdown,
            "seconds_to_accuracy": run.seconds,
            "accuracy": run.accuracy,
            "updates": run.updates,
            "seconds_per_update": run.seconds_per_update,
            "distance": run.distance,
            "speed_up": speed_up(run, runs),
        } for run in runs],
    }
    with open(path, "w", encoding="utf-8") as file:
        json.dump(figures, file, indent=2)
        file.write("\n")
