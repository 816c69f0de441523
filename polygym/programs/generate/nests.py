"""Families of loop nests: what programs for numbers are made of. Every nest is a function.

A nest asks the draft for sizes and arrays, and adds its loops and statements. No access can leave
its array, since every counter keeps inside its size: stencils stay away from the edges by their
radius, and an array that is read at i + r has as many elements as both together.

Values stay finite, however often a nest runs: what feeds on itself is an average, and elements
begin between 0 and 1 (or about that).
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from polygym.programs.generate.program_draft import DraftArray, ProgramDraft


@dataclass(frozen=True, slots=True)
class DraftLoop:
    """A loop of a nest: its counter runs over a size, or over a part of it."""

    iterator: str
    size: str
    low: str = "0"
    high: str = ""

    def open(self, draft: ProgramDraft) -> None:
        """Open it."""
        draft.open_loop(self.iterator, self.low, self.high or self.size)


def new_loops(draft: ProgramDraft, count: int) -> list[DraftLoop]:
    """Return new loops, each over a size."""
    return [DraftLoop(draft.iterator(), draft.size()) for _ in range(count)]


def product_nest(draft: ProgramDraft) -> None:
    """Sums of products over one or two loops: from matrix products to contractions."""
    free = new_loops(draft, draft.choose((1, 2, 3), (0.15, 0.65, 0.2)))
    summed = new_loops(draft, draft.choose((1, 2), (0.75, 0.25)))
    if len(free) + len(summed) > 4:
        summed = summed[:1]
    result = draft.written_array([loop.size for loop in free])
    every = [*free, *summed]
    operands = operands_of(draft, free, summed, result)
    order = every if draft.chance(0.7) else draft.shuffled(every)
    term = " * ".join(operands)
    if draft.chance(0.2):
        term = f"{draft.constant(1.5)} * {term}"
    target = result.at(*(loop.iterator for loop in free))
    begin = draft.choose(("zero", "scale", "none"), (0.45, 0.25, 0.3))
    if begin != "none":
        inside = order[: len(free)] == free and draft.chance(0.6)
        for loop in free:
            loop.open(draft)
        if begin == "zero":
            draft.assign(target, draft.constant(0))
        else:
            draft.assign(target, draft.constant(0.75), "*=")
        if inside:
            for loop in summed:
                loop.open(draft)
            draft.assign(target, term, "+=")
            draft.close(len(every))
            return
        draft.close(len(free))
    for loop in order:
        loop.open(draft)
    draft.assign(target, term, "+=")
    draft.close(len(every))


def operands_of(
    draft: ProgramDraft, free: Sequence[DraftLoop], summed: Sequence[DraftLoop], result: DraftArray
) -> list[str]:
    """Return two factors, or three, that together depend on all loops."""
    count = 2 if draft.chance(0.85) else 3
    uses: list[list[DraftLoop]] = [[] for _ in range(count)]
    for loop in free:
        uses[draft.number(0, count - 1)].append(loop)
    for loop in summed:
        for use in uses:
            if draft.chance(0.9) or use is uses[0]:
                use.append(loop)
    return [_operand(draft, use, free, summed, result) for use in uses if use]


def _operand(
    draft: ProgramDraft,
    use: Sequence[DraftLoop],
    free: Sequence[DraftLoop],
    summed: Sequence[DraftLoop],
    result: DraftArray,
) -> str:
    """Return one factor: its subscripts in any order, or a window that slides, X[i + r]."""
    windows = [
        (first, second)
        for first in use
        for second in use
        if first in free and second in summed and first.size != second.size
    ]
    order = draft.shuffled(use) if draft.chance(0.5) else list(use)
    if windows and draft.chance(0.15):
        first, second = draft.choose(windows)
        rest = [loop for loop in order if loop not in (first, second)]
        extents = [*(loop.size for loop in rest), f"{first.size} + {second.size}"]
        subscripts = [
            *(loop.iterator for loop in rest),
            f"{first.iterator} + {second.iterator}",
        ]
        return draft.read_array(extents, exclude=(result,)).at(*subscripts)
    draft_array = draft.read_array([loop.size for loop in order], exclude=(result,))
    return draft_array.at(*(loop.iterator for loop in order))


def matrix_vector_nest(draft: ProgramDraft) -> None:
    """Products of matrices and vectors, one or two in a nest, and updates of rank one."""
    rows, columns = new_loops(draft, 2)
    matrix_extents = (rows.size, columns.size)
    i, j = rows.iterator, columns.iterator
    matrix = draft.read_array(matrix_extents)
    if draft.chance(0.3):
        u, v = draft.read_array([rows.size]), draft.read_array([columns.size])
        matrix = draft.written_array(matrix_extents)
        rows.open(draft)
        columns.open(draft)
        factor = draft.constant(0.5)
        draft.assign(matrix.at(i, j), f"{factor} * {matrix.at(i, j)} + {u.at(i)} * {v.at(j)}")
        draft.close(2)
    x = draft.read_array([columns.size])
    y = draft.written_array([rows.size], exclude=(x,))
    rows.open(draft)
    if draft.chance(0.6):
        draft.assign(y.at(i), draft.constant(0))
    columns.open(draft)
    draft.assign(y.at(i), f"{matrix.at(i, j)} * {x.at(j)}", "+=")
    if draft.chance(0.4):
        w = draft.read_array([rows.size], exclude=(y,))
        z = draft.written_array([columns.size], exclude=(x, y, w))
        draft.assign(z.at(j), f"{w.at(i)} * {matrix.at(i, j)}", "+=")
    draft.close()
    if draft.chance(0.2):
        draft.assign(y.at(i), f"{draft.constant(0.5)} * {y.at(i)}")
    draft.close()


def stencil_nest(draft: ProgramDraft) -> None:
    """Weighted sums of neighbours: in a second array, in place, or in several fields."""
    rank = draft.choose((1, 2, 3), (0.3, 0.5, 0.2))
    radius = draft.choose((1, 2), (0.85, 0.15))
    size = draft.size()
    extents = [size] * rank
    if rank > 1 and draft.chance(0.5):
        extents[-1] = draft.size()
    kind = draft.choose(("two", "place", "fields", "once"), (0.4, 0.2, 0.15, 0.25))
    if kind != "once":
        draft.open_loop(draft.iterator(), "0", draft.steps())
    first = draft.written_array(extents) if kind != "once" else draft.read_array(extents)
    if kind == "place":
        _sweep(draft, extents, radius, first, first)
    elif kind == "once":
        _sweep(draft, extents, radius, first, draft.written_array(extents, exclude=(first,)))
    elif kind == "two":
        second = draft.written_array(extents, exclude=(first,))
        _sweep(draft, extents, radius, first, second)
        _sweep(draft, extents, radius if draft.chance(0.5) else 0, second, first)
    else:
        second = draft.written_array(extents, exclude=(first,))
        _sweep(draft, extents, radius, first, second, keeps=True)
        _sweep(draft, extents, radius, second, first, keeps=True)
    if kind != "once":
        draft.close()


def _sweep(
    draft: ProgramDraft,
    extents: Sequence[str],
    radius: int,
    source: DraftArray,
    target: DraftArray,
    *,
    keeps: bool = False,
) -> None:
    """Add a nest that writes averages; radius 0 copies, but leaves the edges alone as well."""
    rank, edge = len(extents), max(radius, 1)
    loops = [
        DraftLoop(draft.iterator(), extent, str(edge), f"{extent} - {edge}") for extent in extents
    ]
    offsets = [(0,) * rank]
    if radius:
        reach = [step for step in range(-radius, radius + 1) if step]
        star = [
            tuple(step if place == axis else 0 for place in range(rank))
            for axis in range(rank)
            for step in reach
        ]
        corners = [tuple(draft.choose((-1, 1)) for _ in range(rank)) for _ in range(rank)]
        offsets += [one for one in star if draft.chance(0.85)]
        offsets += [corner for corner in corners if corner not in offsets and draft.chance(0.25)]
    offsets = list(dict.fromkeys(offsets))
    points = [
        source.at(
            *(
                shifted_subscript(loop.iterator, step)
                for loop, step in zip(loops, offset, strict=True)
            )
        )
        for offset in offsets
    ]
    here = target.at(*(loop.iterator for loop in loops))
    share = (0.5 if keeps else 1.0) / len(points)
    mean = f"{draft.constant(round(share, 4))} * ({' + '.join(points)})"
    for loop in loops:
        loop.open(draft)
    if keeps:
        draft.assign(here, f"{draft.constant(0.5)} * {here} + {mean}")
    else:
        draft.assign(here, mean if radius else points[0])
    draft.close(rank)


def shifted_subscript(iterator: str, step: int) -> str:
    """Return a subscript.

    >>> shifted_subscript("i", -2)
    'i - 2'
    """
    if not step:
        return iterator
    return f"{iterator} {'+' if step > 0 else '-'} {abs(step)}"


def triangular_nest(draft: ProgramDraft) -> None:
    """Loops whose bounds are other loops': factorisations, solvers, products of half matrices."""
    size = draft.size()
    kind = draft.choose(("product", "factor", "solve", "update"), (0.35, 0.25, 0.2, 0.2))
    i, j, k = (draft.iterator() for _ in range(3))
    tenth, rest = draft.constant(0.1), draft.constant(0.9)
    if kind == "product":
        other = draft.size()
        left, right = draft.read_array((size, other)), draft.read_array((size, other))
        result = draft.written_array((size, size), exclude=(left, right))
        draft.open_loop(i, "0", size)
        low, high = draft.choose((("0", f"{i} + 1"), (i, size), ("0", i), (f"{i} + 1", size)))
        if draft.chance(0.5):
            draft.open_loop(j, low, high)
            draft.assign(result.at(i, j), draft.constant(0.75), "*=")
            draft.close()
        inner = draft.chance(0.5)
        loops = [(j, low, high), (k, "0", other)]
        for loop in loops if inner else loops[::-1]:
            draft.open_loop(*loop)
        term = f"{left.at(i, k)} * {right.at(j, k)}"
        if draft.chance(0.4):
            term += f" + {right.at(i, k)} * {left.at(j, k)}"
        draft.assign(result.at(i, j), term, "+=")
        draft.close(3)
    elif kind == "factor":
        matrix = draft.written_array((size, size))
        draft.open_loop(k, "0", size)
        draft.open_loop(i, f"{k} + 1", size)
        draft.assign(matrix.at(i, k), f"{rest} * {matrix.at(i, k)} + {tenth} * {matrix.at(k, k)}")
        apart = draft.chance(0.5)
        if apart:
            draft.close()
            draft.open_loop(i, f"{k} + 1", size)
        draft.open_loop(j, f"{k} + 1", draft.choose((size, f"{i} + 1")))
        update = f"{rest} * {matrix.at(i, j)} + {tenth} * ({matrix.at(i, k)} * {matrix.at(k, j)})"
        draft.assign(matrix.at(i, j), update)
        draft.close(3)
    elif kind == "solve":
        matrix, b = draft.read_array((size, size)), draft.read_array((size,))
        x = draft.written_array((size,), exclude=(b,))
        draft.open_loop(i, "0", size)
        draft.assign(x.at(i), b.at(i))
        draft.open_loop(j, "0", i)
        draft.assign(x.at(i), f"{rest} * {x.at(i)} - {tenth} * ({matrix.at(i, j)} * {x.at(j)})")
        draft.close(2)
    else:
        matrix = draft.read_array((size, size))
        other = draft.size()
        result = draft.written_array((size, other), exclude=(matrix,))
        draft.open_loop(i, "0", size)
        draft.open_loop(j, "0", other)
        draft.open_loop(k, f"{i} + 1", size)
        term = f"{tenth} * ({matrix.at(k, i)} * {result.at(k, j)})"
        draft.assign(result.at(i, j), f"{rest} * {result.at(i, j)} + {term}")
        draft.close(3)


def pointwise_nest(draft: ProgramDraft) -> None:
    """Every element on its own: sums, products, transposes, vectors along rows and columns."""
    loops = new_loops(draft, draft.choose((1, 2, 3), (0.2, 0.6, 0.2)))
    extents = [loop.size for loop in loops]
    names = [loop.iterator for loop in loops]
    result = draft.written_array(extents)
    terms = []
    for _ in range(draft.number(1, 3)):
        if draft.chance(0.25) and len(loops) > 1:
            order = draft.shuffled(range(len(loops)))
        elif draft.chance(0.2):
            order = [draft.number(0, len(loops) - 1)]
        else:
            order = list(range(len(loops)))
        draft_array = draft.read_array([extents[place] for place in order], exclude=(result,))
        terms.append(draft_array.at(*(names[place] for place in order)))
    operators = [draft.choose((" + ", " - ", " * ")) for _ in terms[1:]]
    text = terms[0] + "".join(a + b for a, b in zip(operators, terms[1:], strict=True))
    if draft.chance(0.2):
        text = (
            f"sqrt({text} * ({text}))" if len(terms) == 1 else f"{draft.constant(0.5)} * ({text})"
        )
    for loop in draft.shuffled(loops) if draft.chance(0.3) else loops:
        loop.open(draft)
    draft.assign(result.at(*names), text)
    draft.close(len(loops))


def recurrence_nest(draft: ProgramDraft) -> None:
    """What waits for its neighbours: recurrences along rows, dynamic programs, shortest paths."""
    kind = draft.choose(("row", "paths", "table"), (0.5, 0.2, 0.3))
    half = draft.constant(0.5)
    if kind == "row":
        rows, columns = draft.size(), draft.size()
        i, j = draft.iterator(), draft.iterator()
        source = draft.read_array((rows, columns))
        result = draft.written_array((rows, columns), exclude=(source,))
        down = draft.chance(0.4)
        before = result.at(f"{i} - 1", j) if down else result.at(i, f"{j} - 1")
        loops = [(i, "1" if down else "0", rows), (j, "0" if down else "1", columns)]
        for loop in loops if draft.chance(0.6) else loops[::-1]:
            draft.open_loop(*loop)
        draft.assign(result.at(i, j), f"{half} * {before} + {half} * {source.at(i, j)}")
        draft.close(2)
    elif kind == "paths":
        size = draft.size()
        k, i, j = (draft.iterator() for _ in range(3))
        table = draft.written_array((size, size))
        for name in (k, i, j):
            draft.open_loop(name, "0", size)
        here, through = table.at(i, j), f"{table.at(i, k)} + {table.at(k, j)}"
        draft.assign(here, f"{here} < {through} ? {here} : {through}")
        draft.close(3)
    else:
        size = draft.size()
        i, j, k = (draft.iterator() for _ in range(3))
        table, weights = draft.written_array((size, size)), draft.read_array((size, size))
        draft.open_descending_loop(i, f"{size} - 2", "0")
        draft.open_loop(j, f"{i} + 1", size)
        here, left = table.at(i, j), table.at(f"{i} + 1", j)
        draft.assign(here, f"{here} >= {left} ? {here} : {left}")
        if draft.chance(0.5):
            draft.open_loop(k, f"{i} + 1", j)
            both = f"{half} * ({table.at(i, k)} + {table.at(k, j)})"
            draft.assign(here, f"{here} >= {both} ? {here} : {both}")
            draft.close()
        else:
            draft.assign(here, f"{half} * ({here} + {weights.at(i, j)})")
        draft.close(2)


FAMILIES: tuple[tuple[Callable[[ProgramDraft], None], float], ...] = (
    (product_nest, 0.3),
    (matrix_vector_nest, 0.15),
    (stencil_nest, 0.2),
    (triangular_nest, 0.15),
    (pointwise_nest, 0.1),
    (recurrence_nest, 0.1),
)
"""Every family, and how often a nest is of it."""
