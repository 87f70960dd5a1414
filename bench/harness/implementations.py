"""How each implementation is started, in the configuration that serves it best.

Nothing is bound to a processor, and whoever waits gives its processor away: without that, figures are
of the scheduler as soon as there are more workers than idle processors.
"""

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

    def __init__(self, transport, bench, ring=False):
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
        command += ["-np", case.workers, program(trial, "openmpi_allreduce"), *trial.arguments()]
        run_all([trial.in_node(0, command)], trial.folder, trial.deadline_s)
        return trial.outcome()


class Mpich:
    """MPICH with the yielding that Debian's build lacks; see bench/peers/mpich_yield.h."""

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
    """Gloo over TCP, its only transport here; workers find each other by files."""

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
    """A daemon on each node, and a controller when there are several."""

    bench = None

    def __init__(self, algorithm):
        self.name = f"pace-{algorithm}"
        self.algorithm = algorithm

    def run(self, trial):
        case = trial.case
        worker = [program(trial, "pace_worker"), *trial.arguments(), "--algorithm", self.algorithm,
                  "--job", "bench", "--world", case.workers]
        with pace.Daemons(trial, program(trial, "paced"),
                          program(trial, "pace-controller") if trial.cluster else None) as daemons:
            children = []
            for rank in range(case.workers):
                node = case.node_of(rank)
                command = [*worker, "--endpoint", daemons.endpoint(node), "--rank", rank]
                children.append(Child(trial.in_node(node, command), trial.folder))
            wait_all(children, trial.deadline_s)
            outcome = trial.outcome()
            outcome.daemon_peak_rss_bytes = daemons.peak_rss_bytes()
        return outcome


def is_pace(name):
    return name.startswith("pace-")


ALL = [
    OpenMpi("shm", "dense-node"),
    OpenMpi("ucx", "dense-node"),
    OpenMpi("shm", "dense-node", ring=True),
    OpenMpi("tcp", None),
    OpenMpi("tcp", "dense-net", ring=True),
    Mpich(),
    Gloo("ring"),
    Gloo("ring-chunked"),
    Gloo("halving-doubling"),
    Pace("reduce"),
    Pace("average"),
]
