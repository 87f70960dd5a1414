"""When each process was disturbed: by a fault of its own, or by a fault of a cable that it needs."""

import time

END = "end"  # the name under which the end of the storm is noted


class Disturbances:
    """Spells of each process, by name. Nodes, the controller and the journal have names, too."""

    def __init__(self):
        self.spells = {}  # name: [[begin, end or None, what], ...] in ns

    def begin(self, names, what):
        for name in names:
            self.spells.setdefault(name, []).append([time.monotonic_ns(), None, what])

    def end(self, names, what):
        now = time.monotonic_ns()
        for name in names:
            for spell in self.spells.get(name, []):
                if spell[1] is None and spell[2] == what:
                    spell[1] = now

    def of(self, names, begin_ns, end_ns):
        """The spells of any of these processes that touch this time, as (begin, end) cut to it."""
        found = []
        for name in names:
            for begin, end, _ in self.spells.get(name, ()):
                begin, end = max(begin, begin_ns), min(end_ns if end is None else end, end_ns)
                if begin <= end:
                    found.append((begin, end))
        return found

    def any(self, names, begin_ns, end_ns):
        return bool(self.of(names, begin_ns, end_ns))

    def seconds(self, names, begin_ns, end_ns):
        """How long any of these processes was disturbed in this time."""
        total, reached = 0, begin_ns
        for begin, end in sorted(self.of(names, begin_ns, end_ns)):
            total += max(0, end - max(begin, reached))
            reached = max(reached, end)
        return total / 1e9
