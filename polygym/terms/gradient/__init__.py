"""Differentiation: from a program the programs of its gradient and of its tangent.

``reverse`` traverses a term from the result to the arguments, ``forward`` from the arguments to the
result, after ``inlining`` of functions; ``chain_rules`` is the table of derivatives that both read,
``adjoints`` represents derivatives part by part, ``blocks`` binds what is used again.
"""

from collections.abc import Callable, Mapping
from functools import partial
from types import MappingProxyType

from polygym.terms.gradient.forward import tangent
from polygym.terms.gradient.reverse import gradient
from polygym.terms.language.program import TermProgram

__all__ = ["DERIVATIVES", "derivative", "gradient", "tangent"]

DERIVATIVES: Mapping[str, Callable[[TermProgram], TermProgram]] = MappingProxyType(
    {"grad": partial(gradient, is_seeded=False), "jvp": tangent}
)
"""The derivatives that a text may ask for, by their words."""


def derivative(word: str, program: TermProgram) -> TermProgram:
    """Return a derivative of a program, which is a program of the same kind.

    ``grad`` takes the program's arguments, and if its result is no number the adjoint of that; it
    gives the derivatives by all arguments with Floats. ``jvp`` takes the arguments and a direction
    for each of these; it gives the derivative of the result in that direction.

    Raises:
        InputError: there is none.
    """
    return DERIVATIVES[word](program)
