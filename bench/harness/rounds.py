"""Measures in rounds. In a round every implementation is started anew, one after another, so that all share the noise."""

import collections
import contextlib
import os
import shutil
import sys
import tempfile

import processes


def run(part, cases, implementations, rounds, results, start, floor=None):
    """Calls start(implementation, case, folder) for every pair, and floor(case, folder) once a round.

    `implementations` is a list, or a function of the case that returns a list.
    """
    chosen = {case: implementations(case) if callable(implementations) else implementations for case in cases}
    progress = Progress(part, rounds * sum(len(list_) for list_ in chosen.values()))
    for case, contenders in chosen.items():
        outcomes = collections.defaultdict(list)
        floors = []
        for _ in range(rounds):
            if floor:
                with workspace() as folder:
                    floors += floor(case, folder)
            for one in contenders:
                progress.step(f"{case}: {one.name}")
                if results.has_failed(case, one.name):
                    continue
                with workspace() as folder:
                    try:
                        outcome = start(one, case, folder)
                        outcomes[one.name].append(outcome)
                    except processes.Failure as failure:
                        results.add_failure(case, one.name, str(failure))
                        progress.note(f"{case}: {one.name} failed: {failure}")
        results.add_case(case, floors, outcomes)
    progress.end()


@contextlib.contextmanager
def workspace():
    """A folder for one start. No process is left when the folder is removed."""
    folder = tempfile.mkdtemp(dir=os.environ["PACE_BENCH_DIR"])
    try:
        yield folder
    finally:
        processes.end_orphans()
        shutil.rmtree(folder, ignore_errors=True)


class Progress:
    """One line that is rewritten on a terminal. In a log, a line for every tenth part of the work."""

    def __init__(self, part, total):
        self.part = part
        self.total = total
        self.done = 0
        self.live = sys.stdout.isatty()
        print(f"{part}: {total} measurements", flush=True)

    def step(self, text):
        if self.live:
            print(f"\r\033[K{self.part} {self.done + 1}/{self.total}  {text}", end="", flush=True)
        elif self.done * 10 // self.total != (self.done - 1) * 10 // self.total:
            print(f"{self.part} {self.done}/{self.total}  {text}", flush=True)
        self.done += 1

    def note(self, text):
        print(("\r\033[K" if self.live else "") + text, flush=True)

    def end(self):
        if self.live:
            print("\r\033[K", end="", flush=True)
