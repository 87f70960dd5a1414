"""torch.distributed's backend "pace", by its name: init_process_group("pace") finds it here.

PyTorch loads this module by itself where it knows the entry points torch.backends, else `import pace.torch` does. It imports
nothing of pace.torch before a group is made, so that `import torch` stays as fast as it was.
"""

from typing import Any

NAME = "pace"


def register() -> None:
    """Tells torch.distributed of the backend, once; without torch.distributed does nothing. Threads: the importing one."""
    import torch.distributed as dist

    if not dist.is_available() or NAME.upper() in dist.Backend._plugins:
        return
    try:
        dist.Backend.register_backend(NAME, _create, extended_api=True, devices=["cpu"])  # type: ignore[no-untyped-call,call-arg]
    except TypeError:  # torch 1.13 has no devices
        dist.Backend.register_backend(NAME, _create, extended_api=True)  # type: ignore[no-untyped-call]


def _create(how: Any, _: Any) -> Any:
    from pace.torch.process_group import create

    return create(how)
