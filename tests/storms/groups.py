"""Results of one group: the same at all members, made of the members' contributions, and of nothing else.

Members report a group at different times, and some never do. A group is therefore judged when it is
some seconds old.

A node that is cut off may end an exchange that the others repeat without it, because they do not
hear of the end. Its workers get STALE at their next call, and then get the others' model
(docs/decisions/0026).
"""

import bisect
import collections
import itertools

SETTLE_NS = 15e9
COLLECTIVE = ("all-reduce", "all-reduce-f16")
AVERAGES = ("partial-reduce", "prague", "prague-static")
OTHERS = ("majority", "spardl")
NEAR_NS = 4e9  # an exchange that does not move is given up earlier


def is_sum_of_one_each(choices, total):
    """Whether one number of each list can be chosen so that their sum is the total, except for rounding."""
    near = 1e-5 * abs(total)
    half = len(choices) // 2
    others = sorted(map(sum, itertools.product(*choices[half:])))
    for part in map(sum, itertools.product(*choices[:half])):
        place = bisect.bisect_left(others, total - part - near)
        if place < len(others) and others[place] <= total - part + near:
            return True
    return False


class Group:
    """One group according to its members' reports."""

    def __init__(self, worker, line):
        self.job, self.family, self.number = worker.job, worker.family, line.group
        self.first, self.line = worker, line
        self.told = {worker.rank}
        self.last_ns = line.ns

    @property
    def what(self):
        return self.line["hash"], self.line["content"]


class Groups:
    """The recent groups of all jobs except those of parameter servers."""

    def __init__(self, blame, workers, disturbances):
        self.blame, self.workers, self.disturbances = blame, workers, disturbances
        self.young = collections.OrderedDict()  # (job, (life, number), rounds): Group
        self.inherited = []  # (worker, line): results whose group is unknown
        self.disputes = collections.deque()  # (group, worker, line): a member whose report differs from the first
        self.recomputed = self.stale_but_in = self.matched = self.unmatched = self.superseded = 0

    def take(self, worker, line):
        if worker.family not in COLLECTIVE + AVERAGES + OTHERS or line.verb == "broadcast":
            return
        if line["group"] == "0" and line.kind == "result":
            self.inherited.append((worker, line))
            return
        key = (worker.job, line.group, line["rounds"])
        group = self.young.setdefault(key, Group(worker, line))
        group.told.add(worker.rank)
        group.last_ns = line.ns
        if line.kind == "result" or group.line.kind == "result":
            same = group.line["hash"] == line["hash"]  # the members of an inherited result are unknown
            if group.line.kind == "result":
                group.line = line
        else:
            same = group.what == (line["hash"], line["content"])
        if not same:
            self.disputes.append((group, worker, line))

    def settle_disputes(self, now_ns):
        while self.disputes and self.disputes[0][2].ns < now_ns - SETTLE_NS:
            group, worker, line = self.disputes.popleft()
            if self.is_superseded(worker, line) or self.is_superseded(group.first, group.line):
                self.superseded += 1
            else:
                self.blame(f"{worker} and {group.first} have other results of group {line['group']}: {line['content']}, hash "
                           f"{line['hash']}, and {group.line['content']}, hash {group.line['hash']}")

    def is_superseded(self, worker, line):
        """The worker's node was disturbed, and the worker does not go on with this result."""
        after = next((call for call in worker.calls if call.begin_ns >= line.ns), None)
        went_on = after is None or after.status not in ("PACE_STALE", "PACE_E_DAEMON_GONE", "killed")
        return not went_on and self.disturbances.any([worker.node], line.ns - NEAR_NS, line.ns)

    def settle(self, now_ns):
        self.settle_disputes(now_ns)
        while self.young and next(iter(self.young.values())).line.ns < now_ns - SETTLE_NS:
            _, group = self.young.popitem(last=False)
            if group.line.kind == "result":
                continue
            self.settle_inherited(group)
            if group.family in AVERAGES:
                self.recompute(group)
            elif group.family in COLLECTIVE:
                self.look_for_stale(group)

    def settle_inherited(self, group):
        """Results of members whose daemon was gone. Their group is one that they were in, or one that no member reports."""
        left = []
        for worker, line in self.inherited:
            if line["hash"] == group.line["hash"] and worker.job == group.job:
                group.told.add(worker.rank)
                self.matched += 1
            elif line.ns > group.line.ns - SETTLE_NS:
                left.append((worker, line))
            else:
                self.unmatched += 1
        self.inherited = left

    def member(self, group, rank):
        return self.workers[f"{group.job}.{rank}"]

    def recompute(self, group):
        """Compares the average with the sum of weights times models, as the members reported both."""
        choices = []
        for member in group.line["content"].split(","):
            rank, weight = member.split(":")
            if float(weight) == 0:
                continue
            worker = self.member(group, rank)
            call = worker.call_of(group.number)
            # Groups commit member by member. A member whose exchange fails at its end calls again,
            # for another group.
            calls = [call] if call else worker.calls_around(group.line.ns - NEAR_NS, group.last_ns)
            choices.append([float(weight) * float(call.handed_in["value"]) for call in calls])
        average = float(group.line["value"])
        if is_sum_of_one_each(choices, average):
            self.recomputed += 1
        elif all(choices):
            self.blame(f"{group.job}: group {group.number[1]} averaged {group.line['content']} to {average}, of what the members called, weighted: "
                       f"{choices}")
        else:
            self.blame(f"{group.job}: group {group.number[1]} has a member that has called nothing: {group.line['content']}, {choices}")

    def look_for_stale(self, group):
        """The contribution of a worker that got STALE is not in the sum."""
        for member in group.line["content"].split(","):
            rank, _, step = member.split(":")
            worker = self.member(group, rank)
            if worker.call_of(group.number) or int(rank) in group.told:
                continue
            calls = [call for call in worker.calls if call.group is None and call.handed_in["step"] == step and
                     abs(call.begin_ns - group.line.ns) < 2 * SETTLE_NS]
            if calls and all(call.status in ("PACE_STALE", "PACE_ABORTED") for call in calls):
                self.stale_but_in += 1
                if not self.disturbances.any([worker.node], calls[0].begin_ns - 5e9, calls[-1].end_ns):
                    self.blame(f"{worker} was told {calls[-1].status} of its step {step}, which group {group.number[1]} holds: "
                               f"{group.line['content']}")
