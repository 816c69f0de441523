"""Terms: programs of a small functional language, rewritten by rules into cheaper ones.

    >>> from polygym.terms import optimize_term, parse_program, text_of
    >>> found = optimize_term(parse_program("(mul (add x y) (add x y))"))
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

from polygym.lazy_imports import lazy_attributes

if TYPE_CHECKING:
    from polygym.terms.code.compiled_term import CompiledTerm, compile
    from polygym.terms.code.measured_cost import MeasuredCost
    from polygym.terms.cost import StaticCost
    from polygym.terms.derivation import Derivation, derive, replay_derivation
    from polygym.terms.language.interpreter import evaluate
    from polygym.terms.language.parser import parse_program, parse_programs
    from polygym.terms.language.printer import text_of, text_of_program
    from polygym.terms.language.program import TermProgram
    from polygym.terms.language.values import EvaluationFailure
    from polygym.terms.optimization import optimize_term
    from polygym.terms.rewriter import Rewriter, RewriteStep
    from polygym.terms.term_system import TermSystem
else:
    __getattr__ = lazy_attributes(__name__)

__all__ = [
    "CompiledTerm",
    "Derivation",
    "EvaluationFailure",
    "MeasuredCost",
    "RewriteStep",
    "Rewriter",
    "StaticCost",
    "TermProgram",
    "TermSystem",
    "compile",
    "derive",
    "evaluate",
    "optimize_term",
    "parse_program",
    "parse_programs",
    "replay_derivation",
    "text_of",
    "text_of_program",
]
