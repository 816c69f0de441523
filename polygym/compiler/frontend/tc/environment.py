"""What the names in an expression mean where it is evaluated, and which elements it reads there.

The right side of ``&&`` and ``||`` and the arms of ``?:`` are evaluated only where they count: what
is known of indices and sizes there goes with every element that they read.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace

from polygym.compiler.frontend.tc.affine import ALWAYS, Condition, condition_of
from polygym.compiler.frontend.tc.syntax import (
    Choice,
    Element,
    Expression,
    Infix,
    Name,
    Operator,
    children,
)
from polygym.compiler.frontend.tc.tensors import Tensor
from polygym.compiler.ir import expr as ir


def _no_access(element: Element, _: Condition) -> ir.Access:
    raise AssertionError(element)


@dataclass(frozen=True, slots=True)
class Environment:
    """What the names in a statement mean, and what is known where an expression is evaluated.

    ``iterators`` and ``sizes`` have the names of indices and sizes in the program. ``access`` makes
    the access of an element that is read under a condition.
    """

    tensors: Mapping[str, Tensor]
    iterators: Mapping[str, str]
    sizes: Mapping[str, str]
    access: Callable[[Element, Condition], ir.Access] = _no_access
    condition: Condition = ALWAYS

    @property
    def names(self) -> dict[str, str]:
        """The names that subscripts and affine conditions are made of."""
        return {**self.sizes, **self.iterators}

    def where(self, expression: Expression, *, holds: bool) -> Environment:
        """Return the environment of what is evaluated only where a condition holds, or does not."""
        names = self.names
        known = condition_of(expression, frozenset(names), names)
        known = known if holds else known.negation
        return replace(self, condition=self.condition.also(known))


def elements(
    expression: Expression, environment: Environment
) -> Iterator[tuple[Element, Condition]]:
    """Yield every element that an expression reads, with what is known where it does.

    A scalar that is read by its name counts as an element without subscripts.
    """
    match expression:
        case Name(name, place) if name in environment.tensors:
            yield Element(name, (), place), environment.condition
        case Element(name) if name in environment.tensors:
            yield expression, environment.condition
        case _:
            pass  # only what stands inside of it reads anything
    match expression:
        case Infix(operator, left, right):
            yield from elements(left, environment)
            yield from elements(right, on_the_right(operator, left, environment))
        case Choice(chosen, then, otherwise):
            yield from elements(chosen, environment)
            yield from elements(then, environment.where(chosen, holds=True))
            yield from elements(otherwise, environment.where(chosen, holds=False))
        case _:
            for part in children(expression):
                yield from elements(part, environment)


def on_the_right(operator: Operator, left: Expression, environment: Environment) -> Environment:
    """Return the environment of an operator's right side: what ``a && b`` says where it needs b."""
    match operator:
        case Operator.AND:
            return environment.where(left, holds=True)
        case Operator.OR:
            return environment.where(left, holds=False)
        case _:
            return environment
