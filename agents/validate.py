"""Play results again: does every episode lead to its schedule, is it legal, is it as fast?

    python -m agents.validate trained.jsonl
    python -m agents.validate trained.jsonl --run

Files are those of `python -m agents.evaluate --out`. Every record is checked entry by entry, its
actions are played again, and the schedule that they lead to has to be the one that is claimed, and
legal. The line has to say of kernel, status, speedup and reward what the record says, whose times
have to follow from its samples, and whose program has to be the one that is there. A reward without
a clock is computed again (one that a model of cost predicts, as it does on this kind of machine).
With `--run` the schedule is compiled, run, compared with the original order's output, and timed; a
claim of a speedup that is more than `--slack` times what is found is not confirmed. The exit status
is 1 if any claim does not hold.
"""

import sys
from argparse import Namespace
from collections.abc import Iterator
from pathlib import Path

from agents.command_line import exit_code, parser_of
from agents.evaluation.result_checks import mismatch_with_record, recorded_outcome
from agents.evaluation.results import EpisodeResultLine, read_results
from polygym.errors import InputError, PolygymError
from polygym.mdp.records import episode_record
from polygym.poly.legality import find_violation
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
        return f"{place}: expected {line.speedup:.2f}x as claimed, found {evaluation.speedup:.2f}x"
    return None


def check_results(files: list[Path], slack: float | None) -> Iterator[tuple[str, str | None]]:
    """Yield the place of every result, and what does not hold of it."""
    for file in files:
        for number, line in enumerate(read_results(file), start=1):
            place = f"{file}:{number}"
            yield place, check_result(line, place, slack)


def main(arguments: list[str] | None = None) -> int:
    """Validate; return 0, 1 if a claim does not hold or after Ctrl-C, 2 for what cannot be done."""
    parser = parser_of("validate", __doc__)
    parser.add_argument("files", nargs="+", type=Path, metavar="RESULTS")
    parser.add_argument("--run", action="store_true", help="run what was measured again")
    parser.add_argument("--slack", type=float, default=1.3, metavar="RATIO", help="default: 1.3")
    options = parser.parse_args(arguments)
    return exit_code(lambda: _validate(options), "ended; the results behind were not looked at")


def _validate(options: Namespace) -> int:
    if not 1 <= options.slack < float("inf"):
        raise InputError(f"--slack: expected a number from 1 on, found {options.slack}")
    count = wrong = 0
    for place, said in check_results(options.files, options.slack if options.run else None):
        count += 1
        wrong += said is not None
        print(said or f"{place}: holds", flush=True)
    print(f"{count - wrong} of {count} hold")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
