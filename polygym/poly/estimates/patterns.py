"""Patterns: a word for what a program computes, that of the statements with the most work.

====================  ===========================================================================
initialization        no array is read
copy                  one element is read and stored as it is
transposition         the same, with the subscripts in another order
elementwise           elements of the same iteration are combined
stencil               an array is read at several constant offsets from one place
convolution           a sum of products, in which a subscript is a sum of two loops' counters
matrix product        a sum of products over one of three loops
matrix-vector product a sum of products over one of two loops
dot product           a sum of products over the only loop
contraction           any other sum of products
reduction             a sum, product, least or greatest of what is read
recurrence            an element is computed from elements of the same array
gather, histogram     subscripts are computed from data, of what is read or written
====================  ===========================================================================
"""

from collections.abc import Iterable, Mapping
from enum import Enum

import islpy as isl

from polygym.ir.expressions import Access, Binary, BinaryOperator, Load, Update, walk
from polygym.ir.scop import Scop, Statement
from polygym.poly.estimates.work import statement_work
from polygym.poly.innermost import access_offset
from polygym.poly.integer_vectors import Vector
from polygym.poly.isl_budget import bounded_operations
from polygym.poly.isl_values import coefficients
from polygym.poly.may_accesses import anchor


class Pattern(Enum):
    """The words."""

    INITIALIZATION = "initialization"
    COPY = "copy"
    TRANSPOSITION = "transposition"
    ELEMENTWISE = "elementwise"
    STENCIL = "stencil"
    CONVOLUTION = "convolution"
    MATRIX_PRODUCT = "matrix product"
    MATRIX_VECTOR_PRODUCT = "matrix-vector product"
    DOT_PRODUCT = "dot product"
    CONTRACTION = "contraction"
    REDUCTION = "reduction"
    RECURRENCE = "recurrence"
    GATHER = "gather"
    HISTOGRAM = "histogram"


# Of several statements that take their time, the word of the first of these is taken.
_FIRST = (
    Pattern.MATRIX_PRODUCT,
    Pattern.CONVOLUTION,
    Pattern.CONTRACTION,
    Pattern.STENCIL,
    Pattern.MATRIX_VECTOR_PRODUCT,
    Pattern.DOT_PRODUCT,
    Pattern.HISTOGRAM,
    Pattern.GATHER,
    Pattern.RECURRENCE,
    Pattern.REDUCTION,
    Pattern.TRANSPOSITION,
    Pattern.ELEMENTWISE,
    Pattern.COPY,
    Pattern.INITIALIZATION,
)
_SHARE = 0.2


def pattern_of(scop: Scop, sizes: Mapping[str, int]) -> Pattern:
    """Return the word for a program.

    Raises:
        LimitError: isl would take too long.
    """
    work = {s.name: statement_work(scop, s, sizes) for s in scop.statements}
    most = max(work.values())
    deepest = max(s.depth for s in scop.statements if work[s.name] >= most * _SHARE)
    with bounded_operations("looking at the accesses of a region"):
        patterns = {
            statement_pattern(scop, s)
            for s in scop.statements
            if work[s.name] >= most * _SHARE and s.depth == deepest
        }
    return next(pattern for pattern in _FIRST if pattern in patterns)


def statement_pattern(scop: Scop, statement: Statement) -> Pattern:
    """Return the word for a statement."""
    if isinstance(statement.body, Update):
        return Pattern.HISTOGRAM
    reads = [access for access in statement.reads if scop.array(access.array).rank]
    if any(access.gathered for access in reads):
        return Pattern.GATHER
    summed = _summed_iterators(statement)
    if _is_stencil(reads):
        return Pattern.STENCIL
    if statement.accumulator_reads and summed:
        return _sum_pattern(scop, statement, summed)
    if any(access.array == statement.write.array for access in reads):
        same = all(a.relation == statement.write.relation for a in reads if _same(a, statement))
        return Pattern.ELEMENTWISE if same else Pattern.RECURRENCE
    if not reads:
        return Pattern.ELEMENTWISE if statement.reads else Pattern.INITIALIZATION
    if isinstance(statement.body, Load) and len(reads) == 1:
        return _copy_pattern(statement, reads[0])
    return Pattern.ELEMENTWISE


def _same(access: Access, statement: Statement) -> bool:
    return access.array == statement.write.array


def _sum_pattern(scop: Scop, statement: Statement, summed: frozenset[int]) -> Pattern:
    """Return the word for ``write = write + …``."""
    operands = [
        access
        for number, access in enumerate(statement.reads)
        if number not in statement.accumulator_reads and scop.array(access.array).rank
    ]
    multiplies = any(
        isinstance(node, Binary)
        and node.operator is BinaryOperator.MULTIPLY
        and all(any(isinstance(part, Load) for part in walk(o)) for o in (node.left, node.right))
        for node in walk(statement.body)
    )
    different = {access.relation for access in operands}
    if not multiplies or len(different) < 2:
        return Pattern.REDUCTION
    if any(sum(map(bool, row)) > 1 for access in operands for row in _rows(access)):
        return Pattern.CONVOLUTION
    match statement.depth, len(summed):
        case 3, 1:
            return Pattern.MATRIX_PRODUCT
        case 2, 1:
            return Pattern.MATRIX_VECTOR_PRODUCT
        case 1, 1:
            return Pattern.DOT_PRODUCT
        case _:
            return Pattern.CONTRACTION


def _copy_pattern(statement: Statement, read: Access) -> Pattern:
    written, taken = _rows(statement.write), _rows(read)
    if written != taken and sorted(written) == sorted(taken):
        return Pattern.TRANSPOSITION
    return Pattern.COPY


def _is_stencil(reads: Iterable[Access]) -> bool:
    """Whether an array is read at three places, constant offsets apart."""
    by_array: dict[str, dict[str, None]] = {}
    for access in reads:
        by_array.setdefault(access.array, {})[anchor(access)] = None
    for relations in by_array.values():
        first, *others = relations
        if sum(access_offset(first, other) is not None for other in others) >= 2:
            return True
    return False


def _summed_iterators(statement: Statement) -> frozenset[int]:
    """Return which loops the written element does not depend on."""
    rows = _rows(statement.write)
    return frozenset(
        place for place in range(statement.depth) if not any(row[place] for row in rows)
    )


def _rows(access: Access) -> tuple[Vector, ...]:
    """Return the coefficients of the subscripts of an access, in the first of its pieces."""
    pieces: list[isl.MultiAff] = []
    relation = isl.Map(anchor(access))
    isl.PwMultiAff.from_map(relation).foreach_piece(lambda _, piece: pieces.append(piece))
    if not pieces:
        return ()
    forms = (pieces[0].get_aff(place) for place in range(pieces[0].dim(isl.dim_type.out)))
    return tuple(coefficients(form, isl.dim_type.in_) for form in forms)
