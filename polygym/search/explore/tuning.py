"""The search for the mapping of a few good schedules: which tiles, how many copies, and so on.

Three stages, each of which needs what the ones before have shown:

1. every schedule under the mapping to start from;
2. the two that did best under a few mappings that differ from it in one idea (no tiles, small ones,
   half the vectors, ...);
3. a climb: a pair (schedule, mapping) among the best four, the better the likelier, with one or two
   of the mapping's entries changed, or with another of the schedules.

What is tried depends on the times that were measured, which differ from run to run. The dice of
trial k are ``default_rng([seed, 2**32, k])``.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from collections.abc import Mapping as Dictionary
from dataclasses import replace
from typing import Any, TypeVar

import numpy as np

from polygym.compiler.codegen.mapping import Mapping, Sharing, parse_mapping
from polygym.compiler.poly.schedule import Schedule
from polygym.measure.evaluation import Evaluation
from polygym.measure.evaluation.evaluator import Choice

T = TypeVar("T")

_STREAM = 2**32
_PARENTS = 4
_COMPARED = 2
_ATTEMPTS = 200
_OTHER_SCHEDULE = 0.15
_SECOND_CHANGE = 0.3

_TILES = (1, 4, 8, 16, 32, 64, 128, 256, 512)
_FACTORS = (1, 2, 4, 8)
_COPIES = (None, 1, 2, 3, 4, 6, 8, 12)

# Each changes the mapping to start from; what is none of that mapping's options changes nothing.
_IDEAS = (
    "tile=off", "tile=32", "tile=16x64x256", "tile=64x256x512", "outer_tile=4",
    "unroll_jam=1 vector_copies=1", "unroll_jam=4 vector_copies=2", "unroll_jam=8 vector_copies=1",
    "vector_bits=256", "vector_bits=off registers=off", "registers=off",
    "pack=off", "sink=off", "separate=on", "wavefront=off", "diamond=off", "parallel=static",
    "parallel=off", "sequential",
)  # fmt: skip


def tune(
    schedules: Sequence[Schedule],
    start: Mapping,
    seed: int,
    indices: range,
    evaluate: Callable[[Schedule, Mapping], Evaluation],
    known: Dictionary[Choice, Evaluation],
) -> Iterator[Evaluation]:
    """Yield what becomes of one pair after the other, until there is nothing new to try.

    ``known`` has the pairs that need no measuring, from which the climb begins as well.
    """
    found = dict(known)
    for index in indices:
        dice = np.random.default_rng([seed, _STREAM, index])
        choice = _next(schedules, start, found, dice)
        if choice is None:
            return
        found[choice] = evaluate(*choice)
        yield found[choice]


def _next(
    schedules: Sequence[Schedule],
    start: Mapping,
    found: Dictionary[Choice, Evaluation],
    dice: np.random.Generator,
) -> Choice | None:
    """Return the pair to try next, None if chance finds no new one."""
    for schedule in schedules:
        if (schedule, start) not in found:
            return (schedule, start)
    begun = sorted(schedules, key=lambda one: -found[one, start].speedup)
    for schedule in begun[:_COMPARED]:
        for mapping in ideas(start):
            if (schedule, mapping) not in found:
                return (schedule, mapping)
    own = [one for one in found if one[0] in schedules]
    own.sort(key=lambda one: -found[one].speedup)
    for _ in range(_ATTEMPTS):
        # Half of the time the best, else half of the time the second, and so on.
        place = min(int(dice.geometric(0.5)) - 1, _PARENTS - 1, len(own) - 1)
        schedule, mapping = own[place]
        if len(schedules) > 1 and dice.random() < _OTHER_SCHEDULE:
            schedule = schedules[int(dice.integers(len(schedules)))]
        else:
            mapping = changed(mapping, dice)
            if dice.random() < _SECOND_CHANGE:
                mapping = changed(mapping, dice)
        if (schedule, mapping) not in found:
            return (schedule, mapping)
    return None


def ideas(start: Mapping) -> tuple[Mapping, ...]:
    """Return mappings that differ from one to start from in one idea.

    >>> [str(one) for one in ideas(Mapping())][:3]
    ['tile=off', 'tile=32', 'tile=16x64x256']
    """
    threads = f" threads={start.threads}"
    # What a text begins with is overridden by what follows; a preset overrides it all.
    before = "" if str(start) == "sequential" else str(start).replace("default", "")
    found = dict.fromkeys(
        parse_mapping(f"{before} {words}{threads}")
        for words in _IDEAS
        if start.threads > 1 or not words.startswith(("parallel", "wavefront", "diamond"))
    )
    return tuple(one for one in found if one != start)


def changed(mapping: Mapping, dice: np.random.Generator) -> Mapping:
    """Return a mapping with one entry changed, whichever the dice say."""
    entries = ["tile", "tile", "outer_tile", "unroll_jam", "vector_copies", "vector_bits"]
    entries += ["registers", "pack", "sink", "separate"] + ["parallel", "wavefront", "diamond"] * (
        mapping.threads > 1
    )
    entry = entries[int(dice.integers(len(entries)))]
    return replace(mapping, **{entry: _other(entry, mapping, dice)})


def _other(entry: str, mapping: Mapping, dice: np.random.Generator) -> Any:
    """Return another value of an entry."""
    match entry:
        case "tile":
            return _other_sizes(mapping.tile, _TILES, dice, (None, ()))
        case "outer_tile":
            return _other_sizes(mapping.outer_tile, _FACTORS, dice, ((),))
        case "unroll_jam" | "vector_copies":
            return _one_of(_COPIES, dice)
        case "vector_bits":
            return _one_of((None, 0, 128, 256, 512), dice)
        case "parallel":
            return _one_of(tuple(Sharing), dice)
        case _:
            return not getattr(mapping, entry)


def _other_sizes(
    sizes: tuple[int, ...] | None,
    choices: Sequence[int],
    dice: np.random.Generator,
    special: Sequence[tuple[int, ...] | None],
) -> tuple[int, ...] | None:
    """Return other sizes: one of them a step larger or smaller, one more, one less, or new ones."""
    kind = dice.random()
    if kind < 0.1:
        return _one_of(special, dice)
    if not sizes or kind < 0.2:
        return tuple(_one_of(choices, dice) for _ in range(int(dice.integers(1, 4))))
    if kind < 0.3 and len(sizes) < 4:
        return (*sizes, _one_of(choices, dice))
    if kind < 0.4 and len(sizes) > 1:
        return sizes[:-1]
    place = int(dice.integers(len(sizes)))
    nearest = min(range(len(choices)), key=lambda one: abs(choices[one] - sizes[place]))
    step = nearest + int(dice.choice((-1, 1)))
    size = choices[max(0, min(len(choices) - 1, step))]
    return (*sizes[:place], size, *sizes[place + 1 :])


def _one_of(choices: Sequence[T], dice: np.random.Generator) -> T:
    return choices[int(dice.integers(len(choices)))]
