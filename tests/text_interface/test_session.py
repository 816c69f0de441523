"""Sessions: replies, their statuses, the budget, and what a line changes."""

import re
from pathlib import Path

import numpy as np
import pytest

from polygym.poly.schedule import parse_schedule
from polygym.text_interface.commands import SYNTAX
from polygym.text_interface.session import (
    LONGEST_REPLY,
    Budget,
    ReplyStatus,
    SessionOptions,
    TextSession,
)
from polygym.transformations.parsing import parse_step
from polygym.transformations.state import IllegalStepError
from tests.text_interface.sessions import session_of, stencil_session
from tests.transformations.by_force import check_violation


def statuses(session: TextSession, *lines: str) -> list[str]:
    return [session.reply(line).status.value for line in lines]


def test_steps_change_the_state_and_questions_do_not() -> None:
    session = session_of("gemm")
    first = session.state
    questions = ("show", "steps", "steps tile", "check interchange L3 L4", "best", "help tile")
    assert statuses(session, *questions, "explain reverse L1", "measure") == ["ok"] * 8
    assert session.state is first
    reply = session.reply("interchange L3 L4")
    assert reply.text.startswith("done: interchange L3 L4\nL1: for (i = 0")
    assert session.state.schedule != first.schedule
    assert session.reply("undo").text.startswith("undone")
    assert session.state == first
    assert session.reply("undo").status is ReplyStatus.UNAVAILABLE


def test_an_illegal_step_is_explained_by_a_true_counterexample(tmp_path: Path) -> None:
    session = stencil_session(tmp_path)
    for line in ("interchange L1 L2", "tile L1 L2 8 8", "reverse L2"):
        before = session.state
        reply = session.reply(line)
        assert reply.status is ReplyStatus.ILLEGAL
        assert session.state is before
        assert "must come first; example with" in reply.text
        with pytest.raises(IllegalStepError) as caught:
            before.after(parse_step(line))
        assert caught.value.violation is not None
        assert str(caught.value.violation) in reply.text
        dependence = caught.value.violation.dependence
        for order in before.orders_of(parse_step(line)):
            if dependence is not None and str(caught.value.violation) in reply.text:
                check_violation(before.scop, order.tree.schedule, caught.value.violation)
                break
    assert "Try: skew L2 L1 1, then tile L1 L2 8 8" in session.reply("tile L1 L2 8 8").text
    explained = session.reply("explain interchange L1 L2")
    assert "Dependences before it:\nD0: S0 depends on S0" in explained.text


def test_a_step_without_a_meaning_is_refused_with_the_nearest() -> None:
    session = session_of("gemm")
    reply = session.reply("tile L1 L2 16 16")
    assert reply.status is ReplyStatus.UNAVAILABLE
    assert "expected a perfect nest" in reply.text
    assert "Legal now: tile L" in reply.text


def test_an_explanation_of_a_legal_step_shows_its_effect() -> None:
    session = session_of("gemm")
    text = session.reply("explain interchange L3 L4").text
    assert text.startswith("legal: interchange L3 L4: L3 and L4 change places: L4 is the outer")
    assert "; all dependences keep their order after it.\nIt would change:\nL1: for" in text
    assert "Distance: L1 0, L4 0, L3 1 or more. Kept by L3." in text
    text = session.reply("explain tile L3 L4 16 16").text
    assert "every order that it permits keeps all dependences" in text
    assert "Mapping: S1:tile=16x16x1" in text


def test_the_budget_ends_a_session() -> None:
    session = session_of("gemm", budget=Budget(evaluations=2, lines=9))
    assert statuses(session, "measure", "measure", "tile L1 8", "measure") == ["ok"] * 4
    assert session.is_over
    assert session.evaluations == 2  # the program that was known cost nothing
    assert session.reply("reverse L1").status is ReplyStatus.NO_BUDGET
    assert statuses(session, "show", "best", "stop") == ["ok"] * 3
    assert statuses(session, "measure", "show budget") == ["over", "ok"]
    lines = session_of("gemm", budget=Budget(lines=2))
    assert statuses(lines, "reverse L1", "reverse L2", "reverse L1") == ["ok", "ok", "no budget"]
    seconds = session_of("gemm", budget=Budget(seconds=1e-9))
    assert statuses(seconds, "reverse L1", "reverse L2") == ["ok", "no budget"]
    assert re.search(r"0\.0 s", seconds.show())


def test_the_best_is_kept() -> None:
    session = session_of("gemm")
    session.reply("measure")
    assert session.best is not None
    first = session.best
    session.reply("interchange L3 L4")
    session.reply("measure")
    assert session.best is first  # the innermost loop has strides now
    assert "Steps: none" in session.reply("best").text


def test_a_measurement_has_times_and_compares_outputs() -> None:
    session = session_of("gemm", reward="speedup")
    reply = session.reply("measure")
    assert re.match(r"ok: \d+\.\d{3} ms, the source \d+\.\d{3} ms, speedup \d", reply.text)
    assert session.last is not None
    assert session.last.evaluation is not None
    assert session.last.evaluation.is_ok
    session.forget_outcome()
    assert session.last is None
    assert session.history[-1].status is ReplyStatus.LIMIT


def test_forks_are_independent() -> None:
    session = session_of("gemm")
    session.reply("reverse L1")
    other = session.fork()
    other.reply("reverse L2")
    assert len(session.state.steps) == 1
    assert len(session.history) == 1
    assert len(other.history) == 2


def test_random_lines_have_replies_and_states_stay_legal() -> None:
    session = session_of("jacobi-1d", budget=Budget(10_000, lines=None))
    rng = np.random.default_rng(5)
    words = [
        *SYNTAX, "L1", "L2", "L3", "S0", "S1", "-1", "8", "shift", "depth", "before", "off",
        "{ S0[t, i] -> [t, 0, i]; S1[t, i] -> [t, 1, i] }", "{ S0[t,i] -> [i] }", "A=expand:t",
        "S0: i = 3", "tile=4", "threads=99", "\x1b[31m", "é", "2" * 50,
    ]  # fmt: skip
    words = [word for word in words if word not in ("stop", "measure")]
    for _ in range(600):
        reply = session.reply(" ".join(rng.choice(words, size=rng.integers(1, 6))))
        assert reply.text.isascii()
        assert "\x1b" not in reply.text
        assert len(reply.text) <= LONGEST_REPLY + 100
    state = session.state
    schedule = parse_schedule(str(state.schedule), state.scop)
    assert schedule == state.schedule


def test_options_of_a_session_are_those_of_the_measurement() -> None:
    options = SessionOptions()
    session = TextSession(session_of("gemm").problem, options)
    assert session.state.base == options.evaluation.mapping
    assert session.is_measured


def large_lines() -> list[str]:
    """Return lines with large numbers, long lists and deep brackets."""
    lines = []
    for digits in (5, 12, 18, 19, 20, 100, 4000):
        number = "9" * digits
        lines += [
            f"schedule {{ S0[i, j] -> [{number}i, 0, j, 0]; S1[i, k, j] -> [{number}i, 1, k, j] }}",
            "show", "steps", "tile L3 L4 8 8", "explain tile L1 32",
            f"schedule {{ S0[i, j] -> [i + {number}, 0, j, 0]; S1[i, k, j] -> [i, 1, k, j] }}",
            "show dependences", "measure", f"split S0: i = {number}", f"split S0: {number}i = j",
            f"skew L1 L2 {number}", f"tile L1 {number}", f"mapping tile={number}",
            f"store C=expand:i%{number}", "undo",
        ]  # fmt: skip
    return [
        *lines,
        "schedule { S0[i, j] -> [floor(i/3), i, j]; S1[i,k,j] -> [i,k,j] }",
        f"schedule {{ S0[i, j] -> [{'(' * 3000}i{')' * 3000}, 0, j, 0]; S1[i, k, j] -> [i] }}",
        "schedule " + "{" * 5000,
        f"split S0: {', '.join(f'i = {k}' for k in range(500))}",
        f"tile {'L1 ' * 300} {'4 ' * 300}",
        f"mapping {' '.join(f'S0:tile={k}' for k in range(1000))}",
    ]


def test_large_texts_have_replies() -> None:
    session = session_of("gemm", budget=Budget(100, lines=None))
    for line in large_lines():
        reply = session.reply(line)
        assert len(reply.text) <= LONGEST_REPLY + 100
    assert session.reply("show").status is ReplyStatus.OK
