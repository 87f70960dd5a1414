"""Scene: the daemons and the drivers of one case, from its first step to its last."""

import os
import pathlib
import shutil
import signal
import tempfile
import time
from typing import Dict, List, Tuple

import expectation
from case import Case, Step
from process import Process, ProcessEnded

ANSWER_SECONDS = 30
START_SECONDS = 20
AGAIN_SECONDS = 0.02
END_SECONDS = 5
SIGNALS = {"kill": signal.SIGKILL, "freeze": signal.SIGSTOP, "thaw": signal.SIGCONT, "signal": signal.SIGUSR1}


class Failed(Exception):
    """A step was otherwise than expected."""


class Skipped(Exception):
    """The language cannot say it."""


class Scene:
    """`with Scene(...) as scene: scene.run()`. Nothing that it has started outlives it."""

    def __init__(self, case: Case, driver: List[str], environment: Dict[str, str], paced: str, controller: str, verbose: bool):
        self._case = case
        self._command = driver
        self._environment = environment
        self._paced = paced
        self._controller = controller
        self._verbose = verbose
        self._daemons: List[Process] = []
        self._drivers: Dict[str, Process] = {}
        self._others: List[Process] = []
        self._flags: List[str] = []

    def __enter__(self) -> "Scene":
        self._folder = pathlib.Path(tempfile.mkdtemp(prefix="pace-spec-"))
        try:
            self._flags = [word for name, value in self._case.settings
                           for word in (f"--{name}", value.replace("{folder}", str(self._folder)))]
            if self._case.daemons > 1:
                self._start_controller()
            for node in range(self._case.daemons):
                self._start_daemon(node)
        except ProcessEnded as ended:
            reason = f"a daemon does not start: {ended}{self._last_words()}"
            self.__exit__()
            raise Failed(reason) from None
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        for driver in self._drivers.values():
            driver.send(signal.SIGCONT)
            driver.end()
        for daemon in self._daemons:
            daemon.send(signal.SIGCONT)
            daemon.send(signal.SIGTERM)
            daemon.end(END_SECONDS)
        for other in self._others:
            other.end()
        shutil.rmtree(self._folder, ignore_errors=True)

    def run(self) -> None:
        """Raises Failed and Skipped."""
        for step in self._case.steps:
            try:
                if step.actor:
                    self._ask(step)
                else:
                    self._act(step)
            except ProcessEnded as ended:
                raise Failed(f"line {step.line}: {step.text}: {ended}{self._last_words()}") from None

    def _ask(self, step: Step) -> None:
        deadline = time.monotonic() + ANSWER_SECONDS
        while True:
            status, answer = self._answer(step)
            wrong = expectation.difference(step.status, step.values, status, answer)
            if wrong is None:
                return
            if not step.repeats or time.monotonic() > deadline:
                raise Failed(f"line {step.line}: {step.text}: {wrong}{self._last_words()}")
            time.sleep(AGAIN_SECONDS)

    def _answer(self, step: Step) -> Tuple[str, Dict[str, str]]:
        driver = self._drivers.get(step.actor)
        if driver is None:
            driver = Process(self._command, self._log(f"driver-{step.actor}"), self._environment)
            self._drivers[step.actor] = driver
        line = " ".join(self._words_of(step))
        driver.write_line(line)
        said = driver.read_line(ANSWER_SECONDS)
        if self._verbose:
            print(f"    {step.actor}> {line}\n    {step.actor}< {said}")
        status, _, rest = said.partition(" ")
        if status == "unsupported":
            raise Skipped(rest)
        if status == "broken":
            raise Failed(f"line {step.line}: {step.text}: the driver is broken: {rest}{self._last_words()}")
        return status, dict(part.partition("=")[::2] for part in rest.split())

    def _words_of(self, step: Step) -> List[str]:
        words = list(step.words)
        if "open" not in words[:3] and "query" not in words[:3]:
            return words
        node = next((int(word[7:]) for word in words if word.startswith("daemon=")), None)
        words = [word for word in words if not word.startswith("daemon=")]
        is_asking_library = "query" in words[:3] and node is None
        if not is_asking_library and not any(word.startswith("endpoint=") for word in words):
            words.append(f"endpoint=unix:{self._socket(node or 0)}")
        if "open" in words[:3] and not any(word.startswith("job=") for word in words):
            words.append(f"job={self._case.name}")
        return words

    def _act(self, step: Step) -> None:
        verb, *whom = step.words
        if verb == "start":
            self._start_daemon(int(whom[1]) if len(whom) > 1 else 0)
            return
        if whom[0] == "daemon":
            process = self._daemons[int(whom[1]) if len(whom) > 1 else 0]
        elif whom[0] in self._drivers:
            process = self._drivers[whom[0]]
        else:
            raise Failed(f"line {step.line}: {step.text}: no such process")
        process.send(SIGNALS[verb])
        if verb == "kill":
            process.end()
            self._drivers = {name: driver for name, driver in self._drivers.items() if driver is not process}

    def _start_controller(self) -> None:
        command = [self._controller, "--listen", "tcp://127.0.0.1:0", "--journal", str(self._folder / "controller.journal")]
        controller = Process(command, self._log("controller"), dict(os.environ))
        self._others.append(controller)
        line = controller.read_line(START_SECONDS)
        while "listening " not in line:
            line = controller.read_line(START_SECONDS)
        self._flags += ["--controller", line.split("listening ", 1)[1].split()[0], "--data-interface", "lo"]

    def _start_daemon(self, node: int) -> None:
        command = [self._paced, "--socket", self._socket(node), "--socket-group", "", "--name", f"node-{node}", *self._flags]
        if "--controller" not in self._flags:
            command += ["--journal", str(self._folder / "journal")]
        daemon = Process(command, self._log(f"daemon-{node}"), dict(os.environ))
        self._daemons[node:node + 1] = [daemon]
        while not daemon.read_line(START_SECONDS).startswith("ready"):
            pass

    def _socket(self, node: int) -> str:
        return str(self._folder / f"paced-{node}.sock")

    def _log(self, name: str) -> str:
        return str(self._folder / f"{name}.log")

    def _last_words(self) -> str:
        logs = [(path.stem, path.read_text(errors="replace").strip().splitlines()[-12:])
                for path in sorted(self._folder.glob("*.log"))]
        return "".join(f"\n      {name}: {line}" for name, lines in logs for line in lines)
