"""The failures: the first of each kind in full, and the number of the others."""

import collections
import re
import time

SHOWN = 3  # of each kind
KINDS_MAX = 200


class Failures:
    """Collects sentences. Sentences that differ only in numbers are of one kind."""

    def __init__(self):
        self.began = time.monotonic()
        self.context = "start"
        self.kinds = collections.Counter()

    def add(self, sentence):
        kind = re.sub(r"[\d.:,{}\[\]]+", "#", sentence)
        self.kinds[kind if len(self.kinds) < KINDS_MAX else "others"] += 1
        if self.kinds[kind] <= SHOWN:
            print(f"FAILED [{time.monotonic() - self.began:.1f} s, {self.context}] {sentence}", flush=True)

    def __len__(self):
        return self.kinds.total()

    def report(self):
        for kind, count in self.kinds.most_common():
            if count > SHOWN:
                print(f"  {count} times: {kind}")
        print(f"{len(self)} failures")
