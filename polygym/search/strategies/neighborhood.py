"""What there is to choose from in a mapping: entry by entry, by dice, for every search.

A search may *roll* an entry anew, whatever it was, as genes are; or *change* it, which for tiles
means a step from where it was: one size a little larger or smaller, one more or one less. Entries
that only matter to several threads are left out where there is one. :func:`initial_variants` are a
few mappings that differ from one in a single respect, to be tried before any dice.

Rolled tile sizes come from powers of two and from the sizes of the program divided by small numbers
and rounded up: a loop of 26 iterations has tiles of 26, 13, 9 and 7 too, which leave no small rest.

An order of loops that is rolled says which one or two of them run innermost, mostly none. It is the
last gene, and one change in eleven (fourteen, with threads); before there were orders it was none,
so that the same seed led to other mappings then.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Any, TypeVar

import numpy as np

from polygym.mapping.mapping import Mapping, WorkSharing, parse_mapping

T = TypeVar("T")

# In the order in which they are rolled, and with their likelihoods in that in which they change.
_SAMPLED = (
    "tile", "outer_tile", "sink", "vector_bits", "vector_copies", "unroll_jam", "separate",
    "registers", "pack", "order",
)  # fmt: skip
_MUTATED = (
    "tile", "tile", "outer_tile", "unroll_jam", "vector_copies", "vector_bits", "registers", "pack",
    "sink", "separate", "order",
)  # fmt: skip
_OF_THREADS = ("parallel", "wavefront", "diamond")

# The values of an entry, None for the model's choice: those that stand twice are the likelier.
_MUTATION_VALUES: dict[str, tuple[Any, ...]] = {
    "vector_bits": (None, 0, 128, 256, 512),
    "vector_copies": (None, 1, 2, 3, 4, 6, 8, 12),
    "unroll_jam": (None, 1, 2, 3, 4, 6, 8, 12),
    "parallel": tuple(WorkSharing),
}
_SAMPLE_VALUES: dict[str, tuple[Any, ...]] = {
    "vector_bits": (None, None, 256, 512, 0),
    "vector_copies": (None, None, 1, 2, 3, 4),
    "unroll_jam": (None, None, 1, 2, 3, 4, 6, 8),
    "parallel": tuple(WorkSharing),
}
_TILES = (1, 4, 8, 16, 32, 64, 128, 256, 512)
_FACTORS = (1, 2, 4, 8)

_POWERS = (1, 2, 4, 8, 16, 32, 64, 128, 256, 512)
_DIVISORS = (1, 2, 3, 4)
_FREE = 0.3  # how often a tile size is left to the model
_NO_OUTER_TILE = 0.8
_NO_ORDER = 0.7
_TWO_LOOPS = 0.3  # how often an order says where two loops are
_LOOPS = 4  # that a change may name
_SEPARATE, _DEFAULT = 0.3, 0.8  # how often entries are on: this one, and the others of that kind

_PARENT_COUNT = 4

# Each changes the mapping to start from; what is none of that mapping's options changes nothing.
_INITIAL_VARIANTS = (
    "tile=off", "tile=32", "tile=16x64x256", "tile=64x256x512", "outer_tile=4",
    "unroll_jam=1 vector_copies=1", "unroll_jam=4 vector_copies=2", "unroll_jam=8 vector_copies=1",
    "vector_bits=256", "vector_bits=off registers=off", "registers=off",
    "pack=off", "sink=off", "separate=on", "wavefront=off", "diamond=off", "parallel=static",
    "parallel=off", "sequential",
)  # fmt: skip


def initial_variants(start: Mapping) -> tuple[Mapping, ...]:
    """Return mappings that differ from one to start from in one idea.

    >>> [str(one) for one in ideas(Mapping())][:3]
    ['tile=off', 'tile=32', 'tile=16x64x256']
    """
    threads = f" threads={start.threads}"
    # What a text begins with is overridden by what follows; a preset overrides it all.
    before = "" if str(start) in ("sequential", "default") else str(start)
    result = dict.fromkeys(
        parse_mapping(f"{before} {words}{threads}")
        for words in _INITIAL_VARIANTS
        if start.threads > 1 or not words.startswith(_OF_THREADS)
    )
    return tuple(mapping for mapping in result if mapping != start)


def searchable_options(threads: int) -> tuple[str, ...]:
    """Return the names of what may be rolled.

    >>> "parallel" in entries(1), "parallel" in entries(2)
    (False, True)
    """
    return (*_SAMPLED, *(_OF_THREADS if threads > 1 else ()))


def tile_sizes(sizes: Iterable[int]) -> tuple[int, ...]:
    """Return the tile sizes of a program with loops of some sizes.

    >>> tile_sizes([26])
    (1, 2, 4, 7, 8, 9, 13, 16, 26)
    """
    known = tuple(sizes)
    largest = max(known, default=1)
    result = {power for power in _POWERS if power <= largest}
    return tuple(sorted(result | {-(-size // part) for size in known for part in _DIVISORS}))


def sample_value(option: str, tiles: Sequence[int], depth: int, rng: np.random.Generator) -> Any:
    """Return any value of an entry; of tiles, up to ``depth`` of the given sizes."""
    match option:
        case "tile":
            if rng.random() < _FREE:
                return None
            count = int(rng.integers(0, depth + 1))
            return tuple(int(rng.choice(tiles)) for _ in range(count))
        case "outer_tile":
            return () if rng.random() < _NO_OUTER_TILE else (int(rng.choice(_FACTORS[1:])),)
        case "order":
            return () if rng.random() < _NO_ORDER else _sample_order(depth, rng)
        case "separate":
            return bool(rng.random() < _SEPARATE)
        case _ if option in _SAMPLE_VALUES:
            return _choose(_SAMPLE_VALUES[option], rng)
        case _:
            return bool(rng.random() < _DEFAULT)


def mutate_mapping(mapping: Mapping, rng: np.random.Generator) -> Mapping:
    """Return a mapping with one entry changed, whichever the dice say."""
    entry = _choose((*_MUTATED, *(_OF_THREADS if mapping.threads > 1 else ())), rng)
    return replace(mapping, **{entry: _other_value(entry, mapping, rng)})


def sample_parent(count: int, rng: np.random.Generator) -> int:
    """Return which of so many ranked candidates is changed, 0 for the best.

    Half of the time it is the best, else half of the time the second, and so on.
    """
    return min(int(rng.geometric(0.5)) - 1, _PARENT_COUNT - 1, count - 1)


def _other_value(option: str, mapping: Mapping, rng: np.random.Generator) -> Any:
    """Return another value of an entry."""
    match option:
        case "tile":
            return _other_sizes(mapping.tile, _TILES, rng, (None, ()))
        case "outer_tile":
            return _other_sizes(mapping.outer_tile, _FACTORS, rng, ((),))
        case "order":
            return () if mapping.order and rng.random() < _NO_ORDER else _sample_order(_LOOPS, rng)
        case _ if option in _MUTATION_VALUES:
            return _choose(_MUTATION_VALUES[option], rng)
        case _:
            return not getattr(mapping, option)


def _sample_order(depth: int, rng: np.random.Generator) -> tuple[int, ...]:
    """Return which of so many loops run innermost: one, or two in their order."""
    count = 1 + int(rng.random() < _TWO_LOOPS)
    return tuple(int(loop) + 1 for loop in rng.permutation(depth)[:count])


def _other_sizes(
    sizes: tuple[int, ...] | None,
    choices: Sequence[int],
    rng: np.random.Generator,
    special: Sequence[tuple[int, ...] | None],
) -> tuple[int, ...] | None:
    """Return other sizes: one of them a step larger or smaller, one more, one less, or new ones."""
    kind = rng.random()
    if kind < 0.1:
        return _choose(special, rng)
    if not sizes or kind < 0.2:
        return tuple(_choose(choices, rng) for _ in range(int(rng.integers(1, 4))))
    if kind < 0.3 and len(sizes) < 4:
        return (*sizes, _choose(choices, rng))
    if kind < 0.4 and len(sizes) > 1:
        return sizes[:-1]
    place = int(rng.integers(len(sizes)))
    nearest = min(range(len(choices)), key=lambda one: abs(choices[one] - sizes[place]))
    step = nearest + int(rng.choice((-1, 1)))
    size = choices[max(0, min(len(choices) - 1, step))]
    return (*sizes[:place], size, *sizes[place + 1 :])


def _choose(choices: Sequence[T], rng: np.random.Generator) -> T:
    return choices[int(rng.integers(len(choices)))]
