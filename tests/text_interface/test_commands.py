"""Commands: every text is read back, and what is no command is refused with the expected form."""

import re

import numpy as np
import pytest

from polygym.errors import InputError
from polygym.text_interface.commands import (
    LONGEST_LINE,
    SYNTAX,
    Best,
    Check,
    Explain,
    Help,
    Measure,
    Part,
    Show,
    Steps,
    is_step,
    parse_command,
)
from polygym.text_interface.help_text import help_text
from polygym.transformations.candidates import candidate_steps
from polygym.transformations.parsing import parse_step
from polygym.transformations.steps import KEYWORDS, STEP_TYPES
from tests.text_interface.sessions import session_of
from tests.transformations.by_force import walk_states

QUERIES = (
    *map(Show, Part),
    *(Steps(kind) for kind in ("", *KEYWORDS)),
    *(Help(topic) for topic in ("", *SYNTAX)),
    Measure(),
    Best(),
)


@pytest.mark.parametrize("query", QUERIES, ids=str)
def test_queries_are_read_back(query: object) -> None:
    assert parse_command(str(query)) == query
    assert not is_step(parse_command(str(query)))


@pytest.mark.parametrize("kind", STEP_TYPES, ids=lambda kind: kind.__name__)
def test_examples_of_steps_are_read_back(kind: type) -> None:
    step = parse_step(kind.example)  # type: ignore[attr-defined]
    for command in (step, Explain(step), Check(step)):
        assert parse_command(str(command)) == command
        assert parse_command(f"  {'   '.join(str(command).split(' '))} ") == command
    assert is_step(step)


@pytest.mark.parametrize("program", ["gemm", "jacobi-2d", "lu"])
def test_steps_of_random_states_are_read_back(program: str) -> None:
    session = session_of(program)
    for state in walk_states(session.state, np.random.default_rng(0), 4):
        for step in candidate_steps(state):
            assert str(parse_command(str(step))) == str(step)
            assert parse_command(f"check {step}") == Check(parse_step(str(step)))


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("", "found an empty line"),
        ("tilee L1 8", "did you mean: tile LOOP"),
        ("Show", "did you mean: show"),
        ("show loops", "expected one of all, program"),
        ("show program now", "expected one part"),
        ("steps tilt", "expected one of stop"),
        ("help me", "expected one of show"),
        ("check", "expected a step, found nothing; the form is: check STEP"),
        ("explain show", "a step: expected one of"),
        ("measure twice", "measure: expected nothing more, found 'twice'"),
        ("tile L1", "the form is: tile LOOP… SIZE…, for example: tile L1 L2 32 64"),
        ("fuse L1", "the form is: fuse NODE NODE"),
        ("interchange L1 L2\ninterchange L2 L3", "expected one line"),
        ("x" * (LONGEST_LINE + 1), f"expected at most {LONGEST_LINE} characters"),
    ],
)
def test_other_lines_are_refused_with_the_form(line: str, said: str) -> None:
    with pytest.raises(InputError, match=re.escape(said)) as caught:
        parse_command(line)
    assert len(str(caught.value)) < 600


def test_random_lines_are_commands_or_refused() -> None:
    rng = np.random.default_rng(1)
    words = [*SYNTAX, "L1", "S0", "-1", "32", "depth", "shift", "before", "off", "{", "\x00", "é"]
    for _ in range(3000):
        line = " ".join(rng.choice(words, size=rng.integers(0, 7)))
        try:
            command = parse_command(line)
        except InputError:
            continue
        assert parse_command(str(command)) == command


def test_help_has_every_command_with_its_form() -> None:
    listed = help_text()
    for word, syntax in SYNTAX.items():
        assert syntax.split("…")[0] in listed
        text = help_text(word)
        assert text.startswith(syntax.split("…")[0])
        assert text.isascii()
        assert "``" not in text
