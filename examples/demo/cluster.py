"""Cluster: one controller and several daemons on the loopback interface, for the length of a `with`."""

import pathlib

from process import Process, stop_all

READY_SECONDS = 20


class Cluster:
    def __init__(self, programs, daemons, folder):
        self._programs = programs
        self._folder = pathlib.Path(folder)
        self._processes = []
        self._sockets = [self._folder / f"node-{i}.sock" for i in range(daemons)]

    def __enter__(self):
        try:
            self._start()
        except BaseException:
            stop_all(self._processes)
            raise
        return self

    def __exit__(self, *_):
        stop_all(self._processes)

    def endpoint(self, rank, workers):
        """The endpoint of a worker's daemon. Neighbours in rank share a daemon."""
        return f"unix:{self._sockets[rank * len(self._sockets) // workers]}"

    def check(self):
        """Raises if a daemon or the controller has ended."""
        for process in self._processes:
            if not process.read_lines()[1]:
                process.check_end()

    def _start(self):
        controller = self._spawn("controller", [
            self._programs["pace-controller"], "--listen", "tcp://127.0.0.1:0",
            "--journal", self._folder / "controller.journal"])
        address = controller.wait_for_line("listening ", READY_SECONDS).split()[1]
        daemons = [
            self._spawn(f"node-{i}", [
                self._programs["paced"], "--name", f"node-{i}", "--socket", socket,
                "--controller", self._way_to(address), "--data-interface", "lo"])
            for i, socket in enumerate(self._sockets)
        ]
        for daemon in daemons:
            daemon.wait_for_line("ready", READY_SECONDS)

    def _way_to(self, controller):
        """The address at which one daemon finds the controller. `controller` is the controller's own address."""
        return controller

    def _spawn(self, name, command):
        process = Process(name, command, self._folder)
        self._processes.append(process)
        return process
