"""The file system of a machine: a small Debian with systemd, made once for a run."""

import pathlib
import shutil
import subprocess
import time

BASE = ("systemd", "systemd-sysv", "dbus", "procps", "kmod")


def release():
    text = pathlib.Path("/etc/os-release").read_text(encoding="utf-8")
    return dict(line.split("=", 1) for line in text.splitlines() if "=" in line)["VERSION_CODENAME"]


def sources():
    """This machine's own lists of where Debian is, which a mirror or a proxy may need."""
    lists = [pathlib.Path("/etc/apt/sources.list"), *sorted(pathlib.Path("/etc/apt/sources.list.d").glob("*.sources")),
             *sorted(pathlib.Path("/etc/apt/sources.list.d").glob("*.list"))]
    return [path for path in lists if path.exists() and "/debian" in path.read_text(encoding="utf-8")]


def make_once(archive, packages):
    """A tar archive of a root with these packages of Debian, besides what a machine needs to boot. One that is there already does."""
    if archive.exists():
        return
    begun = time.monotonic()
    unfinished = archive.with_suffix(".part.tar")
    command = ["mmdebstrap", "--quiet", "--variant=minbase", f"--include={','.join((*BASE, *packages))}",
               release(), unfinished, *sources()]
    subprocess.run([str(word) for word in command], check=True, stdin=subprocess.DEVNULL)
    unfinished.rename(archive)
    print(f"    a root of {archive.stat().st_size >> 20} MiB in {time.monotonic() - begun:.1f} s", flush=True)


def unpack(archive, folder):
    folder.mkdir(parents=True)
    subprocess.run(["tar", "--extract", "--file", archive, "--directory", folder, "--numeric-owner", "--xattrs"], check=True)


def remove(folder):
    shutil.rmtree(folder)
