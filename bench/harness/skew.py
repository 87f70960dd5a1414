"""skew: workers that call one after another, as in the microbenchmark of eager-SGD (PPoPP 2020, Figures 8 and 9)."""

import rounds
from implementations import SKEWED, chosen
from trial import Case, Trial

KB, MB = 1 << 10, 1 << 20
BYTES = [64, KB, 4 * KB, 16 * KB, 256 * KB, MB, 4 * MB]
BYTES_QUICK = [64, 4 * MB]
WORKERS = 32
SKEW_MS = 1  # worker r is (r + 1) times this late
ITERATIONS = 64
ITERATIONS_QUICK = 16
# Where a worker is drawn for each iteration, the mean needs this many times as many iterations.
DRAWS = 3


def run(programs, arguments, results):
    iterations = arguments.iterations or (ITERATIONS_QUICK if arguments.quick else ITERATIONS)
    sizes = arguments.bytes or (BYTES_QUICK if arguments.quick else BYTES)
    cases = [Case("skew", 1, workers, size) for workers in arguments.workers or [WORKERS] for size in sizes]

    def start(one, case, folder):
        own = iterations * (DRAWS if one.name.startswith("pace-majority") and "strict" not in one.name else 1)
        # The limit is far more than the lateness alone takes.
        seconds = own * case.workers * SKEW_MS / 1000
        more = ["--skew-ms", SKEW_MS, "--iterations", own]
        return one.run(Trial(case, programs, folder, None, seconds, iterations_min=0, more=more))

    count = arguments.rounds or (1 if arguments.quick else 3)
    rounds.run("skew", cases, chosen(SKEWED, arguments.implementations), count, results, start)
