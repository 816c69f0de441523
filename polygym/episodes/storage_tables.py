"""The arrays that an observation has beside the others where storage is decided.

=========  =========================================================================================
``home``   what is asked: about cuts or a web, what is known of the web, how far the process is
``homes``  a row for every answer: whether it is allowed, what it would choose, what that takes
=========  =========================================================================================

Numbers of things, and bytes, stand there as log2(1 + x). Behind the decisions both are 0, but for
what was decided and takes memory. Nothing is said of names.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

import numpy as np

from polygym.compiler.poly.splitting.cuts import Relation, Splitting
from polygym.compiler.storage.plan import Entry
from polygym.compiler.storage.price import bytes_of
from polygym.episodes.decisions import ANSWERS, DONE, MODEL
from polygym.episodes.episode import Episode
from polygym.episodes.storing import Storing
from polygym.episodes.tables import LOOPS, REMAINING, Array, Observation, Table
from polygym.episodes.task_options import Phase

_LEVELS = tuple(range(1, LOOPS + 1))

HOME_COLUMNS = (
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
HOMES_COLUMNS = (
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
_HOME = {name: place for place, name in enumerate(HOME_COLUMNS)}
_HOMES = {name: place for place, name in enumerate(HOMES_COLUMNS)}


def storage_tables() -> Mapping[str, Table]:
    """Return the arrays by name."""
    return MappingProxyType(
        {
            "home": Table((len(HOME_COLUMNS),), np.float32, 0.0, 64.0),
            "homes": Table((ANSWERS, len(HOMES_COLUMNS)), np.float32, 0.0, 64.0),
        }
    )


def add_storing(shown: Observation, episode: Episode) -> None:
    """Write down what is asked about storage, and how long that takes at most."""
    storing = episode.storing
    assert storing is not None
    is_asked = episode.phase is Phase.STORE
    shown["home"][:] = _home(storing, is_asked)
    shown["homes"][:] = _homes(storing).ravel() if is_asked else 0.0
    if is_asked:
        shown["remaining"][REMAINING.index("steps_at_most")] = storing.questions_left


def _home(storing: Storing, is_asked: bool) -> Array:
    found = np.zeros(len(HOME_COLUMNS), np.float32)
    taken = storing.homes.bytes_of(storing.cuts, storing.plan) or 0
    values = {
        "cuts": storing.made,
        "moved": sum(one is not None for one in storing.entries),
        "bytes": taken,
        "limit": storing.homes.limit,
    }
    for name, value in values.items():
        found[_HOME[name]] = _logarithm(value)
    if not is_asked:
        return found
    found[_HOME["storing"]] = 1
    found[_HOME["questions_left"]] = _logarithm(storing.questions_left)
    offer = storing.offer
    found[_HOME["about_cuts"]], found[_HOME["about_a_web"]] = offer is None, offer is not None
    if offer is None:
        return found
    array = storing.homes.scop.array(offer.array)
    found[_HOME["rank"]] = array.rank
    found[_HOME["elements_bytes"]] = _logarithm(bytes_of(array, storing.homes.sizes))
    found[_HOME["writers"]] = _logarithm(len(offer.statements))
    found[_HOME["reads"]] = _logarithm(offer.reads)
    found[_HOME["is_read_before"]] = offer.is_read_before
    found[_HOME["is_seen_after"]] = offer.is_seen_after
    found[_HOME["loops_around"]] = len(offer.around)
    for level, name in zip(_LEVELS, offer.around, strict=False):
        found[_HOME[f"in_the_way_{level}"]] = name in offer.in_the_way
    return found


def _homes(storing: Storing) -> Array:
    found = np.zeros((ANSWERS, len(HOMES_COLUMNS)), np.float32)
    allowed = storing.mask()
    found[: len(allowed), _HOMES["allowed"]] = allowed
    found[MODEL, _HOMES["keep"]] = 1
    found[DONE, _HOMES["ends"]] = 1
    for row, value, taken in zip(found[DONE + 1 :], storing.values, storing.bytes, strict=False):
        match value:
            case Splitting():
                before = {one for name, own in storing.cuts.statements for one in own}
                new = [one for _, own in value.statements for one in own if one not in before]
                equal = sum(one.relation is Relation.EQUAL for one in new)
                row[_HOMES["cut_equal"]] = _logarithm(equal)
                row[_HOMES["cut_below"]] = _logarithm(len(new) - equal)
            case Entry():
                _show_entry(row, value, storing, taken)
    return found


def _show_entry(row: Array, entry: Entry, storing: Storing, taken: int | None) -> None:
    """Write down what becomes of a web, and what all new arrays take then."""
    assert storing.offer is not None
    row[_HOMES["rename"]], row[_HOMES["expand"]] = entry.loops == (), entry.loops != ()
    names = {one.loop for one in entry.loops or ()}
    for level, name in zip(_LEVELS, storing.offer.around, strict=False):
        row[_HOMES[f"along_{level}"]] = entry.loops is None or name in names
    if taken is not None:
        row[_HOMES["bytes"]] = _logarithm(taken)
        row[_HOMES["over_limit"]] = taken > storing.homes.limit


def _logarithm(value: int) -> float:
    return float(np.log2(1.0 + float(min(value, 2**62))))
