"""Arrays and parameters as C declares them: arguments, globals, the function's own."""

from collections.abc import Iterator

from polygym.ir.expressions import FloatLiteral, IntegerLiteral
from polygym.ir.printer import c_expression
from polygym.ir.scop import Array, Scop, StorageClass


def global_declarations(scop: Scop) -> Iterator[str]:
    """Yield the declarations of globals, and of what each thread has of its own."""
    for array in scop.arrays:
        if array.storage_class is StorageClass.GLOBAL:
            yield f"extern {_declaration(array)};"
    for array in scop.arrays:
        if array.storage_class in (StorageClass.TILE, StorageClass.PRIVATE):
            yield f"static _Thread_local {_declaration(array)} __attribute__((aligned(64)));"


def argument_declarations(scop: Scop) -> Iterator[str]:
    """Yield the declarations of the function's arguments."""
    parameters = {parameter.name: parameter for parameter in scop.parameters}
    arrays = {array.name: array for array in scop.arrays}
    unused = dict(scop.unused_arguments)
    for name in scop.signature:
        if name in parameters:
            yield f"{parameters[name].type.value} {name}"
        elif name in arrays:
            yield _declaration(arrays[name])
        else:
            yield unused[name]
    for name, parameter in parameters.items():
        if name not in scop.signature:
            yield f"{parameter.type.value} {name}"


def local_declarations(scop: Scop) -> Iterator[str]:
    """Yield the declarations of what lives as long as a call."""
    own = (StorageClass.LOCAL, StorageClass.BLOCK)
    for array in scop.arrays:
        if array.storage_class in own or (
            array.storage_class is StorageClass.SCRATCH and not array.rank
        ):
            yield f"  {_declaration(array)}{_initializer(array)};"


def allocations(scop: Scop) -> Iterator[str]:
    """Yield what makes arrays of memory, and ends the program where there is none."""
    made = _heap_arrays(scop)
    yield from map(_allocation, made)
    if made:
        missing = " || ".join(f"!{array.name}" for array in made)
        yield f"  if ({missing})\n    __builtin_trap();"


def deallocations(scop: Scop) -> Iterator[str]:
    """Yield what gives that memory back."""
    return (f"  __builtin_free({array.name});" for array in _heap_arrays(scop))


def _heap_arrays(scop: Scop) -> list[Array]:
    return [
        array for array in scop.arrays if array.storage_class is StorageClass.SCRATCH and array.rank
    ]


def _allocation(array: Array) -> str:
    """Return ``double (*B)[n] = __builtin_malloc(sizeof(double[m][n]) + 1);``.

    gcc's and clang's names need no header, whose own names the source may use for something else;
    no more than nothing could be a null pointer.
    """
    kind, first, *rest = (array.type.value, *(f"[{extent}]" for extent in array.c_extents))
    inner = "".join(rest)
    return f"  {kind} (*{array.name}){inner} = __builtin_malloc(sizeof({kind}{first}{inner}) + 1);"


def _declaration(array: Array) -> str:
    """Return ``double A[n][m]``, ``double x``, or ``double *x`` for a scalar behind a pointer."""
    sizes = "".join(f"[{extent}]" for extent in array.c_extents)
    star = "*" if not array.rank and array.storage_class is StorageClass.ARGUMENT else ""
    return f"{array.type.value} {star}{array.name}{sizes}"


def _initializer(array: Array) -> str:
    """Return ``= 0.5``, or ``= {{1, 2}, {3}}``: zeros that end an array or a row are C's to add."""
    if array.initial is None:
        return ""
    values = array.initial if isinstance(array.initial, tuple) else (array.initial,)

    def braced(part: tuple[int | float, ...], rank: int) -> str:
        """Return the text of a part of the array that has so many dimensions."""
        if not rank:
            (value,) = part
            if isinstance(value, int):
                return c_expression(IntegerLiteral(value, array.type))
            return c_expression(FloatLiteral(value, array.type))
        size = len(part) // int(array.c_extents[array.rank - rank])
        rows = [part[start : start + size] for start in range(0, len(part), size)]
        while len(rows) > 1 and all(repr(value) in ("0", "0.0") for value in rows[-1]):
            rows.pop()
        return f"{{{', '.join(braced(row, rank - 1) for row in rows)}}}"

    return f" = {braced(values, array.rank)}"
