"""Evaluation of schedules: schedule → measured speedup, or the reason of a failure.

========================  ========================================================================
``c_compilers``           C compilers as contenders
``compilation``           Compiled programs for the worker
``compile_server``        The compile server: the process that generates code for a compiler
``compiler``              A compiler in a process of its own, with a time limit
``evaluation``            Evaluations
``evaluation_results``    Evaluations from the ends of compilations and runs, and counts of defects
``evaluator``             Evaluators: schedules of one program, compiled and measured
``fingerprint``           Fingerprints of machines: times of two machines are never compared
``forked_timeout``        Time limit for calls that nothing interrupts
``measurement_rule``      The measurement rule
``restricted_arguments``  A function whose array arguments are declared as disjoint
``time_limits``           Schedules, spaces and code within a time limit, for commands
========================  ========================================================================
"""

from typing import TYPE_CHECKING

from polygym.lazy_imports import lazy_attributes

if TYPE_CHECKING:
    from polygym.runtime.evaluation.compiler import Compiler, c_text
    from polygym.runtime.evaluation.evaluation import (
        TIMING_NOISE,
        Evaluation,
        EvaluationOptions,
        Remeasure,
    )
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
    "Remeasure",
    "c_text",
    "evaluator_for",
    "expect_candidate_result",
    "rounds_within",
]
