"""What pace_announce hides: two workers on two daemons of this machine, whose controller is some milliseconds away.

The way to the controller is made longer by a proxy that holds every byte back; netem is not needed. Each update of a group is
counted once, by the member that called last: from its call to the begin of the exchange nobody else is waited for.
"""

import argparse
import asyncio
import pathlib
import statistics
import subprocess
import tempfile
import threading


class Proxy:
    """A port of its own before an address, both ways `delay_s` later."""

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
        there_reader, there_writer = await asyncio.open_connection(self._host, int(self._port))
        await asyncio.gather(self._carry(reader, there_writer), self._carry(there_reader, writer))

    async def _carry(self, reader, writer):
        loop = asyncio.get_running_loop()
        while data := await reader.read(65536):
            loop.call_later(self._delay_s, writer.write, data)
        loop.call_later(self._delay_s, writer.close)


class Cluster:
    def __init__(self, build, folder, delay_s):
        self._children = []
        controller = self._start([build / "service/controller/shell/pace-controller", "--listen", "tcp://127.0.0.1:0",
                                  "--journal", folder / "journal", "--insecure"])
        address = self._line(controller, "listening ")
        self.endpoints = []
        for node in range(2):
            socket = folder / f"node{node}.sock"
            daemon = self._start([build / "daemon/paced", "--socket", socket, "--name", f"node{node}", "--controller",
                                  f"tcp://127.0.0.1:{Proxy(address, delay_s).port}", "--data-interface", "lo", "--insecure"])
            self._line(daemon, "ready")
            self.endpoints.append(f"unix:{socket}")

    def _start(self, command):
        child = subprocess.Popen([str(word) for word in command], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
        self._children.append(child)
        return child

    @staticmethod
    def _line(child, prefix):
        for line in child.stdout:
            if line.startswith(prefix):
                return line.removeprefix(prefix).strip()
        raise SystemExit(f"announce: {child.args[0]} ended before it said {prefix.strip()!r}")

    def end(self):
        for child in reversed(self._children):
            child.terminate()
            child.wait(10)


def trial(build, endpoints, announce, updates, step_us):
    """(microseconds that forming took, of each group; of each update)"""
    workers = [subprocess.Popen([str(word) for word in (build / "bench/announce_worker", endpoint, rank, len(endpoints), int(announce),
                                                        updates, step_us, 16384)], stdout=subprocess.PIPE, text=True)
               for rank, endpoint in enumerate(endpoints)]
    outputs = [worker.communicate(timeout=updates * step_us / 1e6 * 10 + 60)[0] for worker in workers]
    forming, took = {}, []
    for output in outputs:
        # The first ones are not expected: their steps' length is not known yet.
        for line in output.splitlines()[3:]:
            group, queued_us, update_us = map(int, line.split())
            forming[group] = min(queued_us, forming.get(group, queued_us))
            took.append(update_us)
    return list(forming.values()), took


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", type=pathlib.Path, required=True, help="a build folder with paced and announce_worker")
    parser.add_argument("--delay-ms", type=float, nargs="+", default=[0, 1, 5], help="to the controller, one way")
    parser.add_argument("--step-ms", type=float, default=100, help="how long a worker computes between two updates")
    parser.add_argument("--updates", type=int, default=50)
    parser.add_argument("--rounds", type=int, default=3)
    arguments = parser.parse_args()
    print("one way to the controller | announced | forming after the last call: median (least..most of the rounds) | an update")
    for delay_ms in arguments.delay_ms:
        results = {False: [], True: []}
        with tempfile.TemporaryDirectory(prefix="pace-announce-") as folder:
            cluster = Cluster(arguments.build.resolve(), pathlib.Path(folder), delay_ms / 1e3)
            try:
                for _ in range(arguments.rounds):
                    for announce in (False, True):
                        forming, took = trial(arguments.build.resolve(), cluster.endpoints, announce, arguments.updates,
                                              int(arguments.step_ms * 1e3))
                        results[announce].append((statistics.median(forming) / 1e3, statistics.median(took) / 1e3))
            finally:
                cluster.end()
        for announce, rounds in results.items():
            forming = [round_[0] for round_ in rounds]
            took = [round_[1] for round_ in rounds]
            print(f"{delay_ms} ms | {'yes' if announce else 'no'} | {statistics.median(forming):.2f} ms "
                  f"({min(forming):.2f}..{max(forming):.2f}) | {statistics.median(took):.1f} ms ({min(took):.1f}..{max(took):.1f})")


if __name__ == "__main__":
    main()
