"""The C front end: a marked region of a C file becomes a :class:`~polygym.ir.scop.Scop`.

:mod:`~polygym.frontend.c.driver` reads a file or a text; :mod:`~polygym.frontend.c.regions.passes`
lists what is done to a region in C, in its order, and :mod:`~polygym.frontend.c.regions.completion`
puts a function around a region that has none. The packages, in the order of their work:

=========================  =====================================================================
``desugar``                desugaring
``discovery``              regions without pragmas, found, chosen, marked
``driver``                 the front end as a whole
``embedding``              a region in its file: C expressions for what its program uses
``generated_text``         the comment of C files that polygym wrote
``loops``                  loops that are not affine
``memory``                 memory
``prototype``              the prototype of a region's function for headers
``region_spans``           positions of a region in the text of its file
``regions``                marked regions on their way to programs: completed, and their passes
``scop``                   from a plain region to a Scop
``sema``                   semantics: symbols, declarations, types, affine and other expressions
``source``                 source texts
``tokens``                 tokens of a file before anything is parsed
=========================  =====================================================================
"""

from polygym.frontend.c.driver import (
    argument_passing,
    arguments_without_sizes,
    choose_region_of,
    completed_file,
    line_outside_region,
    marked_text,
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
    "choose_region_of",
    "completed_file",
    "line_outside_region",
    "marked_text",
    "parse_file",
    "parse_text",
    "read_text",
    "region_names",
    "text_after",
    "with_extents",
]
