"""What the demo compares: a policy's name on its command line, and what it means to the trainer."""

from training import Plan

POLICIES = {
    "all-reduce": ["--policy", "all-reduce"],
    "partial-constant": ["--policy", "partial-reduce", "--weights", "constant"],
    "partial-dynamic": ["--policy", "partial-reduce", "--weights", "dynamic"],
}


def plan_of(policy, flags):
    """One worker is slowed throughout."""
    groups = ["--group-size", flags.group_size, "--alpha", flags.alpha, "--missing", flags.missing]

    def pace(rank):
        return ["--step-ms", flags.step_ms, "--slowdown", flags.slowdown if rank == flags.slow_rank else 1]

    return Plan(policy, [*POLICIES[policy], *groups], pace)
