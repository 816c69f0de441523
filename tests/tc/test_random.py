"""Random comprehensions against what they mean; random texts are refused, never crashed on."""

from contextlib import suppress

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from polygym.errors import InputError, SourceError
from polygym.frontend.tc import lower_definition, parse_definitions
from polygym.mapping.mapping import DEFAULT_MAPPING, SEQUENTIAL_MAPPING
from polygym.tc.comprehension import Comprehension
from tests.tc.oracle.interpreter import interpret
from tests.tc.oracle.interpreter_state import LARGEST, NoRange
from tests.tc.programs import TEXTS, arguments

WHOLE = ["bool", *(f"{sign}int{bits}" for sign in ("", "u") for bits in (8, 16, 32, 64))]
SIZES = {"M": 6, "N": 4, "K": 3}
GUARDS = (
    "i >= 1 && j < N", "i + k >= 1 && i + k <= M", "i < M", "i >= k && i - k < M", "j >= i",
    "i >= 1 && i <= M",
)  # fmt: skip


@st.composite
def subscripts(draw: st.DrawFn, indices: tuple[str, ...]) -> str:
    """Return a sum of one or two indices and a number."""
    terms = []
    for name in draw(st.lists(st.sampled_from(indices), min_size=1, max_size=2, unique=True)):
        factor = draw(st.sampled_from([1, 1, 1, 2]))
        terms.append(name if factor == 1 else f"{factor} * {name}")
    constant = draw(st.sampled_from([0, 0, 0, 1, -1]))
    text = " + ".join(terms)
    return text if not constant else f"{text} {'+' if constant > 0 else '-'} 1"


@st.composite
def comprehensions(draw: st.DrawFn) -> str:
    """Return a definition with one or two statements; many have no range."""
    tensors = {"A": ("M",), "B": ("M", "N"), "V": ("K",)}
    indices = ("i", "j", "k")

    def element() -> str:
        name = draw(st.sampled_from(sorted(tensors)))
        inside = ", ".join(subscript() for _ in tensors[name])
        return f"{name}({inside})"

    def subscript() -> str:
        if draw(st.integers(0, 4)):
            return draw(subscripts(indices))
        return draw(st.sampled_from(["J({})", "J({}) + 1", "1 - J({})", "J(J({}))"])).format(
            draw(subscripts(indices))
        )

    left = draw(st.lists(st.sampled_from(indices), min_size=0, max_size=2, unique=True))
    operands = [element() for _ in range(draw(st.integers(1, 3)))]
    value = draw(st.sampled_from([" + ", " * ", " - "])).join(operands)
    if draw(st.booleans()):
        guard = draw(st.sampled_from(GUARDS))
        value = f"{guard} ? {value} : {draw(st.sampled_from([element(), '2']))}"
    assign = draw(st.sampled_from(["+=!", "max=!", "min=!", "*=!", "="]))
    where = draw(st.lists(st.sampled_from(indices), max_size=2, unique=True))
    ends = [f"{name} in {draw(st.integers(0, 1))}:{draw(st.integers(2, 3))}" for name in where]
    target = f"O({', '.join(left)})" if left else "O"
    text = f"{target} {assign} {value}{' where ' * bool(ends)}{', '.join(ends)}"
    more = " P(i) = O(i) + V(i)" if len(left) == 1 and draw(st.booleans()) else ""
    outputs = "O, P" if more else "O"
    scalars = draw(st.sampled_from([("float",), ("double",), ("int",), tuple(WHOLE)]))
    parameters = ", ".join(
        f"{draw(st.sampled_from(scalars))}({', '.join(s)}) {n}" for n, s in tensors.items()
    )
    parameters += ", int(N) J"
    return f"def f({parameters}) -> ({outputs}) {{ {text}{more} }}"


@settings(max_examples=150, deadline=None, suppress_health_check=list(HealthCheck))
@given(comprehensions(), st.booleans(), st.integers(0, 3))
def test_random_comprehensions(text: str, plain: bool, seed: int) -> None:
    """What polygym accepts computes what it means; what it refuses has a place.

    It may refuse what works for these sizes alone: its ranges hold for all of them.
    """
    (definition,) = parse_definitions(text)
    given_arrays = arguments(definition, SIZES, {}, seed)
    try:
        returned = Comprehension(definition, SEQUENTIAL_MAPPING if plain else DEFAULT_MAPPING)(
            *given_arrays.values()
        )
    except InputError:
        return
    expected = interpret(definition, given_arrays, {})
    results = returned if isinstance(returned, tuple) else (returned,)
    for output, result in zip(definition.outputs, results, strict=True):
        assert result.shape == expected[output.name].shape
        if result.dtype.kind == "f":
            np.testing.assert_allclose(result, expected[output.name], rtol=1e-5)
        else:
            assert result.dtype == expected[output.name].dtype
            np.testing.assert_array_equal(result, expected[output.name])


def lower_all(text: str) -> None:
    for definition in parse_definitions(text):
        lower_definition(definition)


WORDS = st.sampled_from(
    [*"(){}:,?<>=!+-*/%.#", "def", "->", "float", "int", "(M)", "A(i)", "where", "in", "exists",
     "0", "1.5f", "+=!", "max=", "i", "j", "C", "&&", "||", " ", "\n", "\0", "é", "9" * 20]
)  # fmt: skip


@settings(max_examples=400, deadline=None)
@given(st.lists(WORDS, max_size=25).map(" ".join))
def test_garbage_is_refused_with_a_caret(text: str) -> None:
    with pytest.raises(SourceError):
        lower_all(text)


@settings(max_examples=300, deadline=None, suppress_health_check=list(HealthCheck))
@given(st.sampled_from(sorted(TEXTS)), st.data())
def test_damaged_texts_are_refused_or_taken(name: str, data: st.DataObject) -> None:
    text = TEXTS[name]
    for _ in range(data.draw(st.integers(1, 3))):
        place = data.draw(st.integers(0, len(text)))
        length = data.draw(st.integers(0, 4))
        inserted = data.draw(st.one_of(st.just(""), WORDS, st.text(max_size=2)))
        text = text[:place] + inserted + text[place + length :]
    with suppress(SourceError):
        lower_all(text)


@pytest.mark.parametrize(
    "text",
    [
        "def f(float A) -> (B) { B = " + "(" * 5000 + "A" + ")" * 5000 + " }",
        "def f(float A) -> (B) { B = " + "-" * 5000 + "A }",
        "def f(float A) -> (B) { B = " + " + ".join(["A"] * 5000) + " }",
        "def f(float A) -> (B) { B = " + "1" * 5000 + " }",
        "def f(float(" + "1" * 5000 + ") A) -> (B) { B(i) = A(i) }",
        "def f(float(M) A) -> (B) { B(i) = A(" + "i + " * 3000 + "1) }",
        "def f(float(M) A) -> (B) { B(i) = A(9999999999 * i) }",
        "def f(float(M) A) -> (B) { B(i) = A(i) where i in 0:99999999999999999 }",
        "def f(" + ", ".join(f"float(M{k}) A{k}" for k in range(300)) + ") -> (B) { B = 1 }",
    ],
    ids=range(9),
)
def test_what_is_too_much(text: str) -> None:
    with suppress(InputError):
        lower_all(text)


def test_the_oracle_has_no_range_where_there_is_none() -> None:
    (definition,) = parse_definitions("def f(float(M) A) -> (B) { B(i) +=! A(i + k) }")
    with pytest.raises(NoRange):
        interpret(definition, arguments(definition, {"M": LARGEST // 2}, {}), {})
