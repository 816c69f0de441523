"""The cuts that are worth it: those with which isl's scheduler finds more parallel or wider bands.

One suggestion after the other is added to what is cut already, the one with the greatest merit
first (:mod:`polygym.compiler.poly.splitting.gain`), for as long as the merit grows; then each cut
is left out again without which the merit is the same. For Floyd and Warshall's algorithm::

    whole                  (2, 0, -3)
    S0: i = k              (2, 1, -1)    the best of the suggestions
    S0: i = k, j = k       (2, 2, -1)    with another; nothing is better

What a cut costs (more code, loops with fewer iterations) is not in the merit: a schedule of the
program in pieces is measured like any other.
"""

from __future__ import annotations

from functools import lru_cache

from polygym.compiler.ir.scop import Scop
from polygym.compiler.poly.baselines import DEEPEST_NEST
from polygym.compiler.poly.isl_budget import attempt, bounded
from polygym.compiler.poly.lifted import Lifted, lifted
from polygym.compiler.poly.splitting.candidates import suggested
from polygym.compiler.poly.splitting.cuts import WHOLE, Cut, Splitting, cut
from polygym.compiler.poly.splitting.gain import Merit, is_full, merit
from polygym.errors import InputError, LimitError

_MOST_ROUNDS = 4
_MOST_OPERATIONS = 400_000
"""For one program in pieces; Floyd and Warshall's algorithm in nine pieces needs fewer."""


@lru_cache(maxsize=64)
def chosen_splitting(scop: Scop) -> Splitting:
    """Return the cuts that are worth it, none where none are.

    Raises:
        LimitError: the dependences alone take too long.
    """
    if scop.depth > DEEPEST_NEST:
        return WHOLE
    with bounded("looking for cuts"):
        symbolic = lifted(scop)
        program = scop if symbolic is None else symbolic.scop
        found = _pruned(program, *_grown(program))
        return found if symbolic is None else _settled(found, symbolic)


def _grown(scop: Scop) -> tuple[Splitting, Merit | None]:
    """Return the cuts of one suggestion after the other, and their merit."""
    found, best = WHOLE, _merit(scop, WHOLE)
    suggestions = suggested(scop)
    for _ in range(_MOST_ROUNDS):
        if best is None or is_full(best, scop.depth):
            break
        longer = dict.fromkeys(_joined(found, one) for one in suggestions)
        merits = [(value, one) for one in longer if (value := _merit(scop, one)) is not None]
        greatest = max([best, *(value for value, _ in merits)])
        if greatest == best:
            break
        best, found = greatest, next(one for value, one in merits if value == greatest)
    return found, best


def _pruned(scop: Scop, found: Splitting, best: Merit | None) -> Splitting:
    """Return the splitting without cuts that add nothing to its merit."""
    for name, cuts in found.statements:
        for one in cuts:
            fewer = _without(found, name, one)
            value = _merit(scop, fewer)
            if value is not None and best is not None and value >= best:
                found = fewer
    return found


def _merit(scop: Scop, splitting: Splitting) -> Merit | None:
    """Return the merit, None where isl finds no schedule, not soon, or there are too many pieces.

    The bound is on each program in pieces; when it is passed the others are still tried.
    """
    try:
        with attempt(_MOST_OPERATIONS), bounded("scheduling a program in pieces"):
            return merit(scop, splitting)
    except (InputError, LimitError):
        return None


def _joined(first: Splitting, second: Splitting) -> Splitting:
    """Return the cuts of both, as many as a statement may have."""
    for name, cuts in second.statements:
        first = first.with_first(name, cuts)
    return first


def _without(splitting: Splitting, statement: str, left_out: Cut) -> Splitting:
    """Return a splitting without a cut of a statement."""
    cuts = {
        name: tuple(one for one in cuts if (name, one) != (statement, left_out))
        for name, cuts in splitting.statements
    }
    return Splitting(tuple((name, left) for name, left in cuts.items() if left))


def _settled(splitting: Splitting, symbolic: Lifted) -> Splitting:
    """Return the splitting of a program with numbers, for which sizes were parameters."""
    values = {size.name: size.value for size in symbolic.sizes}
    found = WHOLE
    for name, cuts in splitting.statements:
        for one in cuts:
            terms = dict(one.terms)
            number = sum(terms.pop(size, 0) * value for size, value in values.items())
            found = found.with_cuts(name, [cut(terms, one.constant + number, one.relation)])
    return found
