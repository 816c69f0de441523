"""Schedule → measured speedup, whatever happens on the way.

``compiler`` generates code in a process of its own (``compile_server``; ``compilers`` are several)
with a time limit, since there are legal schedules whose code takes minutes to generate;
``compiling`` makes what a worker runs, ``foreign`` has other C compilers do so; ``evaluator`` has
the result run beside the original order (``turns``, by the ``measuring_rule``) and puts every end
into one value (``answers``), an :class:`Evaluation` (``evaluation``), of which ``defects`` counts
those that may not be; ``shared`` has the evaluators of a process. ``patience`` gives commands isl's
schedules and the like within a limit, from a copy of the process (``apart``). ``fingerprint`` says
of which kind a machine is.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from polygym.lazy_imports import lazy_attributes

if TYPE_CHECKING:
    from polygym.runtime.evaluation.compiler import Compiler, c_text
    from polygym.runtime.evaluation.evaluation import TIMING_NOISE, Evaluation, EvaluationOptions
    from polygym.runtime.evaluation.evaluation_results import expect_candidate_result
    from polygym.runtime.evaluation.evaluator import Evaluator, evaluator_for
    from polygym.runtime.evaluation.measurement_rule import rounds_within
else:
    __getattr__ = lazy_attributes(__name__)

__all__ = [
    "TIMING_NOISE",
    "Compiler",
    "Evaluation",
    "EvaluationOptions",
    "Evaluator",
    "c_text",
    "evaluator_for",
    "expect_candidate_result",
    "rounds_within",
]
