"""python -m pace run: starts workers. python -m pace doctor: looks at what commonly goes wrong."""

import argparse
import sys

from pace import __version__, doctor, runner


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m pace", description="Starts trainers of Pace, and looks after them.")
    parser.add_argument("--version", action="version", version=__version__)
    commands = parser.add_subparsers(dest="command", required=True)
    run = commands.add_parser("run", help="start workers on this machine, and a daemon where none runs")
    runner.add_arguments(run)
    run.set_defaults(main=runner.main)
    look = commands.add_parser("doctor", help="look at what commonly goes wrong, and say what to do")
    look.add_argument("--endpoint", help="the daemon. Default: PACE_ENDPOINT, else this node's")
    look.set_defaults(main=doctor.main)
    given = parser.parse_args()
    code: int = given.main(given)
    return code


if __name__ == "__main__":
    sys.exit(main())
