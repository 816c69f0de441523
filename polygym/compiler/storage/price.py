"""The price of a storage plan: how much memory its new arrays take, known before there are any.

An array that is expanded along a loop is as many times as large as the loop has iterations, and
along three loops of a thousand each eight gigabytes. So a price is computed from the sizes, and a
plan beyond a limit is refused with the amount. The numbers are those of the arrays as they are
allocated: the box around all versions, not the versions that are used. Of what is private to
threads every processor has what the source has of it, once.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from math import prod
from os import cpu_count

import islpy as isl

from polygym.compiler.ir.scop import PRIVATE, Array, Scop, Storage
from polygym.compiler.poly.evaluate import evaluate
from polygym.compiler.poly.isl_numbers import isl_text
from polygym.compiler.storage.plan import StoragePlan
from polygym.compiler.storage.webs import webs_of
from polygym.errors import InputError

USUAL_LIMIT = 512 << 20
"""How many bytes a plan may take where nothing else is said."""

_UNITS = (("GB", 10**9), ("MB", 10**6), ("kB", 10**3))


def bytes_of(array: Array, sizes: Mapping[str, int]) -> int:
    """Return how many bytes an array takes at these sizes."""
    total = array.type.size
    for extent in array.extents:
        total *= evaluate(extent, sizes)
    return total


def bytes_of_versions(array: Array, versions: Iterable[isl.PwAff], sizes: Mapping[str, int]) -> int:
    """Return how many bytes an array takes in so many versions along each of some loops."""
    own = bytes_of(array, sizes)
    return own * prod(evaluate(isl_text(count), sizes) for count in versions)


def new_arrays(scop: Scop) -> tuple[Array, ...]:
    """Return the arrays of a program that a storage plan has made, private ones too."""
    return tuple(array for array in scop.arrays if array.storage in (Storage.SCRATCH, *PRIVATE))


def price(scop: Scop, sizes: Mapping[str, int]) -> int:
    """Return how many bytes the new arrays of a program take, private ones left out."""
    return sum(size for size, _ in _each(scop, sizes, private=False))


def copies_price(source: Scop, plan: StoragePlan, sizes: Mapping[str, int]) -> int:
    """Return how many bytes private copies take: for each processor what the source has."""
    total = 0
    for name in dict.fromkeys(entry.array for entry in plan.entries if entry.is_private):
        for web in webs_of(source, name):
            entry = plan.of(name, web.names)
            if entry is not None and entry.is_private:
                total += bytes_of_copies(source.array(name), sizes)
    return total


def bytes_of_copies(array: Array, sizes: Mapping[str, int]) -> int:
    """Return how many bytes an array takes if every processor has it once."""
    return (cpu_count() or 1) * bytes_of(array, sizes)


def within_limit(
    source: Scop, plan: StoragePlan, stored: Scop, sizes: Mapping[str, int], limit: int
) -> Scop:
    """Return a program under a plan, if what it takes is within a limit.

    Elements for every iteration of what is private may have to be within it, too, and within the
    usual limit: the smallest arrays first. Of which they would not be may be nothing but private.

    Raises:
        InputError: it takes more; it says how much each array takes.
    """
    copies = copies_price(source, plan, sizes)
    expect_within(stored, sizes, limit, copies)
    left = min(USUAL_LIMIT, limit - price(stored, sizes))
    only = set[str]()
    for size, name in sorted(_each(stored, sizes, private=True)):
        left -= size
        if left < 0:
            only.add(name)
    if not only:
        return stored
    return replace(
        stored,
        arrays=tuple(
            replace(one, storage=Storage.ONLY_PRIVATE) if one.name in only else one
            for one in stored.arrays
        ),
    )


def _each(scop: Scop, sizes: Mapping[str, int], *, private: bool) -> list[tuple[int, str]]:
    """Return what each new array takes with all its elements; private ones, or the others."""
    return [
        (bytes_of(one, sizes), one.name)
        for one in new_arrays(scop)
        if (one.storage in PRIVATE) is private
    ]


def expect_within(scop: Scop, sizes: Mapping[str, int], limit: int, copies: int = 0) -> None:
    """Refuse a program whose new arrays take more than so many bytes, with private copies.

    Raises:
        InputError: they do; it says how much each takes.
    """
    total = price(scop, sizes) + copies
    if total <= limit:
        return
    each = sorted(
        [*_each(scop, sizes, private=False), *([(copies, "private copies")] if copies else [])],
        reverse=True,
    )
    largest = ", ".join(f"{name} {in_words(size)}" for size, name in each[:3])
    where = ", ".join(f"{name} = {value}" for name, value in sizes.items())
    raise InputError(
        f"storage: expected at most {in_words(limit)} for new arrays, found {in_words(total)} "
        f"({largest}){f' for {where}' if where else ''}; expand along fewer loops, or allow more "
        f"with --storage-limit {total}"
    )


def in_words(size: int) -> str:
    """Return a number of bytes for people.

    >>> in_words(512), in_words(9_600_000), in_words(12_000_000_000_000)
    ('512 bytes', '9.6 MB', '12,000 GB')
    """
    for unit, factor in _UNITS:
        if size >= factor:
            return (
                f"{size / factor:,.3g} {unit}"
                if size < 1000 * factor
                else (f"{size // factor:,} {unit}")
            )
    return f"{size} bytes"
