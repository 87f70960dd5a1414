"""Parameter servers: pulled models never lose updates, and hold no update twice.

Each pull and each push has a position of its own in one order. A pulled model tells its position as
its version. The model with the greater version has all updates of a model with a lower one,
whichever workers pulled them. A model that has gone back to a checkpoint has lower versions again.
Workers are then told, though not all at once. Models of different workers are therefore compared
some time later, and only if no worker was told anything around that time.
"""

import collections

SETTLE_NS = 10e9
NEAR_NS = 1e9
FAMILIES = ("ssp", "bsp")


def tally(content):
    parts = [] if content == "-" else [part.split(":") for part in content.split(",")]
    return {int(rank): int(count) for rank, count, _ in parts}


class Versions:
    """The models of the parameter servers."""

    def __init__(self, blame, workers):
        self.blame, self.workers = blame, workers
        self.waiting = []  # (ns, job, version, counts, worker)
        self.before = {}  # worker's name: its last pull
        self.fell_untold = self.compared = 0

    def take(self, worker, line):
        if worker.family not in FAMILIES or line.verb != "pull" or line.kind != "ok":
            return
        pull = (line.ns, worker.job, line.number("group"), tally(line["content"]), worker)
        self.look_back(self.before.get(worker.name), pull)
        self.before[worker.name] = pull
        self.waiting.append(pull)

    def look_back(self, before, pull):
        """Compares a pull with this worker's previous pull."""
        worker, counts = pull[4], pull[3]
        if before is None or worker.unsettled_ns >= before[0]:
            return
        if pull[2] < before[2] and counts.get(worker.rank, 0) >= before[3].get(worker.rank, 0):
            # The model fell to a checkpoint that has all steps of this worker. So the worker need
            # not be told.
            self.fell_untold += 1
        elif fallen := self.fallen(before[3], counts):
            self.blame(f"{worker}: the model of version {pull[2]} lacks updates of workers {fallen} that version {before[2]} had, and "
                       f"it was told of nothing: {counts}, before {before[3]}")

    @staticmethod
    def fallen(before, after):
        return [rank for rank, count in before.items() if after.get(rank, 0) < count]

    def settle(self, now_ns):
        ripe = collections.defaultdict(list)
        for pull in self.waiting:
            if pull[0] < now_ns - SETTLE_NS:
                ripe[pull[1]].append(pull)
        for job, pulls in ripe.items():
            self.compare(job, pulls)
        self.waiting = [pull for pull in self.waiting if pull[0] >= now_ns - SETTLE_NS]

    def compare(self, job, pulls):
        """All models that were pulled at about one time, in their order."""
        workers = [worker for worker in self.workers.values() if worker.job == job]
        if not any(worker.was_unsettled(pulls[0][0] - NEAR_NS, pulls[-1][0] + NEAR_NS) for worker in workers):
            pulls = sorted(pulls, key=lambda pull: pull[2])
            for one, other in zip(pulls, pulls[1:]):
                self.compare_two(one, other)
        for pull in pulls:
            for rank, count in pull[3].items():
                pusher = self.workers[f"{job}.{rank}"]
                if count > pusher.pushes:
                    self.blame(f"{pull[4]}: the model of version {pull[2]} has {count} updates of {pusher}, which has pushed "
                               f"{pusher.pushes} times")

    def compare_two(self, one, other):
        self.compared += 1
        added = sum(other[3].values()) - sum(one[3].values())
        if fallen := self.fallen(one[3], other[3]):
            self.blame(f"{other[4]}: the model of version {other[2]} lacks updates of workers {fallen} that {one[4]} has pulled with "
                       f"version {one[2]}: {other[3]}, and {one[3]}")
        elif added > other[2] - one[2]:
            self.blame(f"{other[4]}: {added} updates came between version {one[2]}, which {one[4]} has pulled, and {other[2]}")
