#!/usr/bin/python3
"""Trains one network by several ways of exchanging steps, and says what each cost in accuracy and gained in time.

Started by `bench/convergence/run`, which sets everything up first. The trainer, the evaluator and the cluster
are the demo's.
"""

import argparse
import pathlib
import sys

sys.path.append(str(pathlib.Path(__file__).resolve().parents[1] / "studies"))

import study  # noqa: E402
import summary  # noqa: E402
from methods import IMBALANCES, METHODS, chosen  # noqa: E402
from training import Plan  # noqa: E402


def parse_flags():
    parser = argparse.ArgumentParser(
        prog="bench/convergence/run",
        description="Accuracy after equal steps, and time to accuracy, of dense, sparse and partial exchanges of a small "
        "network's steps on Fashion-MNIST, with delayed workers. Ends with a table, a JSON file and a picture.",
        formatter_class=argparse.ArgumentDefaultsHelpFormatter)
    add = parser.add_argument
    add("--quick", action="store_true", help="fewer steps and methods; about 2 minutes")
    add("--imbalance", nargs="+", choices=IMBALANCES, default=list(IMBALANCES), help="who is delayed")
    add("--method", nargs="+", choices=METHODS, help="what to compare (default: all)")
    add("--steps-max", type=int, help="steps of each worker (default: four passes over the data)")
    add("--learning-rate", type=float, default=0.1, help="of plain gradient descent; falls to 0 at the last step")
    add("--density", type=float, default=0.01, help="share of the elements that SparDL sends")
    add("--resync-every", type=int, default=0, help="rounds between averages of the models, where not all are "
        "waited for; 0: none, as their models are equal anyway")
    add("--step-ms", type=float, default=20, help="a step lasts this, mostly asleep")
    add("--light-ms", type=float, default=40, help="and so much longer on the one delayed worker")
    add("--severe-ms", type=float, default=8, help="or so much longer on worker 1, twice that on worker 2, ...")
    study.add_common_flags(add, {"workers": 8, "daemons": 8, "target": 0.85})
    flags = parser.parse_args()
    study.complete(parser, flags, "convergence")
    flags.method = flags.method or [name for name, method in METHODS.items() if method.quick or not flags.quick]
    passes = 1 if flags.quick else 4
    flags.steps_max = flags.steps_max or passes * 60000 // (flags.batch * flags.workers)
    # These values complete the flags of the demo's training. It ends by steps alone, never by
    # measured results.
    vars(flags).update(hidden=128, momentum=0, interval_ms=500, seconds_max=1e6, target_to_stop=2)
    return flags


def settings_of(imbalance, method, seed, flags):
    """All settings that a result depends on, except the machine and the programs."""
    return {"imbalance": imbalance, "method": method, "seed": seed, "workers": flags.workers, "daemons": flags.daemons,
            "steps": flags.steps_max, "batch": flags.batch, "learning_rate": flags.learning_rate,
            "step_ms": flags.step_ms, "pace": IMBALANCES[imbalance].pace(flags), "job": METHODS[method].job(flags)}


def trial_of(imbalance, method, seed, flags):
    def pace(_):
        return ["--step-ms", flags.step_ms, *IMBALANCES[imbalance].pace(flags)]

    return study.Trial(
        title=f"{imbalance}, {METHODS[method].label}, seed {seed}",
        settings=settings_of(imbalance, method, seed, flags),
        plan=Plan(f"{imbalance}-{method}-{seed}",
                  ["--policy", "all-reduce", "--anneal", *METHODS[method].job(flags)], pace),
        shared=argparse.Namespace(**{**vars(flags), "seed": seed, "target": flags.target_to_stop}),
        figures_of=summary.figures_of)


def present(records, flags):
    text = summary.text(records, flags)
    print("\n" + text)
    (flags.out / "results.txt").write_text(text + "\n", encoding="utf-8")
    summary.write_json(records, flags, flags.out / "results.json")
    import curves  # slow to load, and not needed earlier
    curves.draw(records, flags, flags.out / "accuracy.png")
    print(f"\nresults.txt, results.json and accuracy.png are in {flags.out.absolute()}")


def main():
    flags = parse_flags()
    trials = [trial_of(*pair, seed, flags) for seed in flags.seed for pair in chosen(flags)]
    study.run("convergence", flags, trials, present)


if __name__ == "__main__":
    main()
