"""Neighbourhood of a mapping: how every search varies its options, which the knobs describe.

A search may *sample* an option anew, whatever it was, as genes are; or *mutate* it
(:mod:`polygym.mapping.knob_domains`). Options that only matter to several threads are left out
where there is one. :func:`initial_variants` are a few mappings that differ from one in a single
respect, to be tried before any random ones.

Sampled tile sizes come from powers of two and from the sizes of the program divided by small
numbers and rounded up: a loop of 26 iterations has tiles of 26, 13, 9 and 7 too, which leave no
small rest.
"""

from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from polygym.mapping.knob_domains import choose
from polygym.mapping.knobs import KNOB_NAMED, MUTATED_KNOBS, SAMPLED_KNOBS, VARIANTS
from polygym.mapping.mapping import Mapping, parse_mapping

_POWERS = (1, 2, 4, 8, 16, 32, 64, 128, 256, 512)
_DIVISORS = (1, 2, 3, 4)
_PARENT_COUNT = 4


def initial_variants(start: Mapping) -> tuple[Mapping, ...]:
    """Return mappings that differ from one to start from in one idea.

    >>> [str(mapping) for mapping in initial_variants(Mapping())][:3]
    ['tile=off', 'tile=32', 'tile=16x64x256']
    """
    threads = f" threads={start.threads}"
    # What a text begins with is overridden by what follows; a preset overrides it all.
    before = "" if str(start) in ("sequential", "default") else str(start)
    variants = [
        variant for knob, variant in VARIANTS if start.threads > 1 or not knob.needs_threads
    ]
    result = dict.fromkeys(
        parse_mapping(f"{before} {variant}{threads}") for variant in (*variants, "sequential")
    )
    return tuple(mapping for mapping in result if mapping != start)


def searchable_options(threads: int) -> tuple[str, ...]:
    """Return the names of the options that may be sampled.

    >>> "parallel" in searchable_options(1), "parallel" in searchable_options(2)
    (False, True)
    """
    return tuple(knob.name for knob in SAMPLED_KNOBS if threads > 1 or not knob.needs_threads)


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
    """Return any value of an option; of tiles, up to ``depth`` of the given sizes."""
    return KNOB_NAMED[option].domain.sample(rng, tiles, depth)


def mutate_mapping(mapping: Mapping, rng: np.random.Generator) -> Mapping:
    """Return a mapping with one option changed, any of them."""
    threads = mapping.threads
    knob = choose([knob for knob in MUTATED_KNOBS if threads > 1 or not knob.needs_threads], rng)
    return replace(mapping, **{knob.name: knob.domain.mutate(getattr(mapping, knob.name), rng)})


def sample_parent(count: int, rng: np.random.Generator) -> int:
    """Return which of so many ranked candidates is changed, 0 for the best.

    Half of the time it is the best, else half of the time the second, and so on.
    """
    return min(int(rng.geometric(0.5)) - 1, _PARENT_COUNT - 1, count - 1)
