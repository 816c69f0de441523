"""The scripted agent: it reads replies, takes repairs, and keeps what is faster."""

import re
from pathlib import Path

import numpy as np

from polygym.text_interface.hill_climbing import climb
from polygym.text_interface.session import Budget, TextSession
from tests.text_interface.sessions import session_of, stencil_session


def talker(session: TextSession) -> tuple[list[str], object]:
    """Return the lines that are sent, and the function that sends them."""
    lines: list[str] = []

    def talk(line: str) -> tuple[str, str]:
        lines.append(line)
        reply = session.reply(line)
        return reply.status.value, reply.text

    return lines, talk


def test_a_climb_ends_with_its_best_program() -> None:
    session = session_of("gemm", reward="model", budget=Budget(12))
    lines, talk = talker(session)
    end = climb(talk, np.random.default_rng(0))  # type: ignore[arg-type]
    assert lines[-1] == "stop"
    assert session.best is not None
    first = next(entry.judgement for entry in session.history if entry.judgement)
    assert end.worth >= round(first.worth, 4)
    assert tuple(map(str, session.state.steps)) == (*end.steps, "stop")
    assert session.evaluations <= 12


def test_a_climb_takes_repairs(tmp_path: Path) -> None:
    session = stencil_session(tmp_path, budget=Budget(12))
    lines, talk = talker(session)
    climb(talk, np.random.default_rng(0))  # type: ignore[arg-type]
    place = lines.index("check tile L1 L2 32 32")
    assert lines[place + 1 : place + 3] == ["skew L2 L1 1", "tile L1 L2 32 32"]


def test_a_seed_fixes_the_lines(tmp_path: Path) -> None:
    every = []
    for seed in (0, 0, 1):
        lines, talk = talker(stencil_session(tmp_path, budget=Budget(8)))
        climb(talk, np.random.default_rng(seed))  # type: ignore[arg-type]
        every.append(lines)
    assert every[0] == every[1] != every[2]


def test_a_measured_climb_ends_with_a_right_program() -> None:
    session = session_of("mvt", reward="speedup", budget=Budget(4))
    _, talk = talker(session)
    end = climb(talk, np.random.default_rng(0))  # type: ignore[arg-type]
    assert end.worth > 0
    assert re.match(r"stopped; the program as it is: ok", session.reply("show").text) is None
    assert session.final_judgement is not None
    assert session.final_judgement.is_ok
