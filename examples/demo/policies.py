"""What the demo compares: a policy's name on its command line, and what it means to the trainer."""

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
    # Here the network is so fast that dense would be chosen, and nothing would be seen.
    "spardl": ["--policy", "all-reduce", "--compression", "spardl", "--dense-fallback", "never"],
}

# Compared unless told otherwise.
USUAL = ["all-reduce", "partial-constant", "partial-dynamic"]


def forms_groups(policy):
    return "all-reduce" not in POLICIES[policy]


def group_size_of(policy, flags):
    """0: the policy's own, be it pairs, everyone, or what is chosen meanwhile."""
    return 0 if policy in ("ad-psgd", "full", "prague-static", "auto") else flags.group_size


def plan_of(policy, flags):
    """One worker is slowed throughout."""
    job = [*POLICIES[policy], "--density", flags.density]
    if forms_groups(policy):
        job += ["--group-size", group_size_of(policy, flags), "--alpha", flags.alpha, "--missing", flags.missing]

    def pace(rank):
        return ["--step-ms", flags.step_ms, "--slowdown", flags.slowdown if rank == flags.slow_rank else 1]

    return Plan(policy, job, pace)
