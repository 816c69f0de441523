"""Factors that are the same for all vectors of a sum, and others along it.

In ``C[i][j] += alpha * A[i][k] * B[k][j]``, with vectors along j and a sum along k, this is
alpha · A[i][k]. A factor is what stands in a product or a quotient, is computed from elements that
do not depend on the vector loop, and depends on the loop that holds the sum. Nothing in this part
of the program writes them.

Where a factor is computed beforehand (:mod:`polygym.codegen.transforms.factor_tiles`) the result
is the same bit for bit: it is rounded as a product before it is multiplied. Were it a term of a
sum, the two could be rounded as one.
"""

from collections.abc import Iterator
from dataclasses import dataclass

from polygym.codegen.loopir.index_arithmetic import depends_on
from polygym.codegen.loopir.ir import Instance
from polygym.codegen.transforms.tile_packing_plan import LoopNest
from polygym.ir.expressions import (
    Binary,
    BinaryOperator,
    Expression,
    FloatLiteral,
    IntegerLiteral,
    Load,
    ParameterValue,
    Unary,
    loaded_accesses,
    walk,
)
from polygym.ir.scop import Statement
from polygym.ir.types import ScalarType

_FACTOR_OPERATORS = (BinaryOperator.MULTIPLY, BinaryOperator.DIVIDE)
_FACTOR_TYPES = (ScalarType.FLOAT, ScalarType.DOUBLE)


@dataclass(frozen=True, slots=True)
class Factor:
    """A factor in a body, and the number of the first of its reads."""

    value: Binary
    first_read: int

    @property
    def reads(self) -> range:
        """The numbers of its reads."""
        return range(self.first_read, self.first_read + len(loaded_accesses(self.value)))


def factors_of(statement: Statement) -> Iterator[Factor]:
    """Yield what stands in products and quotients of a body and is computed, larger ones first."""
    number = 0
    pending: list[tuple[Expression, bool]] = [(statement.body, False)]
    while pending:
        node, is_factor = pending.pop()
        match node:
            case Binary(operator, left, right, type_):
                if is_factor and type_ in _FACTOR_TYPES and _is_pure_arithmetic(node):
                    yield Factor(node, number)
                inside = operator in _FACTOR_OPERATORS and type_ in _FACTOR_TYPES
                pending += [(right, inside), (left, inside)]
            case Unary(operand=operand):
                pending.append((operand, False))
            case _:
                number += len(loaded_accesses(node))


def _is_pure_arithmetic(value: Expression) -> bool:
    """Whether an expression is made of elements, numbers and arithmetic alone."""
    kinds = (Binary, Unary, Load, FloatLiteral, IntegerLiteral, ParameterValue)
    return all(
        isinstance(node, kinds) and (not isinstance(node, Binary) or node.type in _FACTOR_TYPES)
        for node in walk(value)
    )


def is_shared(
    factor: Factor, statement: Statement, instance: Instance, nest: LoopNest, vector: str
) -> bool:
    """Whether a factor stays the same along vectors, changes along the sum, and is only read."""
    subscripts = [index for number in factor.reads for index in instance.reads[number]]
    arrays = {statement.reads[number].array for number in factor.reads}
    return (
        arrays.isdisjoint(nest.written)
        and not any(depends_on(index, vector) for index in subscripts)
        and any(depends_on(index, nest.loops[-1].variable) for index in subscripts)
    )
