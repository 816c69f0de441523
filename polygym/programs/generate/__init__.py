"""Random programs, each of a seed: a name such as ``random:17`` stands for one, forever.

There are two kinds, which have their own names:

``random:17``   one to four nests (45, 30, 15 and 10 in a hundred), each of a family of
                :mod:`polygym.programs.generate.nests`
``scalars:17``  one to three nests (50, 35 and 15 in a hundred), with scalars
                (:mod:`polygym.programs.generate.scalars`) and small arrays
                (:mod:`polygym.programs.generate.buffers`) of the function's own; after the first,
                one in ten is a product or pointwise, as of the other kind

Beside them are the held-out families (:mod:`polygym.programs.generate.held_out`), twelve kinds with
names such as ``held-out:bands:17``, which are for tests alone.

The text of a seed never changes within a :data:`VERSION`, which is part of the random choices.
``random:*`` and ``scalars:*`` stand for any of a kind where many are drawn, as ``polygym collect``
does.

=================  ================================================================================
``buffers``        families of loop nests with small arrays of the function's own: rows and windows
``held_out``       families of programs for tests alone, from which nothing is learned
``nests``          families of loop nests: what programs for numbers are made of
``program_draft``  A program while it is being made: its sizes, its arrays, its text
``scalars``        families of loop nests with scalars of the function's own, as people write them
=================  ================================================================================
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from polygym.errors import InputError
from polygym.pickling import pickle_by_name
from polygym.programs.generate import buffers, nests, scalars
from polygym.programs.generate.held_out import HELD_OUT_FAMILIES, HELD_OUT_PREFIX
from polygym.programs.generate.program_draft import ProgramDraft

VERSION = 1
PREFIX = "random:"
SCALARS_PREFIX = "scalars:"
WILDCARD = "*"

_MOST_STATEMENTS = 10
_LONGEST_SEED = 18
_LONGEST_RANGE = 10_000
_SEEDS = 10**9

Families: TypeAlias = Sequence[tuple[Callable[[ProgramDraft], None], float]]


@pickle_by_name
@dataclass(frozen=True, slots=True)
class GeneratedKind:
    """A kind of programs: what its random choices begin with, how many nests it has, and of what.

    ``first_families`` are the families of the first nest, ``other_families`` those of the nests
    behind it.
    """

    seed_prefix: tuple[int, ...]
    nests: tuple[float, ...]
    first_families: Families
    other_families: Families


_SCALAR_FAMILIES = (*scalars.FAMILIES, *buffers.FAMILIES)
_ARRAY_FAMILIES = ((nests.product_nest, 0.06), (nests.pointwise_nest, 0.05))

GENERATED_KINDS: dict[str, GeneratedKind] = {
    PREFIX: GeneratedKind((), (0.45, 0.3, 0.15, 0.1), nests.FAMILIES, nests.FAMILIES),
    SCALARS_PREFIX: GeneratedKind(
        (1,), (0.5, 0.35, 0.15), _SCALAR_FAMILIES, (*_SCALAR_FAMILIES, *_ARRAY_FAMILIES)
    ),
}
"""The kinds that are drawn to learn from, by what their names begin with."""

HELD_OUT_KINDS: dict[str, GeneratedKind] = {
    f"{HELD_OUT_PREFIX}{name}:": GeneratedKind(
        (2, place), (0.6, 0.4), ((family, 1.0),), ((family, 1.0),)
    )
    for place, (name, family) in enumerate(HELD_OUT_FAMILIES.items())
}
"""The kinds for tests alone, by what their names begin with."""

_ALL_KINDS = {**GENERATED_KINDS, **HELD_OUT_KINDS}
_FIRST_PARTS = (*GENERATED_KINDS, HELD_OUT_PREFIX)


def generate_source(seed: int, prefix: str = PREFIX) -> str:
    """Return the C text of a random program of a kind.

    >>> generate_source(3) == generate_source(3)
    True
    >>> generate_source(3, SCALARS_PREFIX) == generate_source(3)
    False
    """
    import numpy as np  # a tenth of the time in which a command starts

    kind = _ALL_KINDS[prefix]
    rng = np.random.default_rng([VERSION, seed, *kind.seed_prefix])
    draft = ProgramDraft(rng, "double" if rng.random() < 0.8 else "float")
    for number in range(1 + int(rng.choice(len(kind.nests), p=kind.nests))):
        if draft.statements < _MOST_STATEMENTS:
            families, weights = zip(
                *(kind.other_families if number else kind.first_families), strict=True
            )
            draft.begin_nest()
            draft.choose(families, weights)(draft)
    return draft.text(f"{prefix.replace('-', '_').replace(':', '_')}{seed}")


def prefix_of(target: str) -> str:
    """Return what the name of a random program begins with; nothing if it is none's."""
    return next((prefix for prefix in _ALL_KINDS if target.startswith(prefix)), "")


def is_generated(target: str) -> bool:
    """Whether a target is meant as the name of a random program."""
    return target.startswith(_FIRST_PARTS)


def is_held_out_family(target: str) -> bool:
    """Whether a name is that of a program of a family for tests alone.

    >>> is_held_out_family("held-out:bands:17"), is_held_out_family("random:17")
    (True, False)
    """
    return target.startswith(HELD_OUT_PREFIX)


def is_wildcard(target: str) -> bool:
    """Whether a name stands for any program of a kind; for a held-out family none does.

    >>> [is_wildcard(name) for name in ("scalars:*", "random:*", "random:17", "*")]
    [True, True, False, False]
    """
    if is_held_out_family(target):
        return False
    return is_generated(target) and target.removeprefix(prefix_of(target)) == WILDCARD


def sample_name(target: str, random_below: Callable[[int], int]) -> str:
    """Return the name of one program of those for which a name stands.

    ``random_below`` gives a number from 0 on below another.

    >>> sample_name("scalars:*", lambda below: 17)
    'scalars:17'
    """
    return f"{prefix_of(target)}{int(random_below(_SEEDS))}"


def names_of_range(target: str) -> list[str]:
    """Return the names for which a range of numbers stands, or the one name that it is.

    >>> names_of_range("random:8-10"), names_of_range("random:17")
    (['random:8', 'random:9', 'random:10'], ['random:17'])

    Raises:
        InputError: the range is empty, or too long.
    """
    prefix = prefix_of(target)
    first, dash, last = target.removeprefix(prefix).partition("-")
    numbers = [part for part in (first, last) if part.isascii() and part.isdigit()]
    if not prefix or not dash or len(numbers) < 2 or len(target) > 2 * _LONGEST_SEED:
        return [target]
    least, most = map(int, numbers)
    if not 0 <= most - least < _LONGEST_RANGE:
        raise InputError(
            f"{target}: expected a range of 1 to {_LONGEST_RANGE} numbers, such as {prefix}8-10"
        )
    return [f"{prefix}{number}" for number in range(least, most + 1)]


def source_of_name(target: str) -> str:
    """Return the C text of the random program of a name.

    Raises:
        InputError: it is the name of none.
    """
    prefix = prefix_of(target)
    if not prefix:
        family = target.removeprefix(HELD_OUT_PREFIX).partition(":")[0]
        raise InputError(
            f"{target[:60]}: expected a family among {', '.join(HELD_OUT_FAMILIES)}, "
            f"found {family[:40]!r}"
        )
    seed = target.removeprefix(prefix)
    if not (seed.isascii() and seed.isdigit() and len(seed) <= _LONGEST_SEED):
        raise InputError(
            f"{target[:60]}: expected {prefix} and a number from 0 on, such as {prefix}17"
        )
    if (name := f"{prefix}{int(seed)}") != target:  # a program has one name
        raise InputError(f"{target}: expected a number without zeros before it, such as {name}")
    return generate_source(int(seed), prefix)


__all__ = [
    "GENERATED_KINDS",
    "HELD_OUT_KINDS",
    "HELD_OUT_PREFIX",
    "PREFIX",
    "SCALARS_PREFIX",
    "VERSION",
    "WILDCARD",
    "GeneratedKind",
    "generate_source",
    "is_generated",
    "is_held_out_family",
    "is_wildcard",
    "names_of_range",
    "prefix_of",
    "sample_name",
    "source_of_name",
]
