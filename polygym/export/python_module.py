"""A kernel as a Python module: a function on NumPy arrays, which works in place.

The module stands beside the shared library of the kernel, and needs NumPy alone.
"""

import builtins
import keyword
from collections.abc import Iterator
from math import isfinite

from polygym.codegen.generation.parameters import extent_indices
from polygym.codegen.loopir.python_text import python_text
from polygym.errors import InputError
from polygym.export.exporting import Export
from polygym.export.structured_arrays import argument_name
from polygym.ir.scop import Array, Scop, StorageClass
from polygym.programs.dtypes import dtype_of

_TEMPLATE = '''"""{comment}

The function works on the arrays themselves. They must lie in one piece, in the order of C.
"""

import ctypes
from pathlib import Path

import numpy as np

_kernel = ctypes.CDLL(str(Path(__file__).with_name("{kernel}.so"))).{kernel}
_kernel.restype = ctypes.c_int


def _place(kind, member):
    """Return the offset and the type of a member such as ``at.w[1]``, None if there is none."""
    offset = 0
    for step in member.replace("]", "").replace("[", ".").split("."):
        if not step.isdigit():
            if step not in (kind.fields or ()):
                return None
            kind, start = kind.fields[step][:2]
            offset += start
            continue
        if not kind.shape:
            return None
        kind = np.dtype((kind.base, kind.shape[1:]))
        offset += int(step) * kind.itemsize
    return offset, kind


def _address(name, array, dtype, shape, is_written, members=None):
    """Return the address of an array that has the type and the size that the loops expect.

    An array of structures has ``members``, with their places in bytes, and is seen as rows.
    """
    if members is not None and isinstance(array, np.ndarray) and array.dtype.names:
        size = shape[-1] * np.dtype(dtype).itemsize
        if array.dtype.itemsize != size:
            found = array.dtype.itemsize
            raise TypeError(f"{{name}}: expected structures of {{size}} bytes, found {{found}}")
        for member, offset in members.items():
            if _place(array.dtype, member) != (offset, np.dtype(dtype)):
                expected = f"{{member}} of {{dtype}} at byte {{offset}}"
                raise TypeError(f"{{name}}: expected {{expected}}, found {{array.dtype}}")
        if not array.flags.c_contiguous or not array.flags.aligned:
            raise ValueError(f"{{name}}: expected an array in one piece, in the order of C")
        rows = np.ndarray((*array.shape, shape[-1]), dtype, buffer=array.data)
        rows.flags.writeable = array.flags.writeable
        array = rows
    elif isinstance(array, (complex, np.complexfloating)):
        array = np.array([array.real, array.imag], dtype)
    elif np.iscomplexobj(array) and array.flags.c_contiguous:
        parts = array.view(array.real.dtype)
        array = parts if array.ndim == 1 else parts.reshape(*array.shape, 2)
    if not isinstance(array, np.ndarray) or array.dtype != dtype:
        found = getattr(array, "dtype", type(array).__name__)
        raise TypeError(f"{{name}}: expected an array of {{dtype}}, found {{found}}")
    size = 1
    for extent in shape:
        size *= max(extent, 0)
    is_flat = array.ndim == 1 or (members is not None and array.shape[1:] == shape[-1:])
    fits = array.shape == shape or (is_flat and array.size >= size)
    if not fits:
        raise ValueError(f"{{name}}: expected the shape {{shape}}, found {{array.shape}}")
    if not array.flags.c_contiguous or not array.flags.aligned:
        raise ValueError(f"{{name}}: expected an array in one piece, in the order of C")
    if is_written and not array.flags.writeable:
        raise ValueError(f"{{name}}: expected an array that can be written to")
    return array.ctypes.data_as(ctypes.c_void_p)


def _integer(name, value):
    """Return a size as the kernel takes it."""
    if isinstance(value, bool) or not hasattr(value, "__index__"):
        raise TypeError(f"{{name}}: expected an integer, found {{type(value).__name__}}")
    return value.__index__()


def {function}({signature}):
    """Run the loops; return nothing.

    Raises ValueError where the kernel does not run: arrays that overlap, sizes for which the
    program is not defined, a processor without the instructions, or no memory.
    """
{body}
    if code != 0:
        raise ValueError(
            "{function}: the kernel does not run for these arrays and sizes: expected arrays that "
            "do not overlap, and sizes that the program admits"
        )
'''


_OWN_NAMES = ("np", "ctypes", "Path", "code")


def python_module(export: Export) -> str:
    """Return the text of the module.

    Raises:
        InputError: the function takes what has no place in Python.
    """
    scop = export.program.as_written
    structured = {a.name: argument_name(a) for a in scop.arrays}
    names = list(dict.fromkeys(structured.get(name, name) for name in scop.signature))
    unused = dict(scop.unused_arguments)
    given = [argument_name(array) for array in export.plan.arrays if _is_given(array)]
    others = [name for name in dict.fromkeys(given) if name not in names]
    others += [p.name for p in export.plan.parameters if p.name not in names]
    python = _names(export)
    signature = ", ".join(python.get(name, name) for name in [*names, *_starred(others)])
    body = "\n".join(f"    {line}" for line in _body(export, frozenset(unused)))
    return _TEMPLATE.format(
        comment="\n".join(export.comment()),
        kernel=export.plan.name,
        function=export.function,
        signature=signature,
        body=body,
    )


def _starred(names: list[str]) -> list[str]:
    """Return names that are given by keyword alone, with the star before them."""
    return ["*", *names] if names else []


def _names(export: Export) -> dict[str, str]:
    """Return Python's names for those of C: some mean something else there."""
    scop = export.program.as_written
    arrays = [name for a in scop.arrays for name in (a.name, argument_name(a))]
    used = (*scop.signature, *arrays, *(p.name for p in scop.parameters))
    taken = {*keyword.kwlist, *dir(builtins), *_OWN_NAMES}
    return {name: f"{name}_" if name in taken else name for name in used}


def _is_given(array: Array) -> bool:
    given = (StorageClass.GLOBAL, StorageClass.ARGUMENT, StorageClass.VALUE)
    return array.storage_class in given and not array.is_constant


def _literal(value: int | float | tuple[int | float, ...] | None) -> str:
    """Return the value of a constant in Python."""
    if isinstance(value, tuple):
        return f"[{', '.join(map(_literal, value))}]"
    return repr(value) if isinstance(value, int) or isfinite(value or 0.0) else f'float("{value}")'


def _body(export: Export, unused: frozenset[str]) -> Iterator[str]:
    """Yield the lines that check the arguments, and the call."""
    plan, scop, python = export.plan, export.program.scop, _names(export)
    for parameter in plan.parameters:
        name = python[parameter.name]
        yield f'{name} = _integer("{name}", {name})'
    values = []
    for array in plan.arrays:
        shape = ", ".join(_extents(array, scop, python))
        shape = f"({shape},)" if shape else "()"
        dtype, name = dtype_of(array.type).name, python.get(array.name, array.name)
        written = array.name in plan.written
        is_number = array.storage_class is StorageClass.VALUE
        if array.live_out and (is_number or array.storage_class is StorageClass.LOCAL):
            raise InputError(
                f"--kind python: expected outputs in arrays, found that {array.name} is a variable "
                "of the function that the region sets"
            )
        if is_number or (not array.rank and not written and _is_given(array)):
            yield f'{name}_ = np.asarray({name}).astype("{dtype}")'
            values.append(f"ctypes.c_void_p({name}_.ctypes.data)")
        elif _is_given(array):
            shape = "(1,)" if shape == "()" else shape
            name = python.get(argument_name(array), argument_name(array))
            members = f", {_members(array)}" if array.structure is not None else ""
            values.append(f'_address("{name}", {name}, "{dtype}", {shape}, {written}{members})')
        elif array.is_constant:
            yield f'{name} = np.array({_literal(array.initial)}, "{dtype}").reshape({shape})'
            values.append(f"ctypes.c_void_p({name}.ctypes.data)")
        else:
            yield f'{name} = np.empty({shape}, "{dtype}")'
            values.append(f"ctypes.c_void_p({name}.ctypes.data)")
    values += ["ctypes.c_void_p(0)"] * len(plan.watched)
    values += [f"ctypes.c_long({python[p.name]})" for p in plan.parameters]
    yield "code = _kernel("
    yield from (f"    {value}," for value in values)
    yield ")"


def _members(array: Array) -> dict[str, int]:
    """Return the members of structures that a program uses, with their places."""
    assert array.structure is not None
    return {way.removeprefix("."): offset for way, offset in array.structure.members}


def _extents(array: Array, scop: Scop, python: dict[str, str]) -> Iterator[str]:
    """Yield the sizes of an array as Python expressions of the parameters."""
    for index in extent_indices(scop, array):
        yield python_text(index, python.__getitem__)
