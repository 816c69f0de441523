"""Families of loop nests: what programs for numbers are made of. Every nest is a function.

A nest asks the draft for sizes and arrays, and adds its loops and statements. No access can leave
its array, since every counter keeps inside its size: stencils stay away from the edges by their
radius, and an array that is read at i + r has as many elements as both together.

Values stay finite, however often a nest runs: what feeds on itself is an average, and elements
begin between 0 and 1 (or about that).
"""

from collections.abc import Callable, Sequence

from polygym.programs.generate.program_draft import (
    DraftArray,
    DraftLoop,
    ProgramDraft,
    ascending,
    descending,
    iterators_of,
    sizes_of,
)


def new_loops(draft: ProgramDraft, count: int) -> list[DraftLoop]:
    """Return new loops, each over a size."""
    return [DraftLoop(draft.iterator(), draft.size()) for _ in range(count)]


def inner_loops(draft: ProgramDraft, extents: Sequence[str], edge: int) -> list[DraftLoop]:
    """Return loops that stay away from the edges."""
    return [
        DraftLoop(draft.iterator(), extent, str(edge), f"{extent} - {edge}") for extent in extents
    ]


def half_range(draft: ProgramDraft, i: str, size: str) -> tuple[str, str]:
    """Return the range of a loop inside one of i for half of all pairs, with or without i."""
    return draft.choose((("0", f"{i} + 1"), (i, size), ("0", i), (f"{i} + 1", size)))


def product_nest(draft: ProgramDraft) -> None:
    """Sums of products over one or two loops: from matrix products to contractions."""
    free = new_loops(draft, draft.choose((1, 2, 3), (0.15, 0.65, 0.2)))
    summed = new_loops(draft, draft.choose((1, 2), (0.75, 0.25)))
    if len(free) + len(summed) > 4:
        summed = summed[:1]
    result = draft.written_array(sizes_of(free))
    every = [*free, *summed]
    operands = operands_of(draft, free, summed, result)
    order = every if draft.chance(0.7) else draft.shuffled(every)
    term = " * ".join(operands)
    if draft.chance(0.2):
        term = f"{draft.constant(1.5)} * {term}"
    target = result.at(*iterators_of(free))
    begin = draft.choose(("zero", "scale", "none"), (0.45, 0.25, 0.3))
    if begin != "none":
        inside = order[: len(free)] == free and draft.chance(0.6)
        with draft.block(*free):
            if begin == "zero":
                draft.assign(target, draft.constant(0))
            else:
                draft.assign(target, draft.constant(0.75), "*=")
            if inside:
                with draft.block(*summed):
                    draft.assign(target, term, "+=")
                return
    with draft.block(*order):
        draft.assign(target, term, "+=")


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
    pairs = {(first, second) for first in free for second in summed if first.size != second.size}
    return [_operand(draft, use, pairs, result) for use in uses if use]


def _operand(
    draft: ProgramDraft,
    use: Sequence[DraftLoop],
    pairs: set[tuple[DraftLoop, DraftLoop]],
    result: DraftArray,
) -> str:
    """Return one factor: its subscripts in any order, or a window that slides, X[i + r].

    ``pairs`` are the loops over which a window may slide.
    """
    windows = [(first, second) for first in use for second in use if (first, second) in pairs]
    order = draft.shuffled(use) if draft.chance(0.5) else list(use)
    if windows and draft.chance(0.15):
        first, second = draft.choose(windows)
        rest = [loop for loop in order if loop not in (first, second)]
        extents = [*sizes_of(rest), f"{first.size} + {second.size}"]
        place = f"{first.iterator} + {second.iterator}"
        return draft.read_array(extents, exclude=(result,)).at(*iterators_of(rest), place)
    return draft.read_array(sizes_of(order), exclude=(result,)).at(*iterators_of(order))


def matrix_vector_nest(draft: ProgramDraft) -> None:
    """Products of matrices and vectors, one or two in a nest, and updates of rank one."""
    rows, columns = new_loops(draft, 2)
    matrix_extents = (rows.size, columns.size)
    i, j = rows.iterator, columns.iterator
    matrix = draft.read_array(matrix_extents)
    if draft.chance(0.3):
        u, v = draft.read_array([rows.size]), draft.read_array([columns.size])
        matrix = draft.written_array(matrix_extents)
        with draft.block(rows, columns):
            value = f"{draft.constant(0.5)} * {matrix.at(i, j)} + {u.at(i)} * {v.at(j)}"
            draft.assign(matrix.at(i, j), value)
    x = draft.read_array([columns.size])
    y = draft.written_array([rows.size], exclude=(x,))
    with draft.block(rows):
        if draft.chance(0.6):
            draft.assign(y.at(i), draft.constant(0))
        with draft.block(columns):
            draft.assign(y.at(i), f"{matrix.at(i, j)} * {x.at(j)}", "+=")
            if draft.chance(0.4):
                w = draft.read_array([rows.size], exclude=(y,))
                z = draft.written_array([columns.size], exclude=(x, y, w))
                draft.assign(z.at(j), f"{w.at(i)} * {matrix.at(i, j)}", "+=")
        if draft.chance(0.2):
            draft.assign(y.at(i), f"{draft.constant(0.5)} * {y.at(i)}")


def stencil_nest(draft: ProgramDraft) -> None:
    """Weighted sums of neighbours: in a second array, in place, or in several fields."""
    rank = draft.choose((1, 2, 3), (0.3, 0.5, 0.2))
    radius = draft.choose((1, 2), (0.85, 0.15))
    extents = [draft.size()] * rank
    if rank > 1 and draft.chance(0.5):
        extents[-1] = draft.size()
    kind = draft.choose(("two", "place", "fields", "once"), (0.4, 0.2, 0.15, 0.25))
    if kind == "once":
        first = draft.read_array(extents)
        _sweep(draft, radius, first, draft.written_array(extents, exclude=(first,)))
        return
    with draft.block(DraftLoop(draft.iterator(), draft.steps())):
        first = draft.written_array(extents)
        if kind == "place":
            _sweep(draft, radius, first, first)
            return
        second = draft.written_array(extents, exclude=(first,))
        if kind == "two":
            _sweep(draft, radius, first, second)
            _sweep(draft, radius if draft.chance(0.5) else 0, second, first)
        else:
            _sweep(draft, radius, first, second, keeps=True)
            _sweep(draft, radius, second, first, keeps=True)


def _sweep(
    draft: ProgramDraft, radius: int, source: DraftArray, target: DraftArray, *, keeps: bool = False
) -> None:
    """Add a nest that writes averages; radius 0 copies, but leaves the edges alone as well."""
    rank = len(source.extents)
    loops = inner_loops(draft, source.extents, max(radius, 1))
    offsets = [(0,) * rank]
    if radius:
        reach = [step for step in range(-radius, radius + 1) if step]
        star = [
            tuple(step if place == axis else 0 for place in range(rank))
            for axis in range(rank)
            for step in reach
        ]
        corners = [tuple(draft.choose((-1, 1)) for _ in range(rank)) for _ in range(rank)]
        offsets += [offset for offset in star if draft.chance(0.85)]
        offsets += [corner for corner in corners if corner not in offsets and draft.chance(0.25)]
    names = iterators_of(loops)
    points = [
        source.at(*map(shifted_subscript, names, offset)) for offset in dict.fromkeys(offsets)
    ]
    here = target.at(*names)
    share = (0.5 if keeps else 1.0) / len(points)
    mean = f"{draft.constant(round(share, 4))} * ({' + '.join(points)})"
    with draft.block(*loops):
        if keeps:
            draft.assign(here, f"{draft.constant(0.5)} * {here} + {mean}")
        else:
            draft.assign(here, mean if radius else points[0])


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
        _half_product(draft, size, (i, j, k))
    elif kind == "factor":
        _factorization(draft, size, (i, j, k))
    elif kind == "solve":
        matrix, b = draft.read_array((size, size)), draft.read_array((size,))
        x = draft.written_array((size,), exclude=(b,))
        with draft.block(ascending(i, "0", size)):
            draft.assign(x.at(i), b.at(i))
            with draft.block(ascending(j, "0", i)):
                known = f"{tenth} * ({matrix.at(i, j)} * {x.at(j)})"
                draft.assign(x.at(i), f"{rest} * {x.at(i)} - {known}")
    else:
        matrix = draft.read_array((size, size))
        other = draft.size()
        result = draft.written_array((size, other), exclude=(matrix,))
        loops = (ascending(i, "0", size), ascending(j, "0", other))
        with draft.block(*loops, ascending(k, f"{i} + 1", size)):
            term = f"{tenth} * ({matrix.at(k, i)} * {result.at(k, j)})"
            draft.assign(result.at(i, j), f"{rest} * {result.at(i, j)} + {term}")


def _half_product(draft: ProgramDraft, size: str, names: tuple[str, str, str]) -> None:
    """Add a product of which half is computed, of one or of two terms."""
    i, j, k = names
    other = draft.size()
    left, right = draft.read_array((size, other)), draft.read_array((size, other))
    result = draft.written_array((size, size), exclude=(left, right))
    with draft.block(ascending(i, "0", size)):
        along = ascending(j, *half_range(draft, i, size))
        if draft.chance(0.5):
            with draft.block(along):
                draft.assign(result.at(i, j), draft.constant(0.75), "*=")
        loops = (along, ascending(k, "0", other))
        with draft.block(*(loops if draft.chance(0.5) else loops[::-1])):
            term = f"{left.at(i, k)} * {right.at(j, k)}"
            if draft.chance(0.4):
                term += f" + {right.at(i, k)} * {left.at(j, k)}"
            draft.assign(result.at(i, j), term, "+=")


def _factorization(draft: ProgramDraft, size: str, names: tuple[str, str, str]) -> None:
    """Add a factorization in place, whose column is scaled in the same loop or before."""
    i, j, k = names
    tenth, rest = draft.constant(0.1), draft.constant(0.9)
    matrix = draft.written_array((size, size))
    below = ascending(i, f"{k} + 1", size)

    def update() -> None:
        with draft.block(ascending(j, f"{k} + 1", draft.choose((size, f"{i} + 1")))):
            term = f"{tenth} * ({matrix.at(i, k)} * {matrix.at(k, j)})"
            draft.assign(matrix.at(i, j), f"{rest} * {matrix.at(i, j)} + {term}")

    with draft.block(ascending(k, "0", size)):
        with draft.block(below):
            scaled = f"{rest} * {matrix.at(i, k)} + {tenth} * {matrix.at(k, k)}"
            draft.assign(matrix.at(i, k), scaled)
            is_apart = draft.chance(0.5)
            if not is_apart:
                update()
        if is_apart:
            with draft.block(below):
                update()


def pointwise_nest(draft: ProgramDraft) -> None:
    """Every element on its own: sums, products, transposes, vectors along rows and columns."""
    loops = new_loops(draft, draft.choose((1, 2, 3), (0.2, 0.6, 0.2)))
    result = draft.written_array(sizes_of(loops))
    terms = []
    for _ in range(draft.number(1, 3)):
        used = loops
        if draft.chance(0.25) and len(loops) > 1:
            used = draft.shuffled(loops)
        elif draft.chance(0.2):
            used = [loops[draft.number(0, len(loops) - 1)]]
        array = draft.read_array(sizes_of(used), exclude=(result,))
        terms.append(array.at(*iterators_of(used)))
    operators = [draft.choose((" + ", " - ", " * ")) for _ in terms[1:]]
    text = terms[0] + "".join(a + b for a, b in zip(operators, terms[1:], strict=True))
    if draft.chance(0.2):
        text = f"{draft.constant(0.5)} * ({text})" if terms[1:] else f"sqrt({text} * ({text}))"
    with draft.block(*(draft.shuffled(loops) if draft.chance(0.3) else loops)):
        draft.assign(result.at(*iterators_of(loops)), text)


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
        loops = (ascending(i, str(int(down)), rows), ascending(j, str(int(not down)), columns))
        with draft.block(*(loops if draft.chance(0.6) else loops[::-1])):
            draft.assign(result.at(i, j), f"{half} * {before} + {half} * {source.at(i, j)}")
    elif kind == "paths":
        size = draft.size()
        k, i, j = (draft.iterator() for _ in range(3))
        table = draft.written_array((size, size))
        with draft.block(*(ascending(name, "0", size) for name in (k, i, j))):
            here, through = table.at(i, j), f"{table.at(i, k)} + {table.at(k, j)}"
            draft.assign(here, f"{here} < {through} ? {here} : {through}")
    else:
        size = draft.size()
        i, j, k = (draft.iterator() for _ in range(3))
        table, weights = draft.written_array((size, size)), draft.read_array((size, size))
        with draft.block(descending(i, f"{size} - 2", "0"), ascending(j, f"{i} + 1", size)):
            here, left = table.at(i, j), table.at(f"{i} + 1", j)
            draft.assign(here, f"{here} >= {left} ? {here} : {left}")
            if draft.chance(0.5):
                with draft.block(ascending(k, f"{i} + 1", j)):
                    both = f"{half} * ({table.at(i, k)} + {table.at(k, j)})"
                    draft.assign(here, f"{here} >= {both} ? {here} : {both}")
            else:
                draft.assign(here, f"{half} * ({here} + {weights.at(i, j)})")


FAMILIES: tuple[tuple[Callable[[ProgramDraft], None], float], ...] = (
    (product_nest, 0.3),
    (matrix_vector_nest, 0.15),
    (stencil_nest, 0.2),
    (triangular_nest, 0.15),
    (pointwise_nest, 0.1),
    (recurrence_nest, 0.1),
)
"""Every family, and how often a nest is of it."""
