"""The trainers' reports of their calls, and the contradictions in them.

A line is judged when it comes. If other workers must report first, `settle` judges the line some time later.
"""

import gzip

import counting
import debts
from durations import Durations
from ends import Ends
from groups import Groups
from lives import Lives
from versions import Versions
from workers import Line


class Ledger:
    """Gives each line to the judges."""

    def __init__(self, blame, diary, disturbances, nodes):
        self.blame = blame  # called with a sentence for each contradiction
        self.diary = gzip.open(diary, "wt", compresslevel=1)
        self.workers = {}
        self.lives = Lives()
        self.durations = Durations(blame, disturbances)
        self.ends = Ends(blame, disturbances)
        self.groups = Groups(blame, self.workers, disturbances)
        self.versions = Versions(blame, self.workers)
        self.of_one_job = {}  # by job, for the families whose rounds are counted
        self.make_judge = {
            counting.FAMILY: lambda job: counting.Counting(job, blame, self.workers, disturbances),
            debts.FAMILY: lambda job: debts.Debts(job, blame, self.workers, disturbances, nodes)}

    def add(self, worker):
        self.workers[worker.name] = worker
        if worker.family in self.make_judge and worker.job not in self.of_one_job:
            self.of_one_job[worker.job] = self.make_judge[worker.family](worker.job)

    def judge(self, worker, line):
        self.groups.take(worker, line)
        self.versions.take(worker, line)
        if worker.job in self.of_one_job:
            self.of_one_job[worker.job].take(worker, line)

    def sum_of(self, family, what):
        """The sum over the family's jobs."""
        return sum(getattr(self.of_one_job[job], what)
                   for job in {worker.job for worker in self.workers.values() if worker.family == family})

    def take(self, worker, written):
        worker.last_line = written
        self.diary.write(f"{worker}: {written}\n")
        line = Line.parse(written)
        if line.verb == "reduce" and line.group:
            line.life = self.lives.of(worker.job, line.number("group"))
        getattr(self, "take_" + line.kind)(worker, line)

    def take_call(self, worker, line):
        worker.called(line)

    def take_ok(self, worker, line):
        worker.ended(line, "PACE_OK")
        worker.last_ok_ns = line.ns
        if line.verb == "broadcast":
            worker.unsettled.append(line.ns)
        else:
            worker.last_result_ns = line.ns
            worker.ended_well += 1
        self.durations.waited(worker, line)
        self.judge(worker, line)

    def take_end(self, worker, line):
        worker.ended(line, line["status"])
        worker.ends[line["status"]] += 1
        if line["status"] != "PACE_ABORTED":
            worker.unsettled.append(line.ns)
        self.durations.waited(worker, line)
        self.ends.take(worker, line)

    def take_result(self, worker, line):
        worker.ends["RESULT"] += 1
        if line["group"] != "0":
            worker.calls[-1].group = line.group
        self.judge(worker, line)

    def take_reconnected(self, worker, line):
        """A pull that ended well at another daemon, or with another step. Its session reconnected without an error."""
        worker.ends["RECONNECTED"] += 1
        if line["from"] != line["to"]:
            worker.ends["REWOUND"] += 1
        worker.unsettled.append(line.ns)

    def take_owed(self, worker, line):
        self.of_one_job[worker.job].owed(worker, line)

    def take_blocked(self, worker, line):
        self.durations.blocked(worker, line)

    def take_slow(self, worker, line):
        self.durations.waited(worker, line)

    def take_wrong(self, worker, line):
        self.blame(f"{worker}: {line.verb}: {line.text}")

    def died(self, name, ns):
        if name in self.workers:
            self.workers[name].died(ns)

    def settle(self, now_ns):
        for judge in (self.groups, self.versions, *self.of_one_job.values()):
            judge.settle(now_ns)

    def counts(self):
        """How much was compared. It shows a storm that compares nothing."""
        return {"averages": self.groups.recomputed, "late gradients and others in partial rounds": self.sum_of(counting.FAMILY, "gradients"),
                "balances of top-k": self.sum_of(debts.FAMILY, "balances"), "pulled models": self.versions.compared,
                "models that went back untold": self.versions.fell_untold,
                "gradients that count though their worker was told STALE": self.groups.stale_but_in,
                "results of nodes cut off whose workers were told STALE next": self.groups.superseded,
                "results of a dead daemon": self.groups.matched, "such results that nobody else tells of": self.groups.unmatched}

    def close(self):
        self.diary.close()
