"""How each implementation is started, in the configuration that serves it best.

Nothing is bound to a processor, and every waiting process yields its processor. Without that, the figures would be
figures of the scheduler as soon as there are more workers than idle processors.
"""

import dataclasses

import pace
from build import find
from cluster import AGENT, INTERFACE
from processes import Child, Failure, run_all, wait_all


def program(trial, name):
    path = find(trial.programs, name)
    if path is None:
        raise Failure(f"{name} is not built")
    return path


class OpenMpi:
    """Open MPI's own choice of algorithm, unless one is given."""

    COMMON = ["--allow-run-as-root", "--oversubscribe", "--bind-to", "none"]
    TRANSPORTS = {
        "shm": ["--mca", "pml", "ob1", "--mca", "btl", "vader,self"],
        "ucx": ["--mca", "pml", "ucx", "--mca", "pml_ucx_tls", "any", "--mca", "pml_ucx_devices", "any"],
        "tcp": ["--mca", "pml", "ob1", "--mca", "btl", "tcp,self"],
    }
    RING = ["--mca", "coll_tuned_use_dynamic_rules", "1", "--mca", "coll_tuned_allreduce_algorithm", "4"]

    program_name = "openmpi_allreduce"
    more = []  # further arguments of the program

    def __init__(self, transport, bench=None, ring=False):
        self.name = f"openmpi-{transport}" + ("-ring" if ring else "")
        self.transport = transport
        self.bench = bench
        self.ring = self.RING if ring else []

    def run(self, trial):
        case = trial.case
        command = ["mpirun.openmpi", *self.COMMON, "--mca", "mpi_yield_when_idle", "1", *self.ring]
        if trial.cluster:
            slots = case.workers // case.nodes
            hosts = ",".join(f"{trial.cluster.address(node)}:{slots}" for node in range(case.nodes))
            command += ["--mca", "plm_rsh_agent", AGENT, "--mca", "pml", "ob1", "--mca", "btl", "tcp,vader,self",
                        "--mca", "btl_tcp_if_include", INTERFACE, "--mca", "oob_tcp_if_include", INTERFACE,
                        "--host", hosts]
        else:
            command += self.TRANSPORTS[self.transport]
        command += ["-np", case.workers, program(trial, self.program_name), *trial.arguments(), *self.more]
        run_all([trial.in_node(0, command)], trial.folder, trial.deadline_s)
        return trial.outcome()


class OpenMpiTopkA(OpenMpi):
    """TopkA by Open MPI's all-gather. "exchange" does not count the time of choosing."""

    program_name = "openmpi_topka"

    def __init__(self, algorithm):
        super().__init__("tcp")
        self.name = "openmpi-topka" + ("" if algorithm == "whole" else f"-{algorithm}")
        self.more = ["--algorithm", algorithm]


class Mpich:
    """MPICH with yielding, which Debian's build lacks; see bench/peers/mpich_yield.h."""

    name = "mpich"
    bench = None

    def run(self, trial):
        case = trial.case
        command = ["mpirun.mpich"]
        env = {}
        if trial.cluster:
            slots = case.workers // case.nodes
            addresses = [trial.cluster.address(node) for node in range(case.nodes)]
            command += ["-launcher", "ssh", "-launcher-exec", AGENT, "-iface", INTERFACE,
                        "-localhost", addresses[0], "-hosts", ",".join(f"{host}:{slots}" for host in addresses)]
            env = {"UCX_TLS": "tcp,self", "UCX_NET_DEVICES": INTERFACE}
        command += ["-np", case.workers, program(trial, "mpich_allreduce"), *trial.arguments(), "--yield"]
        run_all([trial.in_node(0, command)], trial.folder, trial.deadline_s, env)
        return trial.outcome()


class Gloo:
    """Gloo over TCP, its only transport here. Workers find each other through files."""

    bench = None

    def __init__(self, algorithm):
        self.name = f"gloo-{algorithm}"
        self.algorithm = algorithm

    def run(self, trial):
        case = trial.case
        store = trial.folder / "store"
        store.mkdir()
        interface = INTERFACE if trial.cluster else "lo"
        worker = [program(trial, "gloo_allreduce"), *trial.arguments(), "--algorithm", self.algorithm,
                  "--interface", interface, "--store", store, "--world", case.workers, "--rank"]
        commands = [trial.in_node(case.node_of(rank), [*worker, rank]) for rank in range(case.workers)]
        run_all(commands, trial.folder, trial.deadline_s)
        return trial.outcome()


class Pace:
    """A daemon on each node, and a controller if there are several.

    `daemons`: the number of nodes on this machine, whatever the case says. `transport`: of the daemons.
    """

    def __init__(self, algorithm, daemons=None, transport="tls", bench=None):
        self.name = f"pace-{algorithm}" + (f"-{daemons}-daemons" if daemons else "") + ("" if transport == "tls" else "-ucx")
        self.bench = bench
        self.transport = transport
        self.algorithm = algorithm
        self.daemons = daemons

    def run(self, trial):
        case = dataclasses.replace(trial.case, nodes=self.daemons) if self.daemons else trial.case
        worker = [program(trial, "pace_worker"), *trial.arguments(), "--algorithm", self.algorithm,
                  "--job", "bench", "--world", case.workers]
        controller = program(trial, "pace-controller") if case.nodes > 1 else None
        with pace.Daemons(trial, case, program(trial, "paced"), controller, program(trial, "pacectl"), self.transport) as daemons:
            children = []
            for rank in range(case.workers):
                node = case.node_of(rank)
                command = [*worker, "--endpoint", daemons.endpoint(node), "--rank", rank]
                children.append(Child(trial.in_node(node, command), trial.folder))
            wait_all(children, trial.deadline_s)
            outcome = trial.outcome()
            outcome.daemon_peak_rss_bytes = daemons.peak_rss_bytes()
            outcome.processor_s_per_gb = daemons.processor_s_per_gb()
        return outcome


def is_pace(name):
    return name.startswith("pace-")


DENSE = [
    OpenMpi("shm", "dense-node"),
    OpenMpi("ucx", "dense-node"),
    OpenMpi("shm", "dense-node", ring=True),
    OpenMpi("tcp"),
    OpenMpi("tcp", "dense-net", ring=True),
    Mpich(),
    Gloo("ring"),
    Gloo("ring-chunked"),
    Gloo("halving-doubling"),
    Pace("reduce"),
    Pace("reduce", transport="tcp", bench="dense-net"),
    Pace("average"),
]

# The quorums of the rounds in Pace's words. They run on one daemon, and with a quarter of the
# workers on each of four.
QUORUMS = ["solo", "majority", "quorum-8", "majority-strict", "all"]
SKEWED = [
    OpenMpi("shm"),
    OpenMpi("ucx"),
    Mpich(),
    *[Pace(quorum) for quorum in QUORUMS],
    *[Pace(quorum, daemons=4) for quorum in QUORUMS],
]

# Dense exchanges: sparse exchanges are to save their traffic.
SPARSE_DENSE = [OpenMpi("tcp", ring=True), Pace("reduce")]
SPARSE_RIVALS = [
    OpenMpiTopkA("whole"),
    Pace("topka"),
    Pace("topkdsa"),
    Pace("gtopk"),
    Pace("oktopk"),
]
# This is no rival, but only a part of the work.
SPARSE_PARTS = [OpenMpiTopkA("exchange")]
# A number at the end is the number of teams. "compact" means compressed indices and half-precision
# values.
SPARDL = [
    Pace("spardl"),
    Pace("spardl-auto"),
    Pace("spardl-rsag-2"),
    Pace("spardl-bsag-2"),
    Pace("spardl-bsag-3"),
    Pace("spardl-bsag-5"),
    Pace("spardl-compact"),
    Pace("spardl-compact-auto"),
]
SPARSE = SPARSE_DENSE + SPARSE_RIVALS + SPARSE_PARTS + SPARDL

ALL = {one.name: one for one in DENSE + SKEWED + SPARSE}


def chosen(implementations, names):
    """The implementations of these names. Without names, all implementations."""
    return [one for one in implementations if not names or one.name in names]
