"""Families of loop nests with scalars of the function's own, as people write them.

A scalar is filled again in every iteration of some loop: a value that has a name
(``t = A[i] - B[i]; C[i] = t * t;``), a sum that is stored behind its loop, the smallest element and
where it is, what a row hands on to the next loop. As written, memory is in the way of every loop
around; expanded, or private to threads, it is not.

Every scalar gets a value in the iteration that reads it, before it does. As in
:mod:`polygym.programs.generate.nests` no access leaves its array, and values stay finite: what is
divided by is at least 1, and roots are of sums of squares. Nothing here is a triangle of products
or a pair of sums along rows and columns, since such nests, with and without scalars, are what
models are tested on (:mod:`polygym.search.corpus.program_choice`).
"""

from collections.abc import Callable, Sequence

from polygym.programs.generate.nests import (
    half_range,
    inner_loops,
    new_loops,
    operands_of,
    shifted_subscript,
)
from polygym.programs.generate.program_draft import (
    DraftArray,
    DraftLoop,
    ProgramDraft,
    ascending,
    descending,
    iterators_of,
    sizes_of,
)


def named_values(draft: ProgramDraft, inputs: Sequence[str], count: int) -> str:
    """Add scalars, each of elements and of scalars before; return a sum of what is not used yet."""
    waiting, known = list(inputs), list(inputs)
    for _ in range(count):
        left = waiting.pop(0)
        others = [value for value in known if value != left]
        right = draft.choose(others) if others else left
        if right in waiting:
            waiting.remove(right)
        name = draft.scalar(_value(draft, left, right))
        if draft.chance(0.15):
            with draft.block(f"if ({name} < {draft.constant(0)})"):
                draft.assign(name, f"-{name}" if draft.chance(0.5) else draft.constant(0))
        waiting.append(name)
        known.append(name)
    return " + ".join(waiting)


def _value(draft: ProgramDraft, left: str, right: str) -> str:
    """Return a value of two others."""
    unit, half = draft.constant(1), draft.constant(0.5)
    return draft.choose(
        (
            f"{left} - {right}",
            f"{left} * {right}",
            f"{half} * {left} + {right}",
            f"{left} / ({unit} + {right} * {right})",
            f"{math_function(draft, 'sqrt')}({left} * {left} + {right} * {right})",
            f"{math_function(draft, 'fabs')}({left} - {right})",
            f"{math_function(draft, 'exp')}(-{left} * {left})",
        ),
        (0.3, 0.2, 0.2, 0.1, 0.08, 0.07, 0.05),
    )


def math_function(draft: ProgramDraft, name: str) -> str:
    """Return a function of math.h, of the elements' type."""
    return f"{name}f" if draft.element == "float" else name


def elements(
    draft: ProgramDraft, loops: Sequence[DraftLoop], count: int, but: Sequence[DraftArray]
) -> list[str]:
    """Return elements of arrays to read: at all counters, in another order, or at one of them.

    No two are the same.
    """
    result: list[str] = []
    for _ in range(count):
        used = list(loops)
        if len(loops) > 1 and draft.chance(0.2):
            used = draft.shuffled(loops)
        elif draft.chance(0.2):
            used = [draft.choose(loops)]
        extents, names = sizes_of(used), iterators_of(used)
        element = draft.read_array(extents, but).at(*names)
        result.append(draft.new_array(extents).at(*names) if element in result else element)
    return result


def chain(draft: ProgramDraft) -> None:
    """Every element on its own, by way of values that have names."""
    loops = new_loops(draft, draft.choose((1, 2, 3), (0.2, 0.6, 0.2)))
    extents = sizes_of(loops)
    results = [draft.written_array(extents)]
    if draft.chance(0.25):
        results.append(draft.written_array(extents, exclude=results))
    inputs = elements(draft, loops, draft.number(2, 4), results)
    with draft.block(*(draft.shuffled(loops) if draft.chance(0.2) else loops)):
        rest = named_values(draft, inputs, draft.number(1, 4))
        for place, result in enumerate(results):
            factor = draft.constant(0.5 + 0.25 * place)
            value = f"{factor} * ({rest})" if place else rest
            draft.assign(result.at(*iterators_of(loops)), value)


def gradient(draft: ProgramDraft) -> None:
    """Differences of neighbours, a scalar for each direction, and what is made of them."""
    rank = draft.choose((1, 2, 3), (0.25, 0.6, 0.15))
    radius = draft.choose((1, 2), (0.8, 0.2))
    extents = [draft.size()] * rank
    if rank > 1 and draft.chance(0.5):
        extents[-1] = draft.size()
    again = draft.chance(0.25)
    with draft.block(*([DraftLoop(draft.iterator(), draft.steps())] if again else [])):
        source = draft.written_array(extents) if again else draft.read_array(extents)
        result = draft.written_array(extents, exclude=(source,))
        loops = inner_loops(draft, extents, radius)
        here = iterators_of(loops)
        with draft.block(*loops):
            axes = range(max(2, rank))
            slopes = [_slope(draft, source, here, axis, radius) for axis in axes]
            if again or draft.chance(0.6):
                squares = " + ".join(f"{slope} * {slope}" for slope in slopes)
                value = f"{math_function(draft, 'sqrt')}({squares})"
            else:
                value = named_values(draft, slopes, draft.number(1, 2))
            draft.assign(result.at(*here), value)
        if again:
            with draft.block(*loops):
                half, less = draft.constant(0.5), draft.constant(0.25)
                step = f"{half} * {source.at(*here)} + {less} * {result.at(*here)}"
                draft.assign(source.at(*here), step)


def _slope(
    draft: ProgramDraft, source: DraftArray, names: Sequence[str], axis: int, radius: int
) -> str:
    """Add a scalar: a difference along an axis, or of second order if there is none left."""
    place = axis % len(names)

    def at(step: int, beside: int = 0) -> str:
        steps = [step if other == place else 0 for other in range(len(names))]
        steps[place - 1] += beside if len(names) > 1 else 0
        return source.at(*map(shifted_subscript, names, steps))

    half, quarter = draft.constant(0.5), draft.constant(0.25)
    if axis >= len(names):
        return draft.scalar(f"{quarter} * ({at(1)} + {at(-1)}) - {half} * {at(0)}")
    differences = [f"{at(radius)} - {at(-radius)}"]
    if len(names) > 1 and draft.chance(0.5):
        differences += [f"{at(1, beside)} - {at(-1, beside)}" for beside in (-1, 1)]
    factor = draft.constant(0.5 / len(differences) if len(differences) < 3 else 0.1667)
    return draft.scalar(f"{factor} * ({' + '.join(differences)})")


def inner_sum(draft: ProgramDraft) -> None:
    """Sums over one or two loops in a scalar, stored behind them."""
    free = new_loops(draft, draft.choose((1, 2), (0.4, 0.6)))
    summed = new_loops(draft, draft.choose((1, 2), (0.8, 0.2)))
    result = draft.written_array(sizes_of(free))
    target = result.at(*iterators_of(free))
    operands = operands_of(draft, free, summed, result)
    with draft.block(*free):
        begins = draft.constant(0)
        if draft.chance(0.25):
            begins = f"{draft.constant(0.5)} * {target}"
        total = draft.scalar(begins)
        other = draft.scalar(draft.constant(0)) if draft.chance(0.2) else ""
        with draft.block(*summed):
            value, term = operands[0], " * ".join(operands)
            if len(operands) > 1 and draft.chance(0.4):
                value = draft.scalar(f"{operands[0]} - {operands[1]}")
                factor = draft.choose((value, draft.constant(0.5)))
                term = " * ".join([value, factor, *operands[2:]])
            condition = f"if ({value} > {draft.constant(0.25)})"
            with draft.block(*([condition] if draft.chance(0.15) else [])):
                draft.assign(total, term, "+=")
            if other:
                draft.assign(other, value, "+=")
        _store(draft, target, total, other)


def _store(draft: ProgramDraft, target: str, total: str, other: str) -> None:
    """Store a sum, or what is made of it."""
    unit = draft.constant(1)
    rest = f" + {other}" if other else ""
    kind = draft.choose(("as it is", "added", "divided"), (0.6, 0.2, 0.2))
    if kind == "added":
        draft.assign(target, f"{draft.constant(0.5)} * {target} + {total}{rest}")
    elif kind == "divided":
        draft.assign(target, f"{total} / ({unit} + {total} * {total}){rest}")
    else:
        draft.assign(target, f"{total}{rest}")


def pairs(draft: ProgramDraft) -> None:
    """How far rows are apart, for half of all pairs."""
    rows, columns = draft.size(), draft.size()
    i, j, k = (draft.iterator() for _ in range(3))
    points = draft.read_array((rows, columns))
    result = draft.written_array((rows, rows), exclude=(points,))
    with draft.block(ascending(i, "0", rows), ascending(j, *half_range(draft, i, rows))):
        apart = draft.scalar(draft.constant(0))
        with draft.block(ascending(k, "0", columns)):
            step = draft.scalar(f"{points.at(i, k)} - {points.at(j, k)}")
            kind = draft.choose(("length", "largest", "squares"), (0.4, 0.2, 0.4))
            absolute = f"{math_function(draft, 'fabs')}({step})"
            if kind == "largest":
                with draft.block(f"if ({absolute} > {apart})"):
                    draft.assign(apart, absolute)
            else:
                draft.assign(apart, absolute if kind == "length" else f"{step} * {step}", "+=")
        unit = draft.constant(1)
        draft.assign(result.at(i, j), draft.choose((apart, f"{unit} / ({unit} + {apart})")))


def passes(draft: ProgramDraft) -> None:
    """Something is found of a row in one loop, and used in the next ones."""
    rows, columns = draft.size(), draft.size()
    i, is_turned = draft.iterator(), draft.chance(0.3)
    extents = (columns, rows) if is_turned else (rows, columns)
    source = draft.read_array(extents)
    result = source if draft.chance(0.15) else draft.written_array(extents, exclude=(source,))
    unit, small = draft.constant(1), draft.constant(0.1)

    def at(array: DraftArray, j: str) -> str:
        return array.at(j, i) if is_turned else array.at(i, j)

    with draft.block(ascending(i, "0", rows)):
        total = draft.scalar(draft.constant(0))
        j = draft.iterator()
        along = ascending(j, "0", columns)
        with draft.block(along):
            draft.assign(total, at(source, j), "+=")
        value = f"{at(source, j)} / ({unit} + {total} * {total})"
        if draft.chance(0.5):
            draft.assign(total, f"{small} * {total}")
            spread = draft.scalar(draft.constant(0))
            with draft.block(along):
                off = draft.scalar(f"{at(source, j)} - {total}")
                draft.assign(spread, f"{off} * {off}", "+=")
            value = f"({at(source, j)} - {total}) / ({unit} + {spread})"
            if draft.chance(0.5):
                draft.assign(spread, f"{unit} / ({unit} + {spread})")
                value = f"({at(source, j)} - {total}) * {spread}"
        with draft.block(along):
            draft.assign(at(result, j), value)


def extreme(draft: ProgramDraft) -> None:
    """The smallest or the greatest of a row, and where it is."""
    free = new_loops(draft, draft.choose((1, 2), (0.5, 0.5)))
    (along,) = new_loops(draft, 1)
    extents, names = sizes_of(free), iterators_of(free)
    best_of = draft.written_array(extents)
    inputs = elements(draft, [*free, along], 2, [best_of])
    if along.iterator not in inputs[0]:
        whole = draft.new_array([*extents, along.size])
        inputs[0] = whole.at(*names, along.iterator)
    indices = draft.new_indices(extents) if draft.chance(0.7) else None
    with draft.block(*free):
        is_least = draft.chance(0.5)
        suffix = "f" if draft.element == "float" else ""
        best = draft.scalar(f"{'' if is_least else '-'}1e30{suffix}")
        place = draft.scalar("0", "int") if indices else ""
        with draft.block(along):
            value = named_values(draft, inputs, 1)
            candidate = draft.scalar(value) if "+" in value else value
            with draft.block(f"if ({candidate} {'<' if is_least else '>'} {best})"):
                draft.assign(best, candidate)
                if indices:
                    draft.assign(place, along.iterator)
        draft.assign(best_of.at(*names), best)
        if indices:
            draft.assign(indices.at(*names), place)


def carried(draft: ProgramDraft) -> None:
    """What one iteration hands on to the next in a scalar, along every row or column."""
    rows, columns = draft.size(), draft.size()
    i, j = draft.iterator(), draft.iterator()
    is_turned = draft.chance(0.3)
    extents = (columns, rows) if is_turned else (rows, columns)
    source = draft.read_array(extents)
    result = draft.written_array(extents, exclude=(source,))
    subscripts = (j, i) if is_turned else (i, j)
    half = draft.constant(0.5)
    with draft.block(ascending(i, "0", rows)):
        state = draft.scalar(draft.constant(0))
        up, down = ascending(j, "0", columns), descending(j, f"{columns} - 1", "0")
        with draft.block(down if draft.chance(0.3) else up):
            value = source.at(*subscripts)
            if draft.chance(0.4):
                value = draft.scalar(f"{value} - {state}")
                draft.assign(state, f"{half} * {value}", "+=")
            else:
                draft.assign(state, f"{half} * {state} + {half} * {value}")
            draft.assign(result.at(*subscripts), state)


def factor(draft: ProgramDraft) -> None:
    """A scalar of an outer loop that inner loops use."""
    outer = new_loops(draft, draft.choose((1, 2), (0.7, 0.3)))
    inner = new_loops(draft, draft.choose((1, 2), (0.8, 0.2)))
    every = [*outer, *inner]
    result = draft.written_array(sizes_of(every))
    own = elements(draft, outer, 2, [result])
    inputs = elements(draft, every, draft.number(1, 2), [result])
    with draft.block(*outer):
        value = named_values(draft, own, draft.number(1, 2))
        scale = draft.scalar(value) if "+" in value else value
        with draft.block(*inner):
            products = " + ".join(f"{scale} * {element}" for element in inputs)
            draft.assign(result.at(*iterators_of(every)), products)


def total(draft: ProgramDraft) -> None:
    """A sum over a whole nest, used in the next one."""
    loops = new_loops(draft, draft.choose((1, 2), (0.4, 0.6)))
    inputs = elements(draft, loops, draft.number(1, 2), ())
    result = draft.written_array(sizes_of(loops))
    unit = draft.constant(1)
    whole = draft.scalar(draft.constant(0))
    with draft.block(*loops):
        draft.assign(whole, named_values(draft, inputs, 1), "+=")
    with draft.block(*loops):
        value = f"{inputs[0]} / ({unit} + {whole} * {whole})"
        draft.assign(result.at(*iterators_of(loops)), value)


FAMILIES: tuple[tuple[Callable[[ProgramDraft], None], float], ...] = (
    (chain, 0.17),
    (gradient, 0.13),
    (inner_sum, 0.18),
    (pairs, 0.05),
    (passes, 0.1),
    (extreme, 0.08),
    (carried, 0.06),
    (factor, 0.05),
    (total, 0.03),
)
"""Every family, and how often a nest is of it."""
