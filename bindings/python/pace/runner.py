"""Runner: starts the workers of a job on this machine, and a daemon for them if none runs.

    python -m pace run -n 4 [--restart N] [--endpoint E] script.py args
"""

import argparse
import os
import selectors
import signal
import socket
import subprocess
import sys
import time
import uuid
from contextlib import ExitStack
from typing import IO, Any, Dict, List, Optional

from pace.daemon import Daemon, die_with_parent, environment_with_package
from pace.errors import PaceError
from pace.options import query

STOP_SECONDS = 5
# How often it is asked whether workers that were started again wait for workers that have finished.
ASK_SECONDS = 5


class Worker:
    """One rank's process, started anew when it dies. Its output comes out line by line, with its rank in front."""

    def __init__(self, rank: int, command: List[str], environment: Dict[str, str]):
        self.rank = rank
        self.restarts = 0
        self.code: Optional[int] = None
        # How the process before this one ended.
        self.code_before = 0
        self._command = command
        self._environment = environment
        self._text = b""
        self.start()

    def start(self) -> None:
        self.code = None
        self.process = subprocess.Popen(
            self._command, env={**self._environment, "PACE_RESTART_COUNT": str(self.restarts)}, stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT, start_new_session=True, preexec_fn=die_with_parent(signal.SIGKILL))
        assert self.process.stdout is not None
        self.output: IO[bytes] = self.process.stdout
        os.set_blocking(self.output.fileno(), False)

    def pass_output(self) -> bool:
        """Prints the whole lines that have come. False when there will be no more."""
        while True:
            try:
                part = os.read(self.output.fileno(), 65536)
            except BlockingIOError:
                return True
            if not part:
                self._print([self._text] if self._text else [])
                self._text = b""
                return False
            *lines, self._text = (self._text + part).split(b"\n")
            self._print(lines)

    def _print(self, lines: List[bytes]) -> None:
        text = b"".join(b"[%d] %s\n" % (self.rank, line) for line in lines)
        sys.stdout.buffer.write(text)
        sys.stdout.buffer.flush()

    def send(self, number: int) -> None:
        if self.process.poll() is None:
            os.killpg(self.process.pid, number)


class Runner:
    """All workers, until they have ended. Threads: the main one, whose signals it takes meanwhile."""

    def __init__(self, workers: int, command: List[str], environment: Dict[str, str], restarts: int, keep_going: bool):
        self._count = workers
        self._command = command
        self._environment = environment
        self._restarts = restarts
        self._keep_going = keep_going
        self._selector = selectors.DefaultSelector()
        self._wake, self._woken = socket.socketpair()
        self._workers: List[Worker] = []
        self._signal = 0
        self._kill_at: Optional[float] = None
        self._ask_at: Optional[float] = None
        self._code = 0

    def run(self) -> int:
        """Blocks until all workers have ended. The first failure's exit code, 128 + N for a signal N; 0: all succeeded."""
        before = self._take_signals()
        try:
            for rank in range(self._count):
                place = {"RANK": str(rank), "WORLD_SIZE": str(self._count), "LOCAL_RANK": str(rank),
                         "LOCAL_WORLD_SIZE": str(self._count)}
                self._workers.append(Worker(rank, self._command, {**self._environment, **place}))
                self._listen(self._workers[-1])
            while any(worker.code is None for worker in self._workers):
                self._step()
        finally:
            for worker in self._workers:
                worker.send(signal.SIGKILL)
                worker.process.wait()
                worker.output.close()
            self._give_signals_back(before)
        return 128 + self._signal if self._signal else self._code

    def _step(self) -> None:
        due = [at for at in (self._kill_at, self._ask_at) if at is not None]
        left = max(min(due) - time.monotonic(), 0) if due else None
        for key, _ in self._selector.select(left):
            if key.data is None:
                self._woken.recv(4096)
            elif not key.data.pass_output():
                self._selector.unregister(key.fileobj)
        for worker in self._workers:
            if worker.code is None and worker.process.poll() is not None:
                self._ended(worker)
        if self._kill_at is not None and time.monotonic() >= self._kill_at:
            self._tell_all(signal.SIGKILL)
            self._kill_at = None
        self._end_who_is_too_late()

    def _end_who_is_too_late(self) -> None:
        """Stops workers that were started again when all others had left the job: they would wait for those for ever."""
        running = [worker for worker in self._workers if worker.code is None]
        if self._kill_at is not None or len(running) == self._count or not all(worker.restarts for worker in running):
            self._ask_at = None
            return
        now = time.monotonic()
        if self._ask_at is not None and now >= self._ask_at and self._waits_for_all():
            ranks = ", ".join(str(worker.rank) for worker in running)
            _say(f"worker {ranks} was started again when the run had ended, and waits for workers that have finished: stopped")
            self._code = self._code or running[0].code_before
            self._stop(signal.SIGTERM)
            self._ask_at = None
        elif self._ask_at is None or now >= self._ask_at:
            self._ask_at = now + ASK_SECONDS

    def _waits_for_all(self) -> bool:
        """Whether a job of this run has not started. False as well if no daemon answers."""
        try:
            jobs = query("status", self._environment.get("PACE_ENDPOINT", ""))["jobs"]
        except (PaceError, KeyError):
            return False
        run = self._environment.get("PACE_RUN_ID")
        return any(job["run"]["id"] == run and not job["started"] for job in jobs)

    def _ended(self, worker: Worker) -> None:
        # The worker's last output. A program that the worker has left behind may hold the pipe
        # open.
        worker.pass_output()
        if worker.output in {key.fileobj for key in self._selector.get_map().values()}:
            self._selector.unregister(worker.output)
        returned = worker.process.returncode
        is_stopping = self._signal != 0 or self._code != 0 and not self._keep_going
        if returned != 0 and worker.restarts < self._restarts and not is_stopping:
            worker.restarts += 1
            worker.code_before = _exit_code(returned)
            _say(f"worker {worker.rank} {_how(returned)}; start {worker.restarts} of at most {self._restarts} more")
            worker.output.close()
            worker.start()
            self._listen(worker)
            return
        worker.code = _exit_code(returned)
        if returned != 0 and not is_stopping:
            _say(f"worker {worker.rank} {_how(returned)}{'' if self._keep_going else '; the others are stopped'}")
            self._code = self._code or worker.code
            if not self._keep_going:
                self._stop(signal.SIGTERM)

    def _stop(self, number: int) -> None:
        self._tell_all(number)
        self._kill_at = time.monotonic() + STOP_SECONDS

    def _tell_all(self, number: int) -> None:
        for worker in self._workers:
            if worker.code is None:
                worker.send(number)

    def _listen(self, worker: Worker) -> None:
        self._selector.register(worker.output, selectors.EVENT_READ, worker)

    def _take_signals(self) -> Any:
        self._wake.setblocking(False)
        self._woken.setblocking(False)
        self._selector.register(self._woken, selectors.EVENT_READ, None)
        handlers = [(number, signal.signal(number, self._on_signal)) for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)]
        handlers.append((signal.SIGCHLD, signal.signal(signal.SIGCHLD, lambda *_: None)))
        return signal.set_wakeup_fd(self._wake.fileno()), handlers

    def _give_signals_back(self, before: Any) -> None:
        descriptor, handlers = before
        signal.set_wakeup_fd(descriptor)
        for number, handler in handlers:
            signal.signal(number, handler)
        self._selector.close()
        self._wake.close()
        self._woken.close()

    def _on_signal(self, number: int, _: Any) -> None:
        # A second Ctrl-C does not wait for workers that clear up.
        if self._signal:
            self._tell_all(signal.SIGKILL)
        else:
            self._signal = number
            self._stop(number)


def _exit_code(returned: int) -> int:
    return 128 - returned if returned < 0 else returned


def _how(returned: int) -> str:
    return f"was ended by signal {-returned}" if returned < 0 else f"ended with {returned}"


def _say(text: str) -> None:
    print(f"pace run: {text}", file=sys.stderr, flush=True)


def _is_reachable() -> bool:
    try:
        query("versions", "")
    except PaceError:
        return False
    return True


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("-n", "--workers", type=int, required=True, help="how many workers to start")
    parser.add_argument("--restart", type=int, default=0, metavar="N", help="start a worker that dies anew, at most N times")
    parser.add_argument("--endpoint", help="the daemon, unix:PATH. Default: PACE_ENDPOINT, else this node's, else one that is "
                        "started for the workers")
    parser.add_argument("--keep-going", action="store_true", help="let the other workers go on without one that has failed")
    parser.add_argument("-m", "--module", action="store_true", help="the script is the name of a module")
    parser.add_argument("script")
    parser.add_argument("arguments", nargs=argparse.REMAINDER)


def main(given: argparse.Namespace) -> int:
    if given.workers < 1 or given.restart < 0:
        _say("give at least one worker, and at least 0 restarts")
        return 2
    environment = environment_with_package()
    environment.setdefault("PYTHONUNBUFFERED", "1")
    environment.setdefault("PACE_RUN_ID", uuid.uuid4().hex)
    command = [sys.executable] + (["-m"] if given.module else []) + [given.script] + given.arguments
    with ExitStack() as stack:
        if given.endpoint:
            environment["PACE_ENDPOINT"] = given.endpoint
        elif not os.environ.get("PACE_ENDPOINT") and not _is_reachable():
            try:
                environment["PACE_ENDPOINT"] = stack.enter_context(Daemon()).endpoint
            except PaceError as error:
                _say(error.message)
                return 1
        code = Runner(given.workers, command, environment, given.restart, given.keep_going).run()
    return code
