"""Flat arrays whose subscripts are of the type ``unsigned int``, which wraps around at 2^32.

``A[y * w + x]`` with unsigned y, w and x is element x of row y as long as the array has at most
2^32 elements: then the sum is the number that it is without wrap-around, whatever its parts are.
No condition of a program says that of a product. So each size is limited, which says more::

    for (unsigned y = 0; y < h; y++)             needs  h <= 32768
      for (unsigned x = 0; x < w; x++)           needs  w <= 32768
        A[y * w + x] = 0;                        A[h][w], at most 2^30 elements
"""

from collections.abc import Collection
from math import prod
from typing import Any

import islpy as isl
from pycparser import c_ast

from polygym.errors import SourceError
from polygym.frontend.c.sema.assumptions import assumption_statement
from polygym.frontend.c.source import syntax
from polygym.frontend.c.source.locations import SourceMap
from polygym.frontend.c.source.parser import ScopRegion, with_statements
from polygym.ir.scop import Scop
from polygym.poly.isl_values import to_int

LARGEST_SIZE = 2**15
_MOST_ELEMENTS = 2**32


def with_size_limits(region: ScopRegion, strides: Collection[str]) -> ScopRegion:
    """Return a region that states limits of the sizes of rows, and of the bounds of loops."""
    items = list(region.items)
    bounds = [
        part
        for loop in syntax.walk(items, c_ast.For)
        for part in (syntax.start_of(loop), loop.cond)
        if part is not None
    ]
    elements = syntax.walk(bounds, c_ast.ArrayRef, c_ast.FuncCall)
    names = syntax.names_in(bounds) - syntax.names_in(list(elements)) | set(strides)
    limited = sorted(names - syntax.modified_names(items))
    limits = [
        c_ast.BinaryOp(
            "<=",
            c_ast.ID(name, region.begin.coord),
            syntax.integer_node(LARGEST_SIZE, region.begin),
            region.begin.coord,
        )
        for name in limited
    ]
    return with_statements(region, [*map(assumption_statement, limits), *items])


def refuse_wide_arrays(
    scop: Scop, arrays: Collection[str], region: ScopRegion, source: SourceMap
) -> None:
    """Refuse a program in which an array of such rows may have more elements than 2^32.

    Raises:
        SourceError: it may.
    """
    for array in scop.arrays:
        if array.name in arrays and _most_elements(scop.context, array.extents) > _MOST_ELEMENTS:
            raise SourceError(
                source.location(region.begin),
                f"subscripts of {array.name} are unsigned and may wrap around",
                "use size_t or int for the sizes of its rows",
            )


def _most_elements(context: str, extents: Collection[str]) -> Any:
    """Return how many elements an array has at most; infinity where nothing limits them."""
    isl_context = isl.Context()
    values = isl.Set.read_from_str(isl_context, context)
    sizes = []
    for extent in extents:
        function = isl.PwAff.read_from_str(isl_context, extent)
        largest = function.intersect_params(values.params()).max_val()
        sizes.append(to_int(largest) if largest.is_int() else float("inf"))
    return prod(sizes)
