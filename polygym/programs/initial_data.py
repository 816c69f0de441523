"""The initial data of a program whose source does not give any: a deterministic rule, as C text.

Element (i₀, i₁, …) of the array at position p of the Scop gets

    v = (1 + 3·p + Σ_k (2k + 1)·i_k) mod 97 + 1

as it is where the array holds integers and divided by 97 where it holds floating numbers, so that
every value lies in 1 … 97 or in (0, 1]: no zero to divide by, no denormal, no overflow in a few
sums. A scalar is an element without subscripts. The rule is written as a C function of the class
that the front end understands; it is compiled and run like any other program.

Example, ``double A[n][m]`` at position 0::

    for (int i0 = 0; i0 < n; i0++)
      for (int i1 = 0; i1 < m; i1++)
        A[i0][i1] = (double)((1 + 1 * i0 + 3 * i1) % 97 + 1) / 97;

A square matrix of floating numbers is symmetric and well-conditioned, so that programs which divide
by what is left of its diagonal (LU, Cholesky, triangular solves) have finite results: with n rows,

    A[i][i] = 2,   A[i][j] = ((1 + 3·p + i + j) mod 97 + 1) / (97·n) elsewhere.

The elements beside the diagonal of a row have a sum below 1, so that every eigenvalue lies between
1 and 3 (Gershgorin), and powers of the matrix stay far from overflow.

Matrices of other shapes that a program divides by (:mod:`polygym.poly.index_ranges`) are such,
too: augmented ones, ``A[n][n + 1]``, those whose two sizes may be equal, ``A[n][m]``, stacks of
them, ``A[b][n][n]``. The last two subscripts, i and j, are those in a matrix of R rows; the ones
before number it. With u the rule's number 1 + 3·p + Σ_k (2k + 1)·i_k over the ones before, to which
i + j is added instead of the terms of the last two,

    A[…][i][i] = 2,   A[…][i][j] = (u mod 97 + 1) / (97·R) elsewhere, where j < R,

so that the square on the left, or on top, is symmetric and has a strong diagonal. What stands on
the right of it, right sides say, is v, as are arrays by which nothing is divided: images, weights,
what stencils work on.

An array of indices, from which the program computes subscripts, gets values that are valid ones:
with w = 1299709·(1 + 3·p + Σ_k (2k + 1)·i_k) mod (2³¹ - 1), they are

    v = lowest + w mod (highest - lowest + 1),

spread over all that is valid (:mod:`polygym.poly.index_ranges`).

An array of which each two neighbours bound a loop, ``for (k = row[i]; k < row[i + 1]; k++)``, holds
the starts of rows of about equal length: element i of n gets

    v = lowest + ⌊i · (highest - lowest) / (n - 1)⌋.

An array of a type of less than 32 bits, or of one without a sign, is filled as one of ``int`` or
``long``, and what is written to it is then converted: the text says ``int``, the program that is
returned does not. A bool gets v mod 2.

A variable to which the source gives constants before the region gets those instead. Neighbours that
are alike share a loop, at every level, so that a large array of zeros is a short text.
``double k[3][2] = {{0.5, 1.5}}`` becomes::

    k[0][0] = 0.5;
    k[0][1] = 1.5;
    for (int i0 = 1; i0 < 3; i0++)
      for (int i1 = 0; i1 < 2; i1++)
        k[i0][i1] = 0.0;
"""

from collections.abc import Iterator, Mapping
from dataclasses import replace
from itertools import groupby
from math import prod

from polygym.frontend.c import parse_text
from polygym.frontend.tc.inference.ranges import c_text_of
from polygym.ir.expressions import Cast, FloatLiteral, IntegerLiteral
from polygym.ir.printer import c_expression
from polygym.ir.scop import Array, Scop, StorageClass
from polygym.ir.types import ScalarType
from polygym.ir.verifier import verify
from polygym.poly.index_ranges import IndexRange, divisor_arrays, row_start_ranges

_MODULUS = 97
_SPREAD, _PRIME = 1299709, 2**31 - 1
_NAME = "polygym_initial_data"
_NOTHING = "polygym_nothing"


def initial_data_source(scop: Scop, indices: Mapping[str, tuple[str, str]] | None = None) -> str:
    """Return the C text of a function that fills every array declared outside the region.

    Where all are declared inside, a variable of its own, for a region has to do something.
    ``indices`` has the least and the largest value of arrays of indices, as C.
    """
    filled = [
        (position, array)
        for position, array in enumerate(scop.arrays)
        if array.storage_class is not StorageClass.BLOCK
    ]
    arguments = [
        f"{_carrier(parameter.type).value} {parameter.name}" for parameter in scop.parameters
    ]
    arguments += [_argument(array) for _, array in filled]
    matrices = divisor_arrays(scop)
    starts = {name: _ends_in_c(values) for name, values in row_start_ranges(scop).items()}
    body = "\n".join(
        _fill(
            array,
            position,
            _counter(scop),
            (indices or {}).get(array.name),
            _is_square(array) or (array.rank >= 2 and array.name in matrices),
        )
        if array.initial is not None or array.name not in starts
        else _fill_row_starts(array, _counter(scop), *starts[array.name])
        for position, array in filled
    )
    if not filled:
        body = f"double {_NOTHING};\n{_NOTHING} = 0;"
    return f"void {_NAME}({', '.join(arguments)})\n{{\n#pragma scop\n{body}\n#pragma endscop\n}}\n"


def initial_data_program(scop: Scop, indices: Mapping[str, tuple[str, str]] | None = None) -> Scop:
    """Return the program that fills every array declared outside the region by the rule."""
    text = initial_data_source(scop, indices)
    filling = parse_text(text, file=f"<initial data of {scop.name}>", function=_NAME)
    return _with_types(filling, {array.name: array.type for array in scop.arrays})


def _with_types(filling: Scop, types: Mapping[str, ScalarType]) -> Scop:
    """Return the program with the real types of what it fills."""
    arrays = tuple(
        replace(array, type=types.get(array.name, array.type)) for array in filling.arrays
    )
    statements = []
    for statement in filling.statements:
        real = types.get(statement.write.array, statement.body.type)
        body = statement.body if statement.body.type is real else Cast(statement.body, real)
        statements.append(replace(statement, body=body))
    return verify(replace(filling, arrays=arrays, statements=tuple(statements)))


def _carrier(scalar: ScalarType) -> ScalarType:
    """Return a type of C, as it is understood here, that holds what an array is filled with."""
    if scalar in (ScalarType.UNSIGNED, ScalarType.UNSIGNED_LONG):
        return ScalarType.LONG
    return scalar.promoted


def _argument(array: Array) -> str:
    if not array.rank:
        return f"{_carrier(array.type).value} *{array.name}"
    return f"{_carrier(array.type).value} {array.name}" + "".join(
        f"[{size}]" for size in array.c_extents
    )


def _counter(scop: Scop) -> str:
    """Return a prefix for loop counters that no name of the program starts with."""
    names = {array.name for array in scop.arrays} | {p.name for p in scop.parameters}
    prefix = "i"
    while any(name.startswith(prefix) for name in names):
        prefix += "_"
    return prefix


def _fill(
    array: Array, position: int, counter: str, valid: tuple[str, str] | None, is_matrix: bool
) -> str:
    """Return the statements that fill one array."""
    if array.initial is None:
        return _fill_by_rule(array, position, counter, valid, is_matrix)
    if not isinstance(array.initial, tuple):
        return f"*{array.name} = {_number(array.initial, array)};"
    lengths = tuple(int(size) for size in array.c_extents)
    return "\n".join(_fill_constant_values(array, array.initial, lengths, (), counter))


def _fill_constant_values(
    array: Array,
    values: tuple[int | float, ...],
    lengths: tuple[int, ...],
    subscripts: tuple[str, ...],
    counter: str,
) -> Iterator[str]:
    """Yield assignments of ``values`` to the part of an array behind some first subscripts."""
    if not lengths:
        element = array.name + "".join(f"[{subscript}]" for subscript in subscripts)
        yield f"{element} = {_number(values[0], array)};"
        return
    size = prod(lengths[1:])
    rows = [values[start : start + size] for start in range(0, len(values), size)]
    begin = 0
    # Numbers that are equal may still differ as texts: 0.0 and -0.0.
    for _, group in groupby(rows, key=repr):
        alike = list(group)
        end = begin + len(alike)
        subscript = str(begin)
        if len(alike) > 1:
            subscript = f"{counter}{len(subscripts)}"
            yield f"for (int {subscript} = {begin}; {subscript} < {end}; {subscript}++) {{"
        yield from _fill_constant_values(
            array, alike[0], lengths[1:], (*subscripts, subscript), counter
        )
        if len(alike) > 1:
            yield "}"
        begin = end


def _number(value: int | float, array: Array) -> str:
    """Return the C text of a constant of an array's type."""
    if isinstance(value, int):
        carrier = _carrier(array.type)
        if value > carrier.highest:
            value -= 1 << carrier.bits
        return c_expression(IntegerLiteral(value, carrier))
    return c_expression(FloatLiteral(value, _carrier(array.type)))


def _fill_by_rule(
    array: Array, position: int, counter: str, valid: tuple[str, str] | None, is_matrix: bool
) -> str:
    """Return the loops that fill one array by the rule; the values of indices are valid."""
    loops = "".join(
        f"for (int {counter}{k} = 0; {counter}{k} < {size}; {counter}{k}++)\n"
        for k, size in enumerate(_operands(array))
    )
    terms = "".join(f" + {2 * k + 1} * {counter}{k}" for k in range(array.rank))
    place = f"({1 + 3 * position}{terms})"
    value = f"{place} % {_MODULUS} + 1"
    if array.type is ScalarType.BOOL:
        value = f"({value}) % 2"
    if valid is not None and array.type.is_integer:
        value = _valid_index(place, *valid, _carrier(array.type))
    elif array.type.is_floating:
        value = f"({_carrier(array.type).value})({value}) / {_MODULUS}"
        if is_matrix:
            value = _well_conditioned(array, position, counter, value)
    target = f"{array.name}" + "".join(f"[{counter}{k}]" for k in range(array.rank))
    return f"{loops}{target if array.rank else '*' + array.name} = {value};"


def _ends_in_c(values: IndexRange) -> tuple[str, str]:
    """Return the ends of a range as C."""
    lowest, highest = (c_text_of(end, end.domain()) for end in (values.lowest, values.highest))
    return f"({lowest})", f"({highest})"


def _fill_row_starts(array: Array, counter: str, lowest: str, highest: str) -> str:
    """Return the loop that fills an array with the starts of rows, the last one's end included."""
    (size,) = _operands(array)
    parts = f"({size} > 1 ? {size} - 1 : 1)"
    value = f"{lowest} + (long){counter}0 * ({highest} - {lowest}) / {parts}"
    place = f"{array.name}[{counter}0] = ({_carrier(array.type).value})({value});"
    return f"for (int {counter}0 = 0; {counter}0 < {size}; {counter}0++)\n{place}"


def _operands(array: Array) -> tuple[str, ...]:
    """Return an array's sizes as operands: `?:` binds less tightly than a comparison."""
    return tuple(f"({size})" if "?" in size else size for size in array.c_extents)


def _is_square(array: Array) -> bool:
    return array.rank == 2 and array.extents[0] == array.extents[1]


def _well_conditioned(array: Array, position: int, counter: str, beside: str) -> str:
    """Return an element of a symmetric matrix with a strong diagonal as C, or what is beside it."""
    kind, rows = _carrier(array.type).value, _operands(array)[-2]
    *numbers, row, column = range(array.rank)
    stack = "".join(f" + {2 * k + 1} * {counter}{k}" for k in numbers)
    place = f"{1 + 3 * position}{stack} + {counter}{row} + {counter}{column}"
    small = f"({kind})(({place}) % {_MODULUS} + 1) / ({_MODULUS} * ({kind})({rows}))"
    if not _is_square(array):
        small = f"({counter}{column} < {rows} ? {small} : {beside})"
    return f"{counter}{row} == {counter}{column} ? ({kind})2 : {small}"


def _valid_index(place: str, lowest: str, highest: str, scalar: ScalarType) -> str:
    """Return a value between two as C; where there is none between them, the lowest."""
    count = f"({highest} >= {lowest} ? {highest} - {lowest} + 1 : 1)"
    wide = f"(long){place} * {_SPREAD} % {_PRIME}"
    return f"({scalar.value})({lowest} + {wide} % {count})"
