"""Root: this machine's own system with packages of RPM on top, thrown away at the end."""

import os
import pathlib
import stat
import subprocess
import sys
import tempfile

INSIDE = "PACE_RPM_TEST_INSIDE"


def enter():
    """Runs this program anew as the first process of a mount and a process namespace, which end with it."""
    if INSIDE in os.environ:
        return
    command = ["unshare", "--mount", "--pid", "--fork", "--kill-child", "--mount-proc", sys.executable, "-B", *sys.argv]
    os.execvpe(command[0], command, {**os.environ, INSIDE: "1"})


class Root:
    """An overlay: what is written stays in memory. Its /run and /tmp are empty, as after a start of the machine.

    Nothing deletes below its folder, in which parts of this machine are mounted: close() unmounts, and removes what is empty then.
    """

    def __init__(self):
        self._folder = pathlib.Path(tempfile.mkdtemp(prefix="pace-rpm-root-"))
        self._folder.chmod(0o755)
        self._mount("-t", "tmpfs", "tmpfs", self._folder)
        self.path = self._folder / "root"
        for name in ("root", "upper", "work"):
            (self._folder / name).mkdir()
        self._mount("-t", "overlay", "overlay", "-o", f"lowerdir=/,upperdir={self._folder}/upper,workdir={self._folder}/work", self.path)
        self._mount("-t", "proc", "proc", self.path / "proc")
        self._mount("-o", "bind,ro", "/sys", self.path / "sys")
        for name in ("run", "tmp", "dev"):
            self._mount("-t", "tmpfs", "tmpfs", self.path / name)
        for minor, name in ((3, "null"), (5, "zero"), (8, "random"), (9, "urandom")):
            os.mknod(self.path / "dev" / name, 0o666 | stat.S_IFCHR, os.makedev(1, minor))
            (self.path / "dev" / name).chmod(0o666)
        # Where Enterprise Linux's loader looks without being told.
        (self.path / "etc/ld.so.conf.d/lib64.conf").write_text("/usr/lib64\n", encoding="ascii")

    @staticmethod
    def _mount(*words):
        subprocess.run(["mount", *map(str, words)], check=True)

    def close(self):
        subprocess.run(["umount", "--recursive", "--lazy", self._folder], check=True)
        self._folder.rmdir()

    def inside(self, *command, user="root"):
        """The command line that runs `command` there as a user."""
        as_user = [] if user == "root" else ["setpriv", "--reuid", user, "--regid", user, "--init-groups", "--"]
        return ["chroot", str(self.path), *as_user, *map(str, command)]

    def rpm(self, *words):
        """Gives what rpm says. It ends the test when a scriptlet fails, which rpm itself only says."""
        result = subprocess.run(["rpm", "--root", self.path, "--dbpath", "/var/lib/rpm-of-the-test", *map(str, words)], check=False, text=True,
                                stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        if result.returncode != 0 or "scriptlet failed" in result.stdout:
            raise AssertionError(f"rpm {words} ended with {result.returncode}:\n{result.stdout}")
        return result.stdout
