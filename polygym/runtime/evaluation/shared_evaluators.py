"""The evaluators of a process: one worker and one compiler for all, and only few programs open."""

from __future__ import annotations

import os
import threading

from polygym.programs import Program
from polygym.runtime.evaluation.compiler import shared_compiler
from polygym.runtime.evaluation.evaluation import EvaluationOptions
from polygym.runtime.evaluation.evaluator import Evaluator
from polygym.runtime.worker.worker import Worker

_MAX_OPEN_PROBLEMS = 4


class _SharedEvaluators:
    """What the evaluators of a process have in common: one worker, one compiler, few programs."""

    def __init__(self) -> None:
        self.owner = os.getpid()
        self.worker = Worker()
        self.compiler = shared_compiler()
        self.evaluators: dict[tuple[Program, EvaluationOptions], Evaluator] = {}
        self.lock = threading.Lock()


_shared: _SharedEvaluators | None = None


def evaluator_for(program: Program, options: EvaluationOptions) -> Evaluator:
    """Return this process's evaluator of a program; only the last few programs stay open."""
    global _shared
    if _shared is None or _shared.owner != os.getpid():
        _shared = _SharedEvaluators()
    key = (program, options)
    shared, superfluous = _shared, []
    with shared.lock:
        result = shared.evaluators.pop(key, None) or Evaluator(
            program, options, worker=shared.worker, compiler=shared.compiler
        )
        shared.evaluators[key] = result
        while len(shared.evaluators) > _MAX_OPEN_PROBLEMS:
            superfluous.append(shared.evaluators.pop(next(iter(shared.evaluators))))
    for evaluator in superfluous:  # outside the lock: one that is at work in a thread is waited for
        evaluator.close()
    return result
