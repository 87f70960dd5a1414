"""Support: what the tests of the binding share. The environment gives PACE_LIBRARY, PACE_LIBPACED and PACE_PACED."""

import contextlib
import itertools
import os
import pathlib
import subprocess
import sys
import threading
import unittest

FOLDER = pathlib.Path(__file__).resolve().parents[1]
ROOT = FOLDER.parents[1]
SOON_S = 30
sys.path.insert(0, str(FOLDER))

# No test talks to a daemon that happens to run here.
os.environ["PACE_ENDPOINT"] = "embedded:"
for name in ("PACE_RUN_ID", "RANK", "WORLD_SIZE", "SLURM_PROCID", "OMPI_COMM_WORLD_RANK", "PMI_RANK"):
    os.environ.pop(name, None)

import pace
from pace.daemon import Daemon, die_with_parent

_jobs = itertools.count()


def open_session(world=1, rank=0, policy="all-reduce", job=None, **options):
    """A session with a daemon in this process, in a job of its own unless one is named."""
    return pace.Session(job or f"test-{next(_jobs)}", policy, rank=rank, world=world, **options)


def numpy_or_skip(test):
    try:
        import numpy
    except ImportError:
        test.skipTest("NumPy is not installed")
    return numpy


class Child:
    """A Python program in a process of its own, which never outlives the test."""

    def __init__(self, *command, **environment):
        inherited = {**os.environ, "PYTHONPATH": str(FOLDER), "PYTHONDONTWRITEBYTECODE": "1"}
        self.process = subprocess.Popen([sys.executable, *command], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                                        env={**inherited, **environment}, preexec_fn=die_with_parent())
        self._patience = threading.Timer(SOON_S, self.process.kill)

    def __enter__(self):
        self._patience.start()
        return self

    def __exit__(self, *_):
        self._patience.cancel()
        self.process.kill()
        self.process.communicate()

    def line(self):
        return self.process.stdout.readline().rstrip("\n")

    def end(self):
        """Its exit code, and what it has written to the standard output and to the standard error."""
        output, errors = self.process.communicate()
        return self.process.returncode, output, errors


@contextlib.contextmanager
def hosted():
    """The endpoint of a daemon in a process of its own."""
    with Daemon() as daemon:
        yield daemon.endpoint


def main():
    unittest.main(verbosity=2)
