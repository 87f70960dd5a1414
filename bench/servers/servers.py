#!/usr/bin/python3
"""Trains linear models with parameter servers, by each protocol and rate, and says how fast each was.

Started by `bench/servers/run`, which sets everything up first.
"""

import argparse
import json
import os
import pathlib
import statistics
import sys
import tempfile
import time

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parents[1]
sys.path.append(str(ROOT / "examples" / "demo"))

import page  # noqa: E402
import search  # noqa: E402
from cluster import Cluster  # noqa: E402
from contenders import LEVELS, METHODS, PROBLEMS  # noqa: E402
from programs import find_programs  # noqa: E402

WORKERS = 30
L2 = 1e-6


def parse_flags():
    parser = argparse.ArgumentParser(
        prog="bench/servers/run",
        description="Time, updates and time for each update until the objective reaches a target, for logistic regression and SVM on "
        "generated data shaped like the URL set and on Fashion-MNIST, with 30 workers, each method at its best learning rate. "
        "In virtual time, and then some of it with real daemons. Ends with a table, a JSON file and a picture.",
        formatter_class=argparse.ArgumentDefaultsHelpFormatter)
    add = parser.add_argument
    add("--problem", nargs="+", choices=PROBLEMS, default=list(PROBLEMS), help="what to train")
    add("--method", nargs="+", choices=METHODS, default=list(METHODS), help="what to compare")
    add("--level", nargs="+", choices=LEVELS, default=list(LEVELS), help="how many times slower 20 %% of the workers are")
    add("--seeds", type=int, default=2, help="trainings with the best learning rate, in virtual time")
    add("--memory", nargs="*", type=int, default=[3, 10, 40], help="staleness with which the memory of DynSGD's versions is measured")
    add("--real", nargs="*", choices=PROBLEMS, default=["url-lr"], help="what to train with real daemons, too, at level 2")
    add("--daemons", type=int, default=4, help="for that")
    add("--step-ms", type=float, default=500, help="for that: a step lasts this, mostly asleep")
    add("--pull-time", type=float, default=0.9, help="what a pull takes, in steps")
    add("--resume", action="store_true", help="keep the rows that an earlier call has measured")
    add("--present", action="store_true", help="with --resume: measure nothing, only write the page")
    add("--threads", type=int, default=os.cpu_count(), help="trainings at once, in virtual time")
    add("--build", type=pathlib.Path, default=ROOT / "build" / "release", help="folder of the built programs")
    add("--out", type=pathlib.Path, help="folder for the results (default: servers in the build folder)")
    flags = parser.parse_args()
    flags.kept = flags.build / "servers"
    flags.out = flags.out or flags.kept
    return flags


class Study:
    def __init__(self, flags):
        import data_sets  # needs numpy, which --help does not need

        self.flags = flags
        self.program = flags.build / "bench" / "server_convergence"
        flags.kept.mkdir(parents=True, exist_ok=True)
        self.data = {"url": flags.kept / "url.csr", "fashion": flags.kept / "fashion.csr"}
        for name, make in (("url", data_sets.make_url), ("fashion", data_sets.make_fashion)):
            if not self.data[name].exists():
                make(self.data[name])

    def flags_of(self, problem, method, level, rate, until, seed=1):
        kind = PROBLEMS[problem]
        slow = WORKERS // 5 if level != "1" else 0
        return ["--data", self.data[kind.data], "--loss", kind.loss, "--l2", L2, "--workers", WORKERS, "--slow", slow,
                "--slow-factor", level, *METHODS[method].flags, "--learning-rate", rate, "--until", until,
                "--target", kind.target, "--pull-time", self.flags.pull_time, "--seed", seed]

    def measure(self, problem, method, level):
        """A row: the best learning rate, and the trainings with it."""
        rate = search.best_rate(lambda rate, until: search.train(
            self.program, self.flags_of(problem, method, level, rate, until)), METHODS[method].start)
        runs = [search.train(self.program, self.flags_of(problem, method, level, rate, search.STEPS_MAX, seed))
                for seed in range(1, self.flags.seeds + 1)]
        row = {"pull_time": self.flags.pull_time, "problem": problem, "method": method, "level": level, "learning_rate": rate, **figures_of(runs),
               "curve": [[sample[0], sample[2]] for sample in runs[0]["samples"]]}
        print(page.line_of(row), flush=True)
        self.file_of(problem, method, level).write_text(json.dumps(row), encoding="utf-8")
        return row

    def file_of(self, problem, method, level):
        return self.flags.kept / f"row-{problem}-{method}-{level}.json"

    def row_of(self, problem, method, level):
        """The row as measured now, or, with --resume, by an earlier call. None if the row is only to be presented and does not exist."""
        file = self.file_of(problem, method, level)
        if self.flags.resume and file.exists():
            row = json.loads(file.read_text(encoding="utf-8"))
            if row["pull_time"] == self.flags.pull_time:
                return row
        return None if self.flags.present else self.measure(problem, method, level)

    def measure_memory(self, staleness):
        """The greatest number of DynSGD's live versions, and their greatest memory relative to the model's."""
        words = self.flags_of("url-lr", "dyn-3", "2", 128.0, 12 + staleness)
        at = words.index("--staleness")
        words[at + 1] = staleness
        words[words.index("--target") + 1] = 0
        outcome = search.train(self.program, words)
        return {"staleness": staleness, "versions_max": outcome["versions_max"],
                "memory": outcome["versions_bytes_max"] / outcome["model_bytes"]}

    def measure_real(self, problem, rows):
        """The same trainings with real daemons. Each method has the learning rate that was found."""
        records = []
        for method in self.flags.method:
            row = next((row for row in rows if (row["problem"], row["method"], row["level"]) == (problem, method, "2")), None)
            if row is None:
                continue
            # Only a fast worker's pulled models are evaluated, every ten steps or so with s = 10.
            until = search.STEPS_MAX
            words = self.flags_of(problem, method, "2", row["learning_rate"], until)
            programs = find_programs(self.flags.build, ("paced", "pace-controller"))
            with tempfile.TemporaryDirectory(prefix="pace-servers-") as folder:
                with Cluster(programs, self.flags.daemons, folder) as cluster:
                    endpoints = [cluster.endpoint(i, self.flags.daemons) for i in range(self.flags.daemons)]
                    outcome = search.train(self.program, words + ["--endpoints", ",".join(endpoints),
                                                                  "--step-ms", self.flags.step_ms])
            records.append({"problem": problem, "method": method, "learning_rate": row["learning_rate"],
                            "time": outcome["time"] or None, "updates": outcome["updates"] or None,
                            "simulated": row["time"], "accuracy": outcome["accuracy"]})
            print(page.real_line_of(records[-1]), flush=True)
        return records


def figures_of(runs):
    """None if a run has not reached the target."""
    reached = [run for run in runs if run["time"]]
    figures = {"reached": len(reached), "runs": len(runs), "time": None, "time_spread": None, "updates": None,
               "accuracy": statistics.fmean(run["accuracy"] for run in runs),
               "versions_max": max(run["versions_max"] for run in runs),
               "memory": max(run["versions_bytes_max"] for run in runs) / runs[0]["model_bytes"]}
    if len(reached) == len(runs):
        times = [run["time"] for run in runs]
        figures.update(time=statistics.fmean(times), time_spread=[min(times), max(times)],
                       updates=statistics.fmean(run["updates"] for run in runs))
    return figures


def kept_or(flags, name, measure):
    """Measures, or, with --present, reads the last measurement."""
    file = flags.kept / f"{name}.json"
    if flags.present:
        return json.loads(file.read_text(encoding="utf-8")) if file.exists() else []
    records = measure()
    if records:
        file.write_text(json.dumps(records), encoding="utf-8")
    return records


def main():
    flags = parse_flags()
    begin = time.monotonic()
    study = Study(flags)
    cases = [(problem, method, level) for problem in flags.problem for level in flags.level for method in flags.method
             if PROBLEMS[problem].sums or not METHODS[method].sums]
    rows = search.in_parallel([lambda case=case: study.row_of(*case) for case in cases], flags.threads)
    rows = [row for row in rows if row is not None]
    memory = kept_or(flags, "memory", lambda: search.in_parallel(
        [lambda s=s: study.measure_memory(s) for s in flags.memory], flags.threads))
    real = kept_or(flags, "real", lambda: [record for problem in flags.real for record in study.measure_real(problem, rows)])
    flags.out.mkdir(parents=True, exist_ok=True)
    (flags.out / "results.json").write_text(json.dumps({"rows": rows, "memory": memory, "real": real}) + "\n", encoding="utf-8")
    page.write(rows, memory, real, flags)
    print(f"all in {time.monotonic() - begin:.0f} s")


if __name__ == "__main__":
    main()
