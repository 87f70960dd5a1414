#!/usr/bin/env python3
"""Pace under a real Slurm of a head and two nodes: slurm_test.py BUILD. 77 where that cannot be had."""

import os
import pathlib
import re
import shutil
import socket
import struct
import subprocess
import sys
import tempfile
import unittest

import namespaces
from slurm_cluster import NODES, Cluster, until

SKIPPED = 77
SERVED = "unix:/run/pace/paced.sock"
TWO = ("--nodes=2", "--ntasks-per-node=1")
cluster = None


def trainer(job, steps):
    return ("python3", cluster.scratch / "trainer.py", job, str(steps))


def run_of_each_rank(said, word):
    return dict(re.findall(rf"^{word} (\d+) (\S+)", said, re.MULTILINE))


class Case(unittest.TestCase):
    def tearDown(self):
        for node in NODES:
            if cluster.daemons[node].poll() is not None:
                cluster.start_daemon(node)
        cluster.resume()
        self.assertEqual(cluster.jobs(), {})
        self.assertEqual([cluster.daemon(node)["users"] for node in NODES], [[], []])

    def without_daemon(self, node):
        """Also without the prolog, which would not let the step come so far."""
        cluster.stop_daemon(node)
        prolog = cluster.read("prolog")
        self.addCleanup(cluster.write, "prolog", prolog)
        cluster.write("prolog", "#!/bin/sh\n")


class Steps(Case):
    def test_a_step_of_two_nodes_trains_with_their_daemons(self):
        code, said = cluster.slurm("srun", "--pace", *TWO, *trainer("pair", 5))
        self.assertEqual(code, 0, said)
        ends = sorted(re.findall(r"^end (\d) slurm-\d+\.0 (\d) (\S+) (\S+) (\S+)$", said, re.MULTILINE))
        self.assertEqual(ends, [("0", "2", "3.0", SERVED, "node-1"), ("1", "2", "3.0", SERVED, "node-2")], said)

    def test_without_the_option_nothing_is_set(self):
        code, said = cluster.slurm("srun", "--nodes=1", "env")
        self.assertEqual((code, "PACE_ENDPOINT" in said), (0, False), said)

    def test_the_users_endpoint_is_kept_unless_the_option_names_one(self):
        for option, endpoint in (("--pace", "embedded:mine"), (f"--pace=endpoint={SERVED}", SERVED)):
            code, said = cluster.slurm("srun", option, "--nodes=1", "env", PACE_ENDPOINT="embedded:mine")
            self.assertEqual(code, 0, said)
            self.assertIn(f"PACE_ENDPOINT={endpoint}\n", said)

    def test_the_option_of_sbatch_is_for_all_steps_of_the_script(self):
        script = f"unset PACE_ENDPOINT; srun {' '.join(TWO)} sh -c 'echo at $PACE_ENDPOINT'"
        with cluster.job("--pace", "--nodes=2", "--wrap", script) as (_, said):
            until("both tasks have spoken", lambda: said().count(f"at {SERVED}\n") == 2)

    def test_a_wrong_option_is_told_before_anything_is_queued(self):
        for words, problem in (("wat=5", "there is no option \"wat=5\"; use endpoint=unix:/PATH"),
                               ("wait=-1", "wait is \"-1\"; give whole seconds from 0 to 600"),
                               ("endpoint=tcp://a", "endpoint is \"tcp://a\"; name a daemon's socket as unix:/PATH"),
                               ("embedded=a.toml", "embedded is \"a.toml\"; name the daemon's configuration by its full path"),
                               ("wait=1,endpoint=unix:/" + 5000 * "a", "an option has 5015 bytes; give fewer than")):
            for command in (("srun", "hostname"), ("sbatch", "--wrap=hostname")):
                code, said = cluster.slurm(command[0], f"--pace={words}", *command[1:])
                self.assertNotEqual(code, 0)
                self.assertIn(f"{command[0]}: error: pace: --pace: {problem}", said)


class WithoutADaemon(Case):
    def test_the_step_fails_on_that_node_and_says_what_is_wrong(self):
        self.without_daemon("node-2")
        code, said = cluster.slurm("srun", "--pace", "--nodes=2", "--ntasks-per-node=2", "sh", "-c", "echo at $SLURMD_NODENAME")
        self.assertEqual(code, 1, said)
        self.assertEqual(said.count("pace: node-2: no daemon answers at unix:/run/pace/paced.sock"), 1, said)
        self.assertIn("; start paced", said)
        self.assertEqual(re.findall(r"^at (\S+)$", said, re.MULTILINE), ["node-1", "node-1"])

    def test_the_socket_is_asked_with_the_users_rights_alone(self):
        path = cluster.scratch / "users/listens.sock"
        listener = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self.addCleanup(listener.close)
        listener.bind(str(path))
        path.chmod(0o777)
        listener.listen()
        step = subprocess.Popen(namespaces.as_user("ann", "srun", f"--pace=endpoint=unix:{path}", "--nodes=1", "hostname"), text=True,
                                stdout=subprocess.PIPE, stderr=subprocess.STDOUT, env=cluster.environment)
        self.addCleanup(step.kill)
        listener.settimeout(30)
        connection, _ = listener.accept()
        pid, uid, _ = struct.unpack("3i", connection.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, 12))
        status = pathlib.Path(f"/proc/{pid}/status").read_text(encoding="utf-8")
        connection.close()
        self.assertEqual(uid, 61001)
        self.assertRegex(status, r"\nUid:(\s+61001){4}\n")
        said, _ = step.communicate(timeout=30)
        self.assertEqual(step.returncode, 1, said)
        self.assertIn("pace: node-1: ", said)

    def test_who_may_not_use_the_daemon_is_told_of_its_group(self):
        code, said = cluster.slurm("srun", "--pace", "--nodes=1", "hostname", user="bob")
        self.assertEqual(code, 1, said)
        self.assertRegex(said, r"pace: node-1: this user may not use the daemon .*; an administrator adds this user to that group")

    def test_a_daemon_that_is_starting_is_waited_for(self):
        self.without_daemon("node-2")
        step = subprocess.Popen(namespaces.as_user("ann", "srun", "--pace=wait=20", *TWO, *map(str, trainer("patient", 1))), text=True,
                                stdout=subprocess.PIPE, stderr=subprocess.STDOUT, env=cluster.environment)
        self.addCleanup(step.kill)
        # The other node's worker is there: this node's task has been launched, too.
        until("the first worker waits", lambda: "patient" in cluster.jobs())
        cluster.start_daemon("node-2")
        said, _ = step.communicate(timeout=30)
        self.assertEqual((step.returncode, sorted(run_of_each_rank(said, "end"))), (0, ["0", "1"]), said)

    def test_one_trainer_may_host_its_daemon(self):
        self.without_daemon("node-2")
        code, said = cluster.slurm("srun", "--pace=embedded", "--nodelist=node-2", *trainer("alone", 2))
        self.assertEqual(code, 0, said)
        self.assertRegex(said, r"end 0 slurm-\d+\.0 1 1.0 embedded: node-2\n")

    def test_two_trainers_host_daemons_only_with_a_configuration_that_can_be_read(self):
        self.without_daemon("node-2")
        two = ("--nodelist=node-2", "--ntasks=2", "--overcommit")
        code, said = cluster.slurm("srun", "--pace=embedded", *two, "env")
        self.assertNotEqual(code, 0)
        self.assertIn("embedded is for a step of one task, and this one has 2", said)
        code, said = cluster.slurm("srun", "--pace=embedded=/none.toml", *two, "env")
        self.assertNotEqual(code, 0)
        self.assertIn("embedded=/none.toml cannot be read: No such file or directory", said)
        cluster.write("users/hosted.toml", "")
        code, said = cluster.slurm("srun", f"--pace=embedded={cluster.scratch}/users/hosted.toml", *two, "env")
        self.assertEqual(code, 0, said)
        self.assertEqual(said.count(f"PACE_ENDPOINT=embedded:{cluster.scratch}/users/hosted.toml\n"), 2)


class Ends(Case):
    def test_of_a_job_that_is_cancelled_nothing_is_left(self):
        script = "exec srun " + " ".join(map(str, (*TWO, *trainer("cancelled", 0))))
        with cluster.job("--pace", "--nodes=2", "--wrap", script) as (number, said):
            until("both train", lambda: said().count("begun") == 2)
            self.assertEqual(cluster.jobs()["cancelled"]["run"]["id"], f"slurm-{number}.0")
            self.assertGreater(cluster.daemon("node-1")["users"][0]["bytes"], 0)
            cluster.slurm("scancel", number)
            # An idle node has run its epilog.
            until("the nodes are idle", cluster.all_idle)
            self.assertEqual(cluster.jobs(), {})
            self.assertEqual([cluster.daemon(node)["users"] for node in NODES], [[], []])

    def test_a_job_that_is_queued_again_is_another_run(self):
        script = "exec srun " + " ".join(map(str, (*TWO, *trainer("queued", 0))))
        with cluster.job("--pace", "--nodes=2", "--requeue", "--open-mode=append", "--wrap", script) as (number, said):
            until("both train", lambda: said().count("begun") == 2)
            self.assertEqual(set(run_of_each_rank(said(), "begun").values()), {f"slurm-{number}.0"})
            cluster.slurm("scontrol", "requeue", number)
            until("the nodes are idle", cluster.all_idle)
            cluster.slurm("scontrol", "update", f"JobId={number}", "StartTime=now", user="root")
            until("both train again", lambda: said().count("begun") == 4)
            self.assertEqual(run_of_each_rank(said(), "begun"), {rank: f"slurm-{number}.0.restart-1" for rank in "01"})

    def test_a_process_that_outlives_its_job_is_named_and_the_node_is_drained(self):
        code, said = cluster.slurm("srun", "--pace", "--nodelist=node-1", "python3", cluster.scratch / "leaver.py", "left")
        self.assertEqual(code, 0, said)
        (client,) = [client for client in cluster.daemon("node-1")["clients"] if client["uid"] != 0]
        try:
            until("the node is drained", lambda: cluster.states()["node-1"] in ("drained", "draining"))
            self.assertRegex(cluster.read("node-1.epilog"),
                             rf"pace: Slurm job \d+ is over, and its process {client['pid']} \(rank 0 of job left\) still uses the daemon")
        finally:
            os.kill(client["pid"], 9)
        until("the worker is gone", lambda: len(cluster.daemon("node-1")["clients"]) == 1)
        cluster.pacectl("node-1", "job", "delete", "left")

    def test_memory_of_a_run_with_an_identity_of_its_own_is_kept_and_told(self):
        script = "exec srun " + " ".join(map(str, trainer("own", 0)))
        with cluster.job("--pace", "--nodelist=node-1", "--wrap", script, PACE_RUN_ID="mine") as (number, said):
            until("it trains", lambda: "begun" in said())
            cluster.slurm("scancel", number)
            until("the nodes are idle", cluster.all_idle)
        self.assertRegex(cluster.read("node-1.epilog"), rf"bytes of user 61001 are kept for other runs than Slurm job {number}'s: own")
        self.assertEqual(list(cluster.jobs()), ["own"])
        cluster.pacectl("node-1", "job", "delete", "own")
        until("its memory is free", lambda: cluster.daemon("node-1")["users"] == [])


class Prolog(Case):
    def setUp(self):
        settings = cluster.read("pace-slurm.conf")
        self.addCleanup(cluster.write, "pace-slurm.conf", settings)

    def test_it_starts_the_daemon(self):
        cluster.stop_daemon("node-2")
        words = " ".join(f"'{word}'" for word in cluster.daemon_command("node-2"))
        cluster.write("start-daemon", f"#!/bin/sh\nsetsid {words} >/dev/null 2>&1 &\necho $! >{cluster.scratch}/started\n")
        (cluster.scratch / "start-daemon").chmod(0o755)
        cluster.write("pace-slurm.conf", f"start={cluster.scratch}/start-daemon\nwait_s=10\nepilog_wait_s=1\n")
        try:
            code, said = cluster.slurm("srun", "--pace", *TWO, *trainer("started", 1))
            self.assertEqual(code, 0, said)
        finally:
            os.kill(cluster.daemon("node-2")["pid"], 9)
        until("it is gone", lambda: not cluster.daemon_answers("node-2"))

    def test_a_node_whose_daemon_does_not_start_is_drained_with_the_reason(self):
        cluster.stop_daemon("node-2")
        cluster.write("pace-slurm.conf", "start=/bin/false\nwait_s=0\n")
        with cluster.job("--pace", "--nodelist=node-2", "--no-requeue", "--wrap", "hostname") as (number, _):
            until("the node is drained", lambda: cluster.states()["node-2"] in ("drained", "draining"))
        _, reasons = cluster.slurm("sinfo", "--list-reasons", "--noheader", "--format=%E")
        self.assertIn("pace: paced does not answer at unix:/run/pace/paced.sock: pacectl: no daemon answers", reasons)
        self.assertIn("pace: '/bin/false' failed", cluster.read("node-2.prolog"))
        self.assertIn(f"pace: job {number} needs Pace, and paced does not answer", cluster.read("node-2.prolog"))

    def test_jobs_that_do_not_ask_for_pace_run_without_a_daemon(self):
        cluster.stop_daemon("node-2")
        code, said = cluster.slurm("srun", *TWO, "hostname")
        self.assertEqual((code, sorted(said.split()[-2:])), (0, list(NODES)), said)
        self.assertIn("pace: the daemon does not answer at unix:/run/pace/paced.sock", cluster.read("node-2.prolog"))


def why_not(build):
    """Why this cannot run here; empty if it can."""
    if os.geteuid() != 0:
        return "making namespaces and users needs root"
    tools = namespaces.missing_tools()
    if tools:
        return f"{', '.join(tools)} missing (tools/setup/install slurm)"
    if not (build / "packaging/slurm/spank_pace.so").exists():
        return "the plug-in was not built: slurm/spank.h was missing (tools/setup/install slurm)"
    if subprocess.run(["unshare", "--net", "--mount", "--uts", "--pid", "--fork", "true"], check=False).returncode != 0:
        return "this machine makes no namespaces"
    return ""


def main():
    global cluster
    build = pathlib.Path(sys.argv[1]).resolve()
    reason = why_not(build)
    if reason:
        print(f"skipped: {reason}")
        return SKIPPED
    namespaces.enter()
    scratch = pathlib.Path(tempfile.mkdtemp(prefix="pace-slurm-test-"))
    scratch.chmod(0o755)
    try:
        with Cluster(build, scratch) as cluster:
            result = unittest.main(argv=[sys.argv[0], *sys.argv[2:]], exit=False, verbosity=2).result
            if not result.wasSuccessful():
                for log in sorted(scratch.glob("*.*log")) + sorted(scratch.glob("*.out")):
                    print(f"--- {log.name}\n{log.read_text(encoding='utf-8', errors='replace')[-3000:]}")
    finally:
        shutil.rmtree(scratch, ignore_errors=True)
    return 0 if result.wasSuccessful() else 1


if __name__ == "__main__":
    sys.exit(main())
