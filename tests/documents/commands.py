#!/usr/bin/env python3
"""Runs the commands of a page as its reader would: commands.py PAGE BUILD.

All blocks of kind sh are run in order, from a copy of the folder's root, by one shell each that knows what earlier ones have
exported. A comment in front of a block changes that: "not run: REASON", or "stays", of a program that goes on until the
page's end; "stays until it says: WORD" waits for that. A block of kind text with the comment "said" is an excerpt of what the block
before it prints: each of its lines is compared, word by word, but those that are "…". Addresses of the page become this machine's, its port a
free one, its build the one that is tested.
The folders of services, such as /etc/pace, are the reader's own, and empty at first.
"""

import os
import pathlib
import re
import select
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parents[2]
BLOCK = re.compile(r"(?:<!-- (?P<note>[^\n]*?) -->\n)?^```(?P<kind>\w*)\n(?P<text>.*?)^```$", re.DOTALL | re.MULTILINE)
# One whose name begins with another's comes first.
SERVICE_FOLDERS = ("/etc/pace", "/run/pace", "/var/lib/pace-controller", "/var/lib/pace")
A_SERVICE_FOLDER = re.compile("|".join(map(re.escape, SERVICE_FOLDERS)))
BLOCK_S = 240
PATIENCE_S = 60
FOREIGN = ("PACE_ENDPOINT", "PACE_RUN_ID", "RANK", "WORLD_SIZE", "PACE_LIBRARY", "PACE_PACED", "PYTHONPATH")


class Wrong(Exception):
    """A command of the page does not do what the page says."""


class Reader:
    """Who follows the page. `with Reader(...)`: nothing that was started outlives it."""

    def __init__(self, build, port):
        self._build = build
        self._port = port
        self._staying = []
        self._said = ""
        self._environment = {name: value for name, value in os.environ.items() if name not in FOREIGN}

    def __enter__(self):
        self._folder = pathlib.Path(tempfile.mkdtemp(prefix="pace-page-"))
        for name in os.listdir(ROOT):
            if name not in ("build", ".git"):
                (self._folder / name).symlink_to(ROOT / name)
        (self._folder / "build").mkdir()
        (self._folder / "build" / "release").symlink_to(self._build)
        for name in SERVICE_FOLDERS:
            self._of_service(name).mkdir(parents=True)
        return self

    def __exit__(self, *_):
        for process in reversed(self._staying):
            if process.poll() is None:
                os.killpg(process.pid, signal.SIGTERM)
            try:
                process.wait(10)
            except subprocess.TimeoutExpired:
                os.killpg(process.pid, signal.SIGKILL)
                process.wait()
            process.stdout.close()
        shutil.rmtree(self._folder, ignore_errors=True)

    def _of_service(self, name):
        return self._folder / "system" / name.lstrip("/")

    def follow(self, note, text):
        text = text.replace("10.0.0.1", "127.0.0.1").replace("10.0.0.0/16", "lo").replace(":7411", f":{self._port}")
        text = A_SERVICE_FOLDER.sub(lambda found: str(self._of_service(found.group())), text)
        if note.startswith("stays"):
            self._stay(text, note.partition("until it says: ")[2])
        else:
            self._run(text)

    def compare(self, excerpt):
        """Raises Wrong unless the program that ran last has printed each line of the excerpt, in this order."""
        lines = iter(self._said.splitlines())
        for wanted in excerpt.splitlines():
            if wanted.strip() not in ("", "…") and not any(line.split() == wanted.split() for line in lines):
                raise Wrong(f"the excerpt has a line that is not printed, or not in this order:\n{wanted}")

    def _start(self, text):
        return subprocess.Popen(["bash", "-euo", "pipefail", "-c", text], cwd=self._folder, env=self._environment,
                                stdout=subprocess.PIPE, stderr=subprocess.STDOUT, stdin=subprocess.DEVNULL, start_new_session=True)

    def _run(self, text):
        mark = "--environment--"
        process = self._start(f"{text}\nprintf '%s\\0' {mark}; env -0")
        try:
            said, _ = process.communicate(timeout=BLOCK_S)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            said, _ = process.communicate()
            raise Wrong(f"it takes more than {BLOCK_S} s:\n{text}\n{said.decode(errors='replace')}") from None
        output, _, environment = said.partition(mark.encode() + b"\0")
        self._said = output.decode(errors="replace")
        print(self._said, flush=True)
        if process.returncode != 0:
            raise Wrong(f"it ends with {process.returncode}:\n{text}")
        pairs = (entry.partition(b"=") for entry in environment.split(b"\0") if entry)
        self._environment = {name.decode(): value.decode(errors="surrogateescape") for name, _, value in pairs}

    def _stay(self, text, word):
        process = self._start(text)
        self._staying.append(process)
        said, deadline = b"", time.monotonic() + PATIENCE_S
        while word.encode() not in said:
            left = deadline - time.monotonic()
            part = b""
            if left > 0 and select.select([process.stdout], [], [], left)[0]:
                part = os.read(process.stdout.fileno(), 65536)
            if not part:
                raise Wrong(f"it does not say '{word}':\n{text}\n{said.decode(errors='replace')}")
            said += part
        print(said.decode(errors="replace"), flush=True)


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def is_excerpt(block):
    return block["kind"] == "text" and block["note"] == "said"


def main(page, build):
    blocks = [block for block in BLOCK.finditer(pathlib.Path(page).read_text(encoding="utf-8"))
              if block["kind"] == "sh" or is_excerpt(block)]
    if not any(block["kind"] == "sh" for block in blocks):
        print(f"{page} has no commands")
        return 1
    needs_torch = any("examples/torch" in block["text"] for block in blocks)
    if needs_torch and subprocess.run(["/usr/bin/python3", "-c", "import torch"], stderr=subprocess.DEVNULL, check=False).returncode != 0:
        print("skipped: PyTorch is not installed (Debian's python3-torch)")
        return 77
    # The page's python3 is Debian's, which has PyTorch.
    os.environ["PATH"] = "/usr/bin:" + os.environ["PATH"]
    with Reader(pathlib.Path(build).resolve(), free_port()) as reader:
        for block in blocks:
            note = block["note"] or ""
            if note.startswith("not run: "):
                print(f"({note})\n{block['text']}")
                continue
            try:
                if is_excerpt(block):
                    reader.compare(block["text"])
                    continue
                print("$ " + block["text"], end="", flush=True)
                reader.follow(note, block["text"])
            except Wrong as wrong:
                print(f"{page}: {wrong}")
                return 1
    return 0


if __name__ == "__main__":
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    sys.exit(main(*sys.argv[1:]))
