"""Policies: which family a policy is of, and the short words of pace.torch and pace.jax for options."""

from typing import Any, Dict, List, Mapping, Tuple

import pace
from pace.options import keywords_of_options, query

# Short words for options that have one meaning in a family.
_SHORT = {"density": "topk.density", "staleness": "server.staleness", "rate": "server.rate"}


def family_of(policy: str) -> str:
    """ "collective", "averaging" or "server". Raises pace.Invalid for a policy that does not exist."""
    known: List[Dict[str, Any]] = query("policies")
    for one in known:
        if one["name"] == policy:
            return str(one["family"])
    raise pace.Invalid(f"there is no policy {policy!r}; there are {', '.join(sorted(one['name'] for one in known))}", "policy")


def divided(options: Mapping[str, Any]) -> Tuple[Dict[str, Any], Dict[str, Any]]:
    """As Session takes them: options by their names in pace.h, which have a dot, and keywords."""
    named = {name: value for name, value in options.items() if "." in name}
    return named, {name: value for name, value in options.items() if "." not in name}


def long_name(option: str) -> str:
    """The option that a short word or a keyword means; any other word is an option's name
    already."""
    name = _SHORT.get(option, option)
    return keywords_of_options().get(name, name)
