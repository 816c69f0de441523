"""Terms: programs of a small functional language, rewritten by rules into cheaper ones.

    >>> from polygym.terms import optimized, parse_program, text_of
    >>> found = optimized(parse_program("(mul (add x y) (add x y))"))
    >>> text_of(found.result.body), found.costs[0], found.costs[-1]
    ('(let (t1 (add x y)) (mul t1 t1))', 4.0, 3.1)

The language: ``types``, ``operators`` and ``nodes``, which are terms of :mod:`polygym.rewrite`
with variables by their distance; ``substitution`` without capture. Text: ``syntax`` takes it apart,
``reading`` makes a ``program`` of it, ``printing`` is the way back. What a term computes says the
``interpreter``, in ``values``; what it costs, ``cost``.

Rewriting: ``rules`` are tables, the ``rewriter`` finds all rewrites of a term, ``system`` has the
searches of :mod:`polygym.search.planning` take terms, and ``sharing`` is what they expect if nothing
was learned. ``optimize`` makes a ``derivation``, which can be followed again; ``envs`` has this as
an environment. The ``library`` has expressions and programs; ``deep`` has recursion without limits.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from polygym.lazy import lazily

if TYPE_CHECKING:
    from polygym.terms.cost import StaticCost
    from polygym.terms.derivation import Derivation, derived, replayed
    from polygym.terms.interpreter import evaluate
    from polygym.terms.optimize import optimized
    from polygym.terms.printing import text_of, text_of_program
    from polygym.terms.program import Program
    from polygym.terms.reading import parse_program, parse_programs
    from polygym.terms.rewriter import Rewriter, Step
    from polygym.terms.system import TermSystem
    from polygym.terms.values import Failure
else:
    __getattr__ = lazily(
        __name__,
        {
            "cost": ("StaticCost",),
            "derivation": ("Derivation", "derived", "replayed"),
            "interpreter": ("evaluate",),
            "optimize": ("optimized",),
            "printing": ("text_of", "text_of_program"),
            "program": ("Program",),
            "reading": ("parse_program", "parse_programs"),
            "rewriter": ("Rewriter", "Step"),
            "system": ("TermSystem",),
            "values": ("Failure",),
        },
    )

__all__ = [
    "Derivation",
    "Failure",
    "Program",
    "Rewriter",
    "StaticCost",
    "Step",
    "TermSystem",
    "derived",
    "evaluate",
    "optimized",
    "parse_program",
    "parse_programs",
    "replayed",
    "text_of",
    "text_of_program",
]
