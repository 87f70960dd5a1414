"""Prints the results: a block for each case, and each part's summary."""

from implementations import SPARSE_RIVALS, is_pace
from trial import readable_bytes


def print_all(records):
    cases = {}
    for record in records:
        key = (record["bench"], record["nodes"], record["workers"], record["bytes"])
        cases.setdefault(key, []).append(record)

    def of(*benches):
        return {key: records for key, records in cases.items() if key[0] in benches}

    print_dense(of("dense-node", "dense-net"))
    print_skew(of("skew"))
    print_sparse(of("sparse"))
    known = ("dense-node", "dense-net", "skew", "sparse")
    print_controller([record for record in records if record["bench"] not in known])
    print_summary(of("dense-node", "dense-net"))
    print_sparse_summary(of("sparse"))


def readable_time(seconds):
    for unit, scale in (("s", 1), ("ms", 1e-3), ("µs", 1e-6)):
        if seconds >= scale or unit == "µs":
            value = seconds / scale
            return f"{value:.{0 if value >= 100 else 1 if value >= 10 else 2}f} {unit}"
    return ""


def best(records, wanted, field="median_s"):
    chosen = [record for record in records if record["implementation"] != "floor" and wanted(record["implementation"])]
    return min(chosen, key=lambda record: record[field], default=None)


def title(bench, nodes, workers, size):
    where = f"{workers} workers on {nodes} nodes" if nodes > 1 else f"{workers} workers"
    return f"{bench}, {where}, {readable_bytes(size)}"


def print_dense(cases):
    """One block a case. "faster" is the best peer's median divided by this one's."""
    for key, records in cases.items():
        peer = best(records, lambda name: not is_pace(name))
        print(f"\n{title(*key)}")
        print(f"  {'':24} {'median':>10} {'min':>10} {'max':>10} {'faster':>8} {'of floor':>9} {'peak MB':>8} {'cpu s/GB':>9}")
        for record in sorted(records, key=lambda record: record["median_s"]):
            name = record["implementation"]
            row = [readable_time(record[field]) for field in ("median_s", "min_s", "max_s")]
            ratio = f"{peer['median_s'] / record['median_s']:.2f}x" if peer and name != "floor" else ""
            share = f"{record['floor_s'] / record['median_s']:.0%}"
            memory = f"{record['peak_rss_bytes'] / 2**20:.0f}" if record["peak_rss_bytes"] else ""
            cost = record.get("processor_s_per_gb")
            print(f"  {name:24} {row[0]:>10} {row[1]:>10} {row[2]:>10} {ratio:>8} {share:>9} {memory:>8} "
                  f"{f'{cost:.2f}' if cost else '':>9}")


def print_controller(records):
    if records:
        print(f"\ncontroller, a decision\n  {'':32} {'workers':>8} {'median':>10} {'min':>10} {'max':>10} {'a second':>10}")
    for record in records:
        row = [readable_time(record[field]) for field in ("median_s", "min_s", "max_s")]
        rate = record.get("decisions_per_s") or ""
        print(f"  {record['implementation']:32} {record['workers']:>8} {row[0]:>10} {row[1]:>10} {row[2]:>10} {rate:>10}")


def print_summary(cases):
    """Each case in a line: the best result of Pace, the best peer's, and the floor."""
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


def print_skew(cases):
    """One block a case. "less" is the better MPI's mean divided by this one's. "starts" is the least and the greatest mean."""
    for key, records in cases.items():
        peer = best(records, lambda name: not is_pace(name), "mean_s")
        print(f"\n{title(*key)}")
        print(f"  {'':32} {'mean':>10} {'starts':>23} {'max':>10} {'less':>8} {'active':>7}")
        for record in sorted(records, key=lambda record: record["mean_s"]):
            starts = f"{readable_time(record['start_min_s'])} .. {readable_time(record['start_max_s'])}"
            ratio = f"{peer['mean_s'] / record['mean_s']:.2f}x" if peer else ""
            print(f"  {record['implementation']:32} {readable_time(record['mean_s']):>10} {starts:>23} "
                  f"{readable_time(record['max_s']):>10} {ratio:>8} {record['active']:>7.1f}")


def is_rival(name):
    return any(name == one.name for one in SPARSE_RIVALS)


def is_spardl(name):
    return name.startswith("pace-spardl")


def megabytes(count):
    return f"{count / 1e6:.3g}" if count else ""


def print_sparse(cases):
    """One block a case. "faster" is the best rival's median divided by this one's. MB are received by the busiest node."""
    for key, records in cases.items():
        peer = best(records, is_rival)
        print(f"\n{title(*key)}")
        print(f"  {'':24} {'median':>10} {'min':>10} {'max':>10} {'faster':>8} {'wire MB':>8} {'payload':>8} {'paper':>8}")
        for record in sorted(records, key=lambda record: record["median_s"]):
            row = [readable_time(record[field]) for field in ("median_s", "min_s", "max_s")]
            ratio = f"{peer['median_s'] / record['median_s']:.2f}x" if peer else ""
            moved = [megabytes(record[field]) for field in ("wire_bytes", "payload_bytes", "formula_bytes")]
            print(f"  {record['implementation']:24} {row[0]:>10} {row[1]:>10} {row[2]:>10} {ratio:>8} "
                  f"{moved[0]:>8} {moved[1]:>8} {moved[2]:>8}")


def print_sparse_summary(cases):
    """Each case in a line: the best of SparDL, and the best and the slowest rival."""
    lines = []
    for key, records in cases.items():
        ours = best(records, is_spardl)
        peer = best(records, is_rival)
        if ours is None or peer is None:
            continue
        last = max((record for record in records if is_rival(record["implementation"])),
                   key=lambda record: record["median_s"])
        lines.append(f"  {title(*key):36} {ours['implementation']:22} {readable_time(ours['median_s']):>8}  "
                     f"{peer['median_s'] / ours['median_s']:5.2f}x of {peer['implementation']:16} "
                     f"{last['median_s'] / ours['median_s']:6.2f}x of {last['implementation']}")
    if lines:
        print("\nSparDL beside the best and the slowest rival\n" + "\n".join(lines))
