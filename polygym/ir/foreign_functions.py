"""Foreign functions: an expression may call them; polygym does not know what they compute.

Those that it knows are :class:`~polygym.ir.expressions.MathFunction`; both have the same
properties.
"""

from dataclasses import dataclass

from polygym.ir.types import ScalarType
from polygym.pickling import pickle_by_name


@pickle_by_name
@dataclass(frozen=True, slots=True)
class ForeignFunction:
    """A pure function that somebody else has compiled: of the C library, or of a user's library.

    ``parameter_types`` are the types of its arguments. ``library`` is the path of a user's library
    and ``digest`` what that file must have; both are empty for the C library.
    """

    name: str
    parameter_types: tuple[ScalarType, ...]
    library: str = ""
    digest: str = ""

    @property
    def value(self) -> str:
        """The name, as mathematical functions have it."""
        return self.name

    @property
    def arity(self) -> int:
        """The number of arguments."""
        return len(self.parameter_types)

    def c_name(self, scalar: ScalarType) -> str:
        """Return the name, whatever the function returns."""
        return self.name
