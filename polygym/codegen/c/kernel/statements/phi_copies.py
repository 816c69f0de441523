"""Assignments that happen at once, one after another.

The phis of a block get their values together. A variable is assigned after all that use its old
value; a cycle is broken by a spare variable::

    (a, b) = (b, a)   →   a_next = b;  b = a;  a = a_next;
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from polygym.codegen.c.kernel.statements.nodes import Assignment, Variable


def ordered_copies(
    copies: Sequence[Assignment], new_name: Callable[[str], str]
) -> Iterator[Assignment]:
    """Yield assignments that together do the same as all copies at once."""
    left = list(copies)
    while left:
        for place, copy in enumerate(left):
            others = (other for number, other in enumerate(left) if number != place)
            if not any(copy.variable in other.uses for other in others):
                yield copy
                del left[place]
                break
        else:
            first = left[0]
            spare = Variable(new_name(f"{first.variable.name}_next"), first.variable.type)
            yield Assignment(spare, first.text, first.uses)
            left[0] = Assignment(first.variable, spare.name, frozenset({spare}))
