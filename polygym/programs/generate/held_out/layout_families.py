"""Held-out families by where elements lie: flat rows, arrays of structures, gathered elements."""

from polygym.programs.generate.nests import new_loops
from polygym.programs.generate.program_draft import (
    DraftArray,
    DraftLoop,
    ProgramDraft,
)

_RECORD = "struct record { double x, y, z, w; };"
_MEMBERS = ("x", "y", "z", "w")


def flat_rows(draft: ProgramDraft) -> None:
    """Products, transposes and sweeps over matrices whose rows lie one behind the other.

    ``B[i * m + j] = 0.5 * A[i * m + j] + 0.25 * A[i * m + j - 1]``
    """
    rows, columns = new_loops(draft, 2)
    n, m = rows.size, columns.size
    i, j = rows.iterator, columns.iterator

    def matrix(row_count: str, row_length: str) -> DraftArray:
        return draft.new_array((f"{row_count} * {row_length}",))

    source, result = matrix(n, m), matrix(n, m)
    here = f"{i} * {m} + {j}"
    kind = draft.choose(("product", "sweep", "turn"), (0.4, 0.35, 0.25))
    half, quarter = draft.constant(0.5), draft.constant(0.25)
    if kind == "product":
        (summed,) = new_loops(draft, 1)
        k, p = summed.iterator, summed.size
        left, right = matrix(n, p), matrix(p, m)
        with draft.block(rows, columns):
            total = draft.scalar(draft.constant(0))
            with draft.block(summed):
                factors = f"{left.at(f'{i} * {p} + {k}')} * {right.at(f'{k} * {m} + {j}')}"
                draft.assign(total, factors, "+=")
            draft.assign(result.at(here), f"{half} * {source.at(here)} + {total}")
    elif kind == "sweep":
        inside = DraftLoop(j, m, "1", f"{m} - 1")
        with draft.block(*([rows, inside] if draft.chance(0.7) else [inside, rows])):
            beside = f"{source.at(f'{here} - 1')} + {source.at(f'{here} + 1')}"
            draft.assign(result.at(here), f"{half} * {source.at(here)} + {quarter} * ({beside})")
    else:
        turned = matrix(m, n)
        with draft.block(rows, columns):
            other = turned.at(f"{j} * {n} + {i}")
            draft.assign(result.at(here), f"{half} * {source.at(here)} + {quarter} * {other}")


def records(draft: ProgramDraft) -> None:
    """Sums over pairs or along a list of structures of four numbers.

    ``R[i].w += (R[i].x - Q[j].x) * Q[j].w``
    """
    draft.declare(_RECORD)
    kind = "struct record"
    first, second = new_loops(draft, 2)
    own = draft.typed_array(kind, (first.size,)).at(first.iterator)
    other = draft.typed_array(kind, (second.size,)).at(second.iterator)
    used = [member for member in _MEMBERS[:3] if draft.chance(0.7)] or ["x"]
    if draft.chance(0.6):
        with draft.block(first):
            total = draft.scalar("0.0", "double")
            with draft.block(second):
                squares = [f"({own}.{name} - {other}.{name})" for name in used]
                near = draft.scalar(" + ".join(f"{term} * {term}" for term in squares), "double")
                draft.assign(total, f"{other}.w / (1.0 + {near})", "+=")
            draft.assign(f"{own}.w", f"0.5 * {own}.w + {total}")
        return
    with draft.block(first):
        for name in used:
            draft.assign(f"{own}.{name}", f"0.75 * {own}.{name} + 0.25 * {own}.w")
    with draft.block(second):
        draft.assign(f"{other}.w", " + ".join(f"0.25 * {other}.{name}" for name in used))


def gathers(draft: ProgramDraft) -> None:
    """Elements whose place another array has: sums over neighbours, permuted rows.

    ``s += W[i][k] * X[v][I[i][k]]``
    """
    rows, others = new_loops(draft, 2)
    i, v = rows.iterator, others.iterator
    half = draft.constant(0.5)
    if draft.chance(0.55):
        neighbours = DraftLoop(draft.iterator(), str(draft.number(3, 12)))
        k = neighbours.iterator
        indices = draft.new_indices((rows.size, neighbours.size))
        weights = draft.new_array((rows.size, neighbours.size))
        values = draft.new_array((others.size, draft.size()))
        result = draft.new_array((others.size, rows.size))
        with draft.block(others, rows):
            total = draft.scalar(draft.constant(0))
            with draft.block(neighbours):
                term = f"{weights.at(i, k)} * {values.at(v, indices.at(i, k))}"
                draft.assign(total, term, "+=")
            draft.assign(result.at(v, i), f"{half} * {result.at(v, i)} + {total}")
        return
    indices = draft.new_indices((rows.size,))
    table = draft.new_array((draft.size(), others.size))
    result = draft.new_array((rows.size, others.size))
    with draft.block(rows, others):
        gathered = table.at(indices.at(i), v)
        draft.assign(result.at(i, v), f"{half} * {result.at(i, v)} + {half} * {gathered}")
