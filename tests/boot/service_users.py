"""Who the services are, and who reads their secrets: tests of nspawn_test.py's machine."""

import json

from container import wait_until
from packages import naming_the_controller

SECRETS = {"paced": "paced.secret", "pace-controller": "controller.secret"}  # by unit, which is the name of its user


class ServiceUsers:
    def test_trainers_read_no_secret_and_each_service_only_its_own(self):
        machine = self.machine
        machine.serve(with_controller=True)
        for user, secret in SECRETS.items():
            self.assertEqual(machine.run("ps", "-o", "user:20=", "-p", machine.main_pid(user)).strip(), user)
            self.assertEqual(machine.run("stat", "--format=%U:%G %a", f"/etc/pace/keys/{secret}").strip(), "root:root 600")
            self.assertIn(secret, machine.run("ls", f"/run/credentials/{user}.service"))
        for user in ("ann", "bob", *SECRETS):
            for unit, secret in SECRETS.items():
                self.assertNotEqual(machine.run("cat", f"/etc/pace/keys/{secret}", user=user, check=False)[0], 0, (user, secret))
                self.assertEqual(machine.run("ls", f"/run/credentials/{unit}.service", user=user, check=False)[0] == 0, user == unit)
                self.assertEqual(machine.run("ls", f"/var/lib/{machine.property(unit, 'StateDirectory')}", user=user, check=False)[0] == 0,
                                 user == unit)
        self.assertRegex(machine.run("pacectl", "doctor", check=False)[1], "ok +keys .*2 secret keys")

    def test_a_local_user_does_not_attach(self):
        machine = self.machine
        machine.serve(with_controller=True)
        machine.run("pacectl", "keygen", "/tmp/bob", user="bob")
        self.addCleanup(machine.run, "rm", "/tmp/bob.secret", "/tmp/bob.public")
        flags = naming_the_controller(machine.run("pace-controller", "--help-config")).replace("/etc/pace/keys/paced", "/tmp/bob")
        (machine.folder / "etc/pace/bob.toml").write_text(flags, encoding="utf-8")
        self.addCleanup(machine.run, "rm", "/etc/pace/bob.toml")
        log = self.logs / "bob.log"
        with open(log, "wb") as output:
            daemon = machine.start("paced", "--config", "/etc/pace/bob.toml", "--name", "bob", "--socket", "/tmp/bob.sock", "--socket-group", "",
                                   user="bob", stdout=output, stderr=output)
        self.addCleanup(daemon.wait, 10)
        self.addCleanup(machine.run, "pkill", "--exact", "--euid", "bob", "paced")
        wait_until(lambda: "does not let the key of" in log.read_text(errors="replace"), 30, "bob's daemon kept out")
        self.assertNotIn("bob", [node["name"] for node in json.loads(machine.run("pacectl", "status", "--json"))["nodes"]])

    def test_a_journal_of_1_0_is_taken_over(self):
        machine = self.machine
        machine.serve(with_controller=True)
        machine.control("stop", *SECRETS)
        machine.run("mv", "/var/lib/pace-controller/controller.journal", "/var/lib/pace/controller.journal")
        machine.run("rm", "-r", "/var/lib/pace-controller")
        machine.install()
        machine.serve(with_controller=True)
        self.assertEqual(machine.run("stat", "--format=%U %a", "/var/lib/pace-controller/controller.journal").strip(), "pace-controller 600")
        self.assertFalse((machine.folder / "var/lib/pace/controller.journal").exists())
        self.team(steps=20).finish()
