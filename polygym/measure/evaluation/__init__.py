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

from polygym.lazy import lazily

if TYPE_CHECKING:
    from polygym.measure.evaluation.answers import trusted
    from polygym.measure.evaluation.compiler import Compiler, c_text
    from polygym.measure.evaluation.evaluation import NOISE, Evaluation, EvaluationOptions
    from polygym.measure.evaluation.evaluator import Evaluator
    from polygym.measure.evaluation.measuring_rule import rounds_within
    from polygym.measure.evaluation.shared import evaluator_for
else:
    __getattr__ = lazily(
        __name__,
        {
            "answers": ("trusted",),
            "compiler": ("Compiler", "c_text"),
            "evaluation": ("NOISE", "Evaluation", "EvaluationOptions"),
            "evaluator": ("Evaluator",),
            "measuring_rule": ("rounds_within",),
            "shared": ("evaluator_for",),
        },
    )

__all__ = [
    "NOISE",
    "Compiler",
    "Evaluation",
    "EvaluationOptions",
    "Evaluator",
    "c_text",
    "evaluator_for",
    "rounds_within",
    "trusted",
]
