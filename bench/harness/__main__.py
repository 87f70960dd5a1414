"""bench/run: installs the implementations that Pace is compared with, builds, measures, and reports."""

import argparse
import os
import pathlib
import signal
import subprocess
import sys
import time

import build
import controller
import dense
import packages
import processes
import report
import skew
import sparse
from implementations import ALL as IMPLEMENTATIONS

PARTS = ["dense-node", "dense-net", "skew", "sparse", "controller"]
IN_NAMESPACES = ["dense-net", "sparse"]


def numbers(text):
    return [int(number) for number in text.split(",")]


def parse_arguments():
    parser = argparse.ArgumentParser(
        prog="bench/run",
        description="Measures Pace side by side with Open MPI, MPICH and Gloo, all in one run. Installs "
        "them from Debian and builds the release preset first; a second run finds both done.",
        epilog="dense-node: float32 all-reduce among workers on this machine. dense-net: among 4 nodes "
        "in network namespaces at 1 Gbit/s (needs root). skew: 32 workers that call one after another. "
        "sparse: top-k gradients among 4 to 6 nodes (needs root). controller: decisions a second and latency. "
        "All take about an hour, with --quick about 8 minutes.",
    )
    parser.add_argument("parts", nargs="*", metavar="PART", help=f"{', '.join(PARTS)}; default: all")
    parser.add_argument("--quick", action="store_true", help="fewer sizes, fewer rounds")
    parser.add_argument("--json", metavar="FILE", type=pathlib.Path, help="also write the results there")
    parser.add_argument("--implementations", metavar="A,B", type=lambda text: text.split(","),
                        help="only these: " + ", ".join(IMPLEMENTATIONS))
    parser.add_argument("--workers", metavar="N,M", type=numbers, help="only these worker counts")
    parser.add_argument("--bytes", metavar="N,M", type=numbers, help="these sizes instead")
    parser.add_argument("--rounds", metavar="N", type=int, help="how often each is started (3; quick: 2)")
    parser.add_argument("--rate", default="1gbit", help="of the links between nodes (1gbit)")
    parser.add_argument("--delay", default="", metavar="TIME",
                        help="sparse: of every packet between nodes (none); the kernel needs sch_netem")
    parser.add_argument("--density", metavar="X", type=float, help="sparse: share of the elements (0.01)")
    parser.add_argument("--iterations", metavar="N", type=int, help="skew: in each start (64; quick: 16)")
    parser.add_argument("--build-dir", metavar="DIR", type=pathlib.Path,
                        help="programs built elsewhere; nothing is built")
    arguments = parser.parse_args()
    for name in arguments.implementations or []:
        if name not in IMPLEMENTATIONS:
            parser.error(f"no implementation is called {name!r}")
    for part in arguments.parts:
        if part not in PARTS:
            parser.error(f"no part is called {part!r}; there are {', '.join(PARTS)}")
    if arguments.json and not arguments.json.absolute().parent.is_dir():
        parser.error(f"--json: there is no folder {arguments.json.absolute().parent}")
    arguments.parts = arguments.parts or PARTS
    return arguments


def stop(_signal, _frame):
    raise SystemExit(130)


def run_part(part, programs, arguments, results):
    try:
        if part == "controller":
            controller.run(programs, arguments.quick, results)
        elif part == "skew":
            skew.run(programs, arguments, results)
        elif part == "sparse":
            sparse.run(programs, arguments, results)
        else:
            dense.run(part, programs, arguments, results)
    except subprocess.CalledProcessError as failure:  # from the namespaces; the error is on the terminal
        results.add_failure(None, part, str(failure))


def main():
    arguments = parse_arguments()
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, stop)
    if os.geteuid() != 0 and any(part in IN_NAMESPACES for part in arguments.parts):
        others = " ".join(part for part in PARTS if part not in IN_NAMESPACES)
        sys.exit(f"bench/run: {' and '.join(IN_NAMESPACES)} make network namespaces and need root; run it with sudo, "
                 f"or name the other parts: {others}")
    started = time.monotonic()
    try:
        packages.install_missing()
        programs = arguments.build_dir or build.build()
    except (subprocess.CalledProcessError, FileNotFoundError) as failure:
        sys.exit(f"bench/run: {failure}")
    results = report.Results()
    try:
        processes.adopt_orphans()
        for part in arguments.parts:
            run_part(part, programs, arguments, results)
    finally:
        processes.kill_all()
        if results:
            results.print_tables()
            if arguments.json:
                results.write_json(arguments.json)
        print(f"\n{time.monotonic() - started:.0f} s in all", flush=True)
    sys.exit(1 if results.failures else 0)


main()
