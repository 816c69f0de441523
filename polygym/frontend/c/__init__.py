"""The C front end: a marked region of a C file becomes a :class:`~polygym.ir.scop.Scop`.

``translate`` takes a file through all steps; what was read lately is ``remembered``. Read top-down:
``preprocess`` (macros, includes, and the ``places`` where all of it stood; ``headers`` is what is
known of C's own, ``implied`` types of old), ``parse`` (syntax tree, regions, ``initialisers`` in
plain form), ``complete`` (a function around a region that has none: ``bare``, ``undeclared``,
``reach``), ``notation`` (sizes as numbers), ``walking`` (pointers as subscripts of what they are
``pointing`` to), ``members`` (structures as arrays), ``plain`` (one effect a statement,
``switches`` and ``jumps`` as ``if``, what is in expressions taken out by ``lifting``; ``countdown``
and ``data_bounds`` of loops, their ``loop_headers``, the latter by ``sized_bounds``; ``calls`` of
functions put in, ``actuals`` for their names; ``nodes`` of trees), ``induction`` (integers that
step by products), ``trips`` (loops over products, counted, by their headers in ``counting``;
``windows`` of several rows), ``carries`` (subscripts that go on in later rows), ``flat_arrays``
(``A[i * m + j]`` as ``A[i][j]``, by ``polynomials`` and ``rows``; ``once``: integers that are set
once), ``pointers`` (arguments without a size, ``extents`` that are given), ``translation`` (the
steps from here on, in order): ``symbols``, ``declarations`` and ``literals`` (what names and
constants mean), ``bindings`` (what they stand for in the region), ``assumptions`` (what ``assert``
states), ``affine``, ``conditions``, ``division``, ``extremes``, ``wrapping`` and ``loops`` (C to
isl), ``accesses`` (elements that are touched), ``expressions`` (what statements compute, by C's
``arithmetic``, with ``functions`` put in, ``prototypes`` of those without a body), ``extract`` (the
walk; ``guards`` of statements under conditions on data, ``refusals`` of others), ``values`` (what
integers hold on it, ``solutions`` through loops; ``exposed`` counters, ``affine_values`` as
expressions), ``bounds`` (no access leaves its array, with ``advice`` where one does), ``initial``
(constants that variables start with), ``assemble`` (the texts), ``live_in`` (which values come in
from the code around the region).

A file is refused with a :class:`~polygym.errors.SourceError` that shows where and why, never with
any other exception than an :class:`~polygym.errors.InputError`. One thing is assumed and cannot be
checked: two array arguments do not overlap, as if each were ``restrict``.
"""

from __future__ import annotations

from polygym.frontend.c.driver import (
    argument_passing,
    arguments_without_sizes,
    completed_file,
    line_outside_region,
    parse_file,
    parse_text,
    region_names,
)
from polygym.frontend.c.source.region_selection import with_extents

__all__ = [
    "argument_passing",
    "arguments_without_sizes",
    "completed_file",
    "line_outside_region",
    "parse_file",
    "parse_text",
    "region_names",
    "with_extents",
]
