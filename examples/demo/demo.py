#!/usr/bin/python3
"""Trains one network by several policies on a small cluster, and says which was faster.

Started by `examples/demo/run`, which sets everything up first.
"""

import argparse
import pathlib
import shutil
import signal
import sys
import tempfile
import time

import report
from cluster import Cluster
from process import DemoError
from policies import POLICIES, USUAL, plan_of
from programs import find_programs
from training import train

ROOT = pathlib.Path(__file__).resolve().parents[2]


def parse_flags():
    parser = argparse.ArgumentParser(
        prog="run", description="Trains a small network on Fashion-MNIST by several policies, all-reduce and "
        "partial reduce unless told otherwise, on several daemons on this machine, one worker slowed. Ends with a table and a picture.",
        formatter_class=argparse.ArgumentDefaultsHelpFormatter)
    add = parser.add_argument
    add("--policy", nargs="+", choices=POLICIES, default=USUAL, metavar="POLICY",
        help="what to compare, of " + ", ".join(POLICIES))
    add("--workers", type=int, default=8, help="worker processes")
    add("--daemons", type=int, default=4, help="daemons; the workers are spread over them")
    add("--group-size", type=int, default=3, help="workers in a group, where the policy has no size of its own")
    add("--slowdown", type=float, default=5, help="how much longer a step of the slow worker lasts")
    add("--slow-rank", type=int, help="the slow worker (default: the last)")
    add("--step-ms", type=float, default=30, help="a step of the other workers lasts this, mostly asleep")
    add("--alpha", type=float, default=0.5, help="decay of the dynamic weights")
    add("--missing", choices=["closest", "initial"], default="closest",
        help="who gets the weight of an iteration that no member has (dynamic weights)")
    add("--density", type=float, default=0.01, help="share of the elements that spardl sends")
    add("--target", type=float, default=0.86, help="test accuracy at which a run ends")
    add("--batch", type=int, default=64, help="examples in a step of one worker")
    add("--learning-rate", type=float, default=0.02, help="of gradient descent")
    add("--momentum", type=float, default=0.9, help="share of the last step kept in the next")
    add("--hidden", type=int, default=128, help="hidden units of the network")
    add("--seed", type=int, default=1, help="of the first model and the order of the data")
    add("--steps-max", type=int, default=100000, help="steps of a worker after which it gives up")
    add("--interval-ms", type=float, default=500, help="time between two measurements of the accuracy")
    add("--seconds-max", type=float, default=300, help="seconds after which a run gives up")
    add("--data", default="/usr/share/datasets/fashion-mnist", help="folder of the data set's files")
    add("--build", type=pathlib.Path, default=ROOT / "build" / "release", help="folder of the built programs")
    add("--picture", type=pathlib.Path, help="file for the picture (default: demo.png in the build folder)")
    add("--json", type=pathlib.Path, help="file for the figures")
    flags = parser.parse_args()
    if flags.workers < 1 or not 1 <= flags.daemons <= flags.workers:
        parser.error("give at least one worker, and from 1 to as many daemons as workers")
    if flags.slow_rank is None:
        flags.slow_rank = flags.workers - 1
    if not 0 <= flags.slow_rank < flags.workers:
        parser.error(f"--slow-rank must be from 0 to {flags.workers - 1}")
    flags.picture = flags.picture or flags.build / "demo.png"
    return flags


def compare(flags, programs, folder):
    print(f"{flags.workers} workers on {flags.daemons} daemons, worker {flags.slow_rank} slowed "
          f"{flags.slowdown:g} times, until {flags.target:.1%} of the test images are recognized")
    runs = []
    with Cluster(programs, flags.daemons, folder) as cluster:
        for number, policy in enumerate(flags.policy, 1):
            print(f"\n{policy} ({number} of {len(flags.policy)})", flush=True)
            runs.append(train(plan_of(policy, flags), flags, programs, cluster, folder))
    return runs


def present(runs, flags):
    """Writes the table, the picture and the JSON file. Raises DemoError if the runs were not as they should be."""
    print("\n" + report.table(runs, flags))
    if flags.json:
        report.write_json(runs, flags, flags.json)
        print(f"\nfigures: {flags.json.absolute()}")
    import picture  # slow to load, and not needed earlier
    picture.draw(runs, flags, flags.picture)
    print(f"\npicture: {flags.picture.absolute()}")
    for run in runs:
        if not run.agreed:
            raise DemoError(f"{run.name}: the workers' models differ after the last common average")
        if not run.reached:
            raise DemoError(f"{run.name}: the target was not reached in {flags.seconds_max:g} s")


def main():
    flags = parse_flags()
    # SIGTERM ends the demo as Ctrl-C does: its processes are stopped first.
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    begin = time.monotonic()
    folder = tempfile.mkdtemp(prefix="pace-demo-")
    try:
        present(compare(flags, find_programs(flags.build), folder), flags)
    except DemoError as error:
        sys.exit(f"demo: {error}\ndemo: the logs are in {folder}")
    except KeyboardInterrupt:
        shutil.rmtree(folder)
        sys.exit("demo: interrupted; everything it started has been stopped")
    shutil.rmtree(folder)
    print(f"all in {time.monotonic() - begin:.0f} s")


if __name__ == "__main__":
    main()
