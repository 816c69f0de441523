"""Values of #if conditions, beside gcc's preprocessor."""

from __future__ import annotations

import random
import re
import subprocess
from pathlib import Path

import pytest

from polygym.errors import SourceError
from polygym.frontend.c.source.condition_value import ConditionError, condition_value
from polygym.frontend.c.source.preprocessor import preprocess

_CONSTANTS = (
    "0", "1", "2", "3", "7", "-1", "-7", "63", "64", "65", "1u", "3u", "0u", "5UL", "9ll", "0x10",
    "0b101", "017", "0x7fffffffffffffff", "0x8000000000000000", "0xFFFFFFFFFFFFFFFF",
    "9223372036854775807", "9223372036854775808u", "'a'", "'\\0'", "'\\377'", "'\\x41'", "'ab'",
    "L'x'", "u'x'", "nothing",
)  # fmt: skip
_OPERATORS = (
    "+", "-", "*", "/", "%", "<<", ">>", "<", "<=", ">", ">=", "==", "!=", "&", "|", "^", "&&",
    "||",
)  # fmt: skip


def some_condition(rng: random.Random, depth: int) -> str:
    """Return a condition, with parentheses or without."""
    if depth == 0 or rng.random() < 0.15:
        return rng.choice(_CONSTANTS)
    kind = rng.random()
    part = lambda: some_condition(rng, depth - 1)  # noqa: E731
    if kind < 0.15:
        return f"{rng.choice('-+~!')} {part()}"
    if kind < 0.3:
        return f"{part()} ? {part()} : {part()}"
    if kind < 0.5:
        return f"({part()})"
    return f"{part()} {rng.choice(_OPERATORS)} {part()}"


def value_or_none(text: str) -> int | None:
    try:
        return condition_value(text)
    except ConditionError:
        return None


def constant(value: int) -> str:
    """Return C's text of a value; the least one has no constant of its own."""
    if value > 2**63 - 1:
        return f"{value}u"
    return "(-9223372036854775807 - 1)" if value == -(2**63) else f"({value})"


def gcc_agrees(folder: Path, conditions: dict[str, int | None]) -> list[str]:
    """Return the conditions whose value gcc has another one of, or no error for."""
    lines = []
    for text, value in conditions.items():
        wanted = constant(value or 0)
        lines += [f"#if ({text}) == {wanted}", "SAME", "#else", "OTHER", "#endif"]
    file = folder / "conditions.c"
    file.write_text("\n".join(lines) + "\n")
    done = subprocess.run(
        ["gcc", "-E", "-P", "-w", str(file)], capture_output=True, text=True, check=False
    )
    refused = {int(line) for line in re.findall(r"conditions\.c:(\d+):\d+: error", done.stderr)}
    answers = iter(done.stdout.split())
    wrong = []
    for number, (text, value) in enumerate(conditions.items()):
        answer = next(answers)
        is_refused = 5 * number + 1 in refused
        if is_refused != (value is None) or (not is_refused and answer != "SAME"):
            wrong.append(f"{text}: {value}, gcc {'refuses' if is_refused else answer}")
    return wrong


@pytest.mark.parametrize("seed", range(12))
def test_as_gcc_has_them(tmp_path: Path, seed: int) -> None:
    rng = random.Random(seed)
    texts = {some_condition(rng, 4) for _ in range(400)}
    conditions = {text: value_or_none(text) for text in sorted(texts)}
    assert sum(value is not None for value in conditions.values()) > 200
    assert gcc_agrees(tmp_path, conditions) == []


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("-7 % 3", -1),
        ("-7 / 2", -3),
        ("-1 > 0u", 1),
        ("0xFFFFFFFFFFFFFFFF > 0", 1),
        ("1 ? 2 ? 3 : 4 : 5", 3),
        ("0 ? 1 : 0 ? 2 : 3", 3),
        ("0 && 1 / 0", 0),
        ("1 || 1 % 0", 1),
        ("1 ? 2 : 1 / 0", 2),
        ("(1 ? -1 : 0u) > 0", 1),
        ("~0u == 0xFFFFFFFFFFFFFFFF", 1),
        ("1 << 2 << 3", 32),
        ("2 - 3 - 4", -5),
        ("1'000 == 1000", 1),
        ("true", 0),
    ],
)
def test_by_hand(text: str, value: int) -> None:
    assert condition_value(text) == value


def test_words_of_cpp() -> None:
    assert condition_value("not 0 and true", is_cpp=True) == 1
    assert condition_value("1 not_eq 1 or compl 0 bitand 4", is_cpp=True) == 1
    with pytest.raises(ConditionError):
        condition_value("1 and 1")


@pytest.mark.parametrize(
    ("condition", "said"),
    [
        ("1 / 0", "division by zero"),
        ("1 +", "expected an operand"),
        ("(1", "expected '\\)'"),
        ("1 2", "expected the end or an operator, found '2'"),
        ("1.5 > 1", "expected an integer, found 1.5"),
        ("08", "octal"),
        ("MINE(3)", "MINE is no macro, and is called"),
        ("1 @ 2", "unexpected '@'"),
        ("99999999999999999999", "64 bits"),
    ],
)
def test_what_is_no_condition(condition: str, said: str) -> None:
    with pytest.raises(ConditionError, match=said):
        condition_value(condition)
    with pytest.raises(SourceError, match="Could not evaluate expression due to ") as caught:
        preprocess(f"int a;\n#if {condition}\nint b;\n#endif\n", "x.c")
    assert caught.value.location.line == 2


def test_branches_that_a_file_takes() -> None:
    text = (
        "#define N (-7)\n#if N % 3 == -1 && (N > 0 ? 0 : N < -10 ? 0 : 1)\nint taken;\n#else\n"
        "int other;\n#endif\n#if 0xFFFFFFFFFFFFFFFF > 0\nint large;\n#endif\n"
    )
    source, _ = preprocess(text, "x.c")
    words = [token.text for token in source.tokens]
    assert words == ["int", "taken", ";", "int", "large", ";"]
