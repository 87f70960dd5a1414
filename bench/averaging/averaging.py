#!/usr/bin/python3
"""Trains one network for a given time under each averaging policy, and says how fast each was beside all-reduce.

Started by `bench/averaging/run`, which sets everything up first. The trainer, the evaluator and the cluster
are the demo's.
"""

import argparse
import pathlib
import sys

sys.path.append(str(pathlib.Path(__file__).resolve().parents[1] / "studies"))

import outcome  # noqa: E402
import page  # noqa: E402
import study  # noqa: E402
from contenders import METHODS, SETTINGS  # noqa: E402
from training import Plan  # noqa: E402

NEVER = 2  # an accuracy that ends no run: each run lasts its full time


def parse_flags():
    parser = argparse.ArgumentParser(
        prog="bench/averaging/run",
        description="Updates in a second, time to accuracy, and accuracy after a given time, of the averaging policies and of "
        "all-reduce: a small network on Fashion-MNIST, with workers of equal speed and with a slow one. Ends with a table, a "
        "JSON file and a picture.",
        formatter_class=argparse.ArgumentDefaultsHelpFormatter)
    add = parser.add_argument
    add("--quick", action="store_true", help="steps half as long, and fewer methods; about 6 minutes")
    add("--setting", nargs="+", choices=SETTINGS, default=list(SETTINGS), help="how fast the workers are")
    add("--method", nargs="+", choices=METHODS, help="what to compare (default: all)")
    add("--step-ms", type=float, help="a step lasts this, mostly asleep (default: 80, with --quick 40)")
    add("--seconds", type=float, help="of each training (default: 400 steps, with a worker 5 times slower 750)")
    add("--learning-rate", type=float, default=0.05, help="of gradient descent with momentum")
    add("--momentum", type=float, default=0.9, help="share of the last step kept in the next")
    add("--hidden", type=int, default=64, help="hidden units of the network")
    study.add_common_flags(add, {"workers": 16, "daemons": 4, "target": 0.83})
    flags = parser.parse_args()
    study.complete(parser, flags, "averaging")
    flags.method = flags.method or [name for name, method in METHODS.items() if method.quick or not flags.quick]
    flags.step_ms = flags.step_ms or (40 if flags.quick else 80)
    # These values complete the flags of the demo's training. It ends by time alone.
    vars(flags).update(interval_ms=500, steps_max=10**6)
    return flags


def seconds_of(setting, flags):
    return flags.seconds or SETTINGS[setting].steps * flags.step_ms / 1000


def settings_of(setting, method, seed, flags):
    """All settings that a result depends on, except the machine and the programs."""
    named = ("workers", "daemons", "batch", "learning_rate", "momentum", "hidden", "step_ms")
    return {"setting": setting, "method": method, "seed": seed, "seconds": seconds_of(setting, flags),
            "slow": SETTINGS[setting].slow, "job": list(METHODS[method].job), **{name: vars(flags)[name] for name in named}}


def trial_of(setting, method, seed, flags):
    def pace(rank):
        slow = SETTINGS[setting].slow if rank == flags.workers - 1 else 1
        return ["--step-ms", flags.step_ms, "--slowdown", slow]

    ending = {"seed": seed, "target": NEVER, "seconds_max": seconds_of(setting, flags)}
    return study.Trial(
        title=f"{SETTINGS[setting].title}, {METHODS[method].label}, seed {seed}",
        settings=settings_of(setting, method, seed, flags),
        plan=Plan(f"{setting}-{method}-{seed}", METHODS[method].job, pace),
        shared=argparse.Namespace(**{**vars(flags), **ending}),
        figures_of=outcome.figures_of)


def present(records, flags):
    rows = outcome.rows_of(records, flags.target)
    text = page.text(rows, records, flags)
    print("\n" + text)
    (flags.out / "RESULTS.md").write_text(text, encoding="utf-8")
    outcome.write_json(rows, records, flags, flags.out / "results.json")
    import chart  # slow to load, and not needed earlier
    chart.draw(rows, records, flags, flags.out / "averaging.png")
    print(f"RESULTS.md, results.json and averaging.png are in {flags.out.absolute()}")


def main():
    flags = parse_flags()
    trials = [trial_of(setting, method, seed, flags)
              for seed in flags.seed for setting in flags.setting for method in flags.method]
    study.run("averaging", flags, trials, present)


if __name__ == "__main__":
    main()
