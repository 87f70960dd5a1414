"""Tree: pytrees as lists of arrays, and back. Typed random keys travel as the integers that they hold."""

from typing import Any, List, Sequence

import jax
import numpy

import pace


class Tree:
    """The structure of one pytree, and its leaves as arrays. Numbers of Python become JAX's arrays. Raises pace.Invalid."""

    def __init__(self, tree: Any, argument: str):
        leaves, self.structure = jax.tree_util.tree_flatten(tree)
        self._keys: List[Any] = [jax.random.key_impl(leaf) if _is_key(leaf) else None for leaf in leaves]
        self.leaves = [jax.random.key_data(leaf) if _is_key(leaf) else _array(leaf, argument) for leaf in leaves]

    @property
    def is_traced(self) -> bool:
        """Whether this is within jit, where leaves have no contents yet."""
        # A newly made array is traced as well: a tree of constants within jit shows in no other way
        # that it is traced.
        return any(isinstance(leaf, jax.core.Tracer) for leaf in [*self.leaves, jax.numpy.zeros(())])

    def rebuild(self, leaves: Sequence[Any]) -> Any:
        """A tree of this structure with other leaves, arrays of NumPy or of JAX."""
        arrays = [_own(leaf) if kind is None else jax.random.wrap_key_data(_own(leaf), impl=kind)
                  for leaf, kind in zip(leaves, self._keys)]
        return jax.tree_util.tree_unflatten(self.structure, arrays)

    def require_same(self, tree: Any, leaves: Sequence[Any]) -> None:
        """Raises pace.Invalid when `tree`, whose leaves are these, has another structure, or leaves of other shapes or types."""
        structure = jax.tree_util.tree_structure(tree)
        if structure != self.structure:
            raise pace.Invalid(f"state: it is {structure} now, and was {self.structure}", "state")
        for position, (own, before) in enumerate(zip(leaves, self.leaves)):
            if (own.shape, own.dtype) != (before.shape, before.dtype):
                raise pace.Invalid(f"state: leaf {position} is {own.dtype}{own.shape} now, and was {before.dtype}{before.shape}", "state")

    def delete_unless(self, kept: Sequence[Any]) -> None:
        """Frees the memory of the leaves at once, except for those in `kept`. JAX raises an error
        if they are used afterwards."""
        identities = {id(leaf) for leaf in kept}
        for leaf in self.leaves:
            if id(leaf) not in identities and not leaf.is_deleted():
                leaf.delete()


def _own(leaf: Any) -> Any:
    return jax.numpy.asarray(leaf) if isinstance(leaf, numpy.ndarray) else leaf


def _is_key(leaf: Any) -> bool:
    return isinstance(leaf, jax.Array) and jax.dtypes.issubdtype(leaf.dtype, jax.dtypes.prng_key)


def _array(leaf: Any, argument: str) -> Any:
    try:
        return jax.numpy.asarray(leaf)
    except TypeError:
        raise pace.Invalid(f"{argument}: a {type(leaf).__name__} is no array; a pytree of arrays and numbers is needed", argument) from None
