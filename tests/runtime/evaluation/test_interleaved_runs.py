"""Runs in turn, with a session that is told what every program takes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from types import SimpleNamespace
from typing import Any, cast

import pytest

from polygym.runtime.evaluation import measurement_rule as module
from polygym.runtime.evaluation.measurement_rule import InterleavedRuns
from polygym.runtime.worker.outcome import Crash, Ok, Outcome
from polygym.runtime.worker.problem import CompiledProgram
from polygym.runtime.worker.timing import ONCE, MeasureOptions
from polygym.runtime.worker.worker import Session

FAST, SLOW, LONG, BROKEN, ORIGINAL = (
    CompiledProgram(name, ()) for name in (b"fast", b"slow", b"long", b"broken", b"original")
)
CRASH = Crash(11, "SIGSEGV")


@dataclass
class Pretender:
    """Takes note of what is run, alone or in turn."""

    seconds: dict[CompiledProgram, float]
    ran: list[tuple[bytes, ...]] = field(default_factory=list)
    options: list[MeasureOptions] = field(default_factory=list)
    rounds: int = 0

    @property
    def baseline(self) -> Ok:
        return Ok((1.0,))

    @property
    def problem(self) -> Any:
        return SimpleNamespace(original=ORIGINAL)

    def outcome(self, program: CompiledProgram) -> Outcome:
        return CRASH if program is BROKEN else Ok((self.seconds[program],))

    def measure(self, program: CompiledProgram, options: MeasureOptions) -> Outcome:
        self.ran.append((program.object_code,))
        self.options.append(options)
        return self.outcome(program)

    def measure_together(
        self, programs: Sequence[CompiledProgram], rounds: int, options: MeasureOptions
    ) -> list[Outcome]:
        self.ran.append(tuple(compiled_program.object_code for compiled_program in programs))
        self.rounds = rounds
        return [self.outcome(program) for program in programs]


class Clock:
    """Shows what it is told."""

    now = 1000.0

    def monotonic(self) -> float:
        return self.now


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    """Return the clock by which the original's time ages."""
    clock = Clock()
    monkeypatch.setattr(module, "time", clock)
    return clock


@pytest.fixture
def session() -> Pretender:
    """Return a session in which the original takes another time than when it was opened."""
    return Pretender({FAST: 0.5, SLOW: 1.6, LONG: 2.0, ORIGINAL: 1.2})


@pytest.fixture
def turns(session: Pretender, clock: Clock) -> InterleavedRuns:
    return InterleavedRuns(cast("Session", session), 10.0)


def test_one_that_may_be_faster_runs_in_turn(turns: InterleavedRuns, session: Pretender) -> None:
    assert turns.measure(FAST, None) == (Ok((0.5,)), Ok((1.2,)))
    assert session.ran == [(b"fast",), (b"original", b"fast")]
    assert session.rounds == 3


def test_one_that_is_slower_is_left_at_its_look(turns: InterleavedRuns, session: Pretender) -> None:
    assert turns.measure(SLOW, None) == (Ok((1.6,)), Ok((1.0,)))
    assert turns.measure(BROKEN, None) == (CRASH, Ok((1.0,)))
    assert session.ran == [(b"slow",), (b"broken",)]


def test_a_time_taken_in_turn_is_that_of_the_next_look(
    turns: InterleavedRuns, session: Pretender
) -> None:
    turns.measure(FAST, None)
    turns.measure(SLOW, None)  # 1.6 is less than one and a half times 1.2
    assert session.ran[-1] == (b"original", b"slow")


def test_the_original_s_time_is_taken_again(
    turns: InterleavedRuns, session: Pretender, clock: Clock
) -> None:
    clock.now += 29
    assert turns.measure(LONG, None)[1] == Ok((1.0,))
    clock.now += 2
    assert turns.measure(LONG, None)[1] == Ok((1.2,))
    assert session.ran == [(b"long",), (b"long",), (b"original",)]
    clock.now += 31  # it lasts 36 s now
    turns.measure(LONG, None)
    assert session.ran[3:] == [(b"long",)]


def test_an_original_that_fails_leaves_the_time_there_was(
    turns: InterleavedRuns, session: Pretender, monkeypatch: pytest.MonkeyPatch, clock: Clock
) -> None:
    usual = session.outcome
    monkeypatch.setattr(session, "outcome", lambda p: CRASH if p is ORIGINAL else usual(p))
    assert turns.measure(FAST, None) == (Ok((0.5,)), Ok((1.0,)))
    clock.now += 31
    assert turns.measure(LONG, None)[1] == Ok((1.0,))


def test_of_several_those_run_together_that_are_worth_it(
    turns: InterleavedRuns, session: Pretender
) -> None:
    programs = {3: LONG, 5: FAST, 7: BROKEN, 9: SLOW}
    outcomes, original = turns.measure_together(programs, 4)
    # What is left out is so beside the original's time at the beginning, which is 1.
    assert outcomes == {3: Ok((2.0,)), 5: Ok((0.5,)), 7: CRASH, 9: Ok((1.6,))}
    assert original == Ok((1.2,))
    assert session.ran == [(b"long",), (b"fast",), (b"broken",), (b"slow",), (b"original", b"fast")]
    assert session.rounds == 4
    assert {options.repetition for options in session.options} == {ONCE}


def test_a_single_one_runs_without_a_glance(turns: InterleavedRuns, session: Pretender) -> None:
    assert turns.measure_together({0: BROKEN}, 2) == ({0: CRASH}, Ok((1.2,)))
    assert session.ran == [(b"original", b"broken")]
