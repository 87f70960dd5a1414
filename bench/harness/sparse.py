"""sparse: exchanges of a gradient's largest elements among nodes. SparDL is compared with its rivals, and all with dense exchanges."""

import math

import rounds
from cluster import Cluster
from implementations import SPARSE, SPARSE_DENSE, chosen
from trial import Case, Trial

# The sizes of the models in SparDL's paper: VGG-16, VGG-19, ResNet-20.
ELEMENTS = [14_728_266, 20_083_146, 269_722]
ELEMENTS_QUICK = [14_728_266, 269_722]
NODES = [4, 5, 6]
NODES_QUICK = [6]
DENSITY = 0.01
ENTRY_BYTES = 8  # an index and a value, as in the papers
VALUE_BYTES = 4


def run(programs, arguments, results):
    seconds = 0.5 if arguments.quick else 1
    sizes = arguments.bytes or [VALUE_BYTES * n for n in (ELEMENTS_QUICK if arguments.quick else ELEMENTS)]
    counts = arguments.workers or (NODES_QUICK if arguments.quick else NODES)
    density = arguments.density or DENSITY

    cases = [Case("sparse", nodes, nodes, size) for nodes in counts for size in sizes]

    def contenders(case):
        return [one for one in chosen(SPARSE, arguments.implementations) if fits(one.name, case.nodes)]

    def start(one, case, folder):
        more = [] if one in SPARSE_DENSE else ["--density", density]
        return one.run(Trial(case, programs, folder, cluster, seconds, iterations_min=5, more=more))

    with Cluster(max(counts), arguments.rate, arguments.delay) as cluster:
        try:
            count = arguments.rounds or (1 if arguments.quick else 2)
            rounds.run("sparse", cases, contenders, count, results, start)
        finally:
            for record in results.records:
                if record["bench"] == "sparse":
                    record["formula_bytes"] = formula_bytes(record, density)


def teams_of(name):
    """The number at the end of a variant's name, or 1 if there is none."""
    last = name.rpartition("-")[2]
    return int(last) if last.isdigit() else 1


def fits(name, nodes):
    """Whether the variant exists among `nodes` nodes: the number of teams must divide the number of nodes."""
    return nodes % teams_of(name) == 0


def formula_bytes(record, density):
    """The bytes that a worker receives for an exchange according to SparDL's paper, Table 1, with 8 bytes an entry.

    Where the paper gives bounds, this is the greatest. Where the teams are unknown, it is the number of SparDL without teams.
    """
    P = record["nodes"]
    d = teams_of(record["implementation"])
    dense = record["bytes"]
    k = dense / VALUE_BYTES * density * ENTRY_BYTES  # an entry has two of the paper's words
    name = record["implementation"].removeprefix("openmpi-").removeprefix("pace-")
    if name.startswith("spardl-bsag"):
        return k * (d * d + 2 * P - 3 * d) / P
    if name.startswith("spardl"):
        return k * ((2 * P - 2 * d) / P + d / P * math.log2(d))
    formulas = {
        "topka": (P - 1) * k,
        "topka-exchange": (P - 1) * k,
        "topkdsa": (P - 1) / P * (k + dense),
        "gtopk": 2 * math.ceil(math.log2(P)) * k,
        "oktopk": 3 * (P - 1) / P * k,
    }
    return formulas.get(name, 2 * (P - 1) / P * dense)
