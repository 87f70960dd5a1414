"""Keeps the results; prints the tables; writes the JSON."""

import json
import statistics

from implementations import is_pace
from trial import readable_bytes


class Results:
    def __init__(self):
        self.records = []
        self.failures = {}
        self.versions = {}

    def __bool__(self):
        return bool(self.records or self.failures)

    def add_failure(self, case, implementation, reason):
        self.failures[(case, implementation)] = reason

    def has_failed(self, case, implementation):
        return (case, implementation) in self.failures

    def add_record(self, record):
        """One that another program measured; what it leaves out is unknown."""
        empty = dict.fromkeys(["bench", "implementation", "workers", "nodes", "bytes", "median_s", "min_s", "max_s",
                               "floor_s"])
        self.records.append({**empty, **record})

    def add_case(self, case, floor, outcomes):
        floor_s = statistics.median(floor)
        self._add(case, "floor", floor, floor_s)
        for name, measured in outcomes.items():
            samples = [sample for outcome in measured for sample in outcome.samples_s]
            self._add(case, name, samples, floor_s, measured)
            self.versions[name] = measured[0].version

    def _add(self, case, name, samples, floor_s, outcomes=()):
        worker = max((outcome.peak_rss_bytes for outcome in outcomes), default=0)
        daemon = max((outcome.daemon_peak_rss_bytes for outcome in outcomes), default=0)
        self.records.append({
            "bench": case.bench, "implementation": name, "workers": case.workers, "nodes": case.nodes,
            "bytes": case.bytes, "median_s": statistics.median(samples), "min_s": min(samples),
            "max_s": max(samples), "floor_s": floor_s, "samples": len(samples),
            # Of the largest process that holds the implementation's memory, and of the largest worker.
            "peak_rss_bytes": daemon or worker or None, "worker_peak_rss_bytes": worker or None})

    def write_json(self, path):
        path.write_text("[\n" + ",\n".join(json.dumps(record) for record in self.records) + "\n]\n")
        print(f"written: {path}")

    def print_tables(self):
        cases = {}
        for record in self.records:
            key = (record["bench"], record["nodes"], record["workers"], record["bytes"])
            cases.setdefault(key, []).append(record)
        dense = {key: records for key, records in cases.items() if key[0] in ("dense-node", "dense-net")}
        print_dense(dense)
        print_controller([record for key, records in cases.items() if key not in dense for record in records])
        print_summary(dense)
        if self.versions:
            print("\nversions: " + ", ".join(sorted(set(self.versions.values()))))
        for (case, name), reason in self.failures.items():
            print(f"FAILED  {f'{case.bench}, {case}: ' if case else ''}{name}: {reason}")


def readable_time(seconds):
    for unit, scale in (("s", 1), ("ms", 1e-3), ("µs", 1e-6)):
        if seconds >= scale or unit == "µs":
            value = seconds / scale
            return f"{value:.{0 if value >= 100 else 1 if value >= 10 else 2}f} {unit}"
    return ""


def best(records, wanted):
    chosen = [record for record in records if record["implementation"] != "floor" and wanted(record["implementation"])]
    return min(chosen, key=lambda record: record["median_s"], default=None)


def title(bench, nodes, workers, size):
    where = f"{workers} workers on {nodes} nodes" if nodes > 1 else f"{workers} workers"
    return f"{bench}, {where}, {readable_bytes(size)}"


def print_dense(cases):
    """One block a case. "faster" is the best peer's median over this one's."""
    for key, records in cases.items():
        peer = best(records, lambda name: not is_pace(name))
        print(f"\n{title(*key)}")
        print(f"  {'':24} {'median':>10} {'min':>10} {'max':>10} {'faster':>8} {'of floor':>9} {'peak MB':>8}")
        for record in sorted(records, key=lambda record: record["median_s"]):
            name = record["implementation"]
            row = [readable_time(record[field]) for field in ("median_s", "min_s", "max_s")]
            ratio = f"{peer['median_s'] / record['median_s']:.2f}x" if peer and name != "floor" else ""
            share = f"{record['floor_s'] / record['median_s']:.0%}"
            memory = f"{record['peak_rss_bytes'] / 2**20:.0f}" if record["peak_rss_bytes"] else ""
            print(f"  {name:24} {row[0]:>10} {row[1]:>10} {row[2]:>10} {ratio:>8} {share:>9} {memory:>8}")


def print_controller(records):
    if records:
        print(f"\ncontroller, a decision\n  {'':32} {'workers':>8} {'median':>10} {'min':>10} {'max':>10} {'a second':>10}")
    for record in records:
        row = [readable_time(record[field]) for field in ("median_s", "min_s", "max_s")]
        rate = record.get("decisions_per_s") or ""
        print(f"  {record['implementation']:32} {record['workers']:>8} {row[0]:>10} {row[1]:>10} {row[2]:>10} {rate:>10}")


def print_summary(cases):
    """Each case in a line: the best of Pace beside the best peer and the floor."""
    lines = []
    for key, records in cases.items():
        ours = best(records, is_pace)
        peer = best(records, lambda name: not is_pace(name))
        if ours is None or peer is None:
            continue
        lines.append(f"  {title(*key):44} {readable_time(ours['median_s']):>10}  "
                     f"{peer['median_s'] / ours['median_s']:6.2f}x of {peer['implementation']:22} "
                     f"{ours['floor_s'] / ours['median_s']:5.0%} of the floor")
    if lines:
        print("\nPace beside the best peer\n" + "\n".join(lines))
