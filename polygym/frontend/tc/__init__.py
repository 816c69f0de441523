"""Front end of tensor comprehensions: a text becomes a :class:`~polygym.ir.scop.Scop`.

The packages follow the data flow: ``syntax`` (tokens, the tree, its text), ``parsing`` (text to
tree), ``semantics`` (names, types, functions), ``inference`` (types of tensors, ranges of indices,
checks of accesses), ``lowering`` (statements, the program). ``derivatives`` makes definitions of
gradients; ``library`` has comprehensions by name.

A text is refused with a :class:`~polygym.errors.SourceError` that shows where and why; no exception
but an :class:`~polygym.errors.InputError` leaves this package.
"""

from polygym.frontend.tc.inference.lowering_state import hint_for_output
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
