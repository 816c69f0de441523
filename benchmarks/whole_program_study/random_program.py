"""A random program of ordinary C, all of it from a seed."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeVar

import numpy as np

from whole_program_study.checking import CheckedProgram
from whole_program_study.draft import Draft
from whole_program_study.memory_habits import MEMORY_HABITS, argument
from whole_program_study.nest_habits import NESTS
from whole_program_study.pointer_habits import POINTER_HABITS

_T = TypeVar("_T")


def random_program(seed: Sequence[int]) -> CheckedProgram:
    """Return a program of a kernel with memory, pointers that are set, and one to three nests."""
    draft = Draft(np.random.default_rng(list(seed)))
    _size(draft)
    for _ in range(draft.integer(1, 3)):
        _weighted(draft, MEMORY_HABITS)(draft)
    if not draft.views_of(1, written=True):
        argument(draft)
        while not draft.views_of(1, written=True):
            argument(draft)
    for _ in range(draft.pick((0, 1, 1, 2))):
        pointers = draft.views_of(wanted=lambda view: bool(view.pointer))
        if pointers:
            draft.pick(POINTER_HABITS)(draft, draft.pick(pointers))
    if not draft.views_of(1, written=True):
        argument(draft)
        draft.views[-1] = draft.views[-1] if draft.views[-1].is_written else draft.views[0]
    region: list[str] = []
    for _ in range(draft.pick((1, 1, 2, 3))):
        nest = _weighted(draft, NESTS)(draft)
        if nest[0].startswith("for") and draft.chance(0.1):
            nest[0] = f"{draft.name('L', 'outer')}: {nest[0]}"
        region += nest
    text, line = draft.text(region, has_pragma=draft.chance(0.5))
    return CheckedProgram((("case.c", text),), line)


def _size(draft: Draft) -> None:
    """Let the kernel take its size as an argument, by a pointer, or from file scope."""
    match draft.integer(0, 9):
        case 0:
            draft.size = draft.name("count", "N", "len")
            draft.file_scope.append(f"static int {draft.size};")
            draft.begin.append(f"{draft.size} = n;")
        case 1:
            name = draft.name("pn", "size_of")
            draft.size = f"*{name}"
            draft.arguments.append((f"const int *{name}", "&n"))
        case 2:
            draft.arguments.append(
                (draft.pick(("long n", "unsigned n", "size_t n", "short n")), "n")
            )
        case _:
            draft.arguments.append(("int n", "n"))


def _weighted(draft: Draft, table: Sequence[tuple[int, _T]]) -> _T:
    return draft.pick([item for weight, item in table for _ in range(weight)])
