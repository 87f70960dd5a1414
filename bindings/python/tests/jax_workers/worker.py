"""Worker: one trainer of the tests of pace.jax. `worker.py SCENE arguments` prints lines of "key value" for the test."""

import sys

import exchanges
import failures

if __name__ == "__main__":
    scene = f"scene_{sys.argv[1]}"
    getattr(exchanges if hasattr(exchanges, scene) else failures, scene)(*sys.argv[2:])
