"""Top-k: results and residuals together equal the contributions.

After a fixed number of rounds each worker asks for its residual before it goes on. No round can
therefore be under way then. Between two such rounds, the sum of all gradients minus the sum of all
results must be the change of the residuals. The residual of a dead or frozen daemon may be lost, or
come twice, as docs/decisions/0009 says. Rounds around such a fault are not judged. Nor are those
around the end of the storm: the node of a worker that leaves gives its residual to another node,
whose workers may not have asked yet.
"""

import math

from disturbances import END

SETTLE_NS = 10e9
GRACE_NS = 5e9
END_NS = 1e9  # in which workers ask after a round
FAMILY = "spardl"


class Debts:
    """The rounds of one job between two rounds after which workers asked for residuals."""

    def __init__(self, job, blame, workers, disturbances, nodes):
        self.job, self.blame, self.workers, self.disturbances, self.nodes = job, blame, workers, disturbances, nodes
        self.rounds = {}  # (life, number): (ns, members, mass of the result)
        self.asked = {}  # (life, number): {rank: mass of the residual}
        self.balance = None  # (life, number), ns, mass of the residuals
        self.balances = 0

    def take(self, worker, line):
        if line.verb == "reduce" and line["content"] != "-":
            self.rounds.setdefault(line.group, (line.ns, line["content"].split(","), float(line["value"])))

    def owed(self, worker, line):
        call = worker.calls[-1] if worker.calls else None  # the round that has just ended
        if call and call.group and call.group[1] == line.number("group"):
            self.asked.setdefault(call.group, {})[worker.rank] = float(line["mass"])

    def settle(self, now_ns):
        for number in sorted(self.asked):
            if number in self.rounds and self.rounds[number][0] > now_ns - SETTLE_NS:
                return
            asked = self.asked.pop(number)
            known = self.rounds.get(number)
            if known is None or {str(rank) for rank in asked} != set(known[1]):
                self.balance = None
            else:
                self.compare(number, known[0], sum(asked.values()))
            for old in [old for old in self.rounds if old < number]:
                del self.rounds[old]

    def compare(self, number, ns, owed):
        before, self.balance = self.balance, (number, ns, owed)
        if before is None or number[0] != before[0][0]:
            return
        passed = {one: self.rounds.get(one) for one in ((number[0], i) for i in range(before[0][1] + 1, number[1] + 1))}
        names = list(self.nodes) + [worker.name for worker in self.workers.values() if worker.job == self.job]
        if None in passed.values() or self.disturbances.any(names, before[1] - GRACE_NS, ns):
            return
        if self.disturbances.any([END], before[1], ns + END_NS):
            return
        # A node that has no member in the rounds may have a residual, and brings it back later.
        if any(one[1] != self.rounds[before[0]][1] for one in passed.values()):
            return
        handed_in = sum(self.mass(one, rank, known[0]) for one, known in passed.items() for rank in known[1])
        came_out = sum(one[2] for one in passed.values())
        if math.isnan(handed_in):
            return
        self.balances += 1
        if before[2] + handed_in - came_out != owed:
            self.blame(f"{self.job}: rounds {before[0][1] + 1} to {number[1]} took {handed_in:.0f} and gave {came_out:.0f}; {before[2]:.0f} "
                       f"was owed before and {owed:.0f} is now, {before[2] + handed_in - came_out - owed:.0f} too little")

    def mass(self, number, rank, ns):
        """Returns a member's contribution to a round. It is the call of this round, or the call that was under way."""
        worker = self.workers[f"{self.job}.{rank}"]
        call = worker.call_of(number) or next(iter(worker.calls_around(ns, ns)), None)
        return float(call.handed_in["mass"]) if call else float("nan")
