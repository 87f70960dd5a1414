"""How long calls take. The delay by a long fault, or by a fault that stops the trainer itself, does not count."""

import collections

LIMIT_S = 10.0
SLACK_S = 0.5  # for calls that block for at most 10 s
TOLD = ("open", "buffer_create")


class Durations:
    """The longest time of each family and of each call that blocks. A call that takes too long is blamed."""

    def __init__(self, blame, disturbances):
        self.blame, self.disturbances = blame, disturbances
        self.longest_ms = collections.Counter()  # by family
        self.blocked_ms = collections.Counter()  # by call

    def waited(self, worker, line):
        """The end of a request, or a request that goes on. Its time is the trainer's own, without the trainer's freezes."""
        ms = line.number("ms")
        self.longest_ms[worker.family] = max(self.longest_ms[worker.family], ms)
        begin = line.ns - ms * 1e6
        if ms > LIMIT_S * 1e3 and ms / 1e3 - self.long_faults_s(begin, line.ns) > LIMIT_S:
            self.blame(f"{worker}: {line.verb} took {ms / 1e3:.1f} s" + (", and goes on" if line.kind == "slow" else ""))

    def long_faults_s(self, begin, end):
        """The seconds of faults that last longer than the limit allows, of any process: groups wait for a controller."""
        names = [name for name, spells in self.disturbances.spells.items()
                 if any((spell[1] or end) - spell[0] > 5e9 for spell in spells)]
        return self.disturbances.seconds(names, begin, end)

    def blocked(self, worker, line):
        own_s = line.number("ms") / 1e3
        own_s -= self.disturbances.seconds([worker.name], line.ns - line.number("ms") * 1e6, line.ns)
        what = line.verb if line.verb in TOLD else "verb"
        self.blocked_ms[what] = max(self.blocked_ms[what], round(own_s * 1e3))
        if own_s > LIMIT_S + SLACK_S:
            self.blame(f"{worker}: {line.verb} blocked for {own_s:.1f} s")
