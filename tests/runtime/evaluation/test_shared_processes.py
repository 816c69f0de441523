"""The processes that the evaluators of a process share: ended at once, or in order."""

import threading
import time

from polybench import Dataset
from polygym.poly.scheduling.baselines import original_schedule
from polygym.programs import load_program
from polygym.runtime.evaluation import EvaluationOptions, evaluator_for
from polygym.runtime.evaluation.evaluator import close_shared_evaluators, kill_shared_processes
from tests.text_interface.server.clients import descendants, wait_for_end


def test_processes_are_ended_and_start_again() -> None:
    program = load_program("mvt", dataset=Dataset.MINI)
    schedule = original_schedule(program.scop)
    before = descendants_of_this()
    options = EvaluationOptions(timeout_factor=11.0)  # evaluators of no other test
    assert evaluator_for(program, options).evaluate(schedule).is_ok
    kill_shared_processes()
    assert evaluator_for(program, options).evaluate(schedule, fresh=True).is_ok
    close_shared_evaluators()
    close_shared_evaluators()
    assert wait_for_end(descendants_of_this() - before) == set()
    assert evaluator_for(program, options).evaluate(schedule).is_ok
    close_shared_evaluators()


def test_a_measurement_ends_when_its_processes_do() -> None:
    program = load_program("seidel-2d", dataset=Dataset.EXTRALARGE)
    evaluator = evaluator_for(program, EvaluationOptions(timeout_factor=12.0))
    found: list[object] = []

    def measure() -> None:
        try:
            found.append(evaluator.evaluate(original_schedule(program.scop)).is_ok)
        except Exception as error:
            found.append(error)

    thread = threading.Thread(target=measure)
    thread.start()
    time.sleep(1.0)
    start = time.monotonic()
    while thread.is_alive():
        kill_shared_processes()
        time.sleep(0.02)
    assert time.monotonic() - start < 15
    assert found[0] is not True
    close_shared_evaluators()


def descendants_of_this() -> set[int]:
    import os

    return descendants(os.getpid())
