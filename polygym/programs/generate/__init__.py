"""Random programs, each of a seed: a name such as ``random:17`` stands for one, for ever.

There are two kinds, which have their own names:

``random:17``   one to four nests (45, 30, 15 and 10 in a hundred), each of a family of
                :mod:`polygym.programs.generate.nests`
``scalars:17``  one to three nests (50, 35 and 15 in a hundred), with scalars
                (:mod:`polygym.programs.generate.scalars`) and small arrays
                (:mod:`polygym.programs.generate.buffers`) of the function's own; after the first,
                one in ten is a product or pointwise, as of the other kind

All nests of a program are written into one ``draft``; what one nest writes, later ones like to
read. So there are dependences between nests, imperfect nests, triangular bounds, arrays that are
read down columns, several sizes and steps in time, as there are in programs that people write.

The text of a seed never changes within a :data:`VERSION`, which is part of the dice. ``random:*``
and ``scalars:*`` stand for any of a kind where many are drawn, as ``polygym collect`` does.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from polygym.errors import InputError
from polygym.pickles import pickled_by_name
from polygym.programs.generate import buffers, nests, scalars
from polygym.programs.generate.draft import Draft

VERSION = 1
PREFIX = "random:"
SCALARS = "scalars:"
ANY = "*"

_MOST_STATEMENTS = 10
_LONGEST_SEED = 18
_SEEDS = 10**9

Families: TypeAlias = Sequence[tuple[Callable[[Draft], None], float]]


@pickled_by_name
@dataclass(frozen=True, slots=True)
class Kind:
    """A kind of programs: what its dice begin with, how many nests it has, and of what.

    ``first`` are the families of the first nest, ``others`` those of the nests behind it.
    """

    dice: tuple[int, ...]
    nests: tuple[float, ...]
    first: Families
    others: Families


_OWN = (*scalars.FAMILIES, *buffers.FAMILIES)
_PLAIN = ((nests.product, 0.06), (nests.pointwise, 0.05))

KINDS: dict[str, Kind] = {
    PREFIX: Kind((), (0.45, 0.3, 0.15, 0.1), nests.FAMILIES, nests.FAMILIES),
    SCALARS: Kind((1,), (0.5, 0.35, 0.15), _OWN, (*_OWN, *_PLAIN)),
}
"""The kinds by what their names begin with."""


def generate(seed: int, prefix: str = PREFIX) -> str:
    """Return the C text of a random program of a kind.

    >>> generate(3) == generate(3)
    True
    >>> generate(3, SCALARS) == generate(3)
    False
    """
    import numpy as np  # a tenth of the time in which a command starts

    kind = KINDS[prefix]
    dice = np.random.default_rng([VERSION, seed, *kind.dice])
    draft = Draft(dice, "double" if dice.random() < 0.8 else "float")
    for number in range(1 + int(dice.choice(len(kind.nests), p=kind.nests))):
        if draft.statements < _MOST_STATEMENTS:
            families, weights = zip(*(kind.others if number else kind.first), strict=True)
            draft.begin_nest()
            draft.one_of(families, weights)(draft)
    return draft.text(f"{prefix.removesuffix(':')}_{seed}")


def prefix_of(target: str) -> str:
    """Return what the name of a random program begins with; nothing if it is none's."""
    return next((one for one in KINDS if target.startswith(one)), "")


def is_generated(target: str) -> bool:
    """Whether a target is meant as the name of a random program."""
    return bool(prefix_of(target))


def is_any(target: str) -> bool:
    """Whether a name stands for any program of a kind.

    >>> [is_any(name) for name in ("scalars:*", "random:*", "random:17", "*")]
    [True, True, False, False]
    """
    return is_generated(target) and target.removeprefix(prefix_of(target)) == ANY


def drawn(target: str, roll: Callable[[int], int]) -> str:
    """Return the name of one program of those for which a name stands.

    ``roll`` gives a number from 0 on below another.

    >>> drawn("scalars:*", lambda below: 17)
    'scalars:17'
    """
    return f"{prefix_of(target)}{int(roll(_SEEDS))}"


def generated(target: str) -> str:
    """Return the C text of the random program of a name.

    Raises:
        InputError: it is the name of none.
    """
    prefix = prefix_of(target)
    seed = target.removeprefix(prefix)
    if not (seed.isascii() and seed.isdigit() and len(seed) <= _LONGEST_SEED):
        raise InputError(
            f"{target[:60]}: expected {prefix} and a number from 0 on, such as {prefix}17"
        )
    if (name := f"{prefix}{int(seed)}") != target:  # a program has one name
        raise InputError(f"{target}: expected a number without zeros before it, such as {name}")
    return generate(int(seed), prefix)


__all__ = [
    "ANY",
    "KINDS",
    "PREFIX",
    "SCALARS",
    "VERSION",
    "Kind",
    "drawn",
    "generate",
    "generated",
    "is_any",
    "is_generated",
    "prefix_of",
]
