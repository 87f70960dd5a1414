#!/usr/bin/env python3
"""The packages under a kernel of their own: emulator_test.py PACKAGES SCRATCH.

What a container cannot show: limits, the filter of devices and version 2 of control groups are really in force. 77 if this machine
cannot emulate one.
"""

import pathlib
import re
import shutil
import subprocess
import sys
import time
import unittest

import emulator
import image
import needs
from packages import making_keys, naming_the_controller
from trainers import FAMILIES, TRAINER, compile_trainer

HERE = pathlib.Path(__file__).resolve().parent
MODULES = ("ib_core.ko", "ib_uverbs.ko")
BOOT_S = 420
UNITS = ("paced", "pace-controller")


def say(what):
    print(f"    {what}", flush=True)


def in_root(root, *words):
    own_processes = ("unshare", "--mount", "--pid", "--fork", f"--mount-proc={root / 'proc'}")
    return subprocess.run([*own_processes, "chroot", root, *words], check=True, text=True, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                          env={"PATH": "/usr/sbin:/usr/bin:/sbin:/bin", "DEBIAN_FRONTEND": "noninteractive"}).stdout


def install_into(root, packages):
    """As an image of a machine is made: nothing runs yet."""
    folder = root / "packages"
    folder.mkdir()
    for name in packages.installed():
        shutil.copy(packages[name], folder)
    in_root(root, "sh", "-c", "dpkg --install /packages/*.deb")
    shutil.rmtree(folder)
    for folder in ("var/cache/apt", "var/lib/apt/lists"):
        shutil.rmtree(root / folder)
    in_root(root, "useradd", "--create-home", "--groups", "pace", "ann")
    with open(root / "etc/pace/paced.toml", "a", encoding="utf-8") as file:
        file.write(naming_the_controller(in_root(root, "pace-controller", "--help-config")) + 'name = "emulated"\n')
    for command in (("pacectl", "keygen", "/etc/pace/keys/controller"), *making_keys("emulated")):
        in_root(root, *command)
    (root / "etc/pace/pace-controller.toml").write_text(
        'curve_secret_file = "/etc/pace/keys/controller.secret"\ncurve_allowed_dir = "/etc/pace/keys/allowed"\n', encoding="utf-8")
    for unit in UNITS:
        # A call that is forbidden ends the process, by SIGSYS; otherwise it would only fail.
        drop_in = root / f"etc/systemd/system/{unit}.service.d"
        drop_in.mkdir(parents=True)
        (drop_in / "kill.conf").write_text("[Service]\nSystemCallErrorNumber=kill\nRestart=no\n", encoding="utf-8")


def add_probe(root, modules, trainer):
    shutil.copy(trainer, root / TRAINER.lstrip("/"))
    shutil.copy(HERE / "guest/probe", root / "usr/local/bin/probe")
    shutil.copy(HERE / "guest/pace-probe.service", root / "etc/systemd/system")
    # RDMA's devices have numbers as soon as their driver is there, without any card.
    target = root / "lib/modules" / modules.name
    for name in MODULES:
        (module,) = modules.rglob(name)
        (target / module.relative_to(modules).parent).mkdir(parents=True, exist_ok=True)
        shutil.copy(module, target / module.relative_to(modules))
    for name in ("modules.builtin", "modules.builtin.modinfo", "modules.order"):
        shutil.copy(modules / name, target)
    in_root(root, "depmod", modules.name)
    (root / "etc/modules-load.d").mkdir(exist_ok=True)
    (root / "etc/modules-load.d/rdma.conf").write_text("ib_uverbs\n", encoding="utf-8")


class EmulatedTest(unittest.TestCase):
    said, found = "", ()

    @classmethod
    def prepare(cls, packages, scratch):
        archive = scratch.parent / "root.tar"
        image.make_once(archive, packages.of_debian())
        begun = time.monotonic()
        kernel, modules = emulator.newest_kernel(scratch)
        root = scratch / "root"
        image.unpack(archive, root)
        install_into(root, packages)
        add_probe(root, modules, compile_trainer(HERE / "trainer.c", packages, scratch))
        emulator.pack(root, scratch / "root.cpio")
        say(f"made in {time.monotonic() - begun:.1f} s")
        begun = time.monotonic()
        cls.said = emulator.boot(kernel, scratch / "root.cpio", "pace-probe.service", BOOT_S)
        say(f"booted, trained and powered off in {time.monotonic() - begun:.1f} s")
        cls.found = [line.split() for line in re.findall(r"pace-probe: (.*?)\r?$", cls.said, re.MULTILINE)]
        for line in cls.found:
            say(" ".join(line))

    def of(self, *words):
        """The rest of the one line that begins so."""
        lines = [line[len(words):] for line in self.found if line[:len(words)] == list(words)]
        self.assertEqual(len(lines), 1, f"{words} in:\n{self.said[-4000:]}")
        return lines[0]

    def test_it_boots_with_control_groups_of_version_2_and_powers_off(self):
        self.assertEqual(self.of("cgroup"), ["cgroup2fs"])
        self.assertEqual(self.of("end"), [])

    def test_both_programs_run_under_their_names(self):
        for unit in UNITS:
            self.assertEqual(self.of("active", unit), ["active"])
            self.assertEqual(self.of("comm", unit), [unit])

    def test_limits_are_those_of_the_units(self):
        self.assertEqual(self.of("memlock", "paced"), ["unlimited", "unlimited"])
        for unit in UNITS:
            self.assertEqual(self.of("nofile", unit), ["65536", "65536"])
            self.assertEqual(self.of("oom", unit), ["-500"])
            self.assertEqual(int(self.of("capabilities", unit)[0], 16), 0)
            self.assertEqual(self.of("seccomp", unit), ["2"])

    def test_devices_are_closed_but_those_of_the_unit(self):
        expected = {"null": "allowed", "verbs": "allowed", "mem": "forbidden", "console": "forbidden", "fuse": "forbidden"}
        self.assertEqual({name: self.of("device", name)[0] for name in expected}, expected)

    def test_all_families_train_and_the_filter_of_system_calls_stops_nothing(self):
        for family in FAMILIES:
            self.assertEqual(self.of("trained", family), ["0"])
        for unit in UNITS:
            self.assertEqual(self.of("restarts", unit), ["0"])
            self.assertEqual(self.of("result", unit), ["success"])


if __name__ == "__main__":
    sys.exit(needs.boot_tests(EmulatedTest.prepare, "qemu-system-x86_64", "cpio", "unshare"))
