"""A kernel as a Python module: a function on NumPy arrays, which works in place.

The module stands beside the shared library of the kernel, and needs NumPy alone.
"""

from collections.abc import Iterator
from typing import TYPE_CHECKING

import islpy as isl

from polygym.codegen.generation.isl_ast import index_from_isl
from polygym.codegen.loopir import ir
from polygym.errors import InputError
from polygym.ir.scop import Array, Scop, StorageClass
from polygym.poly.isl_budget import bounded_operations
from polygym.programs.dtypes import dtype_of

if TYPE_CHECKING:
    from polygym.export.exporting import Export

_TEMPLATE = '''"""{comment}

The function works on the arrays themselves. They must lie in one piece, in the order of C.
"""

import ctypes
from pathlib import Path

import numpy as np

_kernel = ctypes.CDLL(str(Path(__file__).with_name("{kernel}.so"))).{kernel}
_kernel.restype = ctypes.c_int


def _address(name, array, dtype, shape, is_written):
    """Return the address of an array that has the type and the size that the loops expect."""
    if not isinstance(array, np.ndarray) or array.dtype != dtype:
        found = getattr(array, "dtype", type(array).__name__)
        raise TypeError(f"{{name}}: expected an array of {{dtype}}, found {{found}}")
    size = 1
    for extent in shape:
        size *= max(extent, 0)
    fits = array.shape == shape or (array.ndim == 1 and array.size >= size)
    if not fits:
        raise ValueError(f"{{name}}: expected the shape {{shape}}, found {{array.shape}}")
    if not array.flags.c_contiguous or not array.flags.aligned:
        raise ValueError(f"{{name}}: expected an array in one piece, in the order of C")
    if is_written and not array.flags.writeable:
        raise ValueError(f"{{name}}: expected an array that can be written to")
    return ctypes.c_void_p(array.ctypes.data)


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


def python_module(export: "Export") -> str:
    """Return the text of the module.

    Raises:
        InputError: the function takes what has no place in Python.
    """
    scop = export.program.as_written
    names = list(dict.fromkeys(scop.signature))
    unused = dict(scop.unused_arguments)
    others = [a.name for a in export.plan.arrays if a.name not in names and _is_given(a)]
    others += [p.name for p in export.plan.parameters if p.name not in names]
    signature = ", ".join([*names, *(["*", *others] if others else [])])
    body = "\n".join(f"    {line}" for line in _body(export, frozenset(unused)))
    return _TEMPLATE.format(
        comment="\n".join(export.comment()),
        kernel=export.plan.name,
        function=export.function,
        signature=signature,
        body=body,
    )


def _is_given(array: Array) -> bool:
    return array.storage_class in (StorageClass.GLOBAL, StorageClass.ARGUMENT, StorageClass.VALUE)


def _body(export: "Export", unused: frozenset[str]) -> Iterator[str]:
    """Yield the lines that check the arguments, and the call."""
    plan, scop = export.plan, export.program.scop
    for parameter in plan.parameters:
        yield f'{parameter.name} = _integer("{parameter.name}", {parameter.name})'
    values = []
    for array in plan.arrays:
        shape = ", ".join(_extents(array, scop))
        shape = f"({shape},)" if shape else "()"
        dtype, name = dtype_of(array.type).name, array.name
        written = name in plan.written
        if array.storage_class is StorageClass.VALUE:
            if array.live_out:
                raise InputError(
                    f"--kind python: expected outputs in arrays, found that {name} is a number "
                    "that the region sets"
                )
            yield f'{name}_ = np.asarray({name}).astype("{dtype}")'
            values.append(f"ctypes.c_void_p({name}_.ctypes.data)")
        elif _is_given(array):
            shape = "(1,)" if shape == "()" else shape
            values.append(f'_address("{name}", {name}, "{dtype}", {shape}, {written})')
        else:
            yield f'{name} = np.empty({shape}, "{dtype}")'
            values.append(f"ctypes.c_void_p({name}.ctypes.data)")
    values += ["ctypes.c_void_p(0)"] * len(plan.watched)
    values += [f"ctypes.c_long({parameter.name})" for parameter in plan.parameters]
    yield "code = _kernel("
    yield from (f"    {value}," for value in values)
    yield ")"


def _extents(array: Array, scop: Scop) -> Iterator[str]:
    """Yield the sizes of an array as Python expressions of the parameters."""
    with bounded_operations("the sizes of the arrays"):
        build = isl.AstBuild.from_context(isl.Set(scop.context))
        for extent in array.extents:
            yield python_text(index_from_isl(build.expr_from_pw_aff(isl.PwAff(extent))))


def python_text(index: ir.Index) -> str:
    """Return an index as a Python expression."""
    match index:
        case ir.IndexConstant(value):
            return str(value)
        case ir.IndexVariable(name):
            return name
        case ir.IndexOperation(ir.IndexOperator.NEGATE, (operand,)):
            return f"(-{python_text(operand)})"
        case ir.IndexOperation(ir.IndexOperator.SELECT, operands):
            condition, then, otherwise = map(python_text, operands)
            return f"({then} if {condition} else {otherwise})"
        case ir.IndexOperation(ir.IndexOperator.MINIMUM | ir.IndexOperator.MAXIMUM, operands):
            name = "min" if index.operator is ir.IndexOperator.MINIMUM else "max"
            return f"{name}({', '.join(map(python_text, operands))})"
        case ir.IndexOperation(operator, operands):
            symbol = ir.INFIX_SYMBOLS[operator]
            return f"({f' {symbol} '.join(map(python_text, operands))})"
