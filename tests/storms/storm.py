"""A storm over all families: storm.py --minutes N [--seed S] [--build FOLDER].

Real processes are killed, frozen, started again and cut off, singly and several at once, the controller included. After each
blow everything heals, and every worker must go on within 5 s. No request may take longer than 10 s, and every result is
looked at: by its trainer, and against what all others tell. In the end nothing may be left.

Exit code 0, or 1 with a report of what failed, or 77 if it cannot run here.
"""

import argparse
import collections
import json
import pathlib
import random
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time

import faults
import network as networks
from cluster import FAMILIES, KEEP_S, Cluster
from disturbances import Disturbances
from failures import Failures
from leaks import Account, processes_that_name, shared_files
from ledger import Ledger
from processes import Programs

ROOT = pathlib.Path(__file__).resolve().parents[2]
SKIPPED = 77
GO_ON_S = 5.0
LONG_GO_ON_S = 10.0  # after a long fault: what was given up is tried again at intervals
LONG_S = 12.0
PATIENCE_S = 60.0
DEFECTS = re.compile(r"the order goes on at position|Sanitizer|runtime error:|a defect of Pace|terminate called|Assertion")


def arguments():
    parser = argparse.ArgumentParser(prog="tests/storm", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--minutes", type=float, default=10, help="how long blows are dealt (default: 10)")
    parser.add_argument("--seed", type=int, default=None, help="of what happens when; printed if it is not given")
    parser.add_argument("--build", type=pathlib.Path, default=ROOT / "build/check", help="folder of a build, sanitizers' too")
    parser.add_argument("--network", choices=("namespaces", "loopback"), default="namespaces",
                        help="namespaces, whose cables are cut too (needs root), or loopback")
    parser.add_argument("--families", type=lambda text: text.split(","), default=list(FAMILIES),
                        help="comma-separated, of " + ",".join(FAMILIES))
    parser.add_argument("--faults", type=lambda text: text.split(","), default=list(faults.NAMES),
                        help="comma-separated, of " + ",".join(faults.NAMES))
    parser.add_argument("--nodes", type=int, default=4)
    parser.add_argument("--jobs", type=int, default=1, help="of each family (default: 1)")
    parser.add_argument("--workers", type=int, default=7, help="of each family's job (2 to 8)")
    parser.add_argument("--elements", type=int, default=16384, help="of each model")
    parser.add_argument("--step-us", type=int, default=50000,
                        help="how long a worker computes between calls; with less, two processors cannot look at all that is said")
    parser.add_argument("--keep", action="store_true", help="keep the folder of logs, also when nothing failed")
    options = parser.parse_args()
    for chosen, known in ((options.families, FAMILIES), (options.faults, faults.NAMES)):
        if unknown := set(chosen) - set(known):
            parser.error(f"there is no {', '.join(sorted(unknown))}; there are {', '.join(known)}")
    return options


class Storm:
    """Causes the faults and keeps the account."""

    def __init__(self, options, folder, net):
        self.options, self.folder, self.net = options, folder, net
        self.failures = Failures()
        self.blame = self.failures.add
        self.blows = 0
        self.faults = collections.Counter()
        self.gaps = []
        self.account = Account(self.blame)
        self.disturbances = Disturbances()
        self.ledger = Ledger(self.blame, folder / "diary.txt.gz", self.disturbances, [f"node-{node}" for node in range(options.nodes)])
        self.cluster = Cluster(Programs(options.build), net, folder, options, self.ledger, self.disturbances, self.blame)

    def run(self):
        shared = shared_files()
        try:
            self.cluster.start_services()
            self.account.note(self.cluster.services, "alone")
            self.cluster.start_trainers()
            if self.goes_on(PATIENCE_S):
                self.account.note(self.cluster.services, "at work")
                self.gaps.clear()
                self.rage()
                self.look_for_leaks()
        finally:
            self.failures.context = "end"
            if self.net.can_cut:
                self.net.heal()
            self.cluster.stop_all()
            self.ledger.settle(time.monotonic_ns() + 10**12)
            self.ledger.close()
        for left in [*sorted(shared_files() - shared), *processes_that_name(self.folder)]:
            self.blame(f"left behind: {left}")
        self.read_logs()

    def rage(self):
        dice = random.Random(self.options.seed)
        end = time.monotonic() + self.options.minutes * 60
        while time.monotonic() < end:
            drawn = faults.draw(dice, self.cluster, self.options.faults, self.options.minutes)
            self.blow(drawn, [dice.uniform(0, 0.5) for _ in range(3)])
            patience = LONG_GO_ON_S if any(fault.seconds > LONG_S for fault in drawn) else GO_ON_S
            if not self.goes_on(patience) and not self.waits_longer():
                return
            self.cluster.pump(dice.uniform(0.1, 1.0))

    def blow(self, drawn, delays):
        self.blows += 1
        self.failures.context = "; ".join(str(fault) for fault in drawn)
        print(f"{time.monotonic() - self.failures.began:7.1f} s  {self.failures.context}", flush=True)
        now = time.monotonic()
        moments = []
        for fault, delay in zip(drawn, delays):
            self.faults[fault.what] += 1
            moments += [(now + delay + after, act) for after, act in fault.acts()]
        for moment, act in sorted(moments, key=lambda pair: pair[0]):
            self.cluster.pump(moment - time.monotonic())
            act(self.cluster)

    def goes_on(self, seconds):
        """Waits until every worker has a call that ended well after now."""
        self.healed_ns = time.monotonic_ns()
        if self.cluster.pump(seconds, lambda: not self.cluster.stuck_since(self.healed_ns)):
            self.gaps.append((time.monotonic_ns() - self.healed_ns) / 1e9)
            return True
        for worker in self.cluster.stuck_since(self.healed_ns):
            self.blame(f"{worker} has not gone on within {seconds:.0f} s; it said last: {worker.last_line}")
        return False

    def waits_longer(self):
        """Waits longer after a hang, so that one hang does not end an hour's storm."""
        if self.cluster.pump(PATIENCE_S, lambda: not self.cluster.stuck_since(self.healed_ns)):
            self.gaps.append((time.monotonic_ns() - self.healed_ns) / 1e9)
            return True
        stuck = ", ".join(str(worker) for worker in self.cluster.stuck_since(self.healed_ns))
        self.blame(f"the storm ends here: {stuck} never went on, {PATIENCE_S:.0f} s long")
        return False

    def look_for_leaks(self):
        """All faults are over, and processes hold what they held before. When all trainers have left, daemons hold nothing of them."""
        self.failures.context = "all is healed"
        self.cluster.pump(KEEP_S + 2)
        self.account.compare(self.cluster.services, "at work")
        self.failures.context = "the trainers have left"
        self.cluster.end_all(self.cluster.trainers.values(), 20)
        for node in range(self.options.nodes):
            if not self.cluster.pump(10, lambda node=node: self.held(node) == {}):
                self.blame(f"node-{node} still holds {self.held(node)}")
        self.account.compare(self.cluster.services, "alone")

    def held(self, node):
        """A daemon's resources for trainers, according to its own document. {} means none."""
        command = [*self.net.enter(node), str(self.cluster.programs.pacectl), "--endpoint", f"unix:{self.cluster.socket(node)}",
                   "daemon", "--json"]
        answer = subprocess.run(command, capture_output=True, text=True, timeout=30, check=False)
        if answer.returncode != 0:
            return {"answer": answer.stderr.strip()}
        document = json.loads(answer.stdout)
        held = {"buffers": sum(client["buffers"] for client in document["clients"]), "bytes": document["memory"]["buffers"],
                "shards": len(document["shards"])}
        return {what: count for what, count in held.items() if count}

    def read_logs(self):
        for log in sorted(self.folder.glob("*.log")):
            for line in log.read_text(errors="replace").splitlines():
                if DEFECTS.search(line):
                    self.blame(f"{log.name}: {line}")

    def report(self):
        gaps = sorted(self.gaps)
        print(f"\n{self.blows} blows of seed {self.options.seed} in {time.monotonic() - self.failures.began:.0f} s: " +
              ", ".join(f"{count} {what}" for what, count in sorted(self.faults.items())))
        if gaps:
            print(f"everyone goes on after {gaps[len(gaps) // 2]:.2f} s (median), {gaps[-1]:.2f} s (longest)")
        durations = self.ledger.durations
        for family in sorted({worker.family for worker in self.ledger.workers.values()}):
            workers = [worker for worker in self.ledger.workers.values() if worker.family == family]
            ends = sum((worker.ends for worker in workers), collections.Counter())
            print(f"  {family:15} {sum(worker.ended_well for worker in workers):8} well; longest request "
                  f"{durations.longest_ms[family] / 1000:.2f} s; " +
                  ", ".join(f"{count} {status.removeprefix('PACE_')}" for status, count in sorted(ends.items())))
        print("longest call that blocks: " +
              ", ".join(f"{what} {ms / 1000:.2f} s" for what, ms in sorted(durations.blocked_ms.items())))
        print(f"trainers were left unread for at most {self.cluster.longest_turn_s:.2f} s")
        print("held against each other: " + ", ".join(f"{count} {what}" for what, count in self.ledger.counts().items()))
        self.failures.report()


def main():
    options = arguments()
    if options.seed is None:
        options.seed = random.SystemRandom().randrange(1_000_000)
    options.build = options.build.resolve()
    missing = Programs(options.build).missing()
    if missing:
        print(f"storm: build first: {', '.join(missing)}")
        return SKIPPED
    net = networks.make(options.nodes + 1, options.network)
    if net.why:
        print(f"storm: cables are not cut: {net.why}")
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))  # so that nothing is left behind
    folder = pathlib.Path(tempfile.mkdtemp(prefix="pace-storm-"))
    storm = Storm(options, folder, net)
    try:
        storm.run()
    finally:
        net.close()
        storm.report()
        if storm.failures or options.keep:
            print(f"logs: {folder}")
        else:
            shutil.rmtree(folder)
    return 1 if storm.failures else 0


if __name__ == "__main__":
    sys.exit(main())
