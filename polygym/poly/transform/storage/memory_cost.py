"""Memory cost of a storage plan, known before its arrays exist.

An array that is expanded along a loop is as many times as large as the loop has iterations, and
along three loops of a thousand each eight gigabytes. So a price is computed from the sizes, and a
plan beyond a limit is refused with the amount. The numbers are those of the arrays as they are
allocated: the box around all versions, not the versions that are used. Of what is private to
threads every processor has what the source has of it, once.
"""

from collections.abc import Iterable, Mapping
from dataclasses import replace
from math import prod
from os import cpu_count

import islpy as isl

from polygym.errors import InputError
from polygym.ir.scop import PRIVATE_STORAGE_CLASSES, Array, Scop, StorageClass
from polygym.poly.evaluation import evaluate_extent
from polygym.poly.isl_values import isl_text
from polygym.poly.transform.storage.plan import StoragePlan
from polygym.poly.transform.storage.webs import webs_of

DEFAULT_MEMORY_LIMIT = 512 << 20
"""How many bytes a plan may take where nothing else is said."""

_UNITS = (("GB", 10**9), ("MB", 10**6), ("kB", 10**3))


def array_bytes(array: Array, sizes: Mapping[str, int]) -> int:
    """Return how many bytes an array takes at these sizes."""
    total = array.type.size
    for extent in array.extents:
        total *= evaluate_extent(extent, sizes)
    return total


def version_bytes(array: Array, versions: Iterable[isl.PwAff], sizes: Mapping[str, int]) -> int:
    """Return how many bytes an array takes in so many versions along each of some loops."""
    own = array_bytes(array, sizes)
    return own * prod(evaluate_extent(isl_text(count), sizes) for count in versions)


def new_arrays(scop: Scop) -> tuple[Array, ...]:
    """Return the arrays of a program that a storage plan has made, private ones too."""
    return tuple(
        array
        for array in scop.arrays
        if array.storage_class in (StorageClass.SCRATCH, *PRIVATE_STORAGE_CLASSES)
    )


def new_array_bytes(scop: Scop, sizes: Mapping[str, int]) -> int:
    """Return how many bytes the new arrays of a program take, private ones left out."""
    return sum(size for size, _ in _bytes_per_array(scop, sizes, is_private=False))


def private_copy_bytes(source: Scop, plan: StoragePlan, sizes: Mapping[str, int]) -> int:
    """Return how many bytes private copies take: for each processor what the source has."""
    total = 0
    for name in dict.fromkeys(entry.array for entry in plan.entries if entry.is_privatized):
        for web in webs_of(source, name):
            entry = plan.entry_for(name, web.names)
            if entry is not None and entry.is_privatized:
                array = source.array(name)
                share = 1.0
                if plan.overlapped_tile and array.rank:  # a strip, with edges on both sides
                    rows = max(1, evaluate_extent(array.extents[0], sizes))
                    share = min(1.0, 2 * plan.overlapped_tile / rows)
                total += int(share * thread_copy_bytes(array, sizes))
    return total


def thread_copy_bytes(array: Array, sizes: Mapping[str, int]) -> int:
    """Return how many bytes an array takes if every processor has it once."""
    return (cpu_count() or 1) * array_bytes(array, sizes)


def require_memory_limit(
    source: Scop, plan: StoragePlan, stored: Scop, sizes: Mapping[str, int], memory_limit: int
) -> Scop:
    """Return a program under a plan, if what it takes is within a limit.

    Elements for every iteration of what is private may have to be within it, too, and within the
    usual limit: the smallest arrays first. Of which they would not be may be nothing but private.

    Raises:
        InputError: it takes more; it says how much each array takes.
    """
    copies = private_copy_bytes(source, plan, sizes)
    check_memory_limit(stored, sizes, memory_limit, copies)
    left = min(DEFAULT_MEMORY_LIMIT, memory_limit - new_array_bytes(stored, sizes))
    only = set[str]()
    for size, name in sorted(_bytes_per_array(stored, sizes, is_private=True)):
        left -= size
        if left < 0:
            only.add(name)
    if not only:
        return stored
    return replace(
        stored,
        arrays=tuple(
            replace(array, storage_class=StorageClass.ONLY_PRIVATE) if array.name in only else array
            for array in stored.arrays
        ),
    )


def _bytes_per_array(
    scop: Scop, sizes: Mapping[str, int], *, is_private: bool
) -> list[tuple[int, str]]:
    """Return what each new array takes with all its elements; private ones, or the others."""
    return [
        (array_bytes(array, sizes), array.name)
        for array in new_arrays(scop)
        if (array.storage_class in PRIVATE_STORAGE_CLASSES) is is_private
    ]


def check_memory_limit(
    scop: Scop, sizes: Mapping[str, int], limit: int, private_bytes: int = 0
) -> None:
    """Refuse a program whose new arrays take more than so many bytes, with private copies.

    Raises:
        InputError: they do; it says how much each takes.
    """
    total = new_array_bytes(scop, sizes) + private_bytes
    if total <= limit:
        return
    each = sorted(
        [
            *_bytes_per_array(scop, sizes, is_private=False),
            *([(private_bytes, "private copies")] if private_bytes else []),
        ],
        reverse=True,
    )
    largest = ", ".join(f"{name} {format_bytes(size)}" for size, name in each[:3])
    where = ", ".join(f"{name} = {value}" for name, value in sizes.items())
    raise InputError(
        f"storage: expected at most {format_bytes(limit)} for new arrays, found "
        f"{format_bytes(total)} "
        f"({largest}){f' for {where}' if where else ''}; expand along fewer loops, or allow more "
        f"with --storage-limit {total}"
    )


def format_bytes(size: int) -> str:
    """Return a number of bytes for people.

    >>> format_bytes(512), format_bytes(9_600_000), format_bytes(12_000_000_000_000)
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
