"""Shapes and literals for the variables of a rule, made from the outside in.

A pattern is walked from its root with the shape that is wanted there, if any: a sum asks both parts
for its own shape, a product of matrices for two that fit, a convolution for an image whose windows
are as many as wanted. A variable takes what it is asked for when it is met first. Nothing here need
be complete or even right: the caller infers the shapes of the result, and drops invalid ones.
What each operator asks its parts for is in :mod:`polygym.graphs.rules.shape_proposals`.
"""

import random
from collections.abc import Callable
from functools import lru_cache
from typing import Any, TypeAlias

from polygym.graphs.ir.domain import TENSOR_DOMAIN
from polygym.graphs.operators.types import Data, NumberData, TensorType, TextData
from polygym.rewrite.domain import Inadmissible
from polygym.rewrite.term import Head, Term, is_variable, variable_names

Shape: TypeAlias = tuple[int, ...]

OperandBinder: TypeAlias = "Callable[[VariableBinder, Term, Shape | None], None]"
"""Binds the variables under an operator, of which a shape is wanted or none."""

LITERAL_CHOICES: dict[str, tuple[Head, ...]] = {
    "stride_h": (1, 2, 3),
    "stride_w": (1, 2, 3),
    "padding": ("same", "valid", "1-1-1-1", "0-1-2-1"),
    "activation": ("none", "relu", "tanh", "sigmoid", "gelu"),
    "kernel_h": (1, 2, 3),
    "kernel_w": (1, 2, 3),
    "axis": (0, 1, 2, 3),
    "at": (1, 2, 3),
    "count": (1, 2, 3, 4),
    "groups": (1, 2, 3, 4, 6, 8),
    "low": (-3.0, -2.0, 0.0, 1.0),
    "high": (-1.0, 0.0, 1.0, 6.0),
    "slope": (0.01, 0.5, 2.0, -1.0),
    "alpha": (0.5, 1.0, 2.0),
    "epsilon": (1e-5, 0.1),
    "axes": (0, 1, 2, 3, "0-1", "1-2", "2-3", "1-0"),
    "keep": (0, 1),
    "start": (0, 1, 2),
    "stop": (1, 2, 3, 4),
    "step": (1, 2, 3),
    "value": (0.0, 1.0, -1.0),
    "dtype": ("float32", "float64", "int32", "int64"),
}
"""The literals that are tried for an argument, by its name in the table of operators."""

_EXTENTS = (1, 2, 3, 4)
_KERNELS = ((1, 1), (2, 2), (3, 3), (5, 5), (1, 3), (3, 1), (2, 3))


def literal_data(value: Head) -> Data:
    """Return the data of a literal."""
    return TENSOR_DOMAIN.infer(value, ())


@lru_cache(maxsize=4096)
def _variables(pattern: Term) -> frozenset[str]:
    return frozenset(variable_names([pattern]))


class VariableBinder:
    """Binds the variables of patterns, one after the other, to data that fit."""

    def __init__(
        self,
        rng: random.Random,
        fixed: dict[str, Data],
        propose: OperandBinder,
        roles: dict[str, str] | None = None,
        extents: Shape = (),
        dtype: str = "float32",
    ) -> None:
        """Begin with some variables bound; ``propose`` binds those under an operator.

        Roles say for which argument a variable stands; extents are some to try besides small ones.
        """
        self.rng = rng
        self._propose = propose
        # Targets often need equal shapes of what plays one role, and where they need not be equal
        # a rule often goes wrong if they differ along one axis: so shapes are copied, and changed.
        self._roles = roles or {}
        self._copies = rng.choice((0.0, 0.5, 1.0))
        self.bound: dict[str, Data] = dict(fixed)
        self._known: dict[Term, Data] = {}
        # Two extents for most axes, so that equal and different ones are both met often.
        self.extents: Shape = rng.choice(
            ((2, 3), (1, 2), (2, 4), (3, 1), (2, 6), _EXTENTS, _EXTENTS)
        )
        self.kernels: tuple[tuple[int, int], ...] = _KERNELS
        if extents and rng.random() < 0.4:
            self.extents = (*extents, *rng.sample(_EXTENTS, 2))
            self.kernels = tuple(
                (extent, other) for extent in self.extents for other in self.extents
            )
        self.dtype = dtype
        self.rank = rng.choice((1, 2, 2, 3, 3, 4, 4, 4, 0, 5))

    def bind(self, pattern: Term, wanted_shape: Shape | None) -> Data:
        """Return the data of a pattern, all of whose variables are bound then.

        Raises:
            Inadmissible: what was tried makes no sense.
        """
        if is_variable(pattern):
            name = str(pattern.head)
            if name not in self.bound:
                copied = self._copy(name) if self.rng.random() < self._copies else None
                shape = self.shape() if wanted_shape is None else wanted_shape
                self.bound[name] = copied or TensorType(shape, self.dtype, constant=True)
            return self.bound[name]
        if pattern in self._known:
            return self._known[pattern]
        if pattern.children:
            self._propose(self, pattern, wanted_shape)
        result = TENSOR_DOMAIN.infer(
            pattern.head, tuple(self.bind(child, None) for child in pattern.children)
        )
        self._known[pattern] = result
        return result

    def _copy(self, name: str) -> TensorType | None:
        """Return what a variable of the same role is, if there is one."""
        role = self._roles.get(name)
        for other, data in self.bound.items():
            if role and self._roles.get(other) == role and isinstance(data, TensorType):
                shape = list(data.shape)
                if shape and self.rng.random() < 0.3:
                    shape[self.rng.randrange(len(shape))] = self.extent()
                return TensorType(tuple(shape), data.dtype, constant=True)
        return None

    def extent(self) -> int:
        """Return an extent for an axis."""
        return self.rng.choice(self.extents)

    def shape(self, rank: int | None = None) -> Shape:
        """Return a shape, of the rank that most tensors have this time unless another is said."""
        return tuple(self.extent() for _ in range(self.rank if rank is None else rank))

    def is_bound(self, pattern: Term) -> bool:
        """Whether all variables of a pattern are bound."""
        return self.bound.keys() >= _variables(pattern)

    def literal(self, pattern: Term, *options: Head) -> Any:
        """Return the value of a literal argument, chosen among some if it is a free variable."""
        if is_variable(pattern) and str(pattern.head) not in self.bound:
            self.bound[str(pattern.head)] = literal_data(self.rng.choice(options))
        result = self.bind(pattern, None)
        if not isinstance(result, NumberData | TextData):
            raise Inadmissible(f"expected a literal, found {result}")
        return result.value

    def tensor(self, pattern: Term, wanted_shape: Shape | None) -> Shape:
        """Return the shape of a pattern that is a tensor."""
        result = self.bind(pattern, wanted_shape)
        if not isinstance(result, TensorType):
            raise Inadmissible(f"expected a tensor, found {result}")
        return result.shape
