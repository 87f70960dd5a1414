"""Partial collectives: each gradient counts in one round, in the order of its worker's steps, and no gradient is lost.

A round tells for each rank how many gradients it holds, and the sum of their steps. The steps of one worker are consecutive.
The two numbers together therefore tell which gradients they are.
"""

import collections

SETTLE_NS = 20e9
GRACE_NS = 5e9
FAMILY = "majority"
UNKNOWN = "?"


class Counting:
    """The rounds of one job with a quorum, in their order."""

    def __init__(self, job, blame, workers, disturbances):
        self.job, self.blame, self.workers, self.disturbances = job, blame, workers, disturbances
        self.rounds = {}  # (life, number): (ns, content), of rounds that a result holds alone
        self.counted = {}  # rank: (last counted step, ns)
        self.last_number = None
        self.gradients = 0

    def take(self, worker, line):
        if line.kind == "ok" and line.verb == "reduce" and line["rounds"] == "1":
            known = self.rounds.setdefault(line.group, (line.ns, line["content"]))
            # A node that was cut off had another result, which did not last. groups.py judges that
            # case.
            if known[1] != line["content"]:
                self.rounds[line.group] = (known[0], UNKNOWN)

    def settle(self, now_ns):
        for number in sorted(self.rounds):
            ns, content = self.rounds[number]
            if ns > now_ns - SETTLE_NS:
                return
            del self.rounds[number]
            if self.last_number != (number[0], number[1] - 1):
                # The content of a round is unknown if no result held this round alone. The rounds
                # before a job began again are unknown, too.
                self.counted.clear()
            self.last_number = number
            if content == UNKNOWN:
                self.counted.clear()
            elif content != "-":
                for part in content.split(","):
                    self.count(number[1], ns, *map(int, part.split(":")))

    def count(self, number, ns, rank, count, total):
        worker = self.workers[f"{self.job}.{rank}"]
        middle = total / count
        first, last = middle - (count - 1) / 2, middle + (count - 1) / 2
        known, known_ns = self.counted.get(rank, (None, 0))
        self.counted[rank] = (last, ns)
        self.gradients += count
        if known is None:
            return
        # The stored gradients of a suspended worker are lost, and so are those of a dead daemon.
        disturbed = (worker.was_unsettled(known_ns - GRACE_NS, ns + GRACE_NS) or
                     self.disturbances.any([worker.name, worker.node], known_ns - GRACE_NS, ns))
        if count == 1 and first <= known:
            self.blame(f"{worker}: its gradient of step {first:.0f} counts in round {number}, though step {known:.0f} has "
                       "counted before")
        elif first != known + 1 and not disturbed:
            self.blame(f"{worker}: round {number} counts its steps {first:.1f} to {last:.1f}, the round before to {known:.1f}")
