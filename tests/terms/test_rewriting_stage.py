"""Forms of a term that are timed before one is scheduled."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest

from polygym.errors import InputError
from polygym.terms.language.parser import parse_program
from polygym.terms.language.program import TermProgram
from polygym.terms.scheduling import rewriting_stage
from polygym.terms.scheduling.rewriting_stage import TermCandidate, rewrite_first

PROGRAM = parse_program(
    "(def f (Vec n Float) ((v : Vec n Float)) (build n (lam i (mul 2.0 (index i v)))))"
)
# How long its vector is, its elements say.
RAGGED = parse_program(
    "(def f (Vec n Float) ((v : Vec n Float)) (build n (lam i (sumbuild "
    "(if (gt (index i v) 0.0) 1 2) (lam j (if (eq j 0) (mul 2.0 (index i v)) 0.0))))))"
)


def test_a_form_without_code_is_left_out(monkeypatch: pytest.MonkeyPatch) -> None:
    def proposals(program: TermProgram, seconds: float) -> Iterator[Callable[[], TermCandidate]]:
        yield lambda: TermCandidate("ragged", RAGGED)
        yield lambda: TermCandidate("same", program.with_body(program.body))

    monkeypatch.setattr(rewriting_stage, "_proposals", proposals)
    stage = rewrite_first(PROGRAM, {"n": 20}, 10)
    source, ragged, *_ = stage.candidates
    assert source.seconds is not None
    assert source.failure == ""
    assert ragged.seconds is None
    assert ragged.failure
    assert stage.candidates[stage.chosen].search != "ragged"
    assert stage.validated_sizes is not None


def test_a_source_without_code_is_refused() -> None:
    with pytest.raises(InputError):
        rewrite_first(RAGGED, {"n": 20}, 2)
