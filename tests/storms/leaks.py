"""The resources of processes before a storm and after it. An increase is a leak."""

import dataclasses
import os
import pathlib

SHARED_MEMORY = pathlib.Path("/dev/shm")


@dataclasses.dataclass
class Holdings:
    """The resources of one process, according to /proc."""

    descriptors: int
    threads: int
    mappings: int
    rss_mib: float
    sanitized: bool = False

    @staticmethod
    def of(pid):
        proc = pathlib.Path(f"/proc/{pid}")
        maps = (proc / "maps").read_text()
        status = dict(line.split(":", 1) for line in (proc / "status").read_text().splitlines() if ":" in line)
        return Holdings(len(os.listdir(proc / "fd")), int(status["Threads"]),
                        len(maps.splitlines()), int(status["VmRSS"].split()[0]) / 1024, "san.so" in maps)

    def grown_beyond(self, before):
        """The increases beyond the slack: "descriptors: 20, before 12"."""
        slack = SANITIZED_SLACK if self.sanitized else SLACK
        return [f"{name}: {now:.0f}, before {was:.0f}"
                for (name, now), was, more in zip(vars(self).items(), vars(before).values(), vars(slack).values())
                if now > was + more]

    def __str__(self):
        return f"{self.descriptors} descriptors, {self.threads} threads, {self.mappings} mappings, {self.rss_mib:.0f} MiB"


# The slack is for new connections, arenas of memory, and buffers that are kept for a worker's
# return. A daemon has seven threads that begin with their first work: for files, the machine's
# description, recordings of nodes and of failures, the reach of a controller, new memory, and memory
# that is given back.
SLACK = Holdings(descriptors=24, threads=7, mappings=80, rss_mib=96)
# A sanitizer keeps freed memory, up to 256 MiB, and its own records of it.
SANITIZED_SLACK = Holdings(descriptors=24, threads=7, mappings=200, rss_mib=512)


def shared_files():
    return {path.name for path in SHARED_MEMORY.iterdir()} if SHARED_MEMORY.is_dir() else set()


def processes_that_name(folder):
    """Living processes whose command line names the storm's folder. Trainers, daemons and the controller all name it."""
    found = []
    for entry in pathlib.Path("/proc").iterdir():
        if not entry.name.isdigit() or int(entry.name) == os.getpid():
            continue
        try:
            command = (entry / "cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace")
        except OSError:
            continue  # it has ended
        if str(folder) in command:
            found.append(f"{entry.name}: {command.strip()}")
    return found


class Account:
    """Compares each daemon and the controller with their resources at the same point before."""

    def __init__(self, blame):
        self.blame = blame
        self.noted = {}  # (process's name, point): Holdings

    def note(self, processes, point):
        for process in processes:
            self.noted[process.name, point] = Holdings.of(process.popen.pid)

    def grown(self, process, point, now):
        """The increases since the process was noted at this point, none if it was not."""
        before = self.noted.get((process.name, point))
        return now.grown_beyond(before) if before is not None else []

    def compare(self, processes, point):
        for process in processes:
            now = Holdings.of(process.popen.pid)
            print(f"  {process.name}, {point}: {now}; before: {self.noted.get((process.name, point))}")
            if grown := self.grown(process, point, now):
                self.blame(f"{process.name} holds more than before, {point}: {'; '.join(grown)}")
