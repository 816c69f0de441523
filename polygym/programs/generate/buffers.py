"""Families of loop nests with small arrays of the function's own: rows and windows.

A row is filled by every iteration of an outer loop and read in that iteration alone; a window has a
few elements for every point. As written the iterations share one; expanded, each has its own, which
takes as much memory as an array of all of them; private to threads, each thread has one.

What is read has been filled in the same iteration: loops that read stay inside of what the loops
before have filled.
"""

from collections.abc import Callable

from polygym.programs.generate.nests import DraftLoop, new_loops, shifted_subscript
from polygym.programs.generate.program_draft import DraftArray, ProgramDraft
from polygym.programs.generate.scalars import elements, inner_loops, named_values


def row(draft: ProgramDraft) -> None:
    """A row that is filled by a loop, and read by another one."""
    kind = draft.choose(("smooth", "product", "prefix", "two"), (0.35, 0.25, 0.2, 0.2))
    outer = new_loops(draft, draft.choose((1, 2), (0.8, 0.2)))
    (along,) = new_loops(draft, 1)
    across = draft.size() if kind == "product" else along.size
    result = draft.written_array([*(one.size for one in outer), across])
    inputs = elements(draft, [*outer, along], draft.number(1, 3), [result])
    matrix = draft.read_array((along.size, across), [result]) if kind == "product" else None
    for loop in outer:
        loop.open(draft)
    own = draft.buffer(along.size)
    along.open(draft)
    named = draft.number(1, 2) if draft.chance(0.5) else 0
    draft.assign(own.at(along.iterator), named_values(draft, inputs, named))
    draft.close()
    names = [draft_loop.iterator for draft_loop in outer]
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
    draft.close(len(outer))


def _smoothed(
    draft: ProgramDraft, source: DraftArray, target: DraftArray, names: list[str], edge: int
) -> None:
    """Add a loop of averages of neighbours in a row."""
    (size,) = source.extents
    (loop,) = inner_loops(draft, [size], edge)
    points = [source.at(shifted_subscript(loop.iterator, step)) for step in (-1, 0, 1)]
    loop.open(draft)
    mean = f"{draft.constant(0.25)} * ({' + '.join(points)})"
    draft.assign(target.at(*names, loop.iterator), mean)
    draft.close()


def _multiplied(
    draft: ProgramDraft,
    source: DraftArray,
    matrix: DraftArray,
    target: DraftArray,
    names: list[str],
) -> None:
    """Add the product of a row and a matrix, in a scalar or in place."""
    j, k = draft.iterator(), draft.iterator()
    here, size = target.at(*names, j), target.extents[-1]
    draft.open_loop(j, "0", size)
    term = f"{source.at(k)} * {matrix.at(k, j)}"
    if draft.chance(0.5):
        found = draft.scalar(draft.constant(0))
        draft.open_loop(k, "0", source.extents[0])
        draft.assign(found, term, "+=")
        draft.close()
        draft.assign(here, found)
    else:
        draft.assign(here, draft.constant(0))
        draft.open_loop(k, "0", source.extents[0])
        draft.assign(here, term, "+=")
        draft.close()
    draft.close()


def _prefix_sums(
    draft: ProgramDraft, source: DraftArray, target: DraftArray, names: list[str]
) -> None:
    """Add a loop that carries the row on in itself, and one that reads it."""
    (size,) = source.extents
    j, half = draft.iterator(), draft.constant(0.5)
    draft.open_loop(j, "1", size)
    draft.assign(source.at(j), f"{half} * {source.at(f'{j} - 1')} + {half} * {source.at(j)}")
    draft.close()
    if draft.chance(0.5):
        draft.open_descending_loop(j, f"{size} - 1", "0")
    else:
        draft.open_loop(j, "0", size)
    draft.assign(target.at(*names, j), source.at(j))
    draft.close()


def window(draft: ProgramDraft) -> None:
    """A few elements for every point, filled and read by short loops."""
    loops = new_loops(draft, draft.choose((1, 2), (0.3, 0.7)))
    width = draft.number(3, 5)
    extents, names = [draft_loop.size for draft_loop in loops], [loop.iterator for loop in loops]
    result = draft.written_array(extents)
    source = draft.read_array([*extents[:-1], f"{extents[-1]} + {width}"], [result])
    (other, *_) = elements(draft, loops, 1, [result])
    for loop in loops:
        loop.open(draft)
    own = draft.buffer(str(width))
    short = DraftLoop(draft.iterator(), str(width))
    short.open(draft)
    point = source.at(*names[:-1], f"{names[-1]} + {short.iterator}")
    draft.assign(own.at(short.iterator), draft.choose((point, f"{point} - {other}")))
    draft.close()
    if draft.chance(0.5):
        found = draft.scalar(draft.constant(0))
        short.open(draft)
        draft.assign(found, f"{own.at(short.iterator)} * {own.at(short.iterator)}", "+=")
        draft.close()
        draft.assign(result.at(*names), found)
    else:
        ends = f"{own.at('0')} * {own.at(str(width - 1))}"
        draft.assign(result.at(*names), f"{ends} + {own.at('1')}")
    draft.close(len(loops))


def time_stepped(draft: ProgramDraft) -> None:
    """A field in time, whose next state stands in a row of the function's own."""
    size = draft.size()
    field = draft.written_array([size])
    draft.open_loop(draft.iterator(), "0", draft.steps())
    own = draft.buffer(size)
    (loop,) = inner_loops(draft, [size], 1)
    points = [field.at(shifted_subscript(loop.iterator, step)) for step in (-1, 0, 1)]
    loop.open(draft)
    third = draft.constant(0.3333)
    draft.assign(own.at(loop.iterator), f"{third} * ({' + '.join(points)})")
    draft.close()
    loop.open(draft)
    draft.assign(field.at(loop.iterator), own.at(loop.iterator))
    draft.close(2)


FAMILIES: tuple[tuple[Callable[[ProgramDraft], None], float], ...] = (
    (row, 0.11),
    (window, 0.06),
    (time_stepped, 0.02),
)
"""Every family, and how often a nest is of it."""
