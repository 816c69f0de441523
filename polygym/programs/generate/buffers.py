"""Families of loop nests with small arrays of the function's own: rows and windows.

A row is filled by every iteration of an outer loop and read in that iteration alone; a window has a
few elements for every point. As written the iterations share one; expanded, each has its own, which
takes as much memory as an array of all of them; private to threads, each thread has one.

What is read has been filled in the same iteration: loops that read stay inside of what the loops
before have filled.
"""

from collections.abc import Callable

from polygym.programs.generate.nests import inner_loops, new_loops, shifted_subscript
from polygym.programs.generate.program_draft import (
    DraftArray,
    DraftLoop,
    ProgramDraft,
    ascending,
    descending,
    iterators_of,
    sizes_of,
)
from polygym.programs.generate.scalars import elements, named_values


def row(draft: ProgramDraft) -> None:
    """A row that is filled by a loop, and read by another one."""
    kind = draft.choose(("smooth", "product", "prefix", "two"), (0.35, 0.25, 0.2, 0.2))
    outer = new_loops(draft, draft.choose((1, 2), (0.8, 0.2)))
    (along,) = new_loops(draft, 1)
    across = draft.size() if kind == "product" else along.size
    result = draft.written_array([*sizes_of(outer), across])
    inputs = elements(draft, [*outer, along], draft.number(1, 3), [result])
    matrix = draft.read_array((along.size, across), [result]) if kind == "product" else None
    with draft.block(*outer):
        own = draft.buffer(along.size)
        with draft.block(along):
            named = draft.number(1, 2) if draft.chance(0.5) else 0
            draft.assign(own.at(along.iterator), named_values(draft, inputs, named))
        names = iterators_of(outer)
        if matrix is not None:
            _multiplied(draft, own, matrix, result, names)
        elif kind == "prefix":
            _prefix_sums(draft, own, result, names)
        elif kind == "two":
            other = draft.buffer(along.size)
            _smoothed(draft, own, other, [], 1)
            _smoothed(draft, other, result, names, 2)
        else:
            _smoothed(draft, own, result, names, draft.choose((1, 2), (0.8, 0.2)))


def _smoothed(
    draft: ProgramDraft, source: DraftArray, target: DraftArray, names: list[str], edge: int
) -> None:
    """Add a loop of averages of neighbours in a row."""
    (loop,) = inner_loops(draft, source.extents, edge)
    with draft.block(loop):
        mean = f"{draft.constant(0.25)} * ({_neighbours(source, loop)})"
        draft.assign(target.at(*names, loop.iterator), mean)


def _neighbours(source: DraftArray, loop: DraftLoop) -> str:
    """Return the sum of an element of a row and those beside it."""
    return " + ".join(source.at(shifted_subscript(loop.iterator, step)) for step in (-1, 0, 1))


def _multiplied(
    draft: ProgramDraft,
    source: DraftArray,
    matrix: DraftArray,
    target: DraftArray,
    names: list[str],
) -> None:
    """Add the product of a row and a matrix, in a scalar or in place."""
    j, k = draft.iterator(), draft.iterator()
    here = target.at(*names, j)
    with draft.block(ascending(j, "0", target.extents[-1])):
        total, is_scalar = here, draft.chance(0.5)
        if is_scalar:
            total = draft.scalar(draft.constant(0))
        else:
            draft.assign(here, draft.constant(0))
        with draft.block(ascending(k, "0", source.extents[0])):
            draft.assign(total, f"{source.at(k)} * {matrix.at(k, j)}", "+=")
        if is_scalar:
            draft.assign(here, total)


def _prefix_sums(
    draft: ProgramDraft, source: DraftArray, target: DraftArray, names: list[str]
) -> None:
    """Add a loop that carries the row on in itself, and one that reads it."""
    (size,) = source.extents
    j, half = draft.iterator(), draft.constant(0.5)
    with draft.block(ascending(j, "1", size)):
        draft.assign(source.at(j), f"{half} * {source.at(f'{j} - 1')} + {half} * {source.at(j)}")
    is_down = draft.chance(0.5)
    with draft.block(descending(j, f"{size} - 1", "0") if is_down else ascending(j, "0", size)):
        draft.assign(target.at(*names, j), source.at(j))


def window(draft: ProgramDraft) -> None:
    """A few elements for every point, filled and read by short loops."""
    loops = new_loops(draft, draft.choose((1, 2), (0.3, 0.7)))
    width = draft.number(3, 5)
    extents, names = sizes_of(loops), iterators_of(loops)
    result = draft.written_array(extents)
    source = draft.read_array([*extents[:-1], f"{extents[-1]} + {width}"], [result])
    (other, *_) = elements(draft, loops, 1, [result])
    with draft.block(*loops):
        own = draft.buffer(str(width))
        short = DraftLoop(draft.iterator(), str(width))
        here = own.at(short.iterator)
        with draft.block(short):
            point = source.at(*names[:-1], f"{names[-1]} + {short.iterator}")
            draft.assign(here, draft.choose((point, f"{point} - {other}")))
        if draft.chance(0.5):
            total = draft.scalar(draft.constant(0))
            with draft.block(short):
                draft.assign(total, f"{here} * {here}", "+=")
            draft.assign(result.at(*names), total)
        else:
            ends = f"{own.at('0')} * {own.at(str(width - 1))}"
            draft.assign(result.at(*names), f"{ends} + {own.at('1')}")


def time_stepped(draft: ProgramDraft) -> None:
    """A field in time, whose next state stands in a row of the function's own."""
    size = draft.size()
    field = draft.written_array([size])
    with draft.block(DraftLoop(draft.iterator(), draft.steps())):
        own = draft.buffer(size)
        (loop,) = inner_loops(draft, [size], 1)
        with draft.block(loop):
            mean = f"{draft.constant(0.3333)} * ({_neighbours(field, loop)})"
            draft.assign(own.at(loop.iterator), mean)
        with draft.block(loop):
            draft.assign(field.at(loop.iterator), own.at(loop.iterator))


FAMILIES: tuple[tuple[Callable[[ProgramDraft], None], float], ...] = (
    (row, 0.11),
    (window, 0.06),
    (time_stepped, 0.02),
)
"""Every family, and how often a nest is of it."""
