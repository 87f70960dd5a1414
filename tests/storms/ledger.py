"""What the trainers said of their requests, and what of it cannot be.

A line is checked when it comes; results of one group are held against each other while they are young.
"""

import collections

KEEP_S = 60.0


class Worker:
    """What is known of one rank of one job."""

    def __init__(self, job, rank):
        self.job = job
        self.rank = rank
        self.last_ok_ns = 0
        self.last_line = ""
        self.ended_well = 0
        self.ends = collections.Counter()

    def __str__(self):
        return f"{self.job} {self.rank}"


class Ledger:
    """All workers' results."""

    def __init__(self, blame, slow_ms, diary):
        self.blame = blame  # called with a sentence for everything that cannot be
        self.diary = diary  # a file for all that was said
        self.slow_ms = slow_ms
        self.longest_ms = collections.Counter()  # by job
        self.groups = collections.OrderedDict()  # (job, group): (ns, hash, content, worker)

    def take(self, worker, line):
        worker.last_line = line
        self.diary.write(f"{worker}: {line}\n")
        kind, ns, rest = line.split(" ", 2)
        ns = int(ns)
        if kind == "ok":
            group, digest, content, waited = rest.split(" ")
            worker.last_ok_ns = ns
            worker.ended_well += 1
            self.waited(worker, int(waited))
            self.compare(worker, ns, group, digest, content)
        elif kind == "end":
            status, verb, waited, *message = rest.split(" ", 3)
            worker.ends[status] += 1
            self.waited(worker, int(waited))
            if status in ("PACE_E_INTERNAL", "PACE_E_MISMATCH", "PACE_E_INVALID", "PACE_E_HANDLE", "PACE_E_VERB"):
                self.blame(f"{worker}: {verb} ended as {status}: {' '.join(message)}")
        elif kind == "wrong":
            self.blame(f"{worker}: {rest}")
        elif kind == "slow":
            self.blame(f"{worker}: a request took longer than {self.slow_ms / 1000:.0f} s: {rest}")

    def waited(self, worker, waited_ms):
        self.longest_ms[worker.job] = max(self.longest_ms[worker.job], waited_ms)

    def compare(self, worker, ns, group, digest, content):
        if digest == "0":
            return
        key = (worker.job, group)
        known = self.groups.get(key)
        if known is None:
            self.groups[key] = (ns, digest, content, worker)
        elif (known[1], known[2]) != (digest, content) and ns - known[0] < KEEP_S * 1e9:
            self.blame(f"{worker} and {known[3]} have other results of group {group}: {content}, hash {digest}, and "
                       f"{known[2]}, hash {known[1]}")
        while self.groups and ns - next(iter(self.groups.values()))[0] > KEEP_S * 1e9:
            self.groups.popitem(last=False)
