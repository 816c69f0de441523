"""Whether another term computes what a program does: both are evaluated for random inputs.

Sizes are from 0 to 4, different ones for different names, so that loops without turns and indices
outside of a vector come to light. Trying is no proof.
"""

import numpy as np

from polygym.errors import LimitError
from polygym.rewrite.term import Term
from polygym.terms.language.interpreter import evaluate_term
from polygym.terms.language.program import TermProgram
from polygym.terms.language.types import VectorSize, sizes_of, with_sizes
from polygym.terms.language.values import Value, is_close, is_regular
from polygym.terms.rules.random_terms import random_value

_LARGEST = 4
_STEPS = 100_000
_MOST_STEPS = 3_000_000
_LONG_TRIES = 2


def random_inputs(program: TermProgram, rng: np.random.Generator) -> dict[str, Value]:
    """Return values of all names of a program, vectors with the sizes that their types name."""
    names = {size for _, kind in program.parameters for size in sizes_of(kind)}
    names |= set(program.sizes)
    sizes = {name: int(rng.integers(_LARGEST + 1)) for name in sorted(map(str, names))}

    def known(size: VectorSize) -> VectorSize:
        return sizes[size] if isinstance(size, str) else size

    values: dict[str, Value] = {
        name: random_value(with_sizes(kind, known), rng) for name, kind in program.parameters
    }
    return {**{name: sizes.get(name, 0) for name in program.sizes}, **values}


def find_difference(
    program: TermProgram, body: Term, tries: int = 40, seed: int = 0
) -> dict[str, Value] | None:
    """Return inputs for which a term computes something else than a program; None without any.

    Where the program has no value, or one that is not finite, nothing is asked of the term. Loops
    of large fixed sizes get a few tries with more steps.

    Raises:
        LimitError: no inputs could be compared.
    """
    rng = np.random.default_rng(seed)
    compared = 0
    for count, steps in ((tries, _STEPS), (_LONG_TRIES, _MOST_STEPS)):
        for _ in range(count):
            values = random_inputs(program, rng)
            try:
                expected = evaluate_term(program.body, values, steps)
                if is_regular(expected):
                    if not is_close(expected, evaluate_term(body, values, steps)):
                        return values
                    compared += 1
            except LimitError:
                continue
        if compared:
            return None
    raise LimitError(
        f"comparing terms by random inputs: expected a program that has values within "
        f"{_MOST_STEPS:,} steps, found none in {tries + _LONG_TRIES} tries"
    )


def seems_equal(program: TermProgram, body: Term, tries: int = 40) -> bool:
    """Whether a term computes what a program does, for all inputs that were tried, one at least."""
    try:
        return find_difference(program, body, tries) is None
    except LimitError:
        return False
