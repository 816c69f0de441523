"""Races: accesses to one element, at least one of which writes, that nothing orders.

Two threads of a block are ordered by a barrier between their accesses, two blocks of a launch by
nothing. Accesses that are both atomic may meet.

The rows of a launch (:class:`polygym.gpu.emulator.memory.AccessLog`) are grouped by element, and
by element, block and barriers passed. A group is looked at one by one where something writes in it
and more than one block, or more than one thread, is in it; others have no race.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np

Row: TypeAlias = "np.ndarray[Any, np.dtype[np.int64]]"
_ARRAY, _ELEMENT, _BLOCK, _PHASE, _THREAD, _WRITES, _ATOMIC, _STATEMENT = range(8)


@dataclass(frozen=True, slots=True)
class Race:
    """Two accesses by their rows."""

    first: tuple[int, ...]
    second: tuple[int, ...]


def find_race(rows: Sequence[tuple[int, ...]], is_shared: Callable[[int], bool]) -> Race | None:
    """Return a race, or None; arrays in shared memory are each block's own."""
    if not rows:
        return None
    table = np.unique(np.array(rows, dtype=np.int64), axis=0)
    shared = np.array([is_shared(int(array)) for array in table[:, _ARRAY]], dtype=np.bool_)
    visible = table[~shared]
    for candidates, differs in (
        (_groups(visible, (_ARRAY, _ELEMENT), _BLOCK), _BLOCK),
        (_groups(table, (_ARRAY, _ELEMENT, _BLOCK, _PHASE), _THREAD), _THREAD),
    ):
        for group in candidates:
            race = _race_in(group, differs)
            if race is not None:
                return race
    return None


def _groups(table: Row, keys: tuple[int, ...], differs: int) -> Iterator[Row]:
    """Yield the groups of equal keys in which something writes and a column differs."""
    if not len(table):
        return
    order = np.lexsort([table[:, key] for key in reversed(keys)])
    table = table[order]
    columns = table[:, list(keys)]
    starts = np.flatnonzero(np.any(columns[1:] != columns[:-1], axis=1)) + 1
    bounds = np.concatenate([[0], starts, [len(table)]])
    writes = np.maximum.reduceat(table[:, _WRITES], bounds[:-1])
    least = np.minimum.reduceat(table[:, differs], bounds[:-1])
    most = np.maximum.reduceat(table[:, differs], bounds[:-1])
    for number in np.flatnonzero((writes > 0) & (least != most)):
        yield table[bounds[number] : bounds[number + 1]]


def _race_in(group: Row, differs: int) -> Race | None:
    for first in group[group[:, _WRITES] > 0]:
        others = group[group[:, differs] != first[differs]]
        if first[_ATOMIC]:
            others = others[others[:, _ATOMIC] == 0]
        if len(others):
            return Race(tuple(map(int, first)), tuple(map(int, others[0])))
    return None
