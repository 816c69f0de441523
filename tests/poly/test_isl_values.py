"""Numbers and texts of isl's: right or refused, whenever its patience ends."""

import ast
from collections.abc import Callable
from importlib import import_module
from pathlib import Path

import islpy as isl
import pytest

import polygym
from polygym.codegen.common.bounding_boxes import BoundingBox
from polygym.codegen.pipeline import lower
from polygym.codegen.tree.analysis import trip_counts
from polygym.errors import InternalError, LimitError
from polygym.frontend import tc
from polygym.frontend.c import parse_text
from polygym.frontend.c.scop import translation
from polygym.frontend.c.source import parser
from polygym.ir.scop import Scop
from polygym.mapping.mapping import DEFAULT_MAPPING
from polygym.poly import distance, innermost, isl_values
from polygym.poly.dependences import _dependences, dependences
from polygym.poly.isl_budget import bounded_operations
from polygym.poly.legality import LegalSchedule, find_violation
from polygym.poly.schedule import ScheduleRow, parse_schedule
from polygym.poly.scheduling.baselines import original_schedule

DOOR = Path(isl_values.__file__)

# What gives None or 0 where isl's patience has ended, or cuts large numbers off.
ONLY_THERE = {"to_python", "to_str", "to_C_str", "get_num_si", "get_den_si", "count_val"}

ODD = "{ [i, j] : 0 <= i < 9 and i mod 3 = 1 and 2i < j < 3i }"

MATMUL = """
void matmul(int n, double A[n][n], double B[n][n], double C[n][n]) {
#pragma scop
  for (int i = 0; i < n; i++)
    for (int j = 0; j < n; j++)
      for (int k = 0; k < n; k++)
        C[i][j] += A[i][k] * B[k][j];
#pragma endscop
}
"""

STRIDED = """
void f(int n, double A[2 * n], double B[2 * n]) {
#pragma scop
  for (int i = 0; i < n; i += 2)
    for (int j = i; j < n; j++)
      B[2 * i] = B[j] + A[i + j];
#pragma endscop
}
"""


def test_nothing_else_asks_isl_for_numbers_and_texts() -> None:
    paths = [
        path
        for path in sorted(Path(polygym.__path__[0]).rglob("*.py"))
        if path != DOOR and any(name in path.read_text() for name in ONLY_THERE)
    ]
    uses = [
        f"{path}:{node.lineno}: {ast.unparse(node)}"
        for path in paths
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, ast.Attribute) and node.attr in ONLY_THERE
    ]
    assert uses == []


def under(operations: int, ask: Callable[[], object]) -> object:
    """Return the answer under a bound, None where there is none."""
    try:
        with bounded_operations("the question", operations):
            return ask()
    except LimitError:
        return None


def answers_of(ask: Callable[[], object]) -> list[object]:
    """Return the answers under many bounds, up to one that is large enough."""
    result = [under(operations, ask) for operations in range(1, 300)]
    operations = 300
    while result[-1] is None or operations < 2_000:
        result.append(under(operations, ask))
        operations += operations // 20
    return result


QUESTIONS: dict[str, Callable[[], object]] = {
    "integer": lambda: isl_values.to_int(isl.Val("12345678901234567890123")),
    "text": lambda: isl_values.isl_text(isl.Set(ODD)),
    "C": lambda: isl_values.isl_c_text(
        isl.AstBuild.from_context(isl.Set("[n] -> { : n > 2 }")).expr_from_pw_aff(
            isl.PwAff("[n] -> { [(n + floor(n / 3))] }")
        )
    ),
    "coefficients": lambda: isl_values.coefficients(
        isl.Aff("{ [i, j] -> [(2i - 3j + 5)] }"), isl.dim_type.in_
    ),
    "constant": lambda: isl_values.constant_term(isl.Aff("{ [i, j] -> [(2i - 3j + 5)] }")),
    "coordinates": lambda: isl_values.coordinates(isl.Set(ODD).lexmin().sample_point()),
    "lowest": lambda: isl_values.lowest_value(isl.Set(ODD), 1),
    "highest": lambda: isl_values.highest_value(isl.Set(ODD), 1),
    "length": lambda: isl_values.range_length(isl.Set(ODD), 0),
    "count": lambda: isl_values.count_points(isl.Set(ODD)),
    "is empty": lambda: isl.Set(ODD).subtract(isl.Set("{ [i, j] : j <= 2i }")).is_empty(),
    "is not empty": lambda: isl.Set(ODD).intersect(isl.Set("{ [i, j] : j > 21 }")).is_empty(),
    "is a subset": lambda: isl.Set(ODD).is_subset(isl.Set("{ [i, j] : j > 8 }")),
    "is no subset": lambda: isl.Set(ODD).is_subset(isl.Set("{ [i, j] : j > 9 }")),
    "is disjoint": lambda: isl.Set(ODD).is_disjoint(isl.Set("{ [i, j] : j < 9 }")),
    "is equal": lambda: isl.Set(ODD).is_equal(isl.Set(ODD).coalesce()),
    "is bounded": lambda: isl.Set(ODD).is_bounded(),
    "is single-valued": lambda: isl.Map("{ [i] -> [j] : 2j = i }").is_single_valued(),
    "points": lambda: sorted(map(str, points_of(isl.Set(ODD)))),
}


def points_of(values: isl.Set) -> list[isl.Point]:
    points: list[isl.Point] = []
    values.foreach_point(points.append)
    return points


@pytest.mark.parametrize("question", QUESTIONS)
def test_an_answer_is_right_or_refused_under_every_bound(question: str) -> None:
    ask = QUESTIONS[question]
    right = ask()
    answers = answers_of(ask)
    assert all(answer in (None, right) for answer in answers)
    assert answers[0] is None
    assert answers[-1] == right


def test_what_is_no_number_is_said() -> None:
    with pytest.raises(InternalError, match=r"expected an integer, found infty"):
        isl_values.highest_value(isl.Set("{ [i] : i > 3 }"), 0)
    with pytest.raises(InternalError, match=r"expected an integer, found 1/2"):
        isl_values.to_int(isl.Val("1/2"))
    with pytest.raises(InternalError, match=r"finitely many points"):
        isl_values.count_points(isl.Set("{ [i] : i > 3 }"))


@pytest.mark.parametrize("text", [MATMUL, STRIDED])
def test_the_box_of_a_domain_is_right_or_refused(text: str) -> None:
    statement = parse_text(text).statements[0]

    def ask() -> object:
        box = BoundingBox.of(statement, {"n": 7})
        return box.ranges, box.is_empty, sorted(box.points())

    right = ask()
    answers = answers_of(ask)
    assert all(answer in (None, right) for answer in answers)
    assert answers[0] is None
    assert answers[-1] == right


@pytest.mark.parametrize("text", [MATMUL, STRIDED])
def test_dependences_and_legality_are_right_or_refused(text: str) -> None:
    scop = parse_text(text)
    right = dependences(scop)
    iterators = scop.statements[0].iterators
    schedule = parse_schedule(f"{{ S0[{', '.join(iterators)}] -> [-{iterators[-1]}] }}", scop)
    violation = find_violation(scop, schedule)
    assert violation is not None

    def ask() -> object:
        _dependences.cache_clear()
        return dependences(scop)

    assert all(answer in (None, right) for answer in answers_of(ask))
    told = answers_of(lambda: find_violation(scop, schedule))
    assert all(answer in (None, violation) for answer in told)


@pytest.mark.parametrize("text", [MATMUL, STRIDED])
def test_what_is_remembered_is_right_whatever_was_refused_before(text: str) -> None:
    statement = parse_text(text).statements[0]
    width = statement.depth
    rows = [ScheduleRow(tuple(int(k == at) for k in range(width)), (0,), 0) for at in range(width)]
    remembered_ones = (innermost._innermost, innermost._step, innermost._subscripts)
    others = (
        innermost._is_convex,
        innermost.domain_equations,
        trip_counts._row_trip_count,
        trip_counts._corners,
    )

    def forget() -> None:
        for wrapper in (*remembered_ones, *others, distance._distance, isl_values.isl_value):
            wrapper.cache_clear()

    def ask() -> object:
        loop = innermost.innermost_loop(statement.domain, [row.iterators for row in rows])
        moved = [innermost.displacement(statement, read, loop) for read in statement.reads]
        return (
            loop,
            moved,
            [trip_counts.row_trip_count(statement, row, ["n"], {"n": 9}) for row in rows],
        )

    def tell() -> object:
        schedule_row, same = (
            ScheduleRow((1, *(0,) * (width - 1)), (2,), -3),
            ScheduleRow((0,) * width, (0,), 0),
        )
        (pairs, *_) = distance.all_pairs(parse_text(text))
        dependence_distance = pairs.distance(same, schedule_row, ("n",))
        told = (
            pairs.reversed_by(dependence_distance),
            pairs.unordered_by(dependence_distance),
            pairs.carried_by(dependence_distance),
        )
        return [isl_values.isl_text(each.points) for each in told]

    for question in (ask, tell):
        forget()
        right = question()
        forget()
        answers = answers_of(question)
        assert all(answer in (None, right) for answer in answers)
        assert answers[0] is None
        # Every bound anew: what one leaves behind must not hide what the next one does.
        for operations in [*range(1, 120), *range(120, 4000, 60)]:
            forget()
            assert under(operations, question) in (None, right)
            assert question() == right


def lowered(scop: Scop) -> object:
    return lower(LegalSchedule(scop, original_schedule(scop)), DEFAULT_MAPPING, {"n": 20}).body


@pytest.mark.parametrize("text", [MATMUL, STRIDED])
def test_loops_are_made_or_refused_under_every_bound(
    text: str,
) -> None:
    scop = parse_text(text)
    assert lowered(scop)
    outcomes = set()
    for operations in [*range(200, 20_000, 900), *range(20_000, 900_000, 80_000)]:
        outcomes.add(under(operations, lambda: lowered(scop)) is None)
    assert True in outcomes


def test_c_is_read_or_refused_under_every_bound(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(translation, "_OPERATIONS_PER_TOKEN", 0)
    right = parse_text(STRIDED)
    refused = 0
    for operations in range(10, 12_000, 130):
        monkeypatch.setattr(translation, "_MAX_OPERATIONS", operations)
        parser._cached_texts.clear()
        try:
            assert parse_text(STRIDED) == right
        except LimitError:
            refused += 1
    assert 0 < refused < 90


def test_comprehensions_are_read_or_refused_under_every_bound(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    (definition,) = tc.parse_definitions(
        "def f(float(N) A) -> (C) { C(i) +=! A(i + 2 * j) where j in 0:3 }"
    )
    module = import_module("polygym.frontend.tc.lowering.definitions")
    right = tc.lower_definition(definition)
    refused = 0
    for operations in range(10, 60_000, 600):
        monkeypatch.setattr(module, "_MOST_OPERATIONS", operations)
        try:
            assert tc.lower_definition(definition) == right
        except LimitError:
            refused += 1
    assert 0 < refused < 90
