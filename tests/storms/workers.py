"""The knowledge of one rank of one job: its calls, and their ends."""

import collections
import dataclasses
import re

KEEP_NS = 120e9
FIELD = re.compile(r"(\w+)=(\S+)")


@dataclasses.dataclass
class Line:
    """One line of a trainer's diary: "KIND NS VERB NAME=VALUE ... | TEXT"."""

    kind: str
    ns: int
    verb: str
    fields: dict
    text: str
    life: int = 0  # of the job; the round's number is unique within a life

    @staticmethod
    def parse(written):
        head, _, text = written.partition(" | ")
        kind, ns, verb, *rest = head.split(" ", 3)
        return Line(kind, int(ns), verb.strip("|"), dict(FIELD.findall(rest[0] if rest else "")), text)

    def __getitem__(self, name):
        return self.fields[name]

    @property
    def group(self):
        """Identifies the line's group among all others of the job. Gives None if the line names no
        group."""
        return (self.life, int(self.fields["group"])) if "group" in self.fields else None

    def number(self, name, otherwise=0):
        return int(self.fields.get(name, otherwise))


@dataclasses.dataclass
class Call:
    """A call with a contribution. `status` is None while the end is unknown."""

    begin_ns: int
    handed_in: dict
    end_ns: int = None
    status: str = None
    group: tuple = None  # the life and number of the group


class Worker:
    """One rank of one job, in whatever process."""

    def __init__(self, job, family, rank, node):
        self.job, self.family, self.rank, self.node = job, family, rank, node
        self.name = f"{job}.{rank}"
        self.calls = collections.deque()
        self.last_ok_ns = 0
        self.last_result_ns = 0  # the same, without broadcasts
        self.last_line = ""
        self.last_step = 0
        self.ended_well = 0
        self.pushes = 0
        # Times at which the worker was told of an error, lost its process, or got a model.
        self.unsettled = collections.deque([0], maxlen=256)
        self.ends = collections.Counter()

    def __str__(self):
        return f"{self.job} {self.rank}"

    def called(self, line):
        self.calls.append(Call(line.ns, line.fields))
        self.last_step = max(self.last_step, line.number("step"))
        self.pushes += line.verb == "push"
        while self.calls[0].begin_ns < line.ns - KEEP_NS:
            self.calls.popleft()

    def ended(self, line, status):
        """Ends the open call, if the verb makes a contribution."""
        if self.calls and self.calls[-1].status is None and line.verb in ("reduce", "average", "push"):
            call = self.calls[-1]
            call.end_ns, call.status, call.group = line.ns, status, line.group

    @property
    def unsettled_ns(self):
        return self.unsettled[-1]

    def was_unsettled(self, begin_ns, end_ns):
        return any(begin_ns <= ns <= end_ns for ns in self.unsettled)

    def died(self, ns):
        self.unsettled.append(ns)
        if self.calls and self.calls[-1].status is None:
            self.calls[-1].end_ns, self.calls[-1].status = ns, "killed"

    def call_of(self, group):
        return next((call for call in reversed(self.calls) if call.group == group), None)

    def calls_around(self, begin_ns, end_ns):
        """Calls that were under way in this time."""
        return [call for call in self.calls if call.begin_ns <= end_ns and (call.end_ns is None or call.end_ns >= begin_ns)]
