"""The programs of a build at the places where packages have them, and a daemon for a test."""

import contextlib
import ctypes
import signal
import subprocess
import sys
import pathlib

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "packaging"))

import command_line

BUILT = {"pacectl": "service/pacectl/pacectl", "pace-sim": "service/simulator/pace-sim", "paced": "daemon/paced",
         "pace-controller": "service/controller/shell/pace-controller"}
STOP_S = 10


def install_links(build, folder):
    """A prefix in the folder with links to the programs of the build."""
    prefix = folder / "usr"
    for name, place in command_line.PROGRAMS.items():
        target = prefix / place
        target.parent.mkdir(parents=True, exist_ok=True)
        target.symlink_to(build / BUILT[name])
    return prefix


def die_with_us():
    """A daemon that outlived a test that was killed would stay for ever."""
    pr_set_pdeathsig = 1
    ctypes.CDLL(None).prctl(pr_set_pdeathsig, signal.SIGKILL)


@contextlib.contextmanager
def daemon(prefix, folder):
    """A daemon on its own: gives the endpoint of its socket, and ends it."""
    socket = folder / "paced.sock"
    with open(folder / "paced.log", "wb") as log:
        process = subprocess.Popen([prefix / "sbin/paced", "--socket", socket, "--socket-group", "", "--gpu", "off"],
                                   stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=log, preexec_fn=die_with_us)
    try:
        for line in process.stdout:
            if line == b"ready\n":
                break
        else:
            raise AssertionError((folder / "paced.log").read_text(encoding="utf-8"))
        yield f"unix:{socket}"
    finally:
        process.send_signal(signal.SIGTERM)
        process.wait(STOP_S)
        process.stdout.close()
