"""Validation of results: every episode is played again, checked, and on request measured.

``polygym validate`` prints what does not hold.
"""

from collections.abc import Iterator, Sequence
from pathlib import Path

from polygym.agents.evaluation.result_checks import mismatch_with_record, recorded_outcome
from polygym.agents.evaluation.results import EpisodeResultLine, read_results
from polygym.errors import PolygymError
from polygym.mdp.records import episode_record
from polygym.poly.legality import find_violation
from polygym.ratios import ratio_text
from polygym.runtime.evaluation import Evaluator

_MEASURING_ROUNDS = 5


def check_result(line: EpisodeResultLine, place: str, slack: float | None) -> str | None:
    """Return what does not hold of a result, if anything; it is run if there is a slack."""
    try:
        episode_record.expect_format(line.record, place)
        played = episode_record.replay_record(line.record, place)
        wrong = mismatch_with_record(line, played)
    except PolygymError as error:
        return str(error)
    if wrong is not None:
        return f"{place}: {wrong}"
    if played.schedule is None:
        return None
    program = played.program
    violation = find_violation(program.scop, played.schedule)
    if violation is not None:
        return f"{place}: {violation}"
    if slack is None or recorded_outcome(line) is None or line.speedup <= 0:
        return None
    with Evaluator(program, played.evaluation_options) as evaluator:
        (evaluation,) = evaluator.evaluate_interleaved((played.schedule,), _MEASURING_ROUNDS)
    if not evaluation.is_ok:
        return f"{place}: expected a run as claimed, found {evaluation.status.value}"
    if line.speedup > slack * evaluation.speedup:
        claimed, found = ratio_text(line.speedup), ratio_text(evaluation.speedup)
        return f"{place}: expected {claimed} as claimed, found {found}"
    return None


def check_results(files: Sequence[Path], slack: float | None) -> Iterator[tuple[str, str | None]]:
    """Yield the place of every result, and what does not hold of it."""
    for file in files:
        for number, line in enumerate(read_results(file), start=1):
            place = f"{file}:{number}"
            yield place, check_result(line, place, slack)
