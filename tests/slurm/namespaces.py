"""Namespaces: a head and nodes on one machine, each with its own network, host name and /run, which end with the program."""

import ctypes
import os
import pathlib
import shutil
import signal
import subprocess
import sys

INSIDE = "PACE_SLURM_TEST_INSIDE"
SUBNET = "10.77.0"
USERS = {"paced": 61000, "pace-controller": 61001, "ann": 61002, "bob": 61003}
GROUP = "pace:x:61010:paced,ann\n"  # bob may not use the daemon


def enter():
    """Runs this program anew as the first process of namespaces of its own; everything in them ends with it."""
    if INSIDE in os.environ:
        return
    command = ["unshare", "--net", "--mount", "--uts", "--pid", "--fork", "--kill-child", "--mount-proc",
               sys.executable, "-B", *sys.argv]
    os.execvpe(command[0], command, {**os.environ, INSIDE: "1"})


def run(*command, **options):
    """What a command that must succeed writes."""
    result = subprocess.run([str(word) for word in command], check=False, text=True, timeout=60,
                            stdout=subprocess.PIPE, stderr=subprocess.STDOUT, **options)
    if result.returncode != 0:
        raise AssertionError(f"{command} ended with {result.returncode}:\n{result.stdout}")
    return result.stdout


def die_with_parent():
    """For a child, between fork and exec."""
    pr_set_pdeathsig = 1
    ctypes.CDLL(None).prctl(pr_set_pdeathsig, signal.SIGKILL)


class Head:
    """This process's namespaces, made ready: users, names of hosts, a bridge."""

    def __init__(self, scratch, nodes):
        self._scratch = scratch
        run("mount", "--make-rprivate", "/")
        run("mount", "-t", "tmpfs", "tmpfs", "/run")
        names = {"head": 1, **{node: 2 + place for place, node in enumerate(nodes)}}
        self.addresses = {name: f"{SUBNET}.{number}" for name, number in names.items()}
        hosts = "127.0.0.1 localhost\n" + "".join(f"{address} {name}\n" for name, address in self.addresses.items())
        self._replace("/etc/hosts", hosts)
        self._replace("/etc/passwd", pathlib.Path("/etc/passwd").read_text(encoding="utf-8") + "".join(
            f"{user}:x:{number}:{number}::/:/bin/sh\n" for user, number in USERS.items()))
        self._replace("/etc/group", pathlib.Path("/etc/group").read_text(encoding="utf-8") + "".join(
            f"{user}:x:{number}:\n" for user, number in USERS.items()) + GROUP)
        run("hostname", "head")
        run("ip", "link", "set", "lo", "up")
        run("ip", "link", "add", "nodes", "type", "bridge")
        run("ip", "address", "add", f"{self.addresses['head']}/24", "dev", "nodes")
        run("ip", "link", "set", "nodes", "up")

    def _replace(self, path, text):
        """Shows `text` in the file's place, in this mount namespace alone."""
        copy = self._scratch / pathlib.Path(path).name
        copy.write_text(text, encoding="utf-8")
        run("mount", "--bind", copy, path)


class Node:
    """A node's namespaces, kept by a process that does nothing."""

    def __init__(self, name, address):
        self.name = name
        self._keeper = subprocess.Popen(["unshare", "--net", "--mount", "--uts", "cat"], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                        preexec_fn=die_with_parent)
        # It answers when it has its namespaces.
        self._keeper.stdin.write(b"\n")
        self._keeper.stdin.flush()
        self._keeper.stdout.readline()
        link = name.replace("-", "")
        run("ip", "link", "add", link, "type", "veth", "peer", "name", "eth0", "netns", self._keeper.pid)
        run("ip", "link", "set", link, "master", "nodes", "up")
        for command in (f"hostname {name}", "mount -t tmpfs tmpfs /run", "mkdir -m 750 /run/pace", "chown paced:pace /run/pace",
                        "ip link set lo up", "ip link set eth0 up", f"ip address add {address}/24 dev eth0"):
            run(*self.inside(*command.split()))

    def inside(self, *command):
        """The command line that runs `command` on the node."""
        return ["nsenter", "--target", str(self._keeper.pid), "--net", "--mount", "--uts", "--", *map(str, command)]


def as_user(user, *command):
    """The command line that runs `command` as `user`, with the groups that /etc/group says."""
    return ["setpriv", "--reuid", user, "--regid", user, "--init-groups", "--", *map(str, command)]


def missing_tools():
    """What is not here of the programs that a cluster needs; empty if all is."""
    wanted = ("unshare", "nsenter", "setpriv", "ip", "munged", "slurmctld", "slurmd", "srun", "sbatch", "scontrol")
    path = os.environ.get("PATH", "") + ":/usr/sbin:/sbin"
    return [tool for tool in wanted if not shutil.which(tool, path=path)]
