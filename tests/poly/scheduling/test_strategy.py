"""Strategies: values with a text, and schedules that have the shape which was asked for."""

from itertools import product

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from polygym.errors import InputError
from polygym.frontend.c import parse_text
from polygym.ir.scop import Scop
from polygym.poly.legality import is_legal
from polygym.poly.schedule import Schedule
from polygym.poly.scheduling.baselines import isl_schedule, original_schedule, schedule_by
from polygym.poly.scheduling.strategy import (
    AUTO,
    ISL,
    ORIGINAL,
    Algorithm,
    Fusion,
    IslOptions,
    ScheduleStrategy,
    is_strategy,
    parse_strategy,
)
from polygym.programs import load_scop
from polygym.programs.generate import generate_source
from tests.c_programs import SMALL_PROGRAMS, kernel_scop
from tests.renamed_programs import labelled, renamed, reversing

RESTRICTED = [
    IslOptions(fusion, skew, negative)
    for fusion, skew, negative in product(Fusion, (True, False), (True, False))
    if not (skew and negative)
]

ANY = st.one_of(
    st.sampled_from((ORIGINAL, AUTO)),
    st.builds(
        IslOptions,
        st.sampled_from(Fusion),
        st.booleans(),
        st.booleans(),
        st.sampled_from(Algorithm),
        st.sampled_from([-1, 1, 20]),
        st.sampled_from([-1, 1, 20]),
    ),
)


@given(ANY)
@settings(deadline=None)
def test_they_print_and_parse(strategy: ScheduleStrategy) -> None:
    assert parse_strategy(str(strategy)) == strategy
    assert is_strategy(str(strategy))


def test_texts() -> None:
    assert (str(ISL), str(ORIGINAL), str(AUTO)) == ("isl", "original", "auto")
    strategy = parse_strategy("isl, fusion=maximum skew=on skew=off coefficient=any")
    assert strategy == IslOptions(Fusion.MAXIMUM, skew=False, coefficient=-1)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "expected original, auto, or isl"),
        ("pluto", "expected original, auto, or isl .* found 'pluto'"),
        ("original skew=off", "nothing behind original, found 'skew=off'"),
        ("auto fusion=minimum", "nothing behind auto, found 'fusion=minimum'"),
        ("isl skew", "one of fusion=..., skew=.* found 'skew'"),
        ("isl tile=3", "one of fusion=..., .* found 'tile=3'"),
        ("isl skew=no", "on or off for skew, found 'no'"),
        ("isl fusion=some", "balanced, maximum, minimum or parallel for fusion, found 'some'"),
        ("isl coefficient=-2", "a number or any for coefficient, found '-2'"),
        ("isl coefficient=0", "coefficient: expected 1 to"),
        ("isl constant=99999999999999", "a number or any for constant"),
    ],
)
def test_what_is_not_understood(text: str, said: str) -> None:
    with pytest.raises(InputError, match=said):
        parse_strategy(text)


@pytest.mark.parametrize("arguments", [{"fusion": "maximum"}, {"skew": 0}, {"constant": True}])
def test_values_that_make_no_sense(arguments: dict[str, object]) -> None:
    with pytest.raises(InputError, match="expected"):
        IslOptions(**arguments)  # type: ignore[arg-type]


def check_shape(schedule: Schedule, options: IslOptions) -> None:
    """Check the definition of what was asked for, row by row."""
    for part in schedule.statements:
        for row in part.rows:
            if not options.skew:
                assert [abs(iterator) for iterator in row.iterators if iterator] in ([], [1]), (
                    schedule
                )
            if not options.negative:
                assert all(iterator >= 0 for iterator in row.iterators + row.parameters), schedule


@pytest.mark.rotates
@pytest.mark.parametrize("options", RESTRICTED, ids=str)
@pytest.mark.parametrize(
    "name",
    ["atax", "lu", "jacobi-1d", "seidel-2d", "gramschmidt", "floyd-warshall", "tc:average_pool"],
)
def test_shapes_on_kernels(name: str, options: IslOptions) -> None:
    scop = load_scop(name) if name.startswith("tc:") else kernel_scop(name)
    schedule = isl_schedule(scop, options)
    assert is_legal(scop, schedule)
    check_shape(schedule, options)


# The others take isl seconds.
@pytest.mark.parametrize("name", sorted({*SMALL_PROGRAMS} - {"time_tiled", "six_deep"}))
def test_shapes_on_small_programs(name: str) -> None:
    scop = parse_text(SMALL_PROGRAMS[name])
    for options in RESTRICTED:
        try:
            schedule = isl_schedule(scop, options)
        except InputError:
            # Only where the order of the text itself has no such shape.
            with pytest.raises(AssertionError):
                check_shape(original_schedule(scop), options)
            continue
        assert is_legal(scop, schedule)
        check_shape(schedule, options)


def test_without_skewing_a_stencil_runs_step_by_step() -> None:
    scop = kernel_scop("jacobi-1d")
    assert "2t + i" in str(isl_schedule(scop))
    assert texts(scop, "isl skew=off") == ["t, 0, i", "t, 1, i"]
    assert texts(scop, "isl fusion=maximum skew=off") == ["t, i, 0", "t, i + 1, 1"]


def test_maximum_fusion_that_needs_skewing_is_left() -> None:
    """A transposed product after a product: one nest if it is skewed, as here i and j meet."""
    scop = kernel_scop("atax")
    assert any("i + j" in text for text in texts(scop, "isl fusion=maximum"))
    assert not any("i + j" in text for text in texts(scop, "isl fusion=maximum skew=off"))


MIRRORED = """
void f(int n, int A[n][n], int B[n][n]) {
#pragma scop
  for (int i = 0; i < n; i++)
    for (int j = 0; j < n; j++)
      A[i][j] = i + 1;
  for (int i = 0; i < n; i++)
    for (int j = 0; j < n; j++)
      B[i][j] = A[i][n - 1 - j];
#pragma endscop
}
"""


def test_negative_coefficients_are_found_and_left_out() -> None:
    scop = parse_text(MIRRORED)
    assert texts(scop, "isl") == ["i, -j + n, 0", "i, j + 1, 1"]
    assert texts(scop, "isl skew=off") == texts(scop, "isl")  # a reversed loop is not skewed
    assert texts(scop, "isl negative=off") == ["0, i, j", "1, i, j"]


def test_a_downward_loop_has_no_such_schedule() -> None:
    scop = parse_text(SMALL_PROGRAMS["downward"])
    with pytest.raises(InputError, match=r"no schedule for f with non-negative coefficients"):
        schedule_by(parse_strategy("isl negative=off"), scop)


def test_fusion() -> None:
    scop = load_scop("tc:mlp1")
    first = {
        fusion: isl_schedule(scop, IslOptions(fusion)).statements[0].rows[0] for fusion in Fusion
    }
    assert [choice for choice in Fusion if not first[choice].is_constant] == [Fusion.MAXIMUM]
    assert len({isl_schedule(scop, IslOptions(choice)) for choice in Fusion}) == 3


def texts(scop: Scop, strategy: str) -> list[str]:
    schedule = schedule_by(parse_strategy(strategy), scop)
    return [
        ", ".join(row.text(part.iterators, schedule.parameters) for row in part.rows)
        for part in schedule.statements
    ]


@pytest.mark.parametrize(
    "options", [ISL, IslOptions(Fusion.MAXIMUM), IslOptions(skew=False, negative=False)]
)
@pytest.mark.parametrize("seed", [0, 4, 9, 13])
def test_labels_say_nothing(seed: int, options: IslOptions) -> None:
    text = generate_source(seed)
    first = isl_schedule(parse_text(text), options)
    for beginning in ("S", "zz", "label"):
        names = [schedule.statement for schedule in first.statements]
        other = renamed(labelled(text), reversing(names, beginning))
        second = isl_schedule(parse_text(other), options)
        assert [statement_schedule.rows for statement_schedule in second.statements] == [
            statement.rows for statement in first.statements
        ]
        assert [statement.statement for statement in second.statements] != names
        assert is_legal(parse_text(other), second)
