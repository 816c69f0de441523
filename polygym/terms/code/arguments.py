"""Arguments and results: Python's numbers, lists and NumPy's arrays, as code takes and leaves them.

A vector of tuples is an array for every part. Handed in it may be a list of tuples, or the tuple of
such arrays; what comes back is the tuple of arrays. :func:`to_interpreter_value` makes of it what
the interpreter gives, to compare the two.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from polygym.errors import InputError
from polygym.programs.dtypes import DTYPES
from polygym.terms.code.c_values import C_TYPES, CArray
from polygym.terms.language import types
from polygym.terms.language.program import TermProgram


def bind_arguments(
    program: TermProgram, values: Mapping[str, Any]
) -> tuple[dict[str, int], dict[str, list[np.ndarray[Any, Any]]]]:
    """Return the sizes and Integers of a call by name, and the arrays of every other parameter.

    Raises:
        InputError: a value is missing, or does not fit its type, or sizes do not agree.
    """
    unknown = sorted(set(values) - {name for name, _ in program.inputs})
    if unknown:
        raise InputError(f"{program.name}: expected no value of {', '.join(unknown)}, found one")
    sizes: dict[str, int] = {}
    arrays: dict[str, list[np.ndarray[Any, Any]]] = {}
    for name, kind in program.parameters:
        if name not in values:
            raise InputError(f"{program.name}: expected a value of {name}, found none")
        if kind == types.INTEGER:
            _agree(program, sizes, name, _integer(f"{program.name}: {name}", values[name]))
            continue
        arrays[name] = flatten_value(f"{program.name}: {name}", values[name], kind)
        for array, part in zip(arrays[name], _parts(kind), strict=True):
            for size, extent in zip(part[1], array.shape, strict=True):
                if isinstance(size, str):
                    _agree(program, sizes, size, extent)
                elif size is not None and size != extent:
                    raise InputError(f"{program.name}: {name}: expected {size}, found {extent}")
    for name in program.sizes:
        if name in values:
            _agree(program, sizes, name, _integer(f"{program.name}: {name}", values[name]))
    return sizes, arrays


def resolve_sizes(
    program: TermProgram, arrays: Mapping[str, Sequence[np.ndarray[Any, Any]]]
) -> TermProgram:
    """Return the program with numbers for those of its arguments' sizes that have no name."""
    parameters = []
    for name, kind in program.parameters:
        left = [size for array in arrays.get(name, ()) for size in array.shape]
        # A vector of tuples has its size once in the type, and once for each part in the arrays.
        parameters.append((name, _numbered(kind, left, 1) if left else kind))
    return replace(program, parameters=tuple(parameters))


def _numbered(kind: types.Type, left: list[int], depth: int) -> types.Type:
    match kind:
        case types.VectorType(inner, size):
            parts = _parts(kind)
            result = left[depth - 1]
            changed = _numbered(inner, left, depth + 1)
            if depth == 1:
                del left[: sum(len(sizes) for _, sizes in parts)]
            return types.VectorType(changed, result if size is None else size)
        case types.TupleType(parts_of):
            return types.TupleType(tuple(_numbered(part, left, depth) for part in parts_of))
        case _:
            return kind


def _agree(program: TermProgram, sizes: dict[str, int], name: str, extent: int) -> None:
    if sizes.setdefault(name, extent) != extent:
        raise InputError(f"{program.name}: expected {name} = {sizes[name]}, found {extent}")


def _integer(place: str, value: Any) -> int:
    if isinstance(value, np.integer):
        value = int(value)
    if not isinstance(value, int) or isinstance(value, bool) or not -(2**63) <= value < 2**63:
        raise InputError(f"{place}: expected an Integer, found {value!r}")
    return value


def _parts(
    kind: types.Type, sizes: tuple[types.VectorSize, ...] = ()
) -> list[tuple[types.BaseType, tuple[types.VectorSize, ...]]]:
    """Return the arrays of a type: of what, and their sizes."""
    match kind:
        case types.VectorType(inner, size):
            return _parts(inner, (*sizes, size))
        case types.TupleType(parts):
            return [base_types for part in parts for base_types in _parts(part, sizes)]
        case types.BaseType():
            return [(kind, sizes)]
        case _:
            raise InputError(f"a program that is compiled: expected data, found {kind}")


def flatten_value(place: str, value: Any, kind: types.Type) -> list[np.ndarray[Any, Any]]:
    """Return the arrays of a value.

    >>> pair = types.TupleType((types.FLOAT, types.INTEGER))
    >>> flatten_value("v", [(1.0, 2), (3.0, 4)], types.VectorType(pair))
    [array([1., 3.]), array([2, 4])]
    """
    return [
        _array(place, column, base, len(sizes))
        for column, (base, sizes) in zip(_columns(place, value, kind), _parts(kind), strict=True)
    ]


def _columns(place: str, value: Any, kind: types.Type) -> list[Any]:
    """Return a value's parts, nested lists or arrays, without tuples."""
    match kind:
        case types.TupleType(parts):
            if not isinstance(value, tuple | list) or len(value) != len(parts):
                raise InputError(f"{place}: expected {len(parts)} parts, found {_short(value)}")
            pairs = zip(value, parts, strict=True)
            return [column for part, its in pairs for column in _columns(place, part, its)]
        case types.VectorType(inner) if len(_parts(inner)) > 1 or isinstance(
            inner, types.TupleType
        ):
            count = len(_parts(inner))
            if isinstance(value, tuple):  # of arrays
                return _columns(place, value, _spread(kind))
            if not isinstance(value, list):
                raise InputError(
                    f"{place}: expected a list of tuples, or a tuple of {count} arrays, "
                    f"found {_short(value)}"
                )
            rows = [_columns(place, item, inner) for item in value]
            return [[row[at] for row in rows] for at in range(count)]
        case _:
            return [value]


def _spread(kind: types.Type) -> types.Type:
    """Return the type in which a vector of tuples is a tuple of vectors."""
    match kind:
        case types.VectorType(inner, size):
            below = _spread(inner)
            if isinstance(below, types.TupleType):
                return types.TupleType(
                    tuple(_spread(types.VectorType(part, size)) for part in below.parts)
                )
            return types.VectorType(below, size)
        case types.TupleType(parts):
            return types.TupleType(tuple(map(_spread, parts)))
        case _:
            return kind


def _array(place: str, value: Any, base: types.BaseType, rank: int) -> np.ndarray[Any, Any]:
    dtype = DTYPES[C_TYPES[base]]
    try:
        array = np.asarray(value)
    except ValueError as error:
        raise InputError(f"{place}: {error}") from None
    if array.size == 0 and array.ndim == rank:
        array = array.astype(dtype)
    fits = {types.FLOAT: "fiu", types.INTEGER: "iu", types.BOOL: "b"}[base]
    if array.dtype.kind not in fits or array.ndim != rank:
        raise InputError(
            f"{place}: expected {rank} dimension(s) of {base}, found {array.ndim} of {array.dtype}"
        )
    return np.ascontiguousarray(array, dtype) if rank else array.astype(dtype)


def _short(value: Any) -> str:
    text = repr(value)
    return text if len(text) < 60 else f"{text[:60]}…"


def result_of(shape: Any, arrays: Sequence[np.ndarray[Any, Any]]) -> Any:
    """Return a program's value: numbers, arrays, tuples of them."""
    left = list(arrays)

    def made(part: Any) -> Any:
        if isinstance(part, tuple):
            return tuple(map(made, part))
        array = left.pop(0)
        return array if isinstance(part, CArray) else array.reshape(-1)[0].item()

    return made(shape)


def to_interpreter_value(result: Any, kind: types.Type) -> Any:
    """Return a result as the interpreter would: vectors as lists, tuples within them.

    >>> kind = types.VectorType(types.TupleType((types.FLOAT, types.INTEGER)))
    >>> to_interpreter_value((np.array([1.0]), np.array([2])), kind)
    [(1.0, 2)]
    """
    match kind:
        case types.TupleType(parts):
            return tuple(
                to_interpreter_value(item, part) for item, part in zip(result, parts, strict=True)
            )
        case types.VectorType(inner):
            count = _first(result).shape[0]
            return [to_interpreter_value(_row(result, at), inner) for at in range(count)]
        case _:
            return result.item() if isinstance(result, np.ndarray | np.generic) else result


def _first(value: Any) -> Any:
    while isinstance(value, tuple):
        value = value[0]
    return value


def _row(value: Any, at: int) -> Any:
    return tuple(_row(part, at) for part in value) if isinstance(value, tuple) else value[at]
