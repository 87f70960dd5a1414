"""What averaging beside computing hides: two workers on two daemons of this machine, whose steps are spent asleep.

    called    the average is called when the step is computed
    ordered   from a third of the step on, while the buffer becomes ready from its end, as in a backward pass
    kept      a copy is averaged during the next step, whose progress is kept

Hidden is the share of the exchanges' time in which their own worker computed. --trace writes what the workers did in the last
round as a trace that ui.perfetto.dev shows: of each worker a line of steps and a line of exchanges.
"""

import argparse
import json
import statistics

from workers import Workers

MODES = ("called", "ordered", "kept")
UNEXPECTED = 3  # updates at first, which may have waited for the other worker's start


def hidden_share(updates):
    steps = [(update.began_us, update.computed_us) for update in updates]
    moving = hidden = 0
    for update in updates[UNEXPECTED:-1]:
        moving += update.moved_us - update.moves_us
        hidden += sum(max(0, min(end, update.moved_us) - max(begin, update.moves_us)) for begin, end in steps)
    return hidden / moving if moving else 0


def events_of(process, mode, workers):
    yield {"ph": "M", "name": "process_name", "pid": process, "args": {"name": mode}}
    for rank, updates in enumerate(workers):
        for line, what in enumerate(("steps", "exchanges")):
            yield {"ph": "M", "name": "thread_name", "pid": process, "tid": 2 * rank + line, "args": {"name": f"rank {rank}: {what}"}}
        for update in updates:
            for line, name, begin, end in ((0, "computing", update.began_us, update.computed_us),
                                           (1, "exchanging", update.moves_us, update.moved_us)):
                yield {"ph": "X", "name": name, "pid": process, "tid": 2 * rank + line, "ts": begin, "dur": end - begin,
                       "args": {"group": str(update.group)}}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", required=True, help="a build folder with paced, pace-controller and loopback_worker")
    parser.add_argument("--step-ms", type=float, default=100, help="how long a worker computes between two updates")
    parser.add_argument("--mb", type=float, default=32, help="size of the model")
    parser.add_argument("--seconds", type=float, default=3, help="of each trial")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--trace", help="a file for the trace")
    arguments = parser.parse_args()
    took = {mode: [] for mode in MODES}
    hidden = {mode: [] for mode in MODES}
    events = []
    with Workers(arguments.build, 2) as cluster:
        for last in (number == arguments.rounds for number in range(1, arguments.rounds + 1)):
            for process, mode in enumerate(MODES):
                workers = cluster.run([arguments.step_ms] * 2, "partial-reduce", 2, arguments.seconds,
                                      int(arguments.mb * 1e6 / 4), mode)
                took[mode].append(statistics.median(u.took_us for updates in workers for u in updates[UNEXPECTED:]) / 1e3)
                hidden[mode].append(statistics.mean(map(hidden_share, workers)))
                if last:
                    events += events_of(process, mode, workers)
    print("mode | an update: median (least .. most of the rounds) | hidden")
    for mode in MODES:
        print(f"{mode} | {statistics.median(took[mode]):.1f} ms ({min(took[mode]):.1f} .. {max(took[mode]):.1f}) | "
              f"{100 * statistics.median(hidden[mode]):.0f} %")
    if arguments.trace:
        with open(arguments.trace, "w", encoding="utf-8") as file:
            json.dump({"displayTimeUnit": "ms", "traceEvents": events}, file)


if __name__ == "__main__":
    main()
