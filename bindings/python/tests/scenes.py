"""Scenes: programs of torch/ and jax_workers/, played by real workers over a daemon of their own, and what these have printed."""

import importlib.util
import os
import re
import subprocess
import sys
import tempfile

from support import FOLDER

from pace.daemon import Daemon, die_with_parent

SCENE_S = 200
MANY_BUCKETS = "64"  # bytes: each parameter its own bucket


def skip_without_torch():
    # The folder torch/ beside this file looks like a package without a file of its own.
    found = importlib.util.find_spec("torch")
    if found is None or found.origin is None:
        print("skipped: PyTorch is not installed (Debian's python3-torch)")
        sys.exit(77)


class Told:
    """What workers printed: told["checksum"] has each rank's words."""

    def __init__(self, text):
        self.text = text
        self.lines = {}
        for rank, key, words in re.findall(r"^\[(\d+)\] (\S+) ?(.*)$", text, re.MULTILINE):
            self.lines.setdefault(key, {})[int(rank)] = words

    def __getitem__(self, key):
        return self.lines[key]

    def numbers(self, key):
        return [float(words) for words in self.lines[key].values()]


def play(test, program, workers, *scene, restart=0, buckets=None, endpoint=None, meanwhile=None, code=0):
    """Runs a scene of a program by `pace run` to its end, which must have this code. `meanwhile` is called while it runs."""
    with tempfile.TemporaryDirectory(prefix="pace-scene-") as folder:
        path = os.pathsep.join(filter(None, [str(FOLDER), os.environ.get("PYTHONPATH")]))
        environment = {**os.environ, "PYTHONPATH": path, "PYTHONDONTWRITEBYTECODE": "1",
                       "PACE_TEST_BACK": f"{folder}/back", "PACE_TEST_STORE": f"{folder}/store"}
        environment.pop("PACE_ENDPOINT", None)
        if endpoint:
            environment["PACE_ENDPOINT"] = endpoint
        if buckets:
            environment["PACE_TEST_BUCKET_BYTES"] = buckets
        with subprocess.Popen([sys.executable, "-m", "pace", "run", "-n", str(workers), "--restart", str(restart), program, *scene],
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, env=environment,
                              preexec_fn=die_with_parent()) as process:
            try:
                if meanwhile:
                    meanwhile(process, environment["PACE_TEST_BACK"])
                text, _ = process.communicate(timeout=SCENE_S)
            except BaseException:
                process.terminate()  # It ends its workers.
                raise
    test.assertEqual(process.returncode, code, text)
    return Told(text)


def play_over_two_daemons(test, program, workers, *scene, **how):
    """As play(). When a worker says "half", the daemon is killed and another one started at its place, which PACE_TEST_BACK tells."""
    with tempfile.TemporaryDirectory(prefix="pace-scene-") as folder:
        first, second = Daemon(f"{folder}/paced.sock"), Daemon(f"{folder}/paced.sock")
        first.__enter__()

        def kill_and_start(process, path):
            while "half" not in (line := process.stdout.readline()):
                test.assertTrue(line, "the workers have ended")
            first._process.kill()
            first._process.wait()
            second.__enter__()
            with open(path, "w", encoding="ascii"):
                pass
        try:
            return play(test, program, workers, *scene, endpoint=f"unix:{folder}/paced.sock", meanwhile=kill_and_start, **how)
        finally:
            first.__exit__()
            second.__exit__()


def play_alone(program, workers, *scene, **variables):
    """Runs a scene as a launcher of one machine would, but leaves all workers alone. Gives each one's exit code and words."""
    environment = {**os.environ, "PYTHONPATH": str(FOLDER), "PYTHONDONTWRITEBYTECODE": "1", "WORLD_SIZE": str(workers),
                   "LOCAL_WORLD_SIZE": str(workers), **variables}
    if "PACE_ENDPOINT" not in variables:
        environment.pop("PACE_ENDPOINT", None)
    processes = [subprocess.Popen([sys.executable, program, *scene], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                                  env={**environment, "RANK": str(rank), "LOCAL_RANK": str(rank)}, preexec_fn=die_with_parent())
                 for rank in range(workers)]
    try:
        texts = [process.communicate(timeout=SCENE_S)[0] for process in processes]
    except BaseException:
        for process in processes:
            process.kill()
            process.communicate()
        raise
    return [(process.returncode, text) for process, text in zip(processes, texts)]


def assert_equal_everywhere(test, told, key, workers):
    test.assertEqual(len(told[key]), workers, told.text)
    test.assertEqual(len(set(told[key].values())), 1, told.text)
