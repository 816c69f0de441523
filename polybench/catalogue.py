"""Finding kernels: by name, by glob, by category, and without some of them.

The table itself is :mod:`polybench.kernel_table`; this module adds the look-up and the error that
says which names come close to the one that was asked for. What a leading ``!`` means is in
:mod:`polybench.selection`.
"""

from __future__ import annotations

from collections.abc import Iterable
from difflib import get_close_matches
from fnmatch import fnmatchcase

from polybench.kernel_table import KERNELS
from polybench.model import ArrayPart, Dataset, DataType, LiveOut, PolybenchKernel
from polybench.selection import select_names

__all__ = [
    "CATEGORIES",
    "KERNELS",
    "ArrayPart",
    "DataType",
    "Dataset",
    "LiveOut",
    "PolybenchKernel",
    "UnknownKernelError",
    "kernel",
    "select",
]

CATEGORIES: tuple[str, ...] = tuple(dict.fromkeys(entry.category for entry in KERNELS))
"""The suite's categories, in the suite's order."""

_BY_NAME = {entry.name: entry for entry in KERNELS}


class UnknownKernelError(KeyError):
    """No kernel matches; the message says which names come close."""

    def __str__(self) -> str:
        """Return the message itself (a plain KeyError would show it in quotes)."""
        return str(self.args[0])


def kernel(name: str) -> PolybenchKernel:
    """Return the kernel of that name; case and ``_`` for ``-`` are forgiven.

    >>> kernel("Floyd_Warshall").name
    'floyd-warshall'

    Raises:
        UnknownKernelError: if there is none.
    """
    polybench_kernel = _BY_NAME.get(_normalised(name))
    if polybench_kernel is None:
        raise UnknownKernelError(f"unknown kernel {name!r}: {_suggestion(name)}")
    return polybench_kernel


def select(patterns: Iterable[str]) -> tuple[PolybenchKernel, ...]:
    """Return the kernels that any of the patterns names, each once, in the suite's order.

    A pattern is ``all``, a name, a category or its last part, or a glob over any of these. With
    ``!`` before it, it excludes what it names, wherever it stands.

    >>> [entry.name for entry in select(["*mm", "atax"])]
    ['2mm', '3mm', 'atax', 'gemm', 'symm', 'trmm']
    >>> [entry.name for entry in select(["!trmm", "*mm", "!?mm"])]
    ['gemm', 'symm']
    >>> select(["blas"]) == select(["linear-algebra/blas"])
    True

    Raises:
        UnknownKernelError: if a pattern names nothing, or if nothing is left.
    """
    given = tuple(patterns)
    names = select_names(given, _matching)
    if given and not names:
        raise UnknownKernelError(f"no kernel is left of {', '.join(given)!r}: all are excluded")
    return tuple(entry for entry in KERNELS if entry.name in names)


def _matching(pattern: str) -> list[str]:
    wanted = _normalised(pattern)
    matching = [entry.name for entry in KERNELS if _matches(entry, wanted)]
    if not matching:
        raise UnknownKernelError(f"no kernel matches {pattern!r}: {_suggestion(pattern)}")
    return matching


def _normalised(text: str) -> str:
    return text.strip().lower().replace("_", "-")


def _matches(entry: PolybenchKernel, wanted: str) -> bool:
    labels = ("all", entry.name, entry.category, entry.category.rpartition("/")[2])
    return any(fnmatchcase(label, wanted) for label in labels)


def _suggestion(text: str) -> str:
    """Say which names come close, or, if none does, all of them and the categories."""
    short_categories = [category.rpartition("/")[2] for category in CATEGORIES]
    close = get_close_matches(_normalised(text), [*_BY_NAME, *short_categories])
    if close:
        return f"did you mean {' or '.join(close)}?"
    categories = ", ".join(CATEGORIES)
    return f"expected one of {', '.join(_BY_NAME)}; or a category: {categories}; or all"
