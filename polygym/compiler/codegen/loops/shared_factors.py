"""Factors that are the same for all vectors of a sum, and others along it.

In ``C[i][j] += alpha * A[i][k] * B[k][j]``, with vectors along j and a sum along k, this is
alpha · A[i][k]. A factor is what stands in a product or a quotient, is computed from elements that
do not depend on the vector loop, and depends on the loop that holds the sum. Nothing in this part
of the program writes them.

Where a factor is computed beforehand (:mod:`polygym.compiler.codegen.loops.term_tiles`) the result
is the same bit for bit: it is rounded as a product before it is multiplied. Were it a term of a
sum, the two could be rounded as one.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from polygym.compiler.codegen.loops.index import mentions
from polygym.compiler.codegen.loops.ir import Instance
from polygym.compiler.codegen.loops.tile_plan import Nest
from polygym.compiler.ir.expr import (
    Binary,
    BinaryOperator,
    Expression,
    FloatLiteral,
    IntegerLiteral,
    Load,
    ParameterValue,
    Unary,
    loads,
    walk,
)
from polygym.compiler.ir.scop import Statement
from polygym.compiler.ir.types import ScalarType

_FACTORS = (BinaryOperator.MULTIPLY, BinaryOperator.DIVIDE)
_TYPES = (ScalarType.FLOAT, ScalarType.DOUBLE)


@dataclass(frozen=True, slots=True)
class Factor:
    """A factor in a body, and the number of the first of its reads."""

    value: Binary
    first: int

    @property
    def reads(self) -> range:
        """The numbers of its reads."""
        return range(self.first, self.first + len(loads(self.value)))


def factors_of(statement: Statement) -> Iterator[Factor]:
    """Yield what stands in products and quotients of a body and is computed, larger ones first."""
    number = 0
    pending: list[tuple[Expression, bool]] = [(statement.body, False)]
    while pending:
        node, is_factor = pending.pop()
        match node:
            case Binary(operator, left, right, type_):
                if is_factor and type_ in _TYPES and _is_plain(node):
                    yield Factor(node, number)
                inside = operator in _FACTORS and type_ in _TYPES
                pending += [(right, inside), (left, inside)]
            case Unary(operand=operand):
                pending.append((operand, False))
            case _:
                number += len(loads(node))


def _is_plain(value: Expression) -> bool:
    """Whether an expression is made of elements, numbers and arithmetic alone."""
    kinds = (Binary, Unary, Load, FloatLiteral, IntegerLiteral, ParameterValue)
    return all(
        isinstance(node, kinds) and (not isinstance(node, Binary) or node.type in _TYPES)
        for node in walk(value)
    )


def is_shared(
    factor: Factor, statement: Statement, instance: Instance, nest: Nest, vector: str
) -> bool:
    """Whether a factor stays the same along vectors, changes along the sum, and is only read."""
    subscripts = [index for number in factor.reads for index in instance.reads[number]]
    arrays = {statement.reads[number].array for number in factor.reads}
    return (
        arrays.isdisjoint(nest.written)
        and not any(mentions(index, vector) for index in subscripts)
        and any(mentions(index, nest.loops[-1].variable) for index in subscripts)
    )
