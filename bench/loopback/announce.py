"""What pace_announce hides: two workers on two daemons of this machine, whose controller is some milliseconds away.

The way to the controller is made longer by a proxy that holds every byte back; netem is not needed. Each update of a group is
counted once, by the member that called last: from its call to the begin of the exchange nobody else is waited for.
"""

import argparse
import statistics

from workers import Workers

UNEXPECTED = 3  # updates at first: the length of the steps is not known yet


def trial(cluster, announce, arguments):
    """The medians of the milliseconds that forming took, and of an update's milliseconds."""
    workers = cluster.run([arguments.step_ms] * 2, "partial-reduce", 2, arguments.seconds, 16384, "announced" if announce else "called")
    forming = {}
    for update in (update for updates in workers for update in updates[UNEXPECTED:]):
        forming[update.group] = min(update.queued_us, forming.get(update.group, update.queued_us))
    took = [update.took_us for updates in workers for update in updates[UNEXPECTED:]]
    return statistics.median(forming.values()) / 1e3, statistics.median(took) / 1e3


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", required=True, help="a build folder with paced, pace-controller and loopback_worker")
    parser.add_argument("--delay-ms", type=float, nargs="+", default=[0, 1, 5], help="to the controller, one way")
    parser.add_argument("--step-ms", type=float, default=100, help="how long a worker computes between two updates")
    parser.add_argument("--seconds", type=float, default=3, help="of each trial")
    parser.add_argument("--rounds", type=int, default=3)
    arguments = parser.parse_args()
    print("to the controller | announced | forming after the last call: median (least .. most of the rounds) | an update")
    for delay_ms in arguments.delay_ms:
        results = {False: [], True: []}
        with Workers(arguments.build, 2, delay_ms / 1e3) as cluster:
            for _ in range(arguments.rounds):
                for announce, trials in results.items():
                    trials.append(trial(cluster, announce, arguments))
        for announce, trials in results.items():
            forming, took = zip(*trials)
            print(f"{delay_ms} ms | {'yes' if announce else 'no'} | {statistics.median(forming):.2f} ms "
                  f"({min(forming):.2f} .. {max(forming):.2f}) | {statistics.median(took):.1f} ms "
                  f"({min(took):.1f} .. {max(took):.1f})", flush=True)


if __name__ == "__main__":
    main()
