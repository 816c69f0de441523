"""The language of tensor comprehensions: a text becomes a :class:`~polygym.ir.scop.Scop`.

Read top-down: ``tokens``, ``words`` and ``parse_definitions`` with ``expressions`` (text to the
tree of ``syntax``, which ``printer`` turns back; ``canonical`` erases names; ``calls`` puts in what
other definitions say, whose ``shapes`` have to fit, by ``renaming``), ``resolve`` (what names mean,
``functions``, ``compositions`` of these, and ``values`` among them), then ``lower_definition``,
which takes a ``draft`` through its steps: ``declarations``; ``inference`` (over which values
indices run:
``ranges`` and their ``ends``, of ``affine`` subscripts, perhaps with ``quotients``, or computed
``subscripts`` of ``tensors``); ``usage`` (what may be read and assigned, ``inplace`` updates,
``targets`` of computed subscripts); ``emission`` (the statements: ``environment``, ``types``,
``literals``, ``translate``); ``assembly`` (the program: ``extents``, ``names``). ``library`` has
comprehensions by name.

A text is refused with a :class:`~polygym.errors.SourceError` that shows where and why, never with
any other exception than an :class:`~polygym.errors.InputError`.
"""

from __future__ import annotations

from polygym.frontend.tc.inference.literals import hint_for_output
from polygym.frontend.tc.lowering.definitions import lower_definition
from polygym.frontend.tc.parsing.definitions import parse_definitions
from polygym.frontend.tc.semantics.name_resolution import check_initialized, required_constants
from polygym.frontend.tc.syntax.tree import TcDefinition

__all__ = [
    "TcDefinition",
    "check_initialized",
    "hint_for_output",
    "lower_definition",
    "parse_definitions",
    "required_constants",
]
