"""controller: decisions a second and their latency. The programs simulate the workers themselves."""

import json
import os
import pathlib
import tempfile

from build import find
from processes import Failure, run_all

# The first program measures the core alone. The second, where it is built, has a controller process
# and simulated daemons.
PROGRAMS = ["controller_core_bench", "controller_latency_bench"]
DEADLINE_S = 300
GROUPS_QUICK = 20_000


def run(programs, quick, results):
    folder = pathlib.Path(tempfile.mkdtemp(dir=os.environ["PACE_BENCH_DIR"]))
    for name in PROGRAMS:
        program = find(programs, name)
        if program is None:
            if name == PROGRAMS[0]:
                results.add_failure(None, name, "not built")
            continue
        print(f"controller: {name}", flush=True)
        out = folder / f"{name}.json"
        command = [program, "--json", out] + (["--groups", GROUPS_QUICK] if quick else [])
        try:
            run_all([command], folder, DEADLINE_S)
        except Failure as failure:
            results.add_failure(None, name, str(failure))
            continue
        for record in json.loads(out.read_text()):
            results.add_record(record)
