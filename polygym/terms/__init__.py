"""Terms: programs of a small functional language, rewritten by rules into cheaper ones.

    >>> from polygym.terms import optimized, parse_program, text_of
    >>> found = optimized(parse_program("(mul (add x y) (add x y))"))
    >>> text_of(found.result.body), found.costs[0], found.costs[-1]
    ('(let (t1 (add x y)) (mul t1 t1))', 4.0, 3.1)

``language`` has text, types, values and what a term computes; ``cost`` says what it costs; the
``library`` has expressions and programs. Rewriting: ``rules`` are tables, the ``rewriter`` finds
all rewrites of a term, ``system`` has the searches of :mod:`polygym.search.planning` take terms,
and ``sharing``, ``fusion`` and ``directed`` are what they expect if nothing was learned. Large
terms are searched ``piecewise``, by ``parts`` that are cut out; ``places`` says what stands where.
Before, their arithmetic goes through ``regrouping``, in ``windows``, by rules that are
``unordered``: the order of sums and products is left open.
``optimize`` makes a ``derivation``, which can be followed again; ``envs`` has this as an
environment. ``learning`` has value functions that learn and names for all of these;
``saturation`` is another way to the same, by an e-graph, with records of its own (``saturated``).
``code`` makes machine code of programs, calls and times it; ``gradient`` makes programs that
compute derivatives of others.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from polygym.lazy import lazily

if TYPE_CHECKING:
    from polygym.terms.code.clock import Clock
    from polygym.terms.code.compiled import Compiled, compile
    from polygym.terms.cost import StaticCost
    from polygym.terms.derivation import Derivation, derived, replayed
    from polygym.terms.language.interpreter import evaluate
    from polygym.terms.language.printing import text_of, text_of_program
    from polygym.terms.language.program import Program
    from polygym.terms.language.reading import parse_program, parse_programs
    from polygym.terms.language.values import Failure
    from polygym.terms.optimize import optimized
    from polygym.terms.rewriter import Rewriter, Step
    from polygym.terms.system import TermSystem
else:
    __getattr__ = lazily(
        __name__,
        {
            "code.clock": ("Clock",),
            "code.compiled": ("Compiled", "compile"),
            "cost": ("StaticCost",),
            "derivation": ("Derivation", "derived", "replayed"),
            "language.interpreter": ("evaluate",),
            "optimize": ("optimized",),
            "language.printing": ("text_of", "text_of_program"),
            "language.program": ("Program",),
            "language.reading": ("parse_program", "parse_programs"),
            "rewriter": ("Rewriter", "Step"),
            "system": ("TermSystem",),
            "language.values": ("Failure",),
        },
    )

__all__ = [
    "Clock",
    "Compiled",
    "Derivation",
    "Failure",
    "Program",
    "Rewriter",
    "StaticCost",
    "Step",
    "TermSystem",
    "compile",
    "derived",
    "evaluate",
    "optimized",
    "parse_program",
    "parse_programs",
    "replayed",
    "text_of",
    "text_of_program",
]
