"""Targets: names of kernels, paths of files, lines of files, and regions that have no pragmas."""

import os
from pathlib import Path

import polybench
from polygym.errors import InputError
from polygym.frontend.c import choose_region_of, read_text
from polygym.frontend.c.discovery.choice import ChosenRegion
from polygym.frontend.c.source.region_mark import LineMark
from polygym.frontend.c.source.region_selection import parse_selection
from polygym.programs import comprehensions
from polygym.programs.generate import is_generated


def is_path(target: str) -> bool:
    """Whether a target is meant as the path of a file, there or not.

    >>> [is_path(name) for name in ("gemm", "a/gemm", "gemm.c", "gemm.tc", "tc:matmul")]
    [False, True, True, True, False]
    """
    return "/" in target or target.endswith((".c", ".tc", ".ks"))


def kernel_of(target: str) -> polybench.PolybenchKernel | None:
    """Return the kernel of that name; a path or an existing file is never one."""
    if is_path(target) or comprehensions.is_comprehension(target) or is_generated(target):
        return None
    try:
        return polybench.kernel(target)
    except KeyError as error:
        if os.path.exists(target):  # unlike a Path, it does not mind names that cannot be
            return None
        if several := _selected(target):
            raise InputError(
                f"{target}: expected one kernel or the path of a file; {target!r} stands for "
                f"several: {', '.join(several)}"
            ) from None
        why = error.args[0]
        raise InputError(
            f"{target}: expected the name of a kernel or the path of a file; "
            f"{comprehensions.comprehension_hint(target) or why}"
        ) from None


def _selected(pattern: str) -> list[str]:
    """Return the kernels that a category or a glob stands for."""
    try:
        return [kernel.name for kernel in polybench.select((pattern,))]
    except KeyError:
        return []


def split_line(target: str) -> tuple[str, int | None]:
    """Return a target and the line of a region behind it, if there is one.

    >>> split_line("my.c:12"), split_line("my.c"), split_line("tc:matmul")
    (('my.c', 12), ('my.c', None), ('tc:matmul', None))
    """
    path, colon, line = target.rpartition(":")
    if colon and line.isdecimal() and is_path(path) and not os.path.exists(target):
        return path, int(line)
    return target, None


def with_found_region(target: str, function: str | None) -> str | None:
    """Return the choice of a region with its place, if it has no pragmas.

    Raises:
        InputError: The file has no such region.
    """
    chosen = found_region(target, function)
    return function if chosen is None else str(chosen.selection)


def found_region(target: str, function: str | None) -> ChosenRegion | None:
    """Return the region of a C file that is meant and has no pragmas, None if pragmas mark it."""
    is_named = comprehensions.is_comprehension(target) or is_generated(target)
    if is_named or (function is not None and not function.strip()) or kernel_of(target) is not None:
        return None
    path = Path(target)
    chosen = choose_region_of(read_text(path), str(path), function)
    has_place = isinstance(parse_selection(function).mark, LineMark)
    return None if chosen.region is None and not has_place else chosen
