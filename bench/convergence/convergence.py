#!/usr/bin/python3
"""Trains one network by several ways of exchanging steps, and says what each cost in accuracy and gained in time.

Started by `bench/convergence/run`, which sets everything up first. The trainer, the evaluator and the cluster
are the demo's.
"""

import argparse
import json
import pathlib
import shutil
import signal
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.append(str(ROOT / "examples" / "demo"))

import summary  # noqa: E402
from cluster import Cluster  # noqa: E402
from demo import find_programs  # noqa: E402
from methods import IMBALANCES, METHODS, chosen  # noqa: E402
from process import DemoError  # noqa: E402
from training import Plan, train  # noqa: E402


def parse_flags():
    parser = argparse.ArgumentParser(
        prog="bench/convergence/run",
        description="Accuracy after equal steps, and time to accuracy, of dense, sparse and partial exchanges of a small "
        "network's steps on Fashion-MNIST, with delayed workers. Ends with a table, a JSON file and a picture.",
        formatter_class=argparse.ArgumentDefaultsHelpFormatter)
    add = parser.add_argument
    add("--quick", action="store_true", help="fewer steps and methods; about 2 minutes")
    add("--resume", action="store_true", help="keep what an earlier call measured with the same settings")
    add("--imbalance", nargs="+", choices=IMBALANCES, default=list(IMBALANCES), help="who is delayed")
    add("--method", nargs="+", choices=METHODS, help="what to compare (default: all)")
    add("--seed", nargs="+", type=int, default=[1], help="of model, data and delays; several are averaged")
    add("--workers", type=int, default=8, help="worker processes")
    add("--daemons", type=int, default=8, help="daemons; the workers are spread over them")
    add("--steps-max", type=int, help="steps of each worker (default: four passes over the data)")
    add("--batch", type=int, default=32, help="examples in a step of one worker")
    add("--learning-rate", type=float, default=0.1, help="of plain gradient descent; falls to 0 at the last step")
    add("--density", type=float, default=0.01, help="share of the elements that SparDL sends")
    add("--resync-every", type=int, default=0, help="rounds between averages of the models, where not all are "
        "waited for; 0: none, as their models are equal anyway")
    add("--target", type=float, default=0.85, help="accuracy whose time is told")
    add("--step-ms", type=float, default=20, help="a step lasts this, mostly asleep")
    add("--light-ms", type=float, default=40, help="and so much longer on the one delayed worker")
    add("--severe-ms", type=float, default=8, help="or so much longer on worker 1, twice that on worker 2, ...")
    add("--data", default="/usr/share/datasets/fashion-mnist", help="folder of the data set's files")
    add("--build", type=pathlib.Path, default=ROOT / "build" / "demo", help="folder of the built programs")
    add("--out", type=pathlib.Path, help="folder for the results (default: convergence in the build folder)")
    flags = parser.parse_args()
    if not 3 <= flags.workers or not 1 <= flags.daemons <= flags.workers:
        parser.error("give at least three workers, and from 1 to as many daemons as workers")
    flags.method = flags.method or [name for name, method in METHODS.items() if method.quick or not flags.quick]
    passes = 1 if flags.quick else 4
    flags.steps_max = flags.steps_max or passes * 60000 // (flags.batch * flags.workers)
    flags.out = flags.out or flags.build / "convergence"
    # What the demo's training wants to know besides: it ends by steps alone, never by what was measured.
    vars(flags).update(hidden=128, momentum=0, interval_ms=500, seconds_max=1e6, target_to_stop=2)
    return flags


def settings_of(imbalance, method, seed, flags):
    """All that a result depends on, the machine and the programs excepted."""
    return {"imbalance": imbalance, "method": method, "seed": seed, "workers": flags.workers, "daemons": flags.daemons,
            "steps": flags.steps_max, "batch": flags.batch, "learning_rate": flags.learning_rate,
            "step_ms": flags.step_ms, "pace": IMBALANCES[imbalance].pace(flags), "job": METHODS[method].job(flags)}


def measure(imbalance, method, seed, flags, programs, cluster, folder):
    """One run, as a record."""
    shared = argparse.Namespace(**{**vars(flags), "seed": seed, "target": flags.target_to_stop})

    def pace(_):
        return ["--step-ms", flags.step_ms, *IMBALANCES[imbalance].pace(flags)]

    plan = Plan(f"{imbalance}-{method}-{seed}",
                ["--policy", "all-reduce", "--anneal", *METHODS[method].job(flags)], pace)
    run = train(plan, shared, programs, cluster, folder)
    if not run.agreed:
        raise DemoError(f"{plan.name}: the workers' models differ after the last common average")
    return {**settings_of(imbalance, method, seed, flags), **summary.figures_of(run)}


def measure_all(flags, programs, folder):
    kept = flags.build / "convergence"
    kept.mkdir(parents=True, exist_ok=True)
    records = []
    todo = [(*pair, seed) for seed in flags.seed for pair in chosen(flags)]
    with Cluster(programs, flags.daemons, folder) as cluster:
        for number, (imbalance, method, seed) in enumerate(todo, 1):
            print(f"\n{imbalance}, {METHODS[method].label}, seed {seed} ({number} of {len(todo)})", flush=True)
            file = kept / f"{imbalance}-{method}-{seed}.json"
            record = read_kept(file, settings_of(imbalance, method, seed, flags)) if flags.resume else None
            if record:
                print(f"  measured before: {file}")
            else:
                record = measure(imbalance, method, seed, flags, programs, cluster, folder)
                file.write_text(json.dumps(record) + "\n", encoding="utf-8")
            records.append(record)
    return records


def read_kept(file, settings):
    """The record of an earlier run with these settings, if there is one."""
    if not file.exists():
        return None
    record = json.loads(file.read_text(encoding="utf-8"))
    return record if all(record.get(name) == value for name, value in settings.items()) else None


def present(records, flags):
    flags.out.mkdir(parents=True, exist_ok=True)
    text = summary.text(records, flags)
    print("\n" + text)
    (flags.out / "results.txt").write_text(text + "\n", encoding="utf-8")
    summary.write_json(records, flags, flags.out / "results.json")
    import curves  # slow to load, and not needed before
    curves.draw(records, flags, flags.out / "accuracy.png")
    print(f"\nresults.txt, results.json and accuracy.png are in {flags.out.absolute()}")


def main():
    flags = parse_flags()
    # A polite kill ends this as Ctrl-C does: what it started is stopped first.
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    begin = time.monotonic()
    folder = tempfile.mkdtemp(prefix="pace-convergence-")
    try:
        present(measure_all(flags, find_programs(flags.build), folder), flags)
    except DemoError as error:
        sys.exit(f"convergence: {error}\nconvergence: the logs are in {folder}")
    except KeyboardInterrupt:
        shutil.rmtree(folder)
        sys.exit("convergence: interrupted; everything it started has been stopped. --resume goes on from here")
    shutil.rmtree(folder)
    print(f"all in {time.monotonic() - begin:.0f} s")


if __name__ == "__main__":
    main()
