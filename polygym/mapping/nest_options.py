"""What a mapping says of single nests: entries that are others there, by one of its statements."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any, TypeAlias

from polygym.errors import InputError

if TYPE_CHECKING:  # a process that runs code needs mappings, and no programs
    from polygym.ir.scop import Scop

OptionValues: TypeAlias = tuple[tuple[str, Any], ...]
"""Entries of a mapping by name, with their values, in the order of :data:`NEST_OPTIONS`."""

Nests: TypeAlias = tuple[tuple[str, OptionValues], ...]
"""Entries by statement, in the order of the names."""

NEST_OPTIONS = (
    "parallel", "tile", "outer_tile", "wavefront", "diamond", "sink", "vector_bits",
    "vector_copies", "unroll_jam", "order",
)  # fmt: skip
"""The entries that may be others for a nest."""


def merged_options(nests: Nests, statements: Iterable[str]) -> OptionValues:
    """Return what is said of the nest of these statements; of two values the last one counts.

    >>> together((("S0", (("tile", (8,)),)), ("S1", (("tile", (4,)),))), ["S0", "S1"])
    (('tile', (4,)),)
    """
    names = frozenset(statements)
    result = {
        entry: value for statement, own in nests if statement in names for entry, value in own
    }
    return _sorted_values(result)


def nests_of(entries: Mapping[str, Mapping[str, Any]]) -> Nests:
    """Return entries by statement as a mapping has them.

    >>> nests_of({"S1": {"unroll_jam": 2, "tile": ()}, "S0": {}})
    (('S1', (('tile', ()), ('unroll_jam', 2))),)
    """
    return tuple(
        (statement, _sorted_values(own)) for statement, own in sorted(entries.items()) if own
    )


def require_sorted(nests: Nests) -> None:
    """Refuse statements, or entries of one, that do not stand in their order, or say nothing.

    Raises:
        InputError: some do not.
    """
    names = [statement for statement, _ in nests]
    if names != sorted(set(names)):
        raise InputError(f"nests: expected statements in order, found {', '.join(names)}")
    for statement, own in nests:
        found = [entry for entry, _ in own]
        if not own or found != [entry for entry in NEST_OPTIONS if entry in found]:
            raise InputError(
                f"{statement}: expected some of {', '.join(NEST_OPTIONS)}, in that order, found "
                f"{', '.join(found) or 'nothing'}"
            )


def require_statements(nests: Nests, scop: Scop) -> None:
    """Refuse entries for nests of statements that a program does not have.

    Raises:
        InputError: there are some.
    """
    known = [statement.name for statement in scop.statements]
    unknown = [name for name, _ in nests if name not in known]
    if unknown:
        raise InputError(
            f"mapping: expected statements of {scop.name}, {', '.join(known)}, found "
            f"{', '.join(unknown)}"
        )


def _sorted_values(entries: Mapping[str, Any]) -> OptionValues:
    return tuple((name, entries[name]) for name in NEST_OPTIONS if name in entries)
