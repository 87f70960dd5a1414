"""pace.jax: JAX training on unequal, shared and failing machines. Verbs on pytrees, at once or within jit.

    import pace.jax as pace
    pace.init()
    loop = pace.steps(10_000, (params, opt_state))
    for step in loop:
        loop.state = train_step(loop.state, batch(step))    # jitted; in it: gradients = pace.reduce(gradients)

Start it by `python -m pace run -n 4 train.py` on this machine, by torchrun, srun or mpirun
elsewhere. docs/jax.md is the guide.
"""

from pace.jax.loop import Steps, steps
from pace.jax.verbs import average, broadcast, push, reduce, synchronize
from pace.jax.worker import failure, finish, init, step
from pace.place import Place

__all__ = ["Place", "Steps", "average", "broadcast", "failure", "finish", "init", "push", "reduce", "step", "steps", "synchronize"]
