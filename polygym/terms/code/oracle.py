"""Machine code beside the interpreter: do programs compute what their terms say?

The interpreter is slow, so programs are compared at small sizes, on random data: the first of some
at which the first program has a value at all, since sizes may depend on each other in ways that
only the program knows. Where it has none at any, the sizes that were asked for are tried, if the
interpreter manages them.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from polygym.compiler.poly.strategy import ORIGINAL
from polygym.errors import InternalError, LimitError, OutOfRangeError, PolygymError
from polygym.terms.code.arrays import as_value
from polygym.terms.code.build import Options
from polygym.terms.code.compiled import compile
from polygym.terms.language.interpreter import evaluate
from polygym.terms.language.program import Program
from polygym.terms.language.types import BOOL, FLOAT, Base, Pair, Type, Vector
from polygym.terms.language.values import close, is_regular

__all__ = ["compared", "random_input"]

_SMALL = (3, 4, 2, 6)
_STEPS = 400_000
_TOLERANCE = 1e-8


def compared(
    programs: Sequence[Program], sizes: Mapping[str, int], seed: int = 0
) -> dict[str, int] | None:
    """Compare the code of programs with what the interpreter says of the first.

    Returns the sizes at which all agree; None if there are none at which it can say something.

    Raises:
        InternalError: one computes something else.
    """
    first = programs[0]
    for known in _candidates(sizes):
        dice = np.random.default_rng(seed)
        values = {
            name: known[name] if name in known else random_input(kind, known, dice)
            for name, kind in first.parameters
        }
        try:
            wanted = evaluate(first, {**values, **known}, _STEPS)
        except LimitError:
            continue
        if not is_regular(wanted):
            continue
        for program in programs:
            try:
                code = compile(program, options=Options(schedule=ORIGINAL))
                found = as_value(code(**{**values, **known}), first.result)
            except OutOfRangeError as error:
                raise InternalError(f"{first.name}: the interpreter has a value: {error}") from None
            except PolygymError:
                return None  # sizes at which there is no code
            if not close(found, wanted, _TOLERANCE):
                raise InternalError(
                    f"{program.name}: expected what the interpreter computes, found another value"
                )
        return known
    return None


def _candidates(sizes: Mapping[str, int]) -> Iterator[dict[str, int]]:
    for small in _SMALL:
        yield {name: min(size, small) for name, size in sizes.items()}
    yield dict(sizes)


def random_input(kind: Type, sizes: Mapping[str, int], dice: np.random.Generator) -> Any:
    """Return a value of a type: Floats in (0, 1), Integers that are numbers of elements."""
    match kind:
        case Vector(inner, size):
            count = sizes[size] if isinstance(size, str) else size
            return [random_input(inner, sizes, dice) for _ in range(count or 1)]
        case Pair(parts):
            return tuple(random_input(part, sizes, dice) for part in parts)
        case Base() if kind == BOOL:
            return bool(dice.integers(2))
        case _:
            if kind == FLOAT:
                return float(dice.uniform(0.05, 1.0))
            return int(dice.integers(min(sizes.values(), default=1)))
