#!/usr/bin/env python3
"""pacectl's exit codes, suggestions, watch, events, keys and doctor, with a real cluster. commands_test.py BUILD"""

import json
import os
import pathlib
import pwd
import signal
import stat
import subprocess
import sys
import tempfile
import unittest

from cluster import Cluster, environment, program, soon

BUILD = sys.argv.pop(1)
DONE, NO, WRONG_USE, NO_DAEMON, NO_CONTROLLER, REFUSED = range(6)


def lines_of(text):
    return [json.loads(line) for line in text.splitlines()]


class Codes(unittest.TestCase):
    """The behaviour on which scripts rely."""

    @classmethod
    def setUpClass(cls):
        cls.cluster = cls.enterClassContext(Cluster(BUILD))
        cls.cluster.train("shown")

    def says(self, code, words, *arguments, **options):
        result = self.cluster.run(*arguments, code=code, **options)
        for word in words:
            self.assertIn(word, result.stderr)
        return result

    def test_0_is_yes(self):
        for command in ("status", "daemon", "metrics", "options", "doctor"):
            self.cluster.pacectl(command)

    def test_1_is_no(self):
        self.says(NO, ["there is no job 'shwn'; did you mean 'shown'? `pacectl job list` shows all"], "job", "show", "shwn")
        self.says(NO, ["did you mean 'shown'"], "job", "delete", "shwon")
        self.says(NO, ["there is no job 'nobody'; `pacectl"], "trace", "--job", "nobody")
        self.says(NO, ["workers are in job 'shown'"], "job", "delete", "shown")
        self.says(NO, ["after 0.2 s 'finished' does not hold"], "watch", "--until", "finished", "--timeout", 0.2)
        self.says(NO, ["top needs a terminal"], "top")
        (self.cluster.folder / "keys").mkdir(exist_ok=True)
        open_key = self.cluster.folder / "keys/open.secret"
        open_key.write_text("key\n")
        open_key.chmod(0o644)
        self.assertIn("FAIL  keys", self.cluster.pacectl("doctor", "--keys", open_key.parent, code=NO))
        open_key.unlink()

    def test_2_is_wrong_use_and_says_what_was_meant(self):
        self.says(WRONG_USE, ["there is no command 'statsu'; did you mean 'status'?"], "statsu")
        self.says(WRONG_USE, ["there is no command 'lst'; did you mean 'list'?"], "job", "lst")
        self.says(WRONG_USE, ["pacectl status has no option '--jsn'; did you mean '--json'?"], "status", "--jsn")
        self.says(WRONG_USE, ["pacectl has no option '--endpiont'; did you mean '--endpoint'?"], "--endpiont=x", "status")
        self.says(WRONG_USE, ["no option '--polcy'; did you mean '--policy'?"], "job", "create", "x", "--world", 2, "--polcy", "full")
        self.says(WRONG_USE, ["there is no command 'banana'\n"], "banana")
        self.says(WRONG_USE, ["subcommand"])
        self.says(WRONG_USE, ["--timeout"], "watch", "--timeout", -1)
        self.says(WRONG_USE, ["finished"], "watch", "--until", "done")
        self.says(WRONG_USE, ["endpoint"], "status", endpoint="tcp://here")

    def test_3_is_a_daemon_that_is_not_there(self):
        for command in (["status"], ["daemon"], ["metrics"], ["events"], ["watch"], ["job", "list"], ["job", "show", "x"],
                        ["job", "delete", "x"], ["job", "create", "x", "--world", 2, "--policy", "full"], ["trace"]):
            result = self.cluster.run(*command, endpoint="unix:/nonexistent/paced.sock", code=NO_DAEMON)
            self.assertIn("start paced", result.stderr, command)

    def test_4_is_a_controller_that_is_not_there(self):
        with Cluster(BUILD) as cluster:
            cluster.controller.stop()
            commands = {"status": NO_CONTROLLER, "job list": NO_CONTROLLER, "events": NO_CONTROLLER, "watch": NO_CONTROLLER,
                        "job create x --world 2 --policy full": NO_CONTROLLER, "metrics": DONE, "daemon": DONE, "doctor": NO}
            # Each command waits for the controller. So all of them run at once.
            running = {words: cluster.start(cluster.command(*words.split()), words.split()[-1]) for words in commands}
            said = {words: command.read_to_end() for words, command in running.items()}
            self.assertEqual({words: command.process.returncode for words, command in running.items()}, commands)
            self.assertIn("pace_", said["metrics"])
            self.assertIn("controller", running["status"].log.read_text())
            self.assertIn("FAIL  controller", said["doctor"])
            self.assertRegex(said["doctor"], r"FAIL  port .*Connection refused")

    @unittest.skipIf(os.geteuid() != 0, "only root can be another user")
    def test_5_is_not_allowed(self):
        nobody = pwd.getpwnam("nobody")
        self.cluster.folder.chmod(0o755)
        with Cluster(BUILD, daemon_flags=("--socket-group", "nogroup")) as cluster:
            cluster.folder.chmod(0o755)
            cluster.pacectl("job", "create", "roots", "--world", 2, "--policy", "full")
            for node in cluster.nodes:
                cluster.socket(node).chmod(0o666)

            def as_nobody(*arguments):
                # The program may lie where the other user cannot reach it. So its descriptor is
                # inherited.
                with open(cluster.command()[0], "rb") as binary:
                    return subprocess.run([f"/proc/self/fd/{binary.fileno()}", *cluster.command(*arguments)[1:]], check=False,
                                          capture_output=True, text=True, timeout=60, pass_fds=[binary.fileno()],
                                          user=nobody.pw_uid, group=nobody.pw_gid, extra_groups=[])

            refused = as_nobody("job", "delete", "roots")
            self.assertEqual(refused.returncode, REFUSED, refused.stderr)
            self.assertIn("belongs to another user", refused.stderr)
            self.assertEqual(as_nobody("status").returncode, DONE)
            cluster.socket("alpha").chmod(0o600)
            self.assertEqual(as_nobody("status").returncode, REFUSED)

    def test_help_says_the_codes(self):
        for command in ([], ["watch"], ["job", "show"]):
            self.assertIn("3  the daemon cannot be reached", self.cluster.pacectl(*command, "--help"))


class Watch(unittest.TestCase):
    def test_a_job_is_followed_from_its_start_to_its_end(self):
        with Cluster(BUILD) as cluster:
            watch = cluster.start(cluster.command("watch", "--until", "finished", "--job", "brief", "--json", "--interval", 0.1,
                                                  "--timeout", 60), "watch")
            watch.wait_for("alpha")
            trainers = cluster.train("brief", steps=300)
            for trainer in trainers:
                self.assertEqual(trainer.process.wait(60), 0)
            said = lines_of(watch.read_to_end())
            self.assertEqual(watch.process.returncode, DONE)
            states = [change["to"] for change in said if change["what"] == "job"]
            self.assertIn("running", states)
            self.assertIn(states[-1], ("finished", "gone"))
            self.assertNotIn("running", states[states.index("running") + 1:], "each change once")

    def test_it_ends_when_the_job_has_started_and_tells_nodes_that_are_lost(self):
        with Cluster(BUILD) as cluster:
            started = cluster.start(cluster.command("watch", "--until", "started", "--job", "late", "--interval", 0.1), "started")
            nodes = cluster.start(cluster.command("watch", "--interval", 0.1), "nodes")
            nodes.wait_for("node beta: alive")
            cluster.train("late")
            started.read_to_end()
            self.assertEqual(started.process.returncode, DONE)
            cluster.daemons["beta"].stop()
            nodes.wait_for(r"node beta: (suspected|gone)")
            nodes.process.send_signal(signal.SIGINT)
            self.assertEqual(nodes.process.wait(30), DONE)

    def test_a_controller_that_is_away_is_waited_for(self):
        with Cluster(BUILD) as cluster:
            cluster.train("shown")
            watch = cluster.start(cluster.command("watch", "--until", "finished", "--interval", 0.1), "watch")
            watch.wait_for("job shown: running")
            cluster.controller.stop()
            soon(lambda: "asking again" in watch.log.read_text(), "the controller's absence")
            cluster.start_controller()
            soon(lambda: "answers again" in watch.log.read_text(), "its return")
            watch.process.send_signal(signal.SIGTERM)
            self.assertEqual(watch.process.wait(30), NO)


class Record(unittest.TestCase):
    def nodes_of(self, printed):
        about = json.loads(printed)["otherData"]
        return sorted(node["node"] for node in about.get("recordings", [about.get("recording")]))

    def test_it_fetches_the_recordings_of_all_nodes(self):
        with Cluster(BUILD) as cluster:
            trainers = cluster.train("fashion", steps=50)
            for trainer in trainers:
                trainer.read_to_end()
            result = cluster.run("record")
            self.assertEqual(self.nodes_of(result.stdout), ["alpha", "beta"])
            self.assertEqual(result.stderr, "")
            names = {event["args"]["name"] for event in json.loads(result.stdout)["traceEvents"] if event["name"] == "process_name"}
            self.assertLessEqual({"alpha: job fashion", "beta: job fashion"}, names)
            self.assertEqual(self.nodes_of(cluster.pacectl("record", "--local")), ["alpha"])
            self.assertEqual(self.nodes_of(cluster.pacectl("record", "--node", "beta")), ["beta"])

    def test_a_node_that_does_not_answer_is_told_and_left_out(self):
        with Cluster(BUILD) as cluster:
            cluster.daemons["beta"].process.send_signal(signal.SIGSTOP)
            result = cluster.run("record", "--node", "beta", "--node", "alpha")
            self.assertRegex(result.stderr, "node beta is left out: ")
            self.assertEqual(self.nodes_of(result.stdout), ["alpha"])
            self.assertRegex(cluster.run("record", "--node", "gamma", code=3).stderr, "no daemon of a node named gamma")

    def test_without_a_controller_this_node_is_recorded(self):
        with Cluster(BUILD) as cluster:
            cluster.controller.stop()
            result = cluster.run("record")
            self.assertEqual(self.nodes_of(result.stdout), ["alpha"])
            self.assertRegex(result.stderr, "this node alone, since ")


class Events(unittest.TestCase):
    def setUp(self):
        self.cluster = self.enterContext(Cluster(BUILD))

    def numbers(self, *arguments):
        return [event["number"] for event in lines_of(self.cluster.pacectl("events", "--json", *arguments))]

    def test_none_is_lost_or_doubled_while_following(self):
        follow = self.cluster.start(self.cluster.command("events", "--follow", "--json"), "follow")
        for round_ in range(3):
            for trainer in self.cluster.train(f"brief{round_}", steps=20):
                trainer.process.wait(60)
        all_now = self.numbers()
        follow.wait_for(f'"number":{all_now[-1]},')
        follow.process.send_signal(signal.SIGINT)
        followed = [event["number"] for event in lines_of(follow.read_to_end())]
        self.assertEqual(followed[:len(all_now)], all_now)
        self.assertEqual(followed, list(range(followed[0], followed[0] + len(followed))))

    def test_they_begin_after_a_number_and_are_one_jobs(self):
        self.cluster.train("one")
        self.cluster.train("other")
        all_now = self.numbers()
        self.assertEqual(self.numbers("--since", all_now[2])[:len(all_now) - 3], all_now[3:])
        self.assertEqual({event["job"] for event in lines_of(self.cluster.pacectl("events", "--json", "--job", "one"))}, {"one"})
        self.assertRegex(self.cluster.pacectl("events"), r"(?m)^\d{4}-\d\d-\d\d \d\d:\d\d:\d\d +\d+  (info|warning) ")

    def test_a_controller_that_comes_back_is_followed(self):
        follow = self.cluster.start(self.cluster.command("events", "--follow"), "follow")
        follow.wait_for("beta")
        self.cluster.controller.stop()
        soon(lambda: "asking again" in follow.log.read_text(), "the controller's absence")
        self.cluster.start_controller()
        follow.wait_for(r"(?s)beta.*controller-started")


class Keys(unittest.TestCase):
    """keygen and doctor --fix. keygen needs no daemon."""

    def setUp(self):
        self.folder = pathlib.Path(self.enterContext(tempfile.TemporaryDirectory(prefix="pace-keys-")))

    def run_pacectl(self, *arguments, code=DONE):
        result = subprocess.run([program(BUILD, "pacectl"), *map(str, arguments)], check=False, capture_output=True, text=True,
                                timeout=60, env=environment())
        self.assertEqual(result.returncode, code, result.stderr)
        return result

    def facts(self, name):
        status = (self.folder / name).stat()
        return status.st_uid, status.st_gid, stat.S_IMODE(status.st_mode)

    @unittest.skipIf(os.geteuid() != 0, "only root gives files away")
    def test_they_are_given_to_whom_they_are_for(self):
        nobody = pwd.getpwnam("nobody")
        self.assertIn("belongs to nobody:", self.run_pacectl("keygen", self.folder / "a", "--owner", "nobody").stdout)
        self.assertEqual(self.facts("a.secret"), (nobody.pw_uid, nobody.pw_gid, 0o600))
        self.assertEqual(self.facts("a.public"), (nobody.pw_uid, nobody.pw_gid, 0o644))
        self.run_pacectl("keygen", self.folder / "b", "--group", "nogroup")
        self.assertEqual(self.facts("b.secret"), (0, nobody.pw_gid, 0o640))
        said = self.run_pacectl("keygen", self.folder / "c").stdout
        self.assertIn("readable for root alone", said)
        self.assertEqual((self.facts("c.secret"), self.facts("c.public")), ((0, 0, 0o600), (0, 0, 0o644)))

    def test_nothing_is_written_for_nobody_or_twice(self):
        said = self.run_pacectl("keygen", self.folder / "a", "--owner", "no-such-user", code=WRONG_USE)
        self.assertIn("there is no user 'no-such-user'", said.stderr)
        self.assertEqual(list(self.folder.iterdir()), [])
        self.run_pacectl("keygen", self.folder / "a")
        self.assertIn("keys are never replaced", self.run_pacectl("keygen", self.folder / "a", code=NO).stderr)

    def test_keys_that_may_connect_are_added_listed_and_removed(self):
        flags = ("--folder", self.folder / "allowed")
        self.assertIn("curve_allowed_dir", self.run_pacectl("key", "list", *flags, code=WRONG_USE).stderr)
        (self.folder / "allowed").mkdir()
        self.assertEqual(self.run_pacectl("key", "list", *flags).stdout, "no keys\n")
        for name in ("a", "b"):
            self.run_pacectl("keygen", self.folder / name)
        self.run_pacectl("key", "add", "node-1", self.folder / "a.public", *flags)
        text = (self.folder / "b.public").read_text().strip()
        said = self.run_pacectl("key", "add", "@rack", text, "--users", "1000-1999", *flags)
        self.assertIn("with users: 1000-1999", said.stdout)
        self.assertRegex(self.run_pacectl("key", "list", *flags).stdout, rf"(?s)@rack +1000-1999 .*\nnode-1 +all ")
        self.assertEqual(stat.S_IMODE((self.folder / "allowed/node-1.public").stat().st_mode), 0o644)
        self.run_pacectl("key", "remove", "node-1", *flags)
        self.assertIn("no ", self.run_pacectl("key", "remove", "node-1", *flags, code=NO).stderr)
        self.assertEqual(sorted(path.name for path in (self.folder / "allowed").iterdir()), ["@rack.public", "@rack.users"])

    def test_a_key_is_never_taken_for_another_nodes_or_for_a_secret(self):
        allowed = self.folder / "allowed"
        allowed.mkdir()
        flags = ("--folder", allowed)
        for name in ("a", "b"):
            self.run_pacectl("keygen", self.folder / name)
        self.run_pacectl("key", "add", "node-1", self.folder / "a.public", "--users", "0", *flags)
        for arguments, code, words in (
            (("node-2", self.folder / "a.public"), NO, "that key is node-1's"),
            (("node-1", self.folder / "b.public"), NO, "--replace"),
            (("node-2", self.folder / "b.secret"), WRONG_USE, "stays on its node"),
            (("node-2", "nonsense"), WRONG_USE, "neither a file nor a public key"),
            (("../node", self.folder / "b.public"), WRONG_USE, "no node's name"),
            (("node-2", self.folder / "b.public", "--users", "ann"), WRONG_USE, "--users ann"),
        ):
            self.assertIn(words, self.run_pacectl("key", "add", *arguments, *flags, code=code).stderr)
        self.assertEqual(sorted(path.name for path in allowed.iterdir()), ["node-1.public", "node-1.users"])
        self.run_pacectl("key", "add", "node-1", self.folder / "b.public", "--replace", *flags)
        self.assertEqual([path.name for path in allowed.iterdir()], ["node-1.public"], "its users are all again")

    def test_doctor_fixes_keys_and_nothing_else(self):
        with Cluster(BUILD) as cluster:
            self.run_pacectl("keygen", self.folder / "node")
            (self.folder / "node.secret").chmod(0o644)
            (self.folder / "other.txt").write_text("open to all\n")
            (self.folder / "other.txt").chmod(0o666)
            cluster.pacectl("doctor", "--keys", self.folder, code=NO)
            self.assertEqual(self.facts("node.secret")[2], 0o644, "looking changes nothing")
            said = cluster.pacectl("doctor", "--keys", self.folder, "--fix")
            self.assertRegex(said, r"ok +fixed .*node.secret")
            self.assertEqual(self.facts("node.secret"), (os.geteuid(), os.getegid(), 0o600))
            self.assertEqual(self.facts("other.txt")[2], 0o666)
            self.assertNotIn("fixed", cluster.pacectl("doctor", "--keys", self.folder, "--fix"))

    @unittest.skipIf(os.geteuid() != 0, "only root gives files away")
    def test_doctor_takes_keys_from_others_and_from_the_group_of_the_socket(self):
        nobody = pwd.getpwnam("nobody")
        with Cluster(BUILD, daemon_flags=("--socket-group", "nogroup")) as cluster:
            self.run_pacectl("keygen", self.folder / "of-another", "--owner", "nobody")
            self.run_pacectl("keygen", self.folder / "of-the-group", "--group", "nogroup")
            said = cluster.pacectl("doctor", "--keys", self.folder, code=NO)
            for name in ("of-another", "of-the-group"):
                self.assertRegex(said, rf"FAIL +keys .*{name}.secret .*can be read by a member of the group nogroup")
            self.assertEqual(self.facts("of-the-group.secret"), (0, nobody.pw_gid, 0o640), "looking changes nothing")
            said = cluster.pacectl("doctor", "--keys", self.folder, "--fix")
            for name in ("of-another", "of-the-group"):
                self.assertRegex(said, rf"ok +fixed .*{name}.secret: root:root, mode 0600")
                self.assertEqual(self.facts(f"{name}.secret"), (0, 0, 0o600))


if __name__ == "__main__":
    unittest.main()
