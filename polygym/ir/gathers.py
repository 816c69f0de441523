"""Gathers: the sites of computed subscripts, each of which may be out of range.

What an update computes to write counts as a gather, of the read that it stands for.

They are numbered in the order of the text: statement by statement, gather by gather as
:func:`polygym.ir.expressions.loaded_accesses` has them, dimension by dimension. In ``Z[i] =
X[I[J[i]]][K[i]]`` the sites 0 and 1 are the two dimensions of X, and 2 is that of I. Generated code
says by this number which subscript left its array; it names the first, if several do.
"""

from dataclasses import dataclass

from polygym.ir.expressions import Expression, Gather, Load, Update, walk
from polygym.ir.scop import Scop, Statement


@dataclass(frozen=True, slots=True)
class ComputedSubscript:
    """A computed subscript: of read number ``read`` of a statement, in dimension ``dimension``."""

    statement: str
    read: int
    dimension: int
    array: str
    text: str
    subscript: Expression

    def out_of_range_message(self, size: int) -> str:
        """Say that the subscript is out of range, in an array of that size."""
        return out_of_range_text(self.text, self.array, self.dimension, size)


def out_of_range_text(text: str, array: str, dimension: int, size: int) -> str:
    """Say that the subscript of an access, given as text, leaves an array."""
    return (
        f"{text} leaves {array}: expected a subscript from 0 to {size - 1} in dimension "
        f"{dimension}, of size {size}, found one outside"
    )


def gathers(statement: Statement) -> tuple[tuple[int, Gather | Update], ...]:
    """Return what computes subscripts in a statement, each with its number among the reads."""
    reading = [node for node in walk(statement.body) if isinstance(node, Load | Gather | Update)]
    return tuple(
        (number, node) for number, node in enumerate(reading) if isinstance(node, Gather | Update)
    )


def computed_subscripts(scop: Scop) -> tuple[ComputedSubscript, ...]:
    """Return every computed subscript of a program, in the order of the text."""
    return tuple(
        ComputedSubscript(
            statement.name, number, dimension, gather.access.array, gather.access.text, subscript
        )
        for statement in scop.statements
        for number, gather in gathers(statement)
        for dimension, subscript in zip(gather.access.gathered, gather.subscripts, strict=True)
    )
