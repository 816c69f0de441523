"""Lists of steps: the legal ones in groups, the nearest to one that is not, and repairs.

A *repair* is a sequence that ends with the wanted step, or with nearly the same one, and is legal:
skews that make negative distances positive, a shift between two nests, a smaller depth. Example, a
stencil over time::

    tile L1 L2 32 32    illegal    repair: skew L2 L1 1, then tile L1 L2 32 32
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import TypeAlias

from polygym.errors import InputError, LimitError
from polygym.transformations.state import TransformState
from polygym.transformations.steps import (
    Fuse,
    Interchange,
    Parallelize,
    Skew,
    Step,
    Tile,
    UnrollJam,
    Vectorize,
)

Repair: TypeAlias = tuple[Step, ...]

MOST_NEAREST = 5
_MOST_REPAIRS = 2
_REPAIR_SHIFTS = (1, 2, 3)
_REPAIR_SKEWS = (1, 2, -1)
THEN = ", then "


def grouped_text(steps: Sequence[Step]) -> str:
    """Return steps as a line for each kind; those that differ in the last words share one entry.

    >>> print(grouped_text([Tile(("L1",), (8,)), Tile(("L1",), (16,)), Interchange("L1", "L2")]))
    tile: L1 8|16
    interchange: L1 L2
    """
    kinds: dict[str, dict[str, list[str]]] = {}
    for step in steps:
        keyword, _, rest = str(step).partition(" ")
        words = rest.split()
        names = max((place for place, word in enumerate(words, 1) if _is_name(word)), default=0)
        head, tail = " ".join(words[:names]), " ".join(words[names:])
        kinds.setdefault(keyword, {}).setdefault(head, []).append(tail)
    lines = []
    for keyword, heads in kinds.items():
        entries = [entry for head, tails in heads.items() for entry in _entries(head, tails)]
        lines.append(f"{keyword}: {'; '.join(entries)}" if any(entries) else keyword)
    return "\n".join(lines)


def _entries(head: str, tails: Sequence[str]) -> list[str]:
    """Return the steps with the same names as one entry, that without more words alone."""
    more = [tail for tail in tails if tail]
    alone = [head] if len(more) < len(tails) else []
    return [*alone, *([f"{head} {'|'.join(more)}".strip()] if more else [])]


def _is_name(word: str) -> bool:
    return word[:1] in "LS" and word[1:2].isdigit()


def steps_of_kind(steps: Sequence[Step], keyword: str) -> tuple[Step, ...]:
    """Return the steps with a first word."""
    return tuple(step for step in steps if str(step).split()[0] == keyword)


def nearest_steps(wanted: Step, steps: Sequence[Step]) -> tuple[Step, ...]:
    """Return legal steps of the same kind, those with most of the same words first."""
    words = str(wanted).split()
    same = steps_of_kind(steps, words[0])
    shared = {step: len(set(words) & set(str(step).split())) for step in same}
    ordered = sorted(same, key=lambda step: -shared[step])
    return tuple(step for step in ordered if step != wanted)[:MOST_NEAREST]


def repairs(state: TransformState, wanted: Step) -> tuple[Repair, ...]:
    """Return legal sequences in the place of an illegal step, the shortest first."""
    found: list[Repair] = []
    for attempt in _attempts(state, wanted):
        if _is_legal(state, attempt) and attempt not in found:
            found.append(attempt)
        if len(found) == _MOST_REPAIRS:
            break
    return tuple(found)


def repair_text(repair: Repair) -> str:
    """Return a repair as steps with `then` between them."""
    return THEN.join(map(str, repair))


def _is_legal(state: TransformState, steps: Repair) -> bool:
    try:
        for step in steps:
            state = state.after(step)
    except (InputError, LimitError):
        return False
    return True


def _attempts(state: TransformState, wanted: Step) -> Iterator[Repair]:
    match wanted:
        case Fuse(first, second, depth, shift):
            for amount in _REPAIR_SHIFTS:
                if amount != shift:
                    yield (replace(wanted, shift=amount),)
            for less in range(depth - 1, 0, -1):
                for amount in (0, *_REPAIR_SHIFTS):
                    yield (Fuse(first, second, less, amount),)
        case Interchange(outer, inner):
            for factor in _REPAIR_SKEWS:
                yield (Skew(inner, outer, factor), wanted)
        case Tile(loops):
            for factor in _REPAIR_SKEWS:
                yield (*(Skew(loop, loops[0], factor) for loop in loops[1:]), wanted)
                for loop in loops[1:]:
                    yield (Skew(loop, loops[0], factor), wanted)
        case UnrollJam(name) | Vectorize(name) | Parallelize(name):
            path = state.tree.paths.get(name, ())
            if isinstance(wanted, UnrollJam):
                for inside in state.tree.chain(name)[1:]:
                    yield (Skew(inside.name, name, 1), wanted)
            for around in reversed(path):
                yield (replace(wanted, loop=around.name),)
        case _:
            return
