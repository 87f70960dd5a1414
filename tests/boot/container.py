"""A booted systemd in a container of systemd-nspawn, without a network."""

import os
import pathlib
import re
import select
import signal
import socket
import subprocess
import time

BOOT_S = 120
ENVIRONMENT = {"PATH": "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin", "HOME": "/root", "LANG": "C.UTF-8",
               "DEBIAN_FRONTEND": "noninteractive"}


class Failed(AssertionError):
    pass


class Container:
    """Boots the root in `folder`; leaving the context ends it, with all its processes."""

    def __init__(self, folder, log):
        self.root = pathlib.Path(folder)
        self.log_ = pathlib.Path(log)
        self.process_ = None
        self.leader_ = None

    def __enter__(self):
        notify = self.log_.with_suffix(".notify")
        notify.unlink(missing_ok=True)
        with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as told, open(self.log_, "wb") as log:
            told.bind(str(notify))
            self.process_ = subprocess.Popen(
                ["systemd-nspawn", "--quiet", "--boot", "--directory", self.root, f"--machine=pace-boot-{os.getpid()}",
                 "--private-network", "--register=no", "--keep-unit", "--console=pipe", "--notify-ready=yes",
                 "--resolv-conf=off", "--timezone=off"],
                stdin=subprocess.DEVNULL, stdout=log, stderr=log, env={**ENVIRONMENT, "NOTIFY_SOCKET": str(notify)})
            try:
                self.await_boot_(told)
            except BaseException:
                self.__exit__()
                raise
        notify.unlink()
        return self

    def await_boot_(self, told):
        deadline = time.monotonic() + BOOT_S
        ready = False
        while not (ready and self.leader_):
            left = deadline - time.monotonic()
            if left <= 0 or not select.select([told], [], [], min(left, 1))[0]:
                if left > 0 and self.process_.poll() is None:
                    continue
                raise Failed(f"the container has not booted in {BOOT_S} s:\n{self.log_.read_text(errors='replace')}")
            text = told.recv(4096).decode()
            ready |= "READY=1" in text.split("\n")
            if found := re.search(r"^X_NSPAWN_LEADER_PID=(\d+)$", text, re.MULTILINE):
                self.leader_ = int(found.group(1))

    def __exit__(self, *_):
        # systemd-nspawn asks the container to power off, and, asked once more, ends it.
        for number in (signal.SIGTERM, signal.SIGTERM, signal.SIGKILL):
            self.process_.send_signal(number)
            try:
                self.process_.wait(20)
                return
            except subprocess.TimeoutExpired:
                continue
        self.process_.wait()

    def enter_(self, words, user):
        inside = ["nsenter", "--target", str(self.leader_), "--mount", "--uts", "--ipc", "--net", "--pid", "--root", "--wd"]
        if user is not None:
            inside += ["setpriv", f"--reuid={user}", f"--regid={user}", "--init-groups"]
        return [*inside, *(str(word) for word in words)]

    def start(self, *words, user=None, **options):
        """A process inside that goes on beside the test."""
        return subprocess.Popen(self.enter_(words, user), env=ENVIRONMENT, stdin=subprocess.DEVNULL, **options)

    def run(self, *words, user=None, check=True, timeout=120):
        """The output of a command inside; with check=False (status, output)."""
        done = subprocess.run(self.enter_(words, user), env=ENVIRONMENT, stdin=subprocess.DEVNULL, check=False, text=True,
                              timeout=timeout, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, errors="replace")
        if not check:
            return done.returncode, done.stdout
        if done.returncode != 0:
            raise Failed(f"{' '.join(str(word) for word in words)} ended with {done.returncode}:\n{done.stdout}")
        return done.stdout

    def property(self, unit, name):
        return self.run("systemctl", "show", "--value", f"--property={name}", unit).strip()

    def main_pid(self, unit):
        return int(self.property(unit, "MainPID"))

    def journal(self, unit, since=None):
        """The unit's messages; `since` is a cursor()."""
        after = [] if since is None else [f"--after-cursor={since}"]
        return self.run("journalctl", "--no-pager", "--quiet", "--output=cat", f"--unit={unit}", *after)

    def cursor(self):
        said = self.run("journalctl", "--no-pager", "--quiet", "--lines=0", "--show-cursor")
        return re.search(r"-- cursor: (.*)", said).group(1)


def wait_until(condition, seconds, what):
    """Looks again and again until `condition` is true, and gives what it gave. systemd and trainers tell of nothing by themselves here."""
    deadline = time.monotonic() + seconds
    while True:
        found = condition()
        if found:
            return found
        if time.monotonic() > deadline:
            raise Failed(f"within {seconds} s: not {what}")
        select.select([], [], [], 0.02)
