"""The compared policies: each policy's name on the demo's command line, and its flags for the trainer."""

from training import Plan

POLICIES = {
    "all-reduce": ["--policy", "all-reduce"],
    "partial-constant": ["--policy", "partial-reduce", "--weights", "constant"],
    "partial-dynamic": ["--policy", "partial-reduce", "--weights", "dynamic"],
    "prague-random": ["--policy", "prague-random"],
    "prague-smart": ["--policy", "prague-smart"],
    "ad-psgd": ["--policy", "ad-psgd"],
    "full": ["--policy", "full"],
    "prague-static": ["--policy", "prague-static"],
    "auto": ["--policy", "auto"],
    "solo": ["--policy", "all-reduce", "--quorum", "solo"],
    "majority": ["--policy", "all-reduce", "--quorum", "majority"],
    # This network is so fast that Pace would choose dense exchanges, and the compression would not
    # show.
    "spardl": ["--policy", "all-reduce", "--compression", "spardl", "--dense-fallback", "never"],
}

# The policies that are compared by default.
USUAL = ["all-reduce", "partial-constant", "partial-dynamic"]


def forms_groups(policy):
    return "all-reduce" not in POLICIES[policy]


def group_size_of(policy, flags):
    """Returns 0 for the policy's own size: pairs, all workers, or a size that is chosen during the run."""
    return 0 if policy in ("ad-psgd", "full", "prague-static", "auto") else flags.group_size


def plan_of(policy, flags):
    """The flags of a run in which one worker is slow throughout."""
    job = [*POLICIES[policy], "--density", flags.density]
    if forms_groups(policy):
        job += ["--group-size", group_size_of(policy, flags), "--alpha", flags.alpha, "--missing", flags.missing]

    def pace(rank):
        return ["--step-ms", flags.step_ms, "--slowdown", flags.slowdown if rank == flags.slow_rank else 1]

    return Plan(policy, job, pace)
