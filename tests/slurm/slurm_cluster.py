"""Slurm and Pace on a head and two nodes: real munged, slurmctld, slurmd, pace-controller and paced, each in its node's namespaces."""

import contextlib
import json
import os
import pathlib
import select
import shutil
import signal
import subprocess
import time

import namespaces
from namespaces import as_user, die_with_parent, run

ROOT = pathlib.Path(__file__).resolve().parents[2]
NODES = ("node-1", "node-2")
SOON_S = 30
INVALID = "slurm_load_jobs error: Invalid job id specified"

SLURM_CONF = """\
ClusterName=pace
SlurmctldHost=head({head})
SlurmUser=root
AuthType=auth/munge
AuthInfo=socket={scratch}/munge.socket,cred_expire=5
CredType=cred/munge
StateSaveLocation={scratch}/state
SlurmctldPidFile=/run/slurmctld.pid
SlurmdPidFile=/run/slurmd.pid
SlurmdSpoolDir={scratch}/spool-%n
SlurmctldLogFile={scratch}/slurmctld.log
SlurmdLogFile={scratch}/%n.log
SlurmdParameters=config_overrides
PlugStackConfig={scratch}/plugstack.conf
Prolog={scratch}/prolog
Epilog={scratch}/epilog
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
JobAcctGatherType=jobacct_gather/none
MpiDefault=none
SwitchType=switch/none
SchedulerType=sched/builtin
SelectType=select/cons_tres
SelectTypeParameters=CR_CPU
ReturnToService=2
KillWait=2
CompleteWait=0
{nodes}
PartitionName=all Nodes={names} Default=YES MaxTime=INFINITE State=UP OverSubscribe=YES
"""


def until(what, condition, patience_s=SOON_S):
    """Waits until the condition gives something, and gives that."""
    deadline = time.monotonic() + patience_s
    nothing = select.poll()
    while not (found := condition()):
        if time.monotonic() > deadline:
            raise AssertionError(f"not within {patience_s} s: {what}")
        nothing.poll(50)
    return found


class Cluster:
    """`with Cluster(build, scratch) as cluster`: Slurm answers, and all daemons serve."""

    def __init__(self, build, scratch):
        self.scratch = scratch
        self._ending = contextlib.ExitStack()
        self.daemons = {}
        for source in ("capi/libpace.so.1", "capi/libpace.so", "daemon/paced", "daemon/libpaced.so.1", "service/pacectl/pacectl",
                       "service/controller/shell/pace-controller", "packaging/slurm/spank_pace.so"):
            # Users of the cluster may not see the build's folder.
            (scratch / "bin").mkdir(exist_ok=True)
            shutil.copy(build / source, scratch / "bin" / pathlib.Path(source).name)
        shutil.copytree(ROOT / "bindings/python/pace", scratch / "python/pace", ignore=shutil.ignore_patterns("__pycache__"))
        shutil.copytree(ROOT / "packaging/slurm", scratch / "packaging")
        for program in ("trainer.py", "leaver.py"):
            shutil.copy(pathlib.Path(__file__).parent / program, scratch)
        self.environment = {
            "PATH": f"{scratch}/bin:/usr/sbin:/usr/bin:/sbin:/bin", "SLURM_CONF": f"{scratch}/slurm.conf", "LANG": "C.UTF-8",
            "LD_LIBRARY_PATH": f"{scratch}/bin", "PACE_LIBRARY": f"{scratch}/bin/libpace.so.1", "PYTHONPATH": f"{scratch}/python",
            "PYTHONDONTWRITEBYTECODE": "1", "PACE_SLURM_CONF": f"{scratch}/pace-slurm.conf"}

    def __enter__(self):
        with contextlib.ExitStack() as stack:
            self._ending = stack
            head = namespaces.Head(self.scratch, NODES)
            self.nodes = {name: namespaces.Node(name, head.addresses[name]) for name in NODES}
            self._configure(head.addresses)
            self._begin_pace(head.addresses["head"])
            self._begin_slurm()
            self._ending = stack.pop_all()
        return self

    def __exit__(self, *_):
        self._ending.close()

    def _configure(self, addresses):
        nodes = "\n".join(f"NodeName={name} NodeAddr={addresses[name]} CPUs=4 RealMemory=1000 State=UNKNOWN" for name in NODES)
        self.write("slurm.conf", SLURM_CONF.format(head=addresses["head"], scratch=self.scratch, nodes=nodes, names=",".join(NODES)))
        self.write("plugstack.conf", f"required {self.scratch}/bin/spank_pace.so\n")
        self.write("pace-slurm.conf", "start=\nwait_s=5\nepilog_wait_s=1\n")
        # Slurm gives these scripts an environment of its own, in which the programs of the build are not found.
        exports = "".join(f"export {name}='{value}'\n" for name, value in self.environment.items())
        for script in ("prolog", "epilog"):
            self.write(script, f"#!/bin/sh\n{exports}exec {self.scratch}/packaging/{script} 2>>{self.scratch}/$SLURMD_NODENAME.{script}\n")
            (self.scratch / script).chmod(0o755)
        (self.scratch / "state").mkdir()
        (self.scratch / "users").mkdir()
        (self.scratch / "users").chmod(0o777)

    def write(self, name, text):
        (self.scratch / name).write_text(text, encoding="utf-8")

    def read(self, name):
        return (self.scratch / name).read_text(encoding="utf-8", errors="replace")

    def spawn(self, name, *command):
        """Starts what serves; its words go to a file of this name."""
        with open(self.scratch / f"{name}.out", "ab") as output:
            process = subprocess.Popen([str(word) for word in command], stdout=output, stderr=output, stdin=subprocess.DEVNULL,
                                       env=self.environment, preexec_fn=die_with_parent)
        self._ending.callback(process.wait)
        self._ending.callback(process.kill)
        return process

    def _begin_pace(self, address):
        keys = self.scratch / "keys"
        (keys / "allowed").mkdir(parents=True)
        for name, owner in (("controller", "pace-controller"), ("node", "paced")):
            run(self.scratch / "bin/pacectl", "keygen", keys / name, "--owner", owner, env=self.environment)
        shutil.copy(keys / "node.public", keys / "allowed/@node.public")
        controller = as_user("pace-controller", "pace-controller", "--listen", f"tcp://{address}:0", "--journal", "", "--curve-secret-file",
                             keys / "controller.secret", "--curve-allowed-dir", keys / "allowed")
        self.spawn("controller", *controller)
        self._controller = until("the controller listens", lambda: self._said("controller.out", "listening "))
        for node in NODES:
            self.start_daemon(node)

    def _said(self, name, prefix):
        found = [line for line in self.read(name).splitlines() if line.startswith(prefix)]
        return found[-1][len(prefix):] if found else None

    def daemon_command(self, node):
        keys = self.scratch / "keys"
        return as_user("paced", "paced", "--name", node, "--controller", self._controller, "--data-interface", f"{namespaces.SUBNET}.0/24",
                       "--closed-network", "--gpu", "off", "--curve-server-key-file", keys / "controller.public",
                       "--curve-secret-file", keys / "node.secret")

    def start_daemon(self, node):
        self.daemons[node] = self.spawn(f"paced-{node}", *self.nodes[node].inside(*self.daemon_command(node)))
        until(f"the daemon of {node} answers", lambda: self.daemon_answers(node))

    def daemon_answers(self, node):
        command = self.nodes[node].inside("pacectl", "daemon")
        return subprocess.run(command, check=False, capture_output=True, env=self.environment).returncode == 0

    def stop_daemon(self, node):
        self.daemons[node].send_signal(signal.SIGTERM)
        self.daemons[node].wait(SOON_S)

    def _begin_slurm(self):
        scratch = self.scratch
        (scratch / "munge").mkdir()
        (scratch / "munge/key").write_bytes(os.urandom(64))
        os.chmod(scratch / "munge/key", 0o600)
        self.spawn("munged", "munged", "--foreground", "--force", f"--socket={scratch}/munge.socket", f"--key-file={scratch}/munge/key",
                   f"--pid-file={scratch}/munge/pid", f"--seed-file={scratch}/munge/seed", "--num-threads=2")
        until("munged listens", (scratch / "munge.socket").exists)
        self.spawn("slurmctld-out", "slurmctld", "-D", "-i")
        for name, node in self.nodes.items():
            self.spawn(f"slurmd-{name}", *node.inside("slurmd", "-D", "-N", name))
        until("all nodes are idle", self.all_idle)

    def all_idle(self):
        return self.states() == {node: "idle" for node in NODES}

    def states(self):
        said = subprocess.run(["sinfo", "--Node", "--noheader", "--format=%N %T"], check=False, capture_output=True, text=True,
                              env=self.environment).stdout
        return dict(line.split() for line in said.splitlines())

    def resume(self):
        """All nodes take jobs again."""
        until("no job is left", lambda: self.slurm("squeue", "--noheader")[1] == "")
        for node, state in self.states().items():
            if state != "idle":
                self.slurm("scontrol", "update", f"NodeName={node}", "State=RESUME", user="root")
        until("all nodes are idle", self.all_idle)

    def slurm(self, *command, user="ann", **variables):
        """Runs one of Slurm's commands on the head as a user. Gives its exit code and its words."""
        result = subprocess.run(as_user(user, *command), check=False, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                                timeout=SOON_S, cwd="/", env={**self.environment, **variables})
        return result.returncode, result.stdout

    @contextlib.contextmanager
    def job(self, *command, **variables):
        """A job that goes on, until the end of the `with` at the latest: its number, and a function that gives what it has said."""
        file = self.scratch / "users" / f"{len(list((self.scratch / 'users').iterdir()))}.out"
        code, said = self.slurm("sbatch", "--parsable", f"--output={file}", *command, **variables)
        if code != 0:
            raise AssertionError(said)
        number = said.strip()
        try:
            yield number, lambda: file.read_text(encoding="utf-8") if file.exists() else ""
        finally:
            self.slurm("scancel", "--signal=KILL", number, user="root")
            self.slurm("scancel", number, user="root")
            until(f"job {number} is over", lambda: self.slurm("squeue", "--noheader", f"--jobs={number}")[1].strip() in ("", INVALID))

    def pacectl(self, node, *command):
        return run(*self.nodes[node].inside("pacectl", *command), env=self.environment)

    def daemon(self, node):
        """What a daemon tells of itself, less this question."""
        document = json.loads(self.pacectl(node, "daemon", "--json"))
        document["users"] = [user for user in document["users"] if user["uid"] != 0]
        return document

    def jobs(self):
        """Pace's jobs by name."""
        return {job["name"]: job for job in json.loads(self.pacectl(NODES[0], "status", "--json"))["jobs"]}
