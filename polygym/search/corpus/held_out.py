"""Held-out programs: ten test kernels and equivalent programs, never learned from.

A random program or a user's file may do what a test kernel does under other names. So a program is
held out if its name is a test kernel's, or one of its nests has a body
(:mod:`polygym.cost.canonical_bodies`) that a test kernel has and none of the other kernels: what
those have is learned from anyway. Example: a file with lu's loops is held out, the loop k inside or
outside, and so is a random program that begins with a rank-one update of a triangle as in trmm, its
sums in scalars or not; one with a product of a matrix and a vector, as in gemver and in atax, is
not. Of lu alone the loops in which a scalar holds the sums are those of another kernel, ludcmp,
which is learned from.
"""

from functools import cache

import polybench
from polygym.cost.features.programs.canonical_bodies import CanonicalBody, canonical_bodies
from polygym.errors import PolygymError
from polygym.programs import Program, load_program

TEST_KERNELS = (
    "syr2k", "trmm", "gemver", "bicg", "lu", "gramschmidt", "adi", "jacobi-2d", "nussinov",
    "covariance",
)  # fmt: skip
"""What is learned is tested on these, so nothing is learned from them."""


def is_held_out(name: str, program: Program) -> bool:
    """Whether nothing is to be learned from a program; one out of isl's reach is not learned from.

    ``name`` is what it is called in a corpus, or by its user.
    """
    try:
        return bool(equivalent_kernels(name, program))
    except PolygymError:
        return True


def equivalent_kernels(name: str, program: Program) -> tuple[str, ...]:
    """Return the test kernels that a program is by its name, or that do what one of its nests does.

    Raises:
        LimitError: isl would take too long.
    """
    if name in TEST_KERNELS:
        return (name,)
    result = set()
    for follows in (False, True):
        own = canonical_bodies(program, forwards_scalars=follows)
        result |= {one for one, every in _own_bodies(follows).items() if not every.isdisjoint(own)}
    return tuple(literal for literal in TEST_KERNELS if literal in result)


@cache
def _own_bodies(follows: bool) -> dict[str, frozenset[CanonicalBody]]:
    """Return of each test kernel the bodies that none of the other kernels has.

    As written, lu has bodies of its own, but not where scalars are followed: ludcmp has them then.
    """
    others = [kernel.name for kernel in polybench.KERNELS if kernel.name not in TEST_KERNELS]
    learned = frozenset().union(*(_bodies_of(one, follows) for one in others))
    return {name: _bodies_of(name, follows) - learned for name in TEST_KERNELS}


def _bodies_of(name: str, follows: bool) -> frozenset[CanonicalBody]:
    return canonical_bodies(load_program(name), forwards_scalars=follows)
