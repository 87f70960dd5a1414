#!/usr/bin/env python3
"""The packages on a machine that runs systemd: nspawn_test.py PACKAGES SCRATCH.

PACKAGES is a folder of .deb files, SCRATCH one that this makes and removes. The machine is a container of systemd-nspawn. 77 if
this machine cannot run one.
"""

import pathlib
import re
import shutil
import sys
import time
import unittest

import image
import needs
from container import Container, Failed, wait_until
from packages import making_keys, naming_the_controller
from service_users import ServiceUsers
from trainers import FAMILIES, TRAINER, Team, compile_trainer, now_ms

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parents[1]
GAP_MAX_MS = 1000
WATCHDOG_MS = 10_000
UNITS = ("paced", "pace-controller")
BIG, SMALL = "all-reduce", "partial-reduce"


def say(what):
    print(f"    {what}", flush=True)


class Machine(Container):
    """A container with the packages in /packages, and two users: ann may use the daemon, bob may not."""

    def __init__(self, name):
        self.name = name
        self.folder = Run.scratch / name
        self.configuration_ = ""  # of paced, as the package brings it
        image.unpack(Run.archive, self.folder)
        (self.folder / "packages").mkdir()
        for package in Run.packages.installed():
            shutil.copy(Run.packages[package], self.folder / "packages")
        shutil.copy(Run.trainer, self.folder / TRAINER.lstrip("/"))
        shutil.copy(Run.minimal, self.folder / "usr/local/bin/minimal-trainer")
        super().__init__(self.folder, Run.scratch / f"{name}.log")

    def __enter__(self):
        begun = time.monotonic()
        super().__enter__()
        say(f"{self.name}: booted in {time.monotonic() - begun:.1f} s")
        for user in ("ann", "bob"):
            self.run("useradd", "--create-home", user)
        return self

    def __exit__(self, *_):
        super().__exit__()
        image.remove(self.folder)

    def install(self, folder="/packages"):
        begun = time.monotonic()
        self.run("sh", "-c", f"dpkg --install {folder}/*.deb")
        self.configuration_ = self.configuration_ or (self.folder / "etc/pace/paced.toml").read_text(encoding="utf-8")
        return time.monotonic() - begun

    def serve(self, with_controller):
        """Both units run, or paced with a controller inside."""
        controller = naming_the_controller(self.run("pace-controller", "--help-config"))
        text = self.configuration_ + (controller if with_controller else "")
        (self.folder / "etc/pace/paced.toml").write_text(text, encoding="utf-8")
        file = self.folder / "etc/pace/pace-controller.toml"
        file.unlink(missing_ok=True)
        if with_controller:
            if not (self.folder / "etc/pace/keys/controller.secret").exists():
                self.make_keys()
            # The package's own example is good as it is, for one machine.
            (example,) = self.run("sh", "-c", "dpkg --listfiles pace-controller | grep /pace-controller.toml$").split()
            self.run("cp", example, "/etc/pace/pace-controller.toml")
            self.control("restart", "pace-controller")
        else:
            self.control("stop", "pace-controller")
        self.control("reset-failed")
        self.control("restart", "paced")

    def make_keys(self):
        """As docs/deployment.md has it for one machine."""
        for command in (("pacectl", "keygen", "/etc/pace/keys/controller"), *making_keys(self.run("uname", "-n").strip())):
            self.run(*command)

    def control(self, verb, *units):
        status, said = self.run("systemctl", verb, *units, check=False)
        if status != 0:
            raise Failed(f"systemctl {verb} {' '.join(units)}:\n{said}\n" + "\n".join(self.journal(unit)[-2000:] for unit in units))

    def are_active(self, *units):
        return self.run("systemctl", "is-active", *units, check=False)[1].split() == ["active"] * len(units)


class Run:
    """What all tests share."""

    packages = archive = scratch = trainer = minimal = None

    @classmethod
    def prepare(cls, packages, scratch):
        cls.packages, cls.scratch = packages, scratch
        cls.archive = scratch.parent / "root.tar"
        image.make_once(cls.archive, packages.of_debian())
        cls.trainer = compile_trainer(HERE / "trainer.c", packages, scratch)
        (scratch / "minimal").mkdir(exist_ok=True)
        cls.minimal = compile_trainer(ROOT / "examples/minimal/trainer.c", packages, scratch / "minimal")


class InstalledTest(ServiceUsers, unittest.TestCase):
    """One machine, on which everything happens while trainers train."""

    @classmethod
    def setUpClass(cls):
        cls.machine = cls.enterClassContext(Machine("installed"))
        cls.seconds = cls.machine.install()
        say(f"installed in {cls.seconds:.1f} s")
        cls.after_installation = {unit: cls.machine.property(unit, "ActiveState") for unit in UNITS}
        cls.machine.run("usermod", "--append", "--groups", "pace", "ann")
        cls.logs = Run.scratch

    def setUp(self):
        self.begun_ = time.monotonic()

    def tearDown(self):
        say(f"{self.id().rpartition('.')[2]}: {time.monotonic() - self.begun_:.1f} s")

    def drop_in(self, unit, *lines):
        """Lines for a unit's [Service], until the end of the test."""
        self.addCleanup(self.machine.control, "daemon-reload")
        folder = self.machine.folder / f"etc/systemd/system/{unit}.service.d"
        folder.mkdir(parents=True)
        self.addCleanup(shutil.rmtree, folder)
        (folder / "test.conf").write_text("\n".join(("[Service]", *lines, "")), encoding="utf-8")
        self.machine.control("daemon-reload")

    def second_daemon(self):
        """A node more, as strictly held as the first, to which data goes by UCX: its endpoint."""
        machine = self.machine
        unit = machine.run("systemctl", "cat", "paced").replace("Directory=pace\n", "Directory=pace-second\n")
        # Its key has a name of its own, which the unit is told.
        unit = re.sub(r"^(ExecStart=.*)$", r"\1 --config /etc/pace/second.toml\nLoadCredential=second.secret:/etc/pace/keys/second.secret",
                      unit, flags=re.MULTILINE)
        for command in making_keys("second", "second"):
            machine.run(*command)
        (machine.folder / "etc/systemd/system/paced-second.service").write_text(unit, encoding="utf-8")
        self.addCleanup(machine.run, "rm", "-r", "/etc/systemd/system/paced-second.service", "/etc/pace/second.toml",
                        "/var/lib/pace-second", "/etc/pace/keys/second.secret", "/etc/pace/keys/second.public",
                        "/etc/pace/keys/allowed/second.public")
        self.addCleanup(machine.control, "stop", "paced-second")
        (machine.folder / "etc/pace/second.toml").write_text(
            naming_the_controller(machine.run("pace-controller", "--help-config"), "second") + 'name = "second"\n'
            'socket = "/run/pace-second/paced.sock"\ncheckpoints = "/var/lib/pace-second/checkpoints"\n', encoding="utf-8")
        machine.control("daemon-reload")
        machine.control("start", "paced-second")
        return "unix:/run/pace-second/paced.sock"

    def team(self, family=SMALL, **more):
        return self.enterContext(Team(self.machine, self.logs, family, **more))

    def two_jobs(self):
        """One whose workers wait for all, and one whose workers do not."""
        teams = [self.team(BIG), self.team(SMALL)]
        for team in teams:
            team.all_train()
        return teams

    def go_on(self, teams, moment, what, gap_max_ms=GAP_MAX_MS):
        for team in teams:
            team.all_train()
        gaps = {team.family: team.greatest_gap_since(moment) for team in teams}
        say(f"{what}: the trainers stood still for {gaps} ms")
        self.assertLessEqual(max(gaps.values()), gap_max_ms, what)

    def test_an_installation_starts_the_daemon_and_no_controller(self):
        self.assertEqual(self.after_installation, {"paced": "active", "pace-controller": "inactive"})

    def test_a_node_alone_trains(self):
        self.machine.serve(with_controller=False)
        workers = [self.machine.start("minimal-trainer", rank, 2, user="ann") for rank in range(2)]
        self.assertEqual([worker.wait(60) for worker in workers], [0, 0])

    def test_daemon_and_controller_of_one_machine_train(self):
        self.machine.serve(with_controller=True)
        self.assertTrue(self.machine.are_active(*UNITS))
        self.team(steps=200).finish()
        self.assertRegex(self.machine.run("pacectl", "doctor", user="ann", check=False)[1], "controller .*tcp://.* answers")

    def test_every_program_has_its_name(self):
        self.machine.serve(with_controller=True)
        for unit in UNITS:
            self.assertEqual(self.machine.run("pgrep", "--exact", unit).split(), [str(self.machine.main_pid(unit))])
            self.assertEqual(self.machine.run("ps", "-o", "comm=", "-C", unit).split(), [unit])

    def test_a_user_outside_the_group_is_refused_and_told_what_to_do(self):
        self.machine.serve(with_controller=False)
        status, said = self.machine.run(TRAINER, "strangers", SMALL, 0, 1, 1, user="bob", check=False)
        say(said.strip())
        self.assertEqual(status, 1)
        self.assertIn("PACE_E_DENIED", said)
        self.assertIn("usermod --append --groups", said)
        status, said = self.machine.run("pacectl", "doctor", user="bob", check=False)
        self.assertNotEqual(status, 0)
        self.assertIn("group pace", said)

    def test_another_group_may_be_named(self):
        machine = self.machine
        machine.run("groupadd", "research")
        self.addCleanup(machine.run, "groupdel", "research")
        machine.run("useradd", "--groups", "research", "carl")
        self.addCleanup(machine.run, "userdel", "carl")
        machine.serve(with_controller=False)
        # The next test writes the configuration anew.
        with open(machine.folder / "etc/pace/paced.toml", "a", encoding="utf-8") as file:
            file.write('socket_group = "research"\n')
        self.drop_in("paced", "Group=research")
        self.addCleanup(machine.control, "stop", "paced")
        machine.control("restart", "paced")
        self.assertEqual(machine.run("stat", "--format=%U:%G %a", "/run/pace/paced.sock").strip(), "paced:research 660")
        self.team(user="carl", steps=20).finish()
        self.assertIn("PACE_E_DENIED", machine.run(TRAINER, "strangers", SMALL, 0, 1, 1, user="ann", check=False)[1])

    def test_a_restart_is_a_short_pause(self):
        for with_controller in (False, True):
            self.machine.serve(with_controller)
            teams, moment = self.two_jobs(), now_ms()
            self.machine.control("restart", "paced")
            self.go_on(teams, moment, f"paced restarted, controller {'apart' if with_controller else 'inside'}")
        moment = now_ms()
        self.machine.control("restart", "pace-controller")
        self.go_on(teams, moment, "pace-controller restarted")

    def test_an_upgrade_is_a_short_pause(self):
        self.machine.serve(with_controller=True)
        teams, pids = self.two_jobs(), [self.machine.main_pid(unit) for unit in UNITS]
        higher = Run.packages.raised(self.machine.folder / "higher")
        self.addCleanup(shutil.rmtree, higher.folder)
        moment = now_ms()
        say(f"upgraded in {self.machine.install('/higher'):.1f} s")
        for unit, pid in zip(UNITS, pids):
            self.assertNotEqual(self.machine.main_pid(unit), pid, f"{unit} runs the old program")
        self.go_on(teams, moment, "upgraded")

    def test_who_is_killed_is_started_again(self):
        self.machine.serve(with_controller=True)
        teams = self.two_jobs()
        for unit in UNITS:
            moment = now_ms()
            self.machine.run("kill", "-KILL", self.machine.main_pid(unit))
            self.go_on(teams, moment, f"{unit} killed", 2 * GAP_MAX_MS)
            self.assertEqual(self.machine.property(unit, "NRestarts"), "1")

    def test_who_is_frozen_is_started_again_by_the_watchdog(self):
        self.machine.serve(with_controller=True)
        teams = self.two_jobs()
        for unit in UNITS:
            moment, pid = now_ms(), self.machine.main_pid(unit)
            self.machine.run("kill", "-STOP", pid)
            wait_until(lambda: self.machine.main_pid(unit) not in (0, pid), 2 * WATCHDOG_MS / 1000, f"another {unit}")
            say(f"{unit}: another one after {(now_ms() - moment) / 1000:.1f} s")
            self.go_on(teams, moment, f"{unit} frozen", WATCHDOG_MS + 2 * GAP_MAX_MS)

    def test_a_full_disk_is_told_and_stops_no_other_job(self):
        machine = self.machine
        machine.serve(with_controller=True)
        machine.control("stop", *UNITS)
        for user, group, folder in (("paced", "pace", "/var/lib/pace"), ("pace-controller", "pace-controller", "/var/lib/pace-controller")):
            machine.run("mount", "-t", "tmpfs", "-o", f"size=1m,mode=0700,uid={user},gid={group}", "tmpfs", folder)
            self.addCleanup(machine.run, "umount", "--lazy", folder)
        self.addCleanup(machine.control, "stop", *UNITS)
        machine.control("start", *UNITS)
        since = machine.cursor()
        served, other = self.team("ssp"), self.team(SMALL)
        for team in (served, other):
            team.all_train()
        for folder in ("/var/lib/pace", "/var/lib/pace-controller"):
            machine.run("sh", "-c", f"cat /dev/zero >{folder}/filler || true")
        moment = now_ms()
        told = wait_until(lambda: re.search(r".*the checkpoint at position .* failed.*", machine.journal("pace-controller", since)), 30,
                          "told that no checkpoint can be written")
        say(f"told: {told.group(0)[:300]}")
        self.go_on([served, other], moment, "the disk is full")
        self.assertTrue(machine.are_active(*UNITS))
        # The controller's journal has room in reserve.
        self.team(SMALL, steps=50).finish()
        machine.run("rm", "/var/lib/pace/filler", "/var/lib/pace-controller/filler")
        self.team(SMALL, steps=50).finish()
        checkpoints = "find /var/lib/pace -type f -newer /var/lib/pace/mark | grep checkpoints"
        machine.run("touch", "/var/lib/pace/mark")
        wait_until(lambda: machine.run("sh", "-c", checkpoints, check=False)[0] == 0, 30, "checkpoints again")

    def test_the_filter_of_system_calls_stops_nothing(self):
        machine = self.machine
        for unit in UNITS:
            # A call that is forbidden ends the process, by SIGSYS.
            self.drop_in(unit, "SystemCallErrorNumber=kill", "Restart=no")
        machine.serve(with_controller=True)
        for unit in UNITS:
            # systemd's forms of "kill"; it would ignore a word that it does not know.
            self.assertIn(machine.property(unit, "SystemCallErrorNumber"), ("kill", "2147483646"))
        pids = [machine.main_pid(unit) for unit in UNITS]
        for family in FAMILIES:
            self.team(family, steps=200).finish()
        second = self.second_daemon()
        for family in FAMILIES:
            self.team(family, steps=100, endpoints=("", second)).finish()
        machine.run("pacectl", "status", user="ann")
        self.assertEqual(machine.property("paced-second", "NRestarts"), "0")
        self.assertTrue(machine.are_active("paced-second"))
        machine.control("stop", "paced-second")
        self.assertEqual(machine.property("paced-second", "Result"), "success")
        self.assertEqual([machine.main_pid(unit) for unit in UNITS], pids)
        machine.control("stop", *UNITS)
        for unit in UNITS:
            self.assertEqual(machine.property(unit, "Result"), "success", unit)


class RemovedTest(unittest.TestCase):
    """A machine of its own: nothing is left of Pace at the end."""

    # What dpkg, systemd and the accounts of users keep for themselves.
    KEPT = re.compile(r"^/(packages|proc|sys|dev(?!/shm)|tmp/systemd-private|var/lib/(dpkg|apt|systemd)|var/log|var/cache|run/(systemd|log|udev|lock|utmp|user)|"
                      r"etc/(passwd|group|shadow|gshadow)-|etc/\.pwd\.lock|etc/ld\.so\.cache)")

    def files(self, machine):
        found = machine.run("find", "/", "-path", "/proc", "-prune", "-o", "-path", "/sys", "-prune", "-o", "-print")
        return {name for name in found.splitlines() if not self.KEPT.match(name)}

    def test_purging_leaves_nothing(self):
        with Machine("removed") as machine:
            before = self.files(machine)
            accounts = [(machine.folder / "etc" / name).read_text(encoding="utf-8") for name in ("passwd", "group", "shadow", "gshadow")]
            machine.install()
            machine.run("usermod", "--append", "--groups", "pace", "ann")
            machine.serve(with_controller=True)
            with Team(machine, Run.scratch, "ssp", steps=200) as team:
                team.finish()
            names = [name for name in Run.packages.installed()]
            machine.run("dpkg", "--remove", *names)
            for unit in UNITS:
                self.assertEqual(machine.run("systemctl", "is-active", unit, check=False)[0] == 0, False, unit)
                self.assertEqual(machine.run("pgrep", "--exact", unit, check=False)[1], "")
            self.assertTrue((machine.folder / "etc/pace/paced.toml").exists(), "a removal keeps the configuration")
            machine.run("dpkg", "--purge", *names)
            self.assertEqual(sorted(self.files(machine) - before), [])
            machine.run("gpasswd", "--delete", "ann", "pace", check=False)
            after = [(machine.folder / "etc" / name).read_text(encoding="utf-8") for name in ("passwd", "group", "shadow", "gshadow")]
            self.assertEqual(after, accounts)
            self.assertNotIn("pace", machine.run("systemctl", "list-units", "--all", "--no-legend"))


if __name__ == "__main__":
    sys.exit(needs.boot_tests(Run.prepare, "systemd-nspawn", "nsenter"))
