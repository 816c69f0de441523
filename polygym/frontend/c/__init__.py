"""The C front end: a marked region of a C file becomes a :class:`~polygym.ir.scop.Scop`.

:mod:`~polygym.frontend.c.driver` reads a file or a text; :mod:`~polygym.frontend.c.passes` lists
what is done to a region in C, in its order, and :mod:`~polygym.frontend.c.completion` puts a
function around a region that has none. The packages, in the order of their work:

* ``source``: preprocessor, parser, regions, and the way back to the user's lines;
* ``desugar``: one effect a statement, calls inlined, plain loop headers;
* ``loops``: induction variables, trip counts, polynomials;
* ``memory``: pointers, flat arrays, sizes that nothing declares;
* ``sema``: names, types, affine and other expressions;
* ``scop``: loop domains, values of variables, bounds, the finished Scop.

A file is refused with a :class:`~polygym.errors.SourceError` that shows where and why, and with no
other exception than an :class:`~polygym.errors.InputError`. One assumption is not checked: two
array arguments do not overlap, as if each were ``restrict``.
"""

from polygym.frontend.c.driver import (
    argument_passing,
    arguments_without_sizes,
    completed_file,
    line_outside_region,
    parse_file,
    parse_text,
    read_text,
    region_names,
    text_after,
)
from polygym.frontend.c.source.region_selection import with_extents

__all__ = [
    "argument_passing",
    "arguments_without_sizes",
    "completed_file",
    "line_outside_region",
    "parse_file",
    "parse_text",
    "read_text",
    "region_names",
    "text_after",
    "with_extents",
]
