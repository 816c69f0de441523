"""Held-out families by their loops: tiny trip counts, deep nests, bands, strides, time, guards."""

from polygym.programs.generate.nests import inner_loops, new_loops, shifted_subscript
from polygym.programs.generate.program_draft import (
    DraftLoop,
    ProgramDraft,
    ascending,
    iterators_of,
    sizes_of,
)


def short_blocks(draft: ProgramDraft) -> None:
    """Products, and eliminations, of many matrices of two to five rows.

    ``for (b < n) for (c < m) for (i < 3) for (j < 3) for (k < 3) C[b][c][i][j] += …``
    """
    batch = new_loops(draft, 2)
    numbers, size = iterators_of(batch), str(draft.number(2, 5))
    i, j, k = (draft.iterator() for _ in range(3))
    extents = (*sizes_of(batch), size, size)
    left, result = draft.new_array(extents), draft.new_array(extents)
    rows, columns = ascending(i, "0", size), ascending(j, "0", size)
    tenth, rest = draft.constant(0.1), draft.constant(0.9)
    here = result.at(*numbers, i, j)
    if draft.chance(0.6):
        right = draft.new_array(extents)
        with draft.block(*batch, rows, columns):
            draft.assign(here, draft.constant(0))
            with draft.block(ascending(k, "0", size)):
                factors = f"{left.at(*numbers, i, k)} * {right.at(*numbers, k, j)}"
                draft.assign(here, factors, "+=")
        return
    below = (ascending(i, f"{k} + 1", size), ascending(j, f"{k} + 1", size))
    with draft.block(*batch, ascending(k, "0", size), *below):
        factors = f"{tenth} * {result.at(*numbers, i, k)} * {result.at(*numbers, k, j)}"
        draft.assign(here, f"{rest} * {here} - {factors}")
    with draft.block(*batch, rows, columns):
        other = left.at(*numbers, i, j)
        draft.assign(other, f"{other} + {here}")


def deep_contractions(draft: ProgramDraft) -> None:
    """Contractions of five or six loops, of which two or three are short.

    ``C[i][j][a] += A[i][k][b] * B[k][j][a][b]``
    """
    long_loops = new_loops(draft, 3)
    short_loops = [
        DraftLoop(draft.iterator(), str(draft.number(2, 6)))
        for _ in range(draft.choose((2, 3), (0.6, 0.4)))
    ]
    free = [*long_loops[:2], short_loops[0]]
    summed = [long_loops[2], *short_loops[1:]]
    result = draft.new_array(sizes_of(free))
    left, right = ([long_loops[0], *summed], [*summed, long_loops[1], short_loops[0]])
    operands = [
        draft.new_array(sizes_of(loops)).at(*iterators_of(loops))
        for loops in (draft.shuffled(left), draft.shuffled(right))
    ]
    every = [*free, *summed]
    with draft.block(*(draft.shuffled(every) if draft.chance(0.5) else every)):
        draft.assign(result.at(*iterators_of(free)), " * ".join(operands), "+=")


def bands(draft: ProgramDraft) -> None:
    """Matrices that are zero away from the diagonal: products, and solutions, of many vectors.

    ``for (j = max(0, i - 3); j <= min(n - 1, i + 3); j++) Y[v][i] += A[i][j] * X[v][j];``
    """
    rows, vectors = new_loops(draft, 2)
    size, width = rows.size, draft.number(2, 9)
    i, j, v = rows.iterator, draft.iterator(), vectors.iterator
    matrix = draft.new_array((size, size))
    x, y = draft.new_array((vectors.size, size)), draft.new_array((vectors.size, size))
    low = f"{i} > {width} ? {i} - {width} : 0"
    tenth, rest = draft.constant(0.1), draft.constant(0.9)
    with draft.block(*([rows, vectors] if draft.chance(0.3) else [vectors, rows])):
        if draft.chance(0.5):
            total = draft.scalar(draft.constant(0))
            high = f"({i} + {width} < {size} - 1 ? {i} + {width} : {size} - 1)"
            with draft.block(f"for (int {j} = {low}; {j} <= {high}; {j}++)"):
                draft.assign(total, f"{matrix.at(i, j)} * {x.at(v, j)}", "+=")
            draft.assign(y.at(v, i), total)
        else:
            draft.assign(y.at(v, i), x.at(v, i))
            with draft.block(f"for (int {j} = {low}; {j} < {i}; {j}++)"):
                known = f"{tenth} * {matrix.at(i, j)} * {y.at(v, j)}"
                draft.assign(y.at(v, i), f"{rest} * {y.at(v, i)} - {known}")


def decimation(draft: ProgramDraft) -> None:
    """Every second to fourth element: filters that keep one of them, and means that are spread.

    ``B[i] += W[k] * A[3 * i + k]``
    """
    step, taps = draft.number(2, 4), str(draft.number(2, 12))
    rows, along = new_loops(draft, 2)
    i, j, k = rows.iterator, along.iterator, draft.iterator()
    fine = draft.new_array((rows.size, f"{step} * {along.size} + {taps}"))
    coarse = draft.new_array((rows.size, along.size))
    half = draft.constant(0.5)
    with draft.block(rows, along):
        if draft.chance(0.6):
            weights = draft.new_array((taps,))
            total = draft.scalar(draft.constant(0))
            with draft.block(ascending(k, "0", taps)):
                term = f"{weights.at(k)} * {fine.at(i, f'{step} * {j} + {k}')}"
                draft.assign(total, term, "+=")
            draft.assign(coarse.at(i, j), total)
        else:
            for place in range(step):
                here = fine.at(i, shifted_subscript(f"{step} * {j}", place))
                draft.assign(here, f"{half} * {here} + {half} * {coarse.at(i, j)}")


def time_levels(draft: ProgramDraft) -> None:
    """Fields that keep every step in time, of one or two dimensions and one or two levels back.

    ``U[t + 2][i] = 0.5 * U[t + 1][i] + 0.25 * (U[t][i - 1] + U[t][i + 1])``
    """
    rank, back = draft.choose((1, 2), (0.6, 0.4)), draft.number(1, 2)
    extents = [draft.size() for _ in range(rank)]
    time = DraftLoop(draft.iterator(), draft.steps())
    field = draft.new_array((f"{time.size} + {back}", *extents))
    loops = inner_loops(draft, extents, 1)
    names = iterators_of(loops)
    share = draft.constant(round(0.5 / (2 * rank), 4))
    with draft.block(time, *loops):
        t = time.iterator
        sides = [
            field.at(t, *(shifted_subscript(n, s if n == name else 0) for n in names))
            for name in names
            for s in (-1, 1)
        ]
        last = field.at(shifted_subscript(t, back - 1), *names)
        mean = f"{share} * ({' + '.join(sides)})"
        new = field.at(shifted_subscript(t, back), *names)
        draft.assign(new, f"{draft.constant(0.5)} * {last} + {mean}")


def index_guards(draft: ProgramDraft) -> None:
    """Conditions on counters inside loops: edges, diagonals, halves, and on elements.

    ``if (i > 0 && j < m - 1) B[i][j] = A[i - 1][j + 1]; else B[i][j] = 0;``
    """
    rows, columns = new_loops(draft, 2)
    n, m = rows.size, columns.size
    i, j = rows.iterator, columns.iterator
    source, result = draft.new_array((n, m)), draft.new_array((n, m))
    near = source.at(f"{i} - 1", f"{j} + 1")
    condition, inside = draft.choose(
        (
            (f"{i} > 0 && {j} < {m} - 1", f"{source.at(i, j)} - {near}"),
            (f"{i} != {j}", source.at(i, j)),
            (f"{j} >= {i}", f"{source.at(i, j)} * {source.at(i, j)}"),
            (f"({i} + {j}) % 2 == 0", source.at(i, j)),
            (f"{source.at(i, j)} > {draft.constant(0.5)}", source.at(i, j)),
        )
    )
    half = draft.constant(0.5)
    with draft.block(rows, columns):
        with draft.block(f"if ({condition})"):
            draft.assign(result.at(i, j), f"{half} * {result.at(i, j)} + {half} * ({inside})")
        if draft.chance(0.6):
            with draft.block("else"):
                draft.assign(result.at(i, j), draft.constant(0.25), "*=")
