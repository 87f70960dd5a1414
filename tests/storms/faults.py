"""What can happen to a cluster. Each fault begins, lasts, and is over: `begin(cluster)` and `end(cluster)`."""

import dataclasses


@dataclasses.dataclass
class Fault:
    """One thing that happens to one process or cable for some seconds."""

    what: str  # kill, freeze, cut, cut-one-way, isolate
    whom: object  # a process's name, or numbers of hosts
    seconds: float

    def __str__(self):
        return f"{self.what} {self.whom} for {self.seconds:.1f} s"

    def begin(self, cluster):
        if self.what == "kill":
            cluster.process(self.whom).kill()
        elif self.what == "freeze":
            cluster.process(self.whom).freeze()
        elif self.what == "isolate":
            for other in cluster.hosts:
                if other != self.whom:
                    cluster.network.cut(self.whom, other)
                    cluster.network.cut(other, self.whom)
        else:
            one, other = self.whom
            cluster.network.cut(one, other)
            if self.what == "cut":
                cluster.network.cut(other, one)

    def end(self, cluster):
        if self.what == "kill":
            cluster.restart(self.whom)
        elif self.what == "freeze":
            cluster.process(self.whom).thaw()
        else:
            cluster.network.heal()


# How often each kind comes, and how long it lasts at most.
KINDS = (("kill", "daemon", 4, 1.5), ("freeze", "daemon", 3, 4.0), ("kill", "trainer", 4, 1.0), ("freeze", "trainer", 3, 4.0),
         ("kill", "controller", 3, 1.5), ("freeze", "controller", 3, 6.0), ("cut", "hosts", 3, 6.0),
         ("cut-one-way", "hosts", 2, 6.0), ("isolate", "host", 2, 6.0))

NAMES = tuple(f"{what}-{whom}" for what, whom, _, _ in KINDS)


def draw(random, cluster, names):
    """One to three faults that begin together, none of the same process; a network is disturbed in one way at a time."""
    count = random.choices((1, 2, 3), (6, 3, 2))[0]
    kinds = [kind for kind in KINDS if f"{kind[0]}-{kind[1]}" in names and
             (cluster.network.can_cut or kind[1] not in ("hosts", "host"))]
    faults, taken = [], set()
    while len(faults) < min(count, len(kinds), room(cluster, kinds)):
        what, whom, _, longest = random.choices(kinds, [kind[2] for kind in kinds])[0]
        target = choose(random, cluster, whom)
        mark = "network" if whom in ("hosts", "host") else target
        if mark in taken:
            continue
        taken.add(mark)
        faults.append(Fault(what, target, random.uniform(0.1, longest)))
    return faults


def room(cluster, kinds):
    """How many faults of these kinds can be under way at once."""
    places = {"daemon": len(cluster.daemons), "trainer": len(cluster.trainers)}
    return sum(places.get(whom, 1) for whom in {"network" if kind[1] in ("hosts", "host") else kind[1] for kind in kinds})


def choose(random, cluster, whom):
    if whom == "daemon":
        return random.choice(cluster.daemons).name
    if whom == "trainer":
        return random.choice(list(cluster.trainers))
    if whom == "controller":
        return "controller"
    nodes = range(len(cluster.daemons))
    return random.choice(nodes) if whom == "host" else tuple(random.sample(nodes, 2))
