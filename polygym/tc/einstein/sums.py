"""``einsum`` by comprehensions: one for each choice of types and numbers of dimensions."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import Any

import numpy as np

from polygym.errors import InputError
from polygym.tc.comprehension import Comprehension, define
from polygym.tc.einstein.notation import (
    Labels,
    equation_text,
    operand_labels,
    parse_equation,
    result_labels,
)

_OPTIONS = ("threads", "mapping", "schedule", "gradient", "sizes")
_MOST_SIGNATURES = 256


class EinsteinSum:
    """The operator of an equation: it takes arrays or tensors of one type, and compiles itself."""

    def __init__(self, equation: str, **options: Any) -> None:
        """Check the equation; options are those of :func:`polygym.tc.define`."""
        self.equation = parse_equation(equation)
        for name in options:
            if name not in _OPTIONS:
                raise InputError(
                    f"einsum {equation!r}: expected options among {', '.join(_OPTIONS)}, found "
                    f"{name[:80]!r}"
                )
        self._options = options
        self._operators: dict[tuple[tuple[Labels, ...], str], Comprehension] = {}
        self._known: dict[Any, Comprehension] = {}

    def __repr__(self) -> str:
        """Show the equation."""
        return f"<einsum {self.equation.text!r}>"

    def operator(self, *operands: Any) -> Comprehension:
        """Return the comprehension for operands like these, which may be tuned."""
        return self._prepared(operands)[0]

    def __call__(self, *operands: Any) -> Any:
        """Compute.

        Raises:
            InputError: the operands do not fit the equation, or each other.
        """
        try:
            signature = tuple([(value.shape, value.dtype) for value in operands])
        except AttributeError:  # lists and numbers
            signature = None
        if (operator := self._known.get(signature)) is not None:
            return operator(*operands)
        operator, prepared = self._prepared(operands)
        result = operator(*prepared)
        if all(ours is value for ours, value in zip(prepared, operands, strict=True)):
            if len(self._known) >= _MOST_SIGNATURES:
                self._known.clear()
            self._known[signature] = operator
        return result

    def _prepared(self, operands: Sequence[Any]) -> tuple[Comprehension, list[Any]]:
        """Return the comprehension and its arguments, without dimensions that are repeated."""
        arrays = [value if hasattr(value, "shape") else np.asarray(value) for value in operands]
        every = operand_labels(self.equation, [len(array.shape) for array in arrays])
        sizes = self._sizes(every, arrays)
        kept, prepared = [], []
        for labels, array in zip(every, arrays, strict=True):
            repeated = [
                size == 1 != sizes[label] for label, size in zip(labels, array.shape, strict=True)
            ]
            kept.append(
                tuple(label for label, is_one in zip(labels, repeated, strict=True) if not is_one)
            )
            chosen = tuple(0 if is_one else slice(None) for is_one in repeated)
            prepared.append(array[chosen] if any(repeated) else array)
        types = {str(array.dtype).removeprefix("torch.") for array in arrays}
        if len(types) > 1:
            raise InputError(
                f"einsum {self.equation.text!r}: expected operands of one type, found "
                f"{' and '.join(sorted(types))}"
            )
        (element_type,) = types
        key = tuple(kept), element_type
        if key not in self._operators:
            text = equation_text(
                self.equation, kept, result_labels(self.equation, every), element_type
            )
            self._operators[key] = define(text, **self._options)
        return self._operators[key], prepared

    def _sizes(self, every: Sequence[Labels], arrays: Sequence[Any]) -> dict[str, int]:
        """Return the size of each index; dimensions of size 1 are repeated.

        Raises:
            InputError: an index has two sizes.
        """
        sizes: dict[str, int] = {}
        for labels, array in zip(every, arrays, strict=True):
            own: dict[str, int] = {}
            for label, size in zip(labels, array.shape, strict=True):
                known = sizes.setdefault(label, size)
                if own.setdefault(label, size) != size or (
                    known != size and 1 not in (known, size)
                ):
                    name = "..." if label.isdigit() else label
                    raise InputError(
                        f"einsum {self.equation.text!r}: {name}: expected one size, found "
                        f"{own[label] if own[label] != size else known} and {size}"
                    )
                sizes[label] = size if known == 1 else known
        return sizes


def einsum(equation: str, *operands: Any, **options: Any) -> Any:
    """Return the operator of an equation, or its result for operands.

    ``einsum("bij,bjk->bik")`` is an operator on arrays or tensors; it takes equations as
    ``torch.einsum`` does, with repeated indices, sums and ``...``. Options are those of
    :func:`polygym.tc.define`. :meth:`EinsteinSum.operator` returns the comprehension.

    >>> einsum("ij,j->i", np.ones((2, 3)), np.ones(3))
    array([3., 3.])

    Raises:
        InputError: it is no equation, or the operands do not fit it.
    """
    if not operands:
        return EinsteinSum(equation, **options)
    try:
        operator = _recent(equation, tuple(sorted(options.items())))
    except TypeError:  # an option that has no hash
        operator = EinsteinSum(equation, **options)
    return operator(*operands)


@lru_cache(maxsize=64)
def _recent(equation: str, options: tuple[tuple[str, Any], ...]) -> EinsteinSum:
    """Return an operator; those of the last calls are kept."""
    return EinsteinSum(equation, **dict(options))
