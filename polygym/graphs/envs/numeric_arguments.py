"""Arguments that are numbers between two bounds, refused by their names."""

from math import inf, isfinite

from polygym.errors import InputError
from polygym.mdp.problems import arguments


def integer_argument(name: str, value: object, minimum: int, maximum: int) -> int:
    """Return an integer argument.

    >>> integer_argument("max_nodes", 100, 1, 1000)
    100

    Raises:
        InputError: it is none, or out of bounds.
    """
    result = arguments.check_integer(name, value)
    if not minimum <= result <= maximum:
        raise InputError(
            f"{name}: expected an integer from {minimum} to {maximum:,}, found {value!r}"
        )
    return result


def real_argument(name: str, value: object, maximum: float = inf) -> float:
    """Return a number from 0 on.

    Raises:
        InputError: it is none, negative, or too large.
    """
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    if not is_number or not isfinite(value) or not 0 <= value <= maximum:  # type: ignore[operator, arg-type]
        raise InputError(f"{name}: expected a number from 0 on, found {value!r}")
    return float(value)  # type: ignore[arg-type]
