"""Trainers inside a machine: trainer.c, started as a user, and what they report."""

import contextlib
import pathlib
import re
import subprocess
import time

from container import Failed, wait_until

TRAINER = "/usr/local/bin/boot-trainer"
FAMILIES = ("all-reduce", "majority", "spardl", "partial-reduce", "prague", "ssp")


def now_ms():
    """The clock of the trainers' reports, which a container shares."""
    return time.clock_gettime(time.CLOCK_MONOTONIC) * 1000


def compile_trainer(source, packages, scratch):
    """Compiles it against the packages, as a user who has installed libpace-dev."""
    tree = scratch / "development"
    for name in ("libpace1", "libpace-dev"):
        subprocess.run(["dpkg-deb", "--extract", packages[name], tree], check=True)
    (library,) = tree.glob("usr/lib/*/libpace.so")
    program = scratch / source.stem
    subprocess.run(["gcc", "-std=c11", "-D_POSIX_C_SOURCE=200809L", "-O1", "-Wall", "-Wextra", "-Werror",
                    f"-I{tree / 'usr/include'}", source, "-o", program, f"-L{library.parent}", "-lpace"], check=True)
    return program


class Trainer:
    """One worker."""

    def __init__(self, machine, log, user, endpoint, job, family, rank, world, steps):
        self.log_ = pathlib.Path(log)
        named = ["env", f"PACE_ENDPOINT={endpoint}"] if endpoint else []
        with open(self.log_, "wb") as output:
            self.process = machine.start(*named, TRAINER, job, family, rank, world, steps, user=user, stdout=output,
                                         stderr=subprocess.STDOUT)

    def said(self):
        return self.log_.read_text(errors="replace")

    def numbers_(self, word):
        return [(int(first), int(second)) for first, second in re.findall(rf"^{word} (\d+) (\d+)$", self.said(), re.MULTILINE)]

    def has_stepped_since(self, moment):
        return any(time > moment for _, time in self.numbers_("steps"))

    def greatest_gap_since(self, moment):
        """Milliseconds that it stood still at the longest; 0 if it never did for long."""
        return max((gap for gap, time in self.numbers_("gap") if time > moment), default=0)


class Team:
    """Workers of one job, on one machine, until the context ends. `endpoints` has the daemon of each; "" is the machine's."""

    def __init__(self, machine, logs, family="partial-reduce", user="ann", steps=0, endpoints=("", "")):
        self.machine_, self.logs_, self.user_ = machine, logs, user
        self.family, self.endpoints_, self.steps_ = family, endpoints, steps
        self.job = f"{family}-{time.monotonic_ns()}"
        self.trainers = []

    def __enter__(self):
        for rank, endpoint in enumerate(self.endpoints_):
            self.trainers.append(Trainer(self.machine_, self.logs_ / f"{self.job}-{rank}.log", self.user_, endpoint, self.job,
                                         self.family, rank, len(self.endpoints_), self.steps_))
        return self

    def __exit__(self, *_):
        for trainer in self.trainers:
            # nsenter hands no signal on: the trainer itself is asked to end.
            if trainer.process.poll() is None:
                self.machine_.run("pkill", "--full", f"{TRAINER} {self.job} ", check=False)
                break
        for trainer in self.trainers:
            with contextlib.suppress(subprocess.TimeoutExpired):
                trainer.process.wait(10)
            if trainer.process.poll() is None:
                self.machine_.run("pkill", "-KILL", "--full", f"{TRAINER} {self.job} ", check=False)
                trainer.process.wait(10)

    def all_train(self, seconds=30):
        """Waits until each has exchanged, from now on."""
        moment = now_ms()

        def stepped():
            for trainer in self.trainers:
                if trainer.process.poll() is not None:
                    raise Failed(f"a trainer of {self.job} has ended with {trainer.process.returncode}:\n{trainer.said()[-2000:]}")
            return all(trainer.has_stepped_since(moment) for trainer in self.trainers)

        try:
            wait_until(stepped, seconds, f"all workers of {self.job} train")
        except Failed as failed:
            said = "\n".join(trainer.said()[-500:] for trainer in self.trainers)
            raise Failed(f"{failed}:\n{said}") from None

    def greatest_gap_since(self, moment):
        return max(trainer.greatest_gap_since(moment) for trainer in self.trainers)

    def finish(self, seconds=60):
        """Waits for the ends of workers that have a number of steps."""
        for trainer in self.trainers:
            if trainer.process.wait(seconds) != 0:
                raise Failed(f"a trainer of {self.job} has ended with {trainer.process.returncode}:\n{trainer.said()[-2000:]}")
