"""How near pace-sim comes: an update's time as it predicts it, and as daemons of this machine take, which meet on loopback.

It is predicted twice: from a scenario with the steps that the workers are given and the links and memory of the command line; and from
what the controller has measured of a job with all-reduce (pace-sim --from-job), before the job changes to the policy of the row.
"""

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
CASES = [(1, 250_000), (5, 250_000), (5, 2_500_000)]  # how many times slower the last worker is; elements


class Run:
    """A measurement: the median worker's update, and the controller's status during the job."""

    def __init__(self, arguments, policy, group_size, steps_ms, elements):
        self._pacectl = pathlib.Path(arguments.build) / "service/pacectl/pacectl"
        self.status = ""
        with Workers(arguments.build, NODES) as cluster:
            workers = cluster.run(steps_ms, policy, group_size, arguments.seconds, elements,
                                  look=lambda: self._look(cluster.endpoint(0, WORKERS)))
        self.update_ms = statistics.median(mean_updates_us(workers)) / 1e3

    def _look(self, endpoint):
        self.status = subprocess.run([self._pacectl, "--endpoint", endpoint, "status", "--json"], capture_output=True, text=True,
                                     check=True).stdout


def scenario(arguments, slow, elements):
    return f"""
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
"""


def predict(arguments, policy, group_size, words, text):
    """The median worker's update, in milliseconds. `words` name the file or the job. The program reads `text`."""
    program = arguments.simulator or pathlib.Path(arguments.build) / "service/simulator/pace-sim"
    sizes = ["--group-size", group_size] if group_size else []
    with tempfile.TemporaryDirectory(prefix="pace-loopback-") as folder:
        file = pathlib.Path(folder) / "input"
        file.write_text(text, encoding="utf-8")
        command = [program, "--json", "--policy", policy, *sizes, *[file if word == "FILE" else word for word in words]]
        output = subprocess.run([str(word) for word in command], capture_output=True, text=True, check=True).stdout
    return json.loads(output)["predictions"][0]["update_median_s"] * 1e3


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", required=True, help="a build folder with paced, pace-controller, pacectl, pace-sim and loopback_worker")
    parser.add_argument("--simulator", help="another pace-sim than the build folder's")
    parser.add_argument("--step-ms", type=float, default=50)
    parser.add_argument("--seconds", type=float, default=8, help="of each measurement")
    parser.add_argument("--rounds", type=int, default=1, help="each measures and predicts every row once")
    parser.add_argument("--link-gbit", type=float, default=20, help="of loopback")
    parser.add_argument("--memory", type=float, default=5, help="GB/s at which this machine sums and copies")
    arguments = parser.parse_args()
    print(f"{WORKERS} workers on {NODES} daemons; the median worker's update, the median of {arguments.rounds} rounds; ratios of all rounds\n"
          "policy | slowest | size | measured | predicted | ratio | from the job | ratio")
    ratios = [], []
    for slow, elements in CASES:
        steps_ms = [arguments.step_ms] * (WORKERS - 1) + [arguments.step_ms * slow]
        given = scenario(arguments, slow, elements)
        rows = {key: [] for key in POLICIES}
        for _ in range(arguments.rounds):
            status = ""
            for policy, group_size in POLICIES:
                run = Run(arguments, policy, group_size, steps_ms, elements)
                status = status or run.status
                by_job = ["--from-job", "loopback", "--status", "FILE", "--bytes", elements * 4]
                rows[policy, group_size].append((run.update_ms, predict(arguments, policy, group_size, ["FILE"], given),
                                                 predict(arguments, policy, group_size, by_job, status)))
        for (policy, group_size), row in rows.items():
            found = [[predicted[i] / predicted[0] for predicted in row] for i in (1, 2)]
            middle = [statistics.median(column) for column in zip(*row)]
            spans = [f"{min(one):.2f}" if len(one) == 1 else f"{min(one):.2f} .. {max(one):.2f}" for one in found]
            for all_ratios, one in zip(ratios, found):
                all_ratios.extend(one)
            print(f"{name_of(policy, group_size)} | {slow}x | {elements * 4 / 1e6:.0f} MB | {middle[0]:.1f} ms | {middle[1]:.1f} ms | {spans[0]} "
                  f"| {middle[2]:.1f} ms | {spans[1]}", flush=True)
    for name, one in zip(("from the figures given", "from the job"), ratios):
        print(f"{name}: ratios {min(one):.2f} .. {max(one):.2f}, median {statistics.median(one):.2f}")


if __name__ == "__main__":
    main()
