"""How near pace-sim comes: an update's time as it predicts it, and as daemons of this machine take, which meet on loopback."""

import argparse
import json
import pathlib
import statistics
import subprocess
import tempfile

from workers import Workers, mean_updates_us, name_of

NODES = 4
WORKERS = 8
POLICIES = [("all-reduce", 0), ("partial-reduce", 2), ("partial-reduce", 3), ("prague-random", 3), ("prague-smart", 3), ("ad-psgd", 0),
            ("full", 0), ("prague-static", 0)]


def measure(arguments, policy, group_size, steps_ms, elements):
    with Workers(arguments.build, NODES) as cluster:
        workers = cluster.run(steps_ms, policy, group_size, arguments.seconds, elements)
    return statistics.median(mean_updates_us(workers)) / 1e3


def predict(arguments, policy, group_size, slow, elements):
    scenario = f"""
[job]
bytes = {elements * 4}
[step]
distribution = "normal"
mean_ms = {arguments.step_ms}
cv = 0.01
[[nodes]]
count = {NODES}
workers = {WORKERS // NODES}
link_gbit = {arguments.link_gbit}
memory_gbytes_per_s = {arguments.memory}
machine = "this"
[[workers]]
ranks = [{WORKERS - 1}]
slow = {slow}
[try]
policies = ["{policy}"]
""" + (f"group_sizes = [{group_size}]\n" if group_size else "")
    with tempfile.TemporaryDirectory(prefix="pace-loopback-") as folder:
        file = pathlib.Path(folder) / "scenario.toml"
        file.write_text(scenario, encoding="ascii")
        program = pathlib.Path(arguments.build) / "service/simulator/pace-sim"
        output = subprocess.run([program, "--json", file], capture_output=True, text=True, check=True).stdout
    return json.loads(output)["predictions"][0]["update_median_s"] * 1e3


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--build", required=True, help="a build folder with paced, pace-controller, pace-sim and loopback_worker")
    parser.add_argument("--step-ms", type=float, default=50)
    parser.add_argument("--seconds", type=float, default=8, help="of each measurement")
    parser.add_argument("--link-gbit", type=float, default=20, help="of loopback")
    parser.add_argument("--memory", type=float, default=5, help="GB/s at which this machine sums and copies")
    arguments = parser.parse_args()
    print(f"{WORKERS} workers on {NODES} daemons; the median worker's update\npolicy | slowest | size | measured | predicted | ratio")
    ratios = []
    for slow, elements in ((1, 250_000), (5, 250_000), (5, 2_500_000)):
        steps_ms = [arguments.step_ms] * (WORKERS - 1) + [arguments.step_ms * slow]
        for policy, group_size in POLICIES:
            measured = measure(arguments, policy, group_size, steps_ms, elements)
            predicted = predict(arguments, policy, group_size, slow, elements)
            ratios.append(predicted / measured)
            print(f"{name_of(policy, group_size)} | {slow}x | {elements * 4 / 1e6:.0f} MB | {measured:.1f} ms | {predicted:.1f} ms | {ratios[-1]:.2f}",
                  flush=True)
    print(f"ratios {min(ratios):.2f} .. {max(ratios):.2f}")


if __name__ == "__main__":
    main()
