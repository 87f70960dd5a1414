"""Keeps the results; writes the JSON."""

import json
import statistics

import tables


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
        """A record that another program measured. Missing values are unknown."""
        empty = dict.fromkeys(["bench", "implementation", "workers", "nodes", "bytes", "median_s", "min_s", "max_s",
                               "floor_s"])
        self.records.append({**empty, **record})

    def add_case(self, case, floor, outcomes):
        floor_s = statistics.median(floor) if floor else None
        if floor:
            self._add(case, "floor", [floor], floor_s)
        for name, measured in outcomes.items():
            self._add(case, name, [outcome.samples_s for outcome in measured], floor_s, measured)
            self.versions[name] = measured[0].version

    def _add(self, case, name, starts, floor_s, outcomes=()):
        samples = [sample for start in starts for sample in start]
        means = [statistics.mean(start) for start in starts]

        def largest(field):
            return max((getattr(outcome, field) for outcome in outcomes), default=0) or None

        record = {
            "bench": case.bench, "implementation": name, "workers": case.workers, "nodes": case.nodes,
            "bytes": case.bytes, "median_s": statistics.median(samples), "min_s": min(samples),
            "max_s": max(samples), "mean_s": statistics.mean(samples), "floor_s": floor_s, "samples": len(samples),
            # The least and the greatest mean of a start.
            "start_min_s": min(means), "start_max_s": max(means),
            # The peak of the largest process that holds the implementation's memory, or of the
            # largest worker.
            "peak_rss_bytes": largest("daemon_peak_rss_bytes") or largest("peak_rss_bytes"),
            "worker_peak_rss_bytes": largest("peak_rss_bytes")}
        if case.nodes > 1:
            record["processor_s_per_gb"] = largest("processor_s_per_gb")
        if case.bench == "skew":
            record["active"] = statistics.mean(outcome.active for outcome in outcomes)
        if case.bench == "sparse":
            record["wire_bytes"] = largest("wire_bytes")
            record["payload_bytes"] = largest("payload_bytes")
        self.records.append(record)

    def write_json(self, path):
        path.write_text("[\n" + ",\n".join(json.dumps(record) for record in self.records) + "\n]\n")
        print(f"written: {path}")

    def print_tables(self):
        tables.print_all(self.records)
        if self.versions:
            print("\nversions: " + ", ".join(sorted(set(self.versions.values()))))
        for (case, name), reason in self.failures.items():
            print(f"FAILED  {f'{case.bench}, {case}: ' if case else ''}{name}: {reason}")
