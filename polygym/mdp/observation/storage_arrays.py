"""The arrays that an observation has beside the others where storage is decided.

=========  =========================================================================================
``home``   what is asked: about cuts or a web, what is known of the web, how far the process is
``options``  a row for every answer: whether it is allowed, what it would choose, what that takes
=========  =========================================================================================

Numbers of things, and bytes, stand there as log2(1 + x). Behind the decisions both are 0, but for
what was decided and takes memory. Nothing is said of names.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

import numpy as np

from polygym.mdp.episode import Episode
from polygym.mdp.mapping_decisions import ANSWERS, USE_DEFAULT, USE_DEFAULT_FOR_ALL
from polygym.mdp.observation.arrays import (
    MOST_LOOPS,
    REMAINING_COLUMNS,
    Array,
    ArraySpec,
    Observation,
)
from polygym.mdp.storage_decisions import StorageState
from polygym.mdp.task_options import Phase
from polygym.poly.transform.splitting.conditions import SplitRelation, Splitting
from polygym.poly.transform.storage.memory_cost import array_bytes
from polygym.poly.transform.storage.plan import StorageEntry

_LEVELS = tuple(range(1, MOST_LOOPS + 1))

STORAGE_QUESTION_COLUMNS = (
    "storing",
    "about_cuts",
    "about_a_web",
    "cuts",
    "moved",
    "bytes",
    "limit",
    "questions_left",
    "rank",
    "elements_bytes",
    "writers",
    "reads",
    "is_read_before",
    "is_seen_after",
    "loops_around",
    *(f"in_the_way_{level}" for level in _LEVELS),
)
STORAGE_CHOICES_COLUMNS = (
    "allowed",
    "keep",
    "ends",
    "cut_equal",
    "cut_below",
    "rename",
    "expand",
    *(f"along_{level}" for level in _LEVELS),
    "bytes",
    "over_limit",
)
_QUESTION = {name: place for place, name in enumerate(STORAGE_QUESTION_COLUMNS)}
_CHOICES = {name: place for place, name in enumerate(STORAGE_CHOICES_COLUMNS)}


def storage_arrays() -> Mapping[str, ArraySpec]:
    """Return the arrays by name."""
    return MappingProxyType(
        {
            "home": ArraySpec((len(STORAGE_QUESTION_COLUMNS),), np.float32, 0.0, 64.0),
            "homes": ArraySpec((ANSWERS, len(STORAGE_CHOICES_COLUMNS)), np.float32, 0.0, 64.0),
        }
    )


def add_storage_arrays(shown: Observation, episode: Episode) -> None:
    """Write down what is asked about storage, and how long that takes at most."""
    storing = episode.storage_state
    assert storing is not None
    is_asked = episode.phase is Phase.STORE
    shown["home"][:] = _question_array(storing, is_asked)
    shown["homes"][:] = _choices_array(storing).ravel() if is_asked else 0.0
    if is_asked:
        shown["remaining"][REMAINING_COLUMNS.index("steps_at_most")] = storing.questions_left


def _question_array(storing: StorageState, is_asked: bool) -> Array:
    array1_d = np.zeros(len(STORAGE_QUESTION_COLUMNS), np.float32)
    taken = storing.options.bytes_of(storing.splitting, storing.storage) or 0
    values = {
        "cuts": storing.split_count,
        "moved": sum(entry is not None for entry in storing.entries),
        "bytes": taken,
        "limit": storing.options.limit,
    }
    for name, value in values.items():
        array1_d[_QUESTION[name]] = _logarithm(value)
    if not is_asked:
        return array1_d
    array1_d[_QUESTION["storing"]] = 1
    array1_d[_QUESTION["questions_left"]] = _logarithm(storing.questions_left)
    offer = storing.offer
    array1_d[_QUESTION["about_cuts"]], array1_d[_QUESTION["about_a_web"]] = (
        offer is None,
        offer is not None,
    )
    if offer is None:
        return array1_d
    array = storing.options.scop.array(offer.array)
    array1_d[_QUESTION["rank"]] = array.rank
    array1_d[_QUESTION["elements_bytes"]] = _logarithm(array_bytes(array, storing.options.sizes))
    array1_d[_QUESTION["writers"]] = _logarithm(len(offer.statements))
    array1_d[_QUESTION["reads"]] = _logarithm(offer.reads)
    array1_d[_QUESTION["is_read_before"]] = offer.is_live_in
    array1_d[_QUESTION["is_seen_after"]] = offer.is_live_out
    array1_d[_QUESTION["loops_around"]] = len(offer.enclosing_loops)
    for level, name in zip(_LEVELS, offer.enclosing_loops, strict=False):
        array1_d[_QUESTION[f"in_the_way_{level}"]] = name in offer.inhibited_loops
    return array1_d


def _choices_array(storing: StorageState) -> Array:
    array = np.zeros((ANSWERS, len(STORAGE_CHOICES_COLUMNS)), np.float32)
    allowed = storing.mask()
    array[: len(allowed), _CHOICES["allowed"]] = allowed
    array[USE_DEFAULT, _CHOICES["keep"]] = 1
    array[USE_DEFAULT_FOR_ALL, _CHOICES["ends"]] = 1
    for row, value, taken in zip(
        array[USE_DEFAULT_FOR_ALL + 1 :], storing.values, storing.bytes, strict=False
    ):
        match value:
            case Splitting():
                before = {
                    condition for name, own in storing.splitting.statements for condition in own
                }
                new = [
                    split_condition
                    for _, own in value.statements
                    for split_condition in own
                    if split_condition not in before
                ]
                equal = sum(one.relation is SplitRelation.EQUAL for one in new)
                row[_CHOICES["cut_equal"]] = _logarithm(equal)
                row[_CHOICES["cut_below"]] = _logarithm(len(new) - equal)
            case StorageEntry():
                _show_entry(row, value, storing, taken)
    return array


def _show_entry(row: Array, entry: StorageEntry, storing: StorageState, taken: int | None) -> None:
    """Write down what becomes of a web, and what all new arrays take then."""
    assert storing.offer is not None
    row[_CHOICES["rename"]], row[_CHOICES["expand"]] = entry.loops == (), entry.loops != ()
    names = {loop.loop for loop in entry.loops or ()}
    for level, name in zip(_LEVELS, storing.offer.enclosing_loops, strict=False):
        row[_CHOICES[f"along_{level}"]] = entry.loops is None or name in names
    if taken is not None:
        row[_CHOICES["bytes"]] = _logarithm(taken)
        row[_CHOICES["over_limit"]] = taken > storing.options.limit


def _logarithm(value: int) -> float:
    return float(np.log2(1.0 + float(min(value, 2**62))))
