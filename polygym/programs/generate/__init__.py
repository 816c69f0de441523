"""Random programs, each of a seed: a name such as ``random:17`` stands for one, for ever.

A program is one to four nests (45, 30, 15 and 10 in a hundred), each of a family of
:mod:`polygym.programs.generate.nests`, written into one ``draft``; what one nest writes, later ones
like to read. So there are dependences between nests, imperfect nests, triangular bounds, arrays
that are read down columns, several sizes and steps in time, as there are in programs that people
write.

The text of a seed never changes within a :data:`VERSION`, which is part of the dice.
"""

from __future__ import annotations

from polygym.errors import InputError
from polygym.programs.generate.draft import Draft
from polygym.programs.generate.nests import FAMILIES

VERSION = 1
PREFIX = "random:"

_NESTS = (0.45, 0.3, 0.15, 0.1)
_MOST_STATEMENTS = 10
_LONGEST_SEED = 18


def generate(seed: int) -> str:
    """Return the C text of a random program.

    >>> generate(3) == generate(3)
    True
    """
    import numpy as np  # a tenth of the time in which a command starts

    dice = np.random.default_rng([VERSION, seed])
    draft = Draft(dice, "double" if dice.random() < 0.8 else "float")
    for _ in range(1 + int(dice.choice(len(_NESTS), p=_NESTS))):
        if draft.statements < _MOST_STATEMENTS:
            families, weights = zip(*FAMILIES, strict=True)
            draft.one_of(families, weights)(draft)
    return draft.text(f"random_{seed}")


def is_generated(target: str) -> bool:
    """Whether a target is meant as the name of a random program."""
    return target.startswith(PREFIX)


def generated(target: str) -> str:
    """Return the C text of the random program of a name.

    Raises:
        InputError: it is the name of none.
    """
    seed = target.removeprefix(PREFIX)
    if not (seed.isascii() and seed.isdigit() and len(seed) <= _LONGEST_SEED):
        raise InputError(
            f"{target[:60]}: expected {PREFIX} and a number from 0 on, such as {PREFIX}17"
        )
    if (name := f"{PREFIX}{int(seed)}") != target:  # a program has one name
        raise InputError(f"{target}: expected a number without zeros before it, such as {name}")
    return generate(int(seed))


__all__ = ["PREFIX", "VERSION", "generate", "generated", "is_generated"]
