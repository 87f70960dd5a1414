"""Builds the release preset with the benchmarks."""

import pathlib
import subprocess

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent


def build():
    """Builds all programs that the harness starts. Returns the build folder."""
    folder = ROOT / "build" / "release"
    cache = folder / "CMakeCache.txt"
    configured = cache.exists() and "PACE_BENCH:BOOL=ON" in cache.read_text()
    if not (configured and (folder / "build.ninja").exists()):
        print("configuring the release preset", flush=True)
        subprocess.run(["cmake", "--preset", "release", "-DPACE_BENCH=ON"], cwd=ROOT, check=True,
                       stdout=subprocess.DEVNULL)
    print("building (nothing, if it is built)", flush=True)
    subprocess.run(["cmake", "--build", folder, "--target", "pace_bench"], check=True)
    return folder


def find(folder, program):
    """The program's path below the build folder, or None if it is not built."""
    for path in sorted(pathlib.Path(folder).rglob(program)):
        if path.is_file() and path.stat().st_mode & 0o111:
            return path
    return None
