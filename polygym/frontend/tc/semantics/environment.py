"""Meaning of names where an expression is evaluated, and the elements that it reads.

The right side of ``&&`` and ``||`` and the arms of ``?:`` are evaluated only where they count: what
is known of indices and sizes there goes with every element that they read.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from enum import Enum

import islpy as isl

from polygym.frontend.tc.semantics.affine import TRUE_CONDITION, IslCondition, condition_of
from polygym.frontend.tc.syntax import tree
from polygym.ir import expressions as ir
from polygym.ir.types import ScalarType


class TensorRole(Enum):
    """What a tensor is to the caller."""

    INPUT = "an input"
    UPDATED = "an input that is returned"
    OUTPUT = "an output"
    TEMPORARY = "a temporary"


@dataclass(frozen=True, slots=True)
class TensorInfo:
    """A tensor, as far as it is known when a statement is read.

    ``name`` is its name in the Scop. ``valid`` holds the values that each subscript may have, a set
    of one dimension each. A tensor that is known has values.
    """

    name: str
    type: ScalarType
    valid: tuple[isl.Set, ...]
    role: TensorRole

    @property
    def rank(self) -> int:
        """The number of subscripts."""
        return len(self.valid)


def _no_access(element: tree.ElementOrCall, _: IslCondition) -> ir.Access:
    raise AssertionError(element)


@dataclass(frozen=True, slots=True)
class NameEnvironment:
    """What the names in a statement mean, and what is known where an expression is evaluated.

    ``iterators`` and ``sizes`` have the names of indices and sizes in the program. ``access`` makes
    the access of an element that is read under a condition.
    """

    tensors: Mapping[str, TensorInfo]
    iterators: Mapping[str, str]
    sizes: Mapping[str, str]
    access: Callable[[tree.ElementOrCall, IslCondition], ir.Access] = _no_access
    condition: IslCondition = TRUE_CONDITION

    @property
    def names(self) -> dict[str, str]:
        """The names that subscripts and affine conditions are made of."""
        return {**self.sizes, **self.iterators}

    def under_condition(self, expression: tree.Expression, *, is_true: bool) -> NameEnvironment:
        """Return the environment of what is evaluated only where a condition holds, or does not."""
        names = self.names
        known = condition_of(expression, frozenset(names), names)
        known = known if is_true else known.negation
        return replace(self, condition=self.condition.conjunction(known))


def elements_read(
    expression: tree.Expression, environment: NameEnvironment
) -> Iterator[tuple[tree.ElementOrCall, IslCondition]]:
    """Yield every element that an expression reads, with what is known where it does.

    A scalar that is read by its name counts as an element without subscripts.
    """
    match expression:
        case tree.NameUse(name, place) if name in environment.tensors:
            yield tree.ElementOrCall(name, (), place), environment.condition
        case tree.ElementOrCall(name) if name in environment.tensors:
            yield expression, environment.condition
        case _:
            pass  # only what stands inside of it reads anything
    match expression:
        case tree.InfixExpression(operator, left, right):
            yield from elements_read(left, environment)
            yield from elements_read(right, right_operand_environment(operator, left, environment))
        case tree.ConditionalExpression(chosen, then, otherwise):
            yield from elements_read(chosen, environment)
            yield from elements_read(then, environment.under_condition(chosen, is_true=True))
            yield from elements_read(otherwise, environment.under_condition(chosen, is_true=False))
        case _:
            for part in tree.operands_of(expression):
                yield from elements_read(part, environment)


def right_operand_environment(
    operator: tree.InfixOperator, left: tree.Expression, environment: NameEnvironment
) -> NameEnvironment:
    """Return the environment of an operator's right side: what ``a && b`` says where it needs b."""
    match operator:
        case tree.InfixOperator.AND:
            return environment.under_condition(left, is_true=True)
        case tree.InfixOperator.OR:
            return environment.under_condition(left, is_true=False)
        case _:
            return environment
