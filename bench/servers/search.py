"""The best learning rate of a method: the one with which it reaches the target first, in virtual time."""

import concurrent.futures
import json
import subprocess

# A method that has not reached the target after this many steps of a worker of the usual speed
# never reaches it.
STEPS_MAX = 50
RATES = [2.0 ** power for power in range(-9, 13)]


def train(program, flags):
    """Runs one training. Returns the output of server_convergence."""
    words = [str(program)] + [str(word) for word in flags]
    return json.loads(subprocess.run(words, check=True, stdout=subprocess.PIPE, text=True).stdout)


def score_of(outcome):
    """A lower score is better. It is the time to the target. If the target was not reached, it depends on the last objective."""
    if outcome["time"]:
        return outcome["time"]
    last = outcome["samples"][-1][2]
    return 1000 + (last if last == last and last < 1e6 else 1e6)


def best_rate(attempt, start):
    """attempt(rate, until) trains. The search walks from `start` by factors of 2 until both neighbours are worse.
    No training is longer than the best one so far needs."""
    known = {}

    def score(index):
        if not 0 <= index < len(RATES):
            return float("inf")
        if index not in known:
            best = min((value for value in known.values()), default=float("inf"))
            known[index] = score_of(attempt(RATES[index], min(STEPS_MAX, best)))
        return known[index]

    at = RATES.index(start)
    score(at)
    while True:
        step = min((at - 1, at + 1), key=score)
        if score(step) >= score(at):
            return RATES[at]
        at = step


def in_parallel(tasks, threads):
    """tasks: functions without arguments. Returns their results, in order."""
    with concurrent.futures.ThreadPoolExecutor(threads) as pool:
        return list(pool.map(lambda task: task(), tasks))
