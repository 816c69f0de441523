"""A parent for the tests to kill: says which processes exist, in the middle of a long request.

Run as ``python -m tests.runtime.evaluation.parent_script``. It measures one schedule, so that all
processes exist, starts to compile another for a minute, and prints the ids after a while.
Interrupted, it prints ``interrupted``, evaluates once more and ends in order.
"""

import os
import threading

from polygym.runtime.evaluation import EvaluationOptions, Evaluator
from tests.runtime.evaluation.programs import cholesky, endless, plain
from tests.runtime.worker.processes import children_of


def main() -> None:
    evaluator = Evaluator(cholesky(), EvaluationOptions(compile_seconds=60.0))
    assert evaluator.evaluate(plain(cholesky())).is_ok
    threading.Timer(0.5, report).start()
    try:
        evaluator.evaluate(endless())
    except KeyboardInterrupt:
        print("interrupted", flush=True)
        again = evaluator.evaluate(plain(cholesky()), fresh=True)
        print(again.status.value, flush=True)


def report() -> None:
    """Print the ids of this process's children and of their children."""
    children = children_of(os.getpid())
    print(*children, *(child for process in children for child in children_of(process)), flush=True)


if __name__ == "__main__":
    main()
