"""loopback_workers on the demo's cluster: a controller and daemons of this machine that meet on loopback."""

import asyncio
import dataclasses
import pathlib
import statistics
import subprocess
import sys
import tempfile
import threading

sys.path.append(str(pathlib.Path(__file__).resolve().parents[2] / "examples" / "demo"))

from cluster import Cluster  # noqa: E402
from programs import find_programs  # noqa: E402


class Proxy:
    """A port of its own in front of an address. Both directions are delayed by `delay_s`."""

    def __init__(self, address, delay_s):
        self._host, self._port = address.removeprefix("tcp://").rsplit(":", 1)
        self._delay_s = delay_s
        self._loop = asyncio.new_event_loop()
        self.port = self._loop.run_until_complete(self._listen())
        threading.Thread(target=self._loop.run_forever, daemon=True).start()

    async def _listen(self):
        server = await asyncio.start_server(self._serve, "127.0.0.1", 0)
        return server.sockets[0].getsockname()[1]

    async def _serve(self, reader, writer):
        try:
            there_reader, there_writer = await asyncio.open_connection(self._host, int(self._port))
        except ConnectionError:  # the controller is ending sooner than the daemon
            writer.close()
            return
        await asyncio.gather(self._carry(reader, there_writer), self._carry(there_reader, writer))

    async def _carry(self, reader, writer):
        loop = asyncio.get_running_loop()
        while data := await reader.read(65536):
            loop.call_later(self._delay_s, writer.write, data)
        loop.call_later(self._delay_s, writer.close)


def mean_updates_us(workers):
    """The mean of each worker's updates. The first fifth and the last are left out. The last may have waited for workers that had left."""
    return [statistics.mean(update.took_us for update in updates[len(updates) // 5:-1]) for updates in workers if len(updates) > 5]


def name_of(policy, group_size):
    return f"{policy} of {group_size}" if group_size else policy


@dataclasses.dataclass
class Update:
    group: int
    queued_us: int
    took_us: int
    began_us: int
    computed_us: int
    moves_us: int
    moved_us: int


class Workers(Cluster):
    """For the length of a `with` block. `delay_s` delays each byte between a daemon and the controller, one way. None means no proxy."""

    def __init__(self, build, nodes, delay_s=None):
        self._logs = tempfile.TemporaryDirectory(prefix="pace-loopback-")
        super().__init__(find_programs(build, ["pace-controller", "paced"]), nodes, self._logs.name)
        self._program = pathlib.Path(build).resolve() / "bench/loopback_worker"
        self._delay_s = delay_s

    def __exit__(self, *raised):
        super().__exit__(*raised)
        self._logs.cleanup()

    def _way_to(self, controller):
        return controller if self._delay_s is None else f"tcp://127.0.0.1:{Proxy(controller, self._delay_s).port}"

    def run(self, steps_ms, policy, group_size, seconds, elements, mode="called", look=None):
        """Returns a list of updates for each worker. Worker i computes for steps_ms[i]. Neighbours share a node. `look` is called when
        four fifths of the time have passed."""
        world = len(steps_ms)
        workers = [subprocess.Popen([str(word) for word in (
            self._program, self.endpoint(rank, world), rank, world, policy, group_size, mode,
            int(seconds * 1e6), int(step_ms * 1e3), elements)], stdout=subprocess.PIPE, text=True)
            for rank, step_ms in enumerate(steps_ms)]
        timer = threading.Timer(0.8 * seconds, look) if look else None
        if timer:
            timer.start()
        outputs = [worker.communicate(timeout=seconds + 120)[0] for worker in workers]
        if timer:
            timer.join()
        if any(worker.returncode for worker in workers):
            raise SystemExit("a worker has failed; its message is above")
        return [[Update(*map(int, line.split())) for line in output.splitlines()] for output in outputs]
