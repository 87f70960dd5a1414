"""The faults of a cluster. Each fault begins, lasts, and is over: `begin(cluster)` and `end(cluster)`."""

import dataclasses

FLAP_S = 0.15  # a cable is whole and cut in turn for this long: packets are lost, but never for long


@dataclasses.dataclass
class Fault:
    """One fault of some processes, or of cables, for some seconds."""

    what: str  # kill, freeze, stop, lose-journal, cut, cut-one-way, flap, isolate
    whom: tuple  # names of processes, or numbers of hosts
    seconds: float

    def __str__(self):
        return f"{self.what} {' '.join(map(str, self.whom))} for {self.seconds:.1f} s"

    @property
    def is_of_cables(self):
        return self.what in ("cut", "cut-one-way", "flap", "isolate")

    def touches(self, cluster):
        """The names of all processes that the fault disturbs, and of the journal."""
        if self.what == "lose-journal":
            return [*self.whom, "journal"]
        if not self.is_of_cables:
            return list(self.whom)
        names = [cluster.name_of_host(host) for host in self.whom]
        # A process that can reach no controller is cut off from all.
        return cluster.names_of_hosts() if "controller" in names and self.what == "isolate" else names

    def acts(self):
        """The actions, with the seconds after the fault's beginning."""
        yield 0, self.begin
        if self.what == "flap":
            for number in range(1, int(self.seconds / FLAP_S)):
                yield number * FLAP_S, self.mend if number % 2 else self.cut
        yield self.seconds, self.end

    def cut(self, cluster):
        one, other = self.whom
        cluster.network.cut(one, other)
        if self.what != "cut-one-way":
            cluster.network.cut(other, one)

    @staticmethod
    def mend(cluster):
        cluster.network.heal()

    def begin(self, cluster):
        cluster.disturbances.begin(self.touches(cluster), str(self))
        if self.what in ("kill", "lose-journal"):
            for name in self.whom:
                cluster.kill(name)
            if self.what == "lose-journal":
                cluster.lose_journal()
        elif self.what == "stop":
            for name in self.whom:
                cluster.stop(name)
        elif self.what == "freeze":
            for name in self.whom:
                cluster.process(name).freeze()
        elif self.what == "isolate":
            for other in cluster.hosts:
                if other != self.whom[0]:
                    cluster.network.cut(self.whom[0], other)
                    cluster.network.cut(other, self.whom[0])
        else:
            self.cut(cluster)

    def end(self, cluster):
        if self.is_of_cables:
            self.mend(cluster)
        elif self.what == "freeze":
            for name in self.whom:
                cluster.process(name).thaw()
        else:
            for name in self.whom:
                cluster.restart(name)
        cluster.disturbances.end(self.touches(cluster), str(self))


@dataclasses.dataclass
class Kind:
    """The weight of a fault, its longest time, and its occasional long time in a storm of more than five minutes."""

    what: str
    whom: str
    weight: int
    longest_s: float
    long_s: float = 0

    @property
    def name(self):
        return f"{self.what}-{self.whom}"

    @property
    def place(self):
        """Faults of one place are not combined, because faults of the network disturb the same cables."""
        return {"hosts": "network", "host": "network", "daemons": "daemon", "heart": "daemon"}.get(self.whom, self.whom)


KINDS = (
    Kind("kill", "daemon", 4, 1.5), Kind("stop", "daemon", 2, 1.5), Kind("freeze", "daemon", 3, 4.0), Kind("kill", "daemons", 1, 1.5),
    Kind("kill", "trainer", 4, 1.0), Kind("freeze", "trainer", 3, 4.0), Kind("kill", "controller", 3, 1.5),
    Kind("stop", "controller", 1, 1.5), Kind("freeze", "controller", 3, 6.0, 12.0), Kind("lose-journal", "controller", 1, 1.5),
    Kind("kill", "heart", 1, 1.5),  # a daemon and the controller
    Kind("cut", "hosts", 3, 6.0, 60.0), Kind("cut-one-way", "hosts", 2, 6.0, 60.0), Kind("isolate", "host", 2, 6.0, 60.0),
    Kind("flap", "hosts", 2, 6.0))

NAMES = tuple(kind.name for kind in KINDS)
LONG_FROM_MINUTES = 5
LONG_SHARE = 0.1


def draw(random, cluster, names, minutes):
    """One to three faults that begin together. They concern different processes, and the network has at most one of them."""
    kinds = [kind for kind in KINDS if kind.name in names and (cluster.network.can_cut or kind.place != "network")]
    count = random.choices((1, 2, 3), (6, 3, 2))[0]
    faults, taken = [], set()
    for kind in random.choices(kinds, [kind.weight for kind in kinds], k=count):
        targets = choose(random, cluster, kind.whom)
        marks = {"network"} if kind.place == "network" else set(targets)
        if taken & marks:
            continue
        taken |= marks
        is_long = kind.long_s and minutes >= LONG_FROM_MINUTES and random.random() < LONG_SHARE
        faults.append(Fault(kind.what, targets, random.uniform(0.1, kind.long_s if is_long else kind.longest_s)))
    return faults


def choose(random, cluster, whom):
    daemons = [daemon.name for daemon in cluster.daemons]
    return {
        "daemon": lambda: (random.choice(daemons),),
        "daemons": lambda: tuple(daemons),
        "heart": lambda: (random.choice(daemons), "controller"),
        "trainer": lambda: (random.choice(list(cluster.trainers)),),
        "controller": lambda: ("controller",),
        "host": lambda: (random.choice(cluster.hosts),),
        "hosts": lambda: tuple(random.sample(cluster.hosts, 2)),
    }[whom]()
