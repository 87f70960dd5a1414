"""Study: trials of the demo's trainer on one cluster. Each trial's record is kept on disk, so that an interrupted study can go on."""

import dataclasses
import json
import pathlib
import shutil
import signal
import sys
import tempfile
import time
from collections.abc import Callable

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.append(str(ROOT / "examples" / "demo"))

from cluster import Cluster  # noqa: E402
from process import DemoError  # noqa: E402
from programs import find_programs  # noqa: E402
from training import train  # noqa: E402


@dataclasses.dataclass
class Trial:
    """One training."""
    title: str
    settings: dict  # all settings that its figures depend on, except the machine and the programs
    plan: object  # training.Plan; its name is also that of the record's file
    shared: object  # the flags that training.train needs
    figures_of: Callable  # figures_of(run): the parts of a run that are kept


def add_common_flags(add, defaults):
    """The flags of every study. `defaults` are those that differ between studies."""
    add("--resume", action="store_true", help="keep what an earlier call measured with the same settings")
    add("--seed", nargs="+", type=int, default=[1], help="of model, data and what else is drawn; a round for each")
    add("--workers", type=int, default=defaults["workers"], help="worker processes")
    add("--daemons", type=int, default=defaults["daemons"], help="daemons; the workers are spread over them")
    add("--batch", type=int, default=32, help="examples in a step of one worker")
    add("--target", type=float, default=defaults["target"], help="accuracy whose time is told")
    add("--data", default="/usr/share/datasets/fashion-mnist", help="folder of the data set's files")
    add("--build", type=pathlib.Path, default=ROOT / "build" / "release", help="folder of the built programs")
    add("--out", type=pathlib.Path, help="folder for the results (default: the study's own in the build folder)")


def complete(parser, flags, name):
    """Checks the common flags and computes those that follow from the others."""
    if not 3 <= flags.workers or not 1 <= flags.daemons <= flags.workers:
        parser.error("give at least three workers, and from 1 to as many daemons as workers")
    flags.kept = flags.build / name
    flags.out = flags.out or flags.kept


def run(name, flags, trials, present):
    """Measures all trials, then presents the records."""
    # SIGTERM ends the study as Ctrl-C does: its processes are stopped first.
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    begin = time.monotonic()
    folder = tempfile.mkdtemp(prefix=f"pace-{name}-")
    try:
        records = _measure_all(flags, trials, folder)
        flags.out.mkdir(parents=True, exist_ok=True)
        present(records, flags)
    except DemoError as error:
        sys.exit(f"{name}: {error}\n{name}: the logs are in {folder}")
    except KeyboardInterrupt:
        shutil.rmtree(folder)
        sys.exit(f"{name}: interrupted; everything it started has been stopped. --resume goes on from here")
    shutil.rmtree(folder)
    print(f"all in {time.monotonic() - begin:.0f} s")


def _measure_all(flags, trials, folder):
    flags.kept.mkdir(parents=True, exist_ok=True)
    programs = find_programs(flags.build)
    records = []
    with Cluster(programs, flags.daemons, folder) as cluster:
        for number, trial in enumerate(trials, 1):
            print(f"\n{trial.title} ({number} of {len(trials)})", flush=True)
            file = flags.kept / f"{trial.plan.name}.json"
            record = _read_kept(file, trial.settings) if flags.resume else None
            if record:
                print(f"  measured before: {file}")
            else:
                record = _measure(trial, programs, cluster, folder)
                file.write_text(json.dumps(record) + "\n", encoding="utf-8")
            records.append(record)
    return records


def _read_kept(file, settings):
    """The record of an earlier run with these settings, if there is one."""
    if not file.exists():
        return None
    record = json.loads(file.read_text(encoding="utf-8"))
    return record if all(record.get(name) == value for name, value in settings.items()) else None


def _measure(trial, programs, cluster, folder):
    measured = train(trial.plan, trial.shared, programs, cluster, folder)
    if not measured.agreed:
        raise DemoError(f"{trial.plan.name}: the workers' models differ after the last common average")
    return {**trial.settings, **trial.figures_of(measured)}
