"""Node daemon: one paced for all workers of a run on this machine, which lives as long as the last
worker.

The first worker that comes starts a supervisor, `python -m pace.nodedaemon FOLDER`, which starts the daemon and outlives that
worker. Each worker holds a shared lock on FOLDER/workers. The supervisor waits for an exclusive
lock, which it gets when all workers are gone, however they ended. It then stops the daemon.
A worker holds FOLDER/start while it looks whether there is a daemon.
"""

import fcntl
import hashlib
import os
import pathlib
import select
import shutil
import socket
import subprocess
import sys
import tempfile
from typing import IO, Optional

from pace.daemon import READY_SECONDS, Daemon, environment_with_package, last_words
from pace.errors import NotFound, PaceError

_READY = b"ready\n"


class NodeDaemon:
    """This worker's hold on its run's daemon. Blocks until the daemon serves; raises NotFound when it does not."""

    def __init__(self, run: str):
        name = hashlib.sha256(run.encode()).hexdigest()[:16]
        self._folder = pathlib.Path(tempfile.gettempdir()) / f"pace-{os.getuid()}-{name}"
        self._workers: Optional[IO[str]] = None
        self.ensure()

    @property
    def endpoint(self) -> str:
        return f"unix:{_socket(self._folder)}"

    def ensure(self) -> None:
        """Starts the daemon if it is not there, for example since it was killed. Blocks until it serves. Raises NotFound."""
        while True:
            self._folder.mkdir(mode=0o700, exist_ok=True)
            if self._folder.stat().st_uid != os.getuid():
                raise NotFound(f"{self._folder} belongs to another user; remove it, or start a daemon and name it in PACE_ENDPOINT",
                               "endpoint")
            try:
                with open(self._folder / "start", "w", encoding="ascii") as start:
                    fcntl.flock(start, fcntl.LOCK_EX)
                    if not _is_same(start, self._folder / "start"):
                        continue  # The supervisor of a run before has removed it meanwhile.
                    if self._workers is None or not _is_same(self._workers, self._folder / "workers"):
                        self._workers = open(self._folder / "workers", "a", encoding="ascii")
                        fcntl.flock(self._workers, fcntl.LOCK_SH)
                    if not _answers(self._folder):
                        _start_supervisor(self._folder)
                return
            except FileNotFoundError:
                continue


def _socket(folder: pathlib.Path) -> str:
    return str(folder / "paced.sock")


def _is_same(file: IO[str], path: pathlib.Path) -> bool:
    try:
        return os.path.samestat(os.fstat(file.fileno()), os.stat(path))
    except FileNotFoundError:
        return False


def _answers(folder: pathlib.Path) -> bool:
    with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as probe:
        try:
            probe.connect(_socket(folder))
        except OSError:
            return False
    return True


def _start_supervisor(folder: pathlib.Path) -> None:
    log = folder / "supervisor.log"
    with open(log, "ab") as errors:
        process = subprocess.Popen([sys.executable, "-m", "pace.nodedaemon", str(folder)], stdin=subprocess.DEVNULL,
                                   stdout=subprocess.PIPE, stderr=errors, start_new_session=True,
                                   env=environment_with_package())
    assert process.stdout is not None
    with process.stdout as output:
        is_told = bool(select.select([output], [], [], READY_SECONDS)[0])
        if not is_told or output.readline() != _READY:
            raise NotFound(f"no daemon runs on this machine, and one for this run did not start:{last_words(str(log))}", "endpoint")


def _supervise(folder: pathlib.Path) -> None:
    with open(folder / "workers", "a", encoding="ascii") as workers, open(folder / "start", "a", encoding="ascii") as start, \
            Daemon(_socket(folder)):
        os.write(1, _READY)
        os.close(1)
        while True:
            fcntl.flock(workers, fcntl.LOCK_EX)
            try:
                fcntl.flock(start, fcntl.LOCK_EX | fcntl.LOCK_NB)
                break
            except BlockingIOError:
                # A worker is coming. It holds its lock when it lets go of this one.
                fcntl.flock(workers, fcntl.LOCK_UN)
                fcntl.flock(start, fcntl.LOCK_EX)
                fcntl.flock(start, fcntl.LOCK_UN)
        shutil.rmtree(folder, ignore_errors=True)


if __name__ == "__main__":
    try:
        _supervise(pathlib.Path(sys.argv[1]))
    except PaceError as error:
        print(error.message, file=sys.stderr)
        sys.exit(1)
