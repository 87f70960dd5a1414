"""How long an update takes under each policy: workers of equal speed, and with one that is slower."""

import argparse
import statistics

from workers import Workers, mean_updates_us, name_of

POLICIES = [("all-reduce", 0), ("partial-reduce", 3), ("partial-reduce", 5), ("prague-random", 3), ("prague-smart", 3),
            ("prague-static", 0), ("ad-psgd", 0), ("full", 0), ("auto", 0)]


def updates_per_s(arguments, policy, group_size, steps_ms):
    """Measures all workers together."""
    with Workers(arguments.build, arguments.nodes) as cluster:
        workers = cluster.run(steps_ms, policy, group_size, arguments.seconds, arguments.elements)
    return sum(1e6 / mean_us for mean_us in mean_updates_us(workers))


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--build", required=True, help="a build folder with paced, pace-controller and loopback_worker")
    parser.add_argument("--nodes", type=int, default=4)
    parser.add_argument("--workers", type=int, default=16, help="of all nodes together")
    parser.add_argument("--step-ms", type=float, default=50)
    parser.add_argument("--slow", type=float, nargs="+", default=[1, 2, 5], help="so many times longer the last worker's steps take")
    parser.add_argument("--elements", type=int, default=250_000, help="of the model, 4 bytes each")
    parser.add_argument("--seconds", type=float, default=6, help="of each measurement")
    parser.add_argument("--rounds", type=int, default=3, help="each measures every policy once")
    arguments = parser.parse_args()
    print(f"{arguments.workers} workers on {arguments.nodes} daemons, steps of {arguments.step_ms:g} ms, {arguments.elements * 4 / 1e6:g} MB; "
          f"updates of all workers in a second, over {arguments.rounds} rounds\npolicy | slowest | median (range) | over all-reduce")
    for slow in arguments.slow:
        steps_ms = [arguments.step_ms] * (arguments.workers - 1) + [arguments.step_ms * slow]
        rates = {key: [] for key in POLICIES}
        for _ in range(arguments.rounds):
            for policy, group_size in POLICIES:
                rates[policy, group_size].append(updates_per_s(arguments, policy, group_size, steps_ms))
        ours = statistics.median(rates["all-reduce", 0])
        for (policy, group_size), found in rates.items():
            print(f"{name_of(policy, group_size)} | {slow:g}x | {statistics.median(found):.0f} ({min(found):.0f}..{max(found):.0f}) "
                  f"| {statistics.median(found) / ours:.2f}x", flush=True)


if __name__ == "__main__":
    main()
