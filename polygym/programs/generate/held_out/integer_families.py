"""Held-out families of integers: bytes, fixed-point numbers of 16 bits, tables of scores.

Products are of type ``int``. No sum overflows: a window has at most 25 bytes with weights up to 6,
a filter at most 24 terms of two shorts between 1 and 97, or what such a filter leaves, and a score
grows by at most 97 in a step.
"""

from polygym.programs.generate.nests import inner_loops, new_loops, shifted_subscript
from polygym.programs.generate.program_draft import (
    DraftArray,
    DraftLoop,
    ProgramDraft,
    ascending,
    iterators_of,
)

_BYTE, _SHORT = "unsigned char", "short"
_MOST_BYTE, _MOST_SHORT = 255, 32767


def byte_windows(draft: ProgramDraft) -> None:
    """Weighted means or differences of neighbouring bytes, as bytes again.

    ``B[i][j] = (A[i][j - 1] + 2 * A[i][j] + A[i][j + 1]) >> 2``
    """
    extents = (draft.size(), draft.size())
    radius = draft.choose((1, 2), (0.7, 0.3))
    channels = draft.choose(((), ("3",), ("4",)), (0.6, 0.25, 0.15))
    source = draft.typed_array(_BYTE, (*extents, *channels))
    result = draft.typed_array(_BYTE, (*extents, *channels))
    loops = inner_loops(draft, extents, radius)
    every = [*loops, *(DraftLoop(draft.iterator(), extent) for extent in channels)]
    names = iterators_of(every)

    def at(i: int, j: int) -> str:
        rows, columns, *rest = names
        return source.at(shifted_subscript(rows, i), shifted_subscript(columns, j), *rest)

    steps = range(-radius, radius + 1)
    with draft.block(*every):
        if draft.chance(0.4):
            rise, fall = at(0, radius), at(0, -radius)
            down, up = at(radius, 0), at(-radius, 0)
            across = draft.scalar(f"{rise} - {fall}", "int")
            along = draft.scalar(f"{down} - {up}", "int")
            total = f"({across} < 0 ? -{across} : {across}) + ({along} < 0 ? -{along} : {along})"
            value = draft.scalar(total, "int")
            draft.assign(result.at(*names), f"{value} > {_MOST_BYTE} ? {_MOST_BYTE} : {value}")
            return
        places = [(i, j) for i in steps for j in steps if (i, j) == (0, 0) or draft.chance(0.5)]
        weights = [draft.number(1, 6) for _ in places]
        terms = [f"{w} * {at(i, j)}" for w, (i, j) in zip(weights, places, strict=True)]
        shift = (sum(weights) - 1).bit_length()
        total = draft.scalar(" + ".join(terms), "int")
        draft.assign(result.at(*names), f"{total} >> {shift}" if shift else total)


def fixed_point(draft: ProgramDraft) -> None:
    """Filters and products of shorts, summed in an int, shifted back and saturated.

    ``s += X[i + k] * W[k]; Y[i] = s >> 6 > 32767 ? 32767 : s >> 6``
    """
    taps = str(draft.number(4, 24))
    rows = new_loops(draft, draft.choose((0, 1), (0.4, 0.6)))
    (along,) = new_loops(draft, 1)
    tap = DraftLoop(draft.iterator(), taps)
    lead = [loop.size for loop in rows]
    before = iterators_of(rows)
    weights = draft.typed_array(_SHORT, (*lead, taps) if draft.chance(0.3) else (taps,))
    samples = draft.typed_array(_SHORT, (*lead, f"{along.size} + {taps}"))
    result = draft.typed_array(_SHORT, (*lead, along.size))
    shift = draft.number(4, 8)
    k = tap.iterator
    with draft.block(*rows, along):
        total = draft.scalar(str(1 << (shift - 1)), "int")
        with draft.block(tap):
            own = weights.at(*before, k) if len(weights.extents) > 1 else weights.at(k)
            draft.assign(total, f"{samples.at(*before, f'{along.iterator} + {k}')} * {own}", "+=")
        value = draft.scalar(f"{total} >> {shift}", "int")
        limit = f"{value} > {_MOST_SHORT} ? {_MOST_SHORT} : {value}"
        draft.assign(result.at(*before, along.iterator), limit)


def score_tables(draft: ProgramDraft) -> None:
    """Tables of integers filled from three neighbours, with edges of their own, one or two tables.

    ``H[i][j] = max(H[i - 1][j - 1] + S[i][j], H[i - 1][j] - 4, H[i][j - 1] - 4)``
    """
    rows, columns = draft.size(), draft.size()
    i, j = draft.iterator(), draft.iterator()
    scores = draft.typed_array("int", (rows, columns))
    table = draft.typed_array("int", (rows, columns))
    gap = draft.number(1, 9)
    _fill_edges(draft, table, (i, j), gap)
    gaps = draft.typed_array("int", (rows, columns)) if draft.chance(0.4) else None
    if gaps:
        _fill_edges(draft, gaps, (i, j), gap)
    above, left = f"{i} - 1", f"{j} - 1"
    with draft.block(ascending(i, "1", rows), ascending(j, "1", columns)):
        if gaps:
            kept, opened = gaps.at(above, j), f"{table.at(above, j)} - {gap + 3}"
            draft.assign(gaps.at(i, j), f"{kept} > {opened} ? {kept} - {gap} : {opened}")
        skipped = gaps.at(i, j) if gaps else f"{table.at(above, j)} - {gap}"
        best = draft.scalar(f"{table.at(above, left)} + {scores.at(i, j)}", "int")
        for other in (skipped, f"{table.at(i, left)} - {gap}"):
            with draft.block(f"if ({other} > {best})"):
                draft.assign(best, other)
        if draft.chance(0.5):
            with draft.block(f"if ({best} < 0)"):
                draft.assign(best, "0")
        draft.assign(table.at(i, j), best)


def _fill_edges(draft: ProgramDraft, table: DraftArray, names: tuple[str, str], gap: int) -> None:
    """Add loops that fill the first column and the first row of a table."""
    (rows, columns), (i, j) = table.extents, names
    slope = draft.choose((0, gap))
    with draft.block(ascending(i, "0", rows)):
        draft.assign(table.at(i, "0"), f"-{slope} * {i}" if slope else "0")
    with draft.block(ascending(j, "1", columns)):
        draft.assign(table.at("0", j), f"-{slope} * {j}" if slope else "0")
