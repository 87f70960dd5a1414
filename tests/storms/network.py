"""The hosts of a storm: network namespaces on a bridge, whose cables can be cut, or this machine's
loopback, where nothing can be cut.

Frames of a cut cable go to an address that no host has. So they vanish without a notice, as in a switch that died.
"""

import os
import subprocess

NOBODY = "02:00:00:00:ff:ff"


class Loopback:
    """Every host is this machine."""

    can_cut = False

    def __init__(self, why):
        self.why = why

    @staticmethod
    def address(_host):
        return "127.0.0.1"

    @staticmethod
    def port():
        return 0

    @staticmethod
    def enter(_host):
        return []

    @staticmethod
    def flags():
        """The options of daemons."""
        return ["--data-interface", "lo"]

    def close(self):
        """Nothing was made, so there is nothing to remove."""


class Namespaces:
    """A namespace for each host and one for the bridge between them."""

    can_cut = True
    why = None

    def __init__(self, hosts):
        self.prefix = f"pace-storm-{os.getpid()}-"
        self.hosts = hosts
        self.made = []
        self.cut_ways = set()
        try:
            self.build()
        except (subprocess.CalledProcessError, FileNotFoundError):
            self.close()
            raise

    def build(self):
        bridge = self.add("bridge")
        ip("-n", bridge, "link", "add", "b0", "type", "bridge")
        ip("-n", bridge, "link", "set", "b0", "up")
        for host in range(self.hosts):
            name = self.add(str(host))
            ip("-n", name, "link", "set", "lo", "up")
            ip("-n", name, "link", "add", "eth0", "type", "veth", "peer", "name", f"p{host}", "netns", bridge)
            ip("-n", name, "address", "add", f"{self.address(host)}/24", "dev", "eth0")
            ip("-n", name, "link", "set", "eth0", "up")
            ip("-n", bridge, "link", "set", f"p{host}", "master", "b0", "up")

    def add(self, what):
        name = self.prefix + what
        ip("netns", "add", name)
        self.made.append(name)
        return name

    @staticmethod
    def address(host):
        return f"10.77.0.{host + 1}"

    @staticmethod
    def port():
        return 7411  # no other process is in this namespace

    def enter(self, host):
        return ["ip", "netns", "exec", self.prefix + str(host)]

    @staticmethod
    def flags():
        """The options of daemons."""
        return ["--data-interface", "10.77.0.0/24"]

    def cut(self, sender, receiver):
        """Frames from `sender` to `receiver` are lost from now on. Frames in the other direction are not."""
        self.neighbour("replace", sender, receiver, "lladdr", NOBODY, "nud", "permanent")
        self.cut_ways.add((sender, receiver))

    def heal(self):
        for sender, receiver in self.cut_ways:
            self.neighbour("del", sender, receiver)
        self.cut_ways.clear()

    def neighbour(self, verb, host, other, *more):
        ip("-n", self.prefix + str(host), "neigh", verb, self.address(other), "dev", "eth0", *more)

    def close(self):
        while self.made:
            subprocess.run(["ip", "netns", "del", self.made.pop()], check=False)


def ip(*words):
    subprocess.run(["ip", *words], check=True, capture_output=True)


def make(hosts, wanted):
    """Returns namespaces, or loopback if this user may not make namespaces or did not want them."""
    if wanted == "loopback":
        return Loopback("asked for")
    try:
        return Namespaces(hosts)
    except FileNotFoundError:
        return Loopback("there is no `ip`: install iproute2")
    except subprocess.CalledProcessError as error:
        return Loopback(error.stderr.decode().strip() or str(error))
