"""One run: the workers of one job train on the cluster. Meanwhile the evaluator measures and decides."""

import dataclasses
import itertools
import json
import pathlib
import select
from collections.abc import Callable

from process import DemoError, Process, stop_all

READY_SECONDS = 60
SILENCE_SECONDS = 30
PROGRESS_SECONDS = 2.0


@dataclasses.dataclass
class Plan:
    """The flags of the demo's trainers beyond those that all runs share."""
    name: str  # of the job, and of the folder of its logs
    job: list  # flags that are equal on all workers
    pace: Callable  # pace(rank): the flags for the length of a worker's steps


@dataclasses.dataclass
class Run:
    name: str
    curve: list  # the evaluator's lines
    results: list  # the workers' last lines
    events: list  # the lines of each worker's log, one for each of its exchanges
    busy: float  # share of the machine's processors in use by any process between the first measurement and the last

    @property
    def reached(self):
        return self.curve[-1]["reached"]

    @property
    def seconds(self):
        """The time from the first common model to the one that reached the target."""
        return self.curve[-1]["seconds"] if self.reached else None

    @property
    def updates(self):
        return self.curve[-1]["exchanges"]

    @property
    def seconds_per_update(self):
        return self.curve[-1]["seconds"] / max(1, self.updates)

    @property
    def accuracy(self):
        """The accuracy of the workers' common final model, as worker 0 measured it."""
        return self.results[0]["accuracy"]

    @property
    def seconds_of_training(self):
        """The time until the last worker had made its last step."""
        return max(result["seconds"] for result in self.results)

    @property
    def distance(self):
        """The greatest distance of a worker's model from the mean of all, before they agreed on the mean."""
        return max(result["distance"] for result in self.results)

    @property
    def meetings(self):
        """meetings[a][b]: the number of groups in which workers a and b were together. Each group is in the log of its
        member of the lowest rank."""
        met = [[0] * len(self.events) for _ in self.events]
        for rank, events in enumerate(self.events):
            for members in (event["members"] for event in events):
                if members and members[0] == rank:
                    for a, b in itertools.permutations(members, 2):
                        met[a][b] += 1
        return met

    @property
    def agreed(self):
        return len({result["checksum"] for result in self.results}) == 1


def train(plan, flags, programs, cluster, folder):
    """Returns the Run, or raises DemoError. No process of the run is left."""
    folder = pathlib.Path(folder, plan.name)
    folder.mkdir()
    processes = []
    try:
        return _train(plan, flags, programs, cluster, folder, processes)
    finally:
        stop_all(processes)


def _train(plan, flags, programs, cluster, folder, processes):
    board = folder / "board"
    evaluator = Process("evaluator", [
        programs["demo-evaluator"], "--board", board, "--data", flags.data, "--world", flags.workers,
        "--hidden", flags.hidden, "--target", flags.target, "--seconds-max", flags.seconds_max,
        "--interval-ms", flags.interval_ms], folder)
    processes.append(evaluator)
    evaluator.wait_for_line('{"event":"ready"', READY_SECONDS)
    workers = []
    for rank in range(flags.workers):
        workers.append(Process(f"worker-{rank}", [
            programs["demo-trainer"], *_trainer_flags(plan, flags, rank),
            "--endpoint", cluster.endpoint(rank, flags.workers),
            "--board", board, "--events", folder / f"events-{rank}"], folder))
        processes.append(workers[-1])
    curve, results, busy = _follow(evaluator, workers, cluster)
    return Run(plan.name, curve, results, _read_events(folder, flags.workers), busy)


def _trainer_flags(plan, flags, rank):
    return [*plan.job, *plan.pace(rank), "--job", plan.name, "--rank", rank, "--world", flags.workers,
            "--data", flags.data, "--seed", flags.seed, "--steps-max", flags.steps_max,
            "--hidden", flags.hidden, "--batch", flags.batch, "--learning-rate", flags.learning_rate,
            "--momentum", flags.momentum]


def _follow(evaluator, workers, cluster):
    """Shows progress until every worker has ended. Returns the evaluator's and the workers' lines, and how busy
    the machine was."""
    curve, results, clocks = [], {}, []
    running = {process.output: process for process in [evaluator, *workers]}
    shown = -PROGRESS_SECONDS
    while len(results) < len(workers):
        ready = select.select(list(running), [], [], SILENCE_SECONDS)[0]
        if not ready:
            cluster.check()
            raise DemoError(f"nothing happened for {SILENCE_SECONDS} s; see the logs")
        for process in [running[output] for output in ready]:
            lines, more = process.read_lines()
            events = [json.loads(line) for line in lines]
            if process is evaluator:
                curve += events
                clocks = [*clocks[:1], _processor_clock()] if events else clocks
            else:
                results.update((event["rank"], event) for event in events)
            if not more:
                process.check_end()
                del running[process.output]
        if curve and (curve[-1]["seconds"] >= shown + PROGRESS_SECONDS or curve[-1]["reached"]) \
                and curve[-1]["seconds"] != shown:
            shown = curve[-1]["seconds"]
            _show(curve[-1])
    if not curve:
        raise DemoError("the workers ended before anything was measured; raise --steps-max")
    return curve, [results[rank] for rank in range(len(workers))], _share_between(clocks[0], clocks[-1])


def _processor_clock():
    """Ticks of all processors since the machine's start: those in use, and all."""
    with open("/proc/stat", encoding="ascii") as file:
        # proc(5): user, nice, system, idle, iowait, irq, softirq, steal
        ticks = [int(word) for word in file.readline().split()[1:9]]
    return sum(ticks) - ticks[3] - ticks[4], sum(ticks)


def _share_between(first, last):
    return (last[0] - first[0]) / max(1, last[1] - first[1])


def _show(line):
    bar = "#" * int(line["accuracy"] * 40)
    steps = " ".join(str(count) for count in line["steps"])
    print(f"  {line['seconds']:6.1f} s  accuracy {line['accuracy']:6.2%} {bar:<40} "
          f"exchanges {line['exchanges']:5}  steps by worker {steps}", flush=True)


def _read_events(folder, workers):
    events = []
    for rank in range(workers):
        with open(folder / f"events-{rank}", encoding="utf-8") as file:
            events.append([json.loads(line) for line in file])
    return events
