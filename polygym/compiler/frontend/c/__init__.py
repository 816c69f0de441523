"""The C front end: a marked region of a C file becomes a :class:`~polygym.compiler.ir.scop.Scop`.

Read top-down: ``preprocess`` (macros, includes, places), ``parse`` (syntax tree, regions),
``symbols`` and ``declarations`` (what names mean), ``bindings`` (what they stand for in the
region), ``affine``, ``conditions``, ``division`` and ``loops`` (C to isl), ``expressions`` (what
statements compute), ``extract`` (the walk), ``bounds`` (no access leaves its array, with
``advice`` where one does), ``initial`` (constants that variables start with), ``assemble`` (the
texts), ``live_in`` (no other value comes in from the code around the region).

A file is refused with a :class:`~polygym.errors.SourceError` that shows where and why, never with
any other exception than an :class:`~polygym.errors.InputError`. One thing is assumed and cannot be
checked: two array arguments do not overlap, as if each were ``restrict``.
"""

from __future__ import annotations

from polygym.compiler.frontend.c.translate import line_outside, parse_file, parse_text, regions

__all__ = ["line_outside", "parse_file", "parse_text", "regions"]
