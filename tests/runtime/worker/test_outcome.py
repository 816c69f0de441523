"""Outcomes are values: they print, compare, and survive JSON."""

import json

import pytest

from polygym.runtime.worker.outcome import (
    Crash,
    DoesNotCompile,
    Ok,
    Outcome,
    OutcomeStatus,
    OutOfMemory,
    OutOfRange,
    ProblemError,
    Timeout,
    WrongOutput,
    crash_from_exit,
    outcome_from_json,
    outcome_to_json,
)

EXAMPLES: list[Outcome] = [
    Ok((0.25, 0.125, 1e-9)),
    WrongOutput("A", 7, "1.0", "nan (0x7ff8000000000000)", (0.5,)),
    Timeout(2.5),
    Crash(11, "SIGSEGV"),
    DoesNotCompile("no such symbol"),
    OutOfMemory("too big"),
    OutOfRange("no such row"),
]


@pytest.mark.parametrize("outcome", EXAMPLES, ids=lambda outcome: outcome.status.value)
def test_outcome_survives_json(outcome):
    text = json.dumps(outcome_to_json(outcome), allow_nan=False)
    assert outcome_from_json(json.loads(text)) == outcome


def test_every_status_has_one_outcome():
    assert [outcome.status for outcome in EXAMPLES] == list(OutcomeStatus)


@pytest.mark.parametrize("outcome", EXAMPLES, ids=lambda outcome: outcome.status.value)
def test_text_begins_with_the_status(outcome):
    assert str(outcome).startswith(outcome.status.value)
    assert "\n" not in str(outcome)


def test_best_is_the_smallest_sample():
    assert Ok((3.0, 1.0, 2.0)).best == 1.0


@pytest.mark.parametrize(
    ("code", "crash"),
    [
        (-6, Crash(6, "SIGABRT")),
        (-40, Crash(40, "signal 40")),
        (0, Crash(0, "exit with status 0")),
    ],
)
def test_crash_is_named_after_the_exit_code(code, crash):
    assert crash_from_exit(code) == crash


def test_problem_error_says_stage_and_outcome():
    error = ProblemError("original program", Crash(8, "SIGFPE"))
    assert error.outcome == Crash(8, "SIGFPE")
    assert str(error) == "original program: expected it to run, found crash: SIGFPE"
