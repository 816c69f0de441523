"""The language of tensor comprehensions: a text becomes a :class:`~polygym.compiler.ir.scop.Scop`.

Read top-down: ``tokens``, ``words`` and ``parse`` with ``expressions`` (text to the tree of
``syntax``, which ``printer`` turns back; ``canonical`` erases names; ``calls`` puts in what other
definitions say, whose ``shapes`` have to fit, by ``renaming``), ``resolve`` (what names mean,
``functions``, ``compositions`` of these, and ``values`` among them), then ``lower``, which takes a
``draft`` through its steps: ``declarations``; ``inference`` (over which values indices run:
``ranges`` and their ``ends``, of ``affine`` subscripts, perhaps with ``quotients``, or computed
``subscripts`` of ``tensors``); ``usage`` (what may be read and assigned, ``inplace`` updates,
``targets`` of computed subscripts); ``emission`` (the statements: ``environment``, ``types``,
``literals``, ``translate``); ``assembly`` (the program: ``extents``, ``names``). ``library`` has
comprehensions by name.

A text is refused with a :class:`~polygym.errors.SourceError` that shows where and why, never with
any other exception than an :class:`~polygym.errors.InputError`.
"""

from __future__ import annotations

from polygym.compiler.frontend.tc.literals import hint_for_output
from polygym.compiler.frontend.tc.lower import lower
from polygym.compiler.frontend.tc.parse import parse
from polygym.compiler.frontend.tc.resolve import check_beginnings, needed_values
from polygym.compiler.frontend.tc.syntax import Definition

__all__ = ["Definition", "check_beginnings", "hint_for_output", "lower", "needed_values", "parse"]
