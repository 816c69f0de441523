"""The derivatives that a text may ask for: from a program another program, which has some as well.

:mod:`polygym.terms.language.reverse` traverses a term from the result to the arguments,
:mod:`polygym.terms.language.forward` from the arguments to the result.
"""

from collections.abc import Callable, Mapping
from functools import partial
from types import MappingProxyType

from polygym.terms.language.forward import tangent
from polygym.terms.language.program import TermProgram
from polygym.terms.language.reverse import gradient

__all__ = ["DERIVATIVES", "derivative", "gradient", "tangent"]

DERIVATIVES: Mapping[str, Callable[[TermProgram], TermProgram]] = MappingProxyType(
    {"grad": partial(gradient, is_seeded=False), "jvp": tangent}
)
"""The derivatives by their words."""


def derivative(word: str, program: TermProgram) -> TermProgram:
    """Return a derivative of a program, which is a program of the same kind.

    ``grad`` takes the program's arguments, and if its result is no number the adjoint of that; it
    gives the derivatives by all arguments with Floats. ``jvp`` takes the arguments and a direction
    for each of these; it gives the derivative of the result in that direction.

    Raises:
        InputError: there is none.
    """
    return DERIVATIVES[word](program)
