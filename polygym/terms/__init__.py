"""Terms: programs of a small functional language, rewritten by rules into cheaper ones.

    >>> from polygym.terms import optimize_term, parse_program, text_of
    >>> found = optimize_term(parse_program("(mul (add x y) (add x y))"))
    >>> text_of(found.result.body), found.costs[0], found.costs[-1]
    ('(let (t1 (add x y)) (mul t1 t1))', 4.0, 3.1)

``language`` has text, types, values and the interpreter; ``cost`` is the static cost; ``library``
has expressions and programs. ``rules`` are tables, ``rule_enumeration`` finds small ones,
``rewriter`` finds all rewrites of a term, also for the searches of :mod:`polygym.search.planning`;
``sharing_value`` and ``fusion_value`` estimate what rewriting saves. Large terms are searched by
``decomposition`` into fragments, after ``reassociation`` of their arithmetic by ``commutativity``.
``optimization`` makes a ``derivation``, which can be replayed; ``saturation`` does the same by an
e-graph, for programs with loops ``whole_programs`` does; ``record_results`` reads what both found.
``generated_programs`` are random ones to learn from. ``envs`` is the environment, ``learning`` has
value functions that learn, ``code`` compiles, calls and times programs. ``scheduling`` times forms
of a program before its loops are scheduled.
"""

from typing import TYPE_CHECKING

from polygym.lazy_imports import lazy_attributes

if TYPE_CHECKING:
    from polygym.terms.code.compiled_term import CompiledTerm, compile
    from polygym.terms.code.timing import MeasuredCost
    from polygym.terms.cost import StaticCost
    from polygym.terms.derivation import Derivation, derive, replay_derivation
    from polygym.terms.language.interpreter import evaluate
    from polygym.terms.language.parser import parse_program, parse_programs
    from polygym.terms.language.printer import text_of, text_of_program
    from polygym.terms.language.program import TermProgram
    from polygym.terms.language.values import EvaluationFailure
    from polygym.terms.optimization import optimize_term
    from polygym.terms.rewriter import Rewriter, RewriteStep, TermSystem
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
