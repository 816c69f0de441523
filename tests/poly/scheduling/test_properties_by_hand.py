"""What schedules do to small programs, each worked out by hand."""

import pytest

from polygym.errors import LimitError
from polygym.frontend.c import parse_text
from polygym.ir.scop import Scop
from polygym.poly.innermost import AccessStride, InnermostLoop
from polygym.poly.isl_budget import bounded_operations
from polygym.poly.schedule import parse_schedule
from polygym.poly.scheduling.baselines import original_schedule
from polygym.poly.scheduling.properties import ScheduledLoop, schedule_properties
from tests.c_programs import SMALL_PROGRAMS, Y_AX


def test_y_ax_is_as_the_example_says() -> None:
    scop = parse_text(Y_AX)
    properties = schedule_properties(
        scop, parse_schedule("{ S[i] -> [0, i, 0]; T[i, j] -> [1, i, j] }", scop)
    )
    assert properties.carried == (0, 2)
    first, second = properties.statements
    assert first.parallel == (False, True, True)
    assert second.parallel == (False, True, False)
    assert properties.parallel == (False, True, False)
    assert first.loops == (ScheduledLoop(1, True),)
    assert second.loops == (ScheduledLoop(1, True), ScheduledLoop(2, False))
    assert (first.innermost, second.innermost) == (InnermostLoop((1,), 1), InnermostLoop((0, 1), 1))
    assert first.access_strides == (AccessStride.UNIT,)
    assert second.access_strides == (
        AccessStride.SAME,
        AccessStride.SAME,
        AccessStride.UNIT,
        AccessStride.UNIT,
    )
    assert (first.coefficient_bits, second.coefficient_bits) == (1, 3)


def program(text: str, arguments: str = "int n, double A[n][n], double B[n][n]") -> Scop:
    return parse_text(f"void f({arguments}) {{\n#pragma scop\n{text}\n#pragma endscop\n}}\n")


def test_a_loop_shared_with_a_recurrence_is_not_parallel() -> None:
    scop = program(
        "for (int i = 1; i < n; i++) {\nP: a[i] = a[i - 1];\nQ: b[i] = c[i];\n}",
        "int n, int a[n], int b[n], int c[n]",
    )
    fused = schedule_properties(scop, parse_schedule("{ P[i] -> [i, 0]; Q[i] -> [i, 1] }", scop))
    assert not fused.of("Q").parallel[0]
    split = schedule_properties(scop, parse_schedule("{ P[i] -> [0, i]; Q[i] -> [1, i] }", scop))
    assert split.of("Q").parallel == (True, True)
    assert split.of("P").parallel == (True, False)


def test_a_constant_among_loops_does_not_part_the_statements() -> None:
    scop = parse_text(SMALL_PROGRAMS["y_ax"])
    properties = schedule_properties(
        scop, parse_schedule("{ S[i] -> [i, 0, 0]; T[i, j] -> [i, j, 1] }", scop)
    )
    # S runs at j = 0 in T's loop j, which carries T -> T; the last row orders S and T there.
    assert properties.of("S").parallel == (True, False, False)
    assert properties.of("S").loops == (ScheduledLoop(0, True),)


def test_a_size_is_no_constant_that_parts_the_statements() -> None:
    scop = program(
        "for (int i = 1; i < n; i++) {\nP: a[i] = a[i - 1];\nQ: b[i] = c[i];\n}",
        "int n, int a[n], int b[n], int c[n]",
    )
    properties = schedule_properties(
        scop, parse_schedule("[n] -> { P[i] -> [n, i]; Q[i] -> [n + 1, i] }", scop)
    )
    assert properties.of("Q").parallel == (True, False)


def test_a_schedule_that_leaves_ties_gets_the_original_loops() -> None:
    scop = parse_text(SMALL_PROGRAMS["y_ax"])
    tied = schedule_properties(scop, parse_schedule("{ S[i] -> [0, 0]; T[i, j] -> [1, j] }", scop))
    assert tied.carried == (0, 1)
    assert tied.of("S").loops == (ScheduledLoop(None, True),)
    assert tied.of("T").loops == (ScheduledLoop(1, False), ScheduledLoop(None, True))
    assert tied.of("T").innermost == InnermostLoop((1, 0), 1)
    assert tied.of("T").access_strides[2] is AccessStride.FAR


def test_ties_that_matter_are_not_parallel() -> None:
    scop = parse_text(SMALL_PROGRAMS["y_ax"])
    illegal = schedule_properties(
        scop, parse_schedule("{ S[i] -> [0, i]; T[i, j] -> [1, i] }", scop)
    )
    assert illegal.carried == (0, None)
    assert illegal.of("T").loops == (ScheduledLoop(1, True), ScheduledLoop(None, False))
    assert illegal.of("S").loops == (ScheduledLoop(1, True),)


def test_an_illegal_schedule_has_properties_too() -> None:
    scop = parse_text(SMALL_PROGRAMS["y_ax"])
    reverse = schedule_properties(
        scop, parse_schedule("{ S[i] -> [1, i, 0]; T[i, j] -> [0, i, -j] }", scop)
    )
    assert reverse.carried == (0, 2)
    assert reverse.of("T").innermost == InnermostLoop((0, -1), 1)


def test_dependent_rows_are_no_loops() -> None:
    scop = parse_text(SMALL_PROGRAMS["y_ax"])
    properties = schedule_properties(
        scop, parse_schedule("{ S[i] -> [i, 0]; T[i, j] -> [i + 1, 2i + 2, i + j] }", scop)
    )
    assert [loop.dimension for loop in properties.of("T").loops] == [0, 2]
    assert properties.of("T").innermost == InnermostLoop((0, 1), 1)


def test_a_skewed_innermost_loop_runs_along_a_wavefront() -> None:
    scop = program("for (int i = 0; i < n; i++) for (int j = 0; j < n; j++) A[i][j] = B[j][i];")
    (properties,) = schedule_properties(
        scop, parse_schedule("{ S0[i, j] -> [2i + j, i] }", scop)
    ).statements
    assert properties.innermost == InnermostLoop((1, -2), 1)
    assert properties.access_strides == (AccessStride.FAR, AccessStride.FAR)


def test_the_equations_of_a_domain_take_part() -> None:
    scop = program(
        "for (int i = 0; i < n; i++) for (int j = 0; j < n; j++) if (i == j) A[i][j] = B[0][j];"
    )
    (properties,) = schedule_properties(scop, original_schedule(scop)).statements
    assert len(properties.loops) == 1
    assert properties.innermost == InnermostLoop((1, 1), 1)
    assert properties.access_strides == (AccessStride.FAR, AccessStride.UNIT)


@pytest.mark.parametrize(
    ("text", "step", "movement"),
    [
        ("for (int i = 0; i < n; i += 3) A[0][i] = 1;", 3, AccessStride.SHORT),
        ("for (int i = 0; i < n; i += 8) A[0][i] = 1;", 8, AccessStride.SHORT),
        ("for (int i = 0; i < n; i += 9) A[0][i] = 1;", 9, AccessStride.FAR),
        ("for (int i = 0; i < n; i++) A[i][0] = 1;", 1, AccessStride.FAR),
        ("for (int i = 0; i < n; i++) A[i % 2][0] = 1;", 1, AccessStride.FAR),
        ("for (int i = 0; i < n; i += 2) A[i % 2][0] = 1;", 2, AccessStride.SAME),
        ("for (int i = 0; i < n; i++) A[0][i / 2] = 1;", 1, AccessStride.UNIT),
        ("for (int i = 0; i < n; i += 2) A[0][i / 2] = 1;", 2, AccessStride.UNIT),
        ("for (int i = 0; i < n; i++) A[0][n - 1 - i] = 1;", 1, AccessStride.UNIT),
        ("for (int i = 0; 7 * i < n; i++) A[0][7 * i] = 1;", 1, AccessStride.SHORT),
    ],
)
def test_steps_and_movements(text: str, step: int, movement: AccessStride) -> None:
    scop = program(text)
    (properties,) = schedule_properties(scop, original_schedule(scop)).statements
    assert properties.innermost == InnermostLoop((1,), step)
    assert properties.access_strides == (movement,)


def test_wrapping_around_is_an_exception_to_the_movement() -> None:
    properties = schedule_properties(
        parse_text(SMALL_PROGRAMS["periodic"]),
        original_schedule(parse_text(SMALL_PROGRAMS["periodic"])),
    )
    assert properties.statements[0].access_strides == (AccessStride.UNIT,) * 4


def test_a_read_that_never_happens_does_not_move() -> None:
    scop = parse_text(SMALL_PROGRAMS["reads_that_never_happen"])
    properties = schedule_properties(scop, original_schedule(scop)).statements
    assert properties[1].access_strides[-1] is AccessStride.SAME
    # A[0] where i is 0, and nowhere else: never twice in a row.
    assert properties[2].access_strides == (AccessStride.UNIT, AccessStride.SAME, AccessStride.UNIT)


def test_a_read_that_happens_once_a_row_does_not_move() -> None:
    scop = program(
        "for (int i = 0; i < n; i++) for (int j = 0; j < n; j++)\nA[i][j] = i == j ? B[i][j] : 0.0;"
    )
    (properties,) = schedule_properties(
        scop, parse_schedule("{ S0[i, j] -> [j, i] }", scop)
    ).statements
    assert properties.access_strides == (AccessStride.FAR, AccessStride.SAME)


def test_without_loops_nothing_moves() -> None:
    scop = program("A[0][0] = B[0][0];")
    (properties,) = schedule_properties(scop, original_schedule(scop)).statements
    assert (properties.loops, properties.innermost) == ((), None)
    assert properties.access_strides == (AccessStride.SAME, AccessStride.SAME)


def test_the_work_is_bounded() -> None:
    scop = program("for (int i = 3; i < n; i++) A[0][i] = A[0][i - 3];")
    schedule = parse_schedule("{ S0[i] -> [i] }", scop)
    schedule_properties(
        scop, original_schedule(scop)
    )  # what is remembered of the program is not counted
    with pytest.raises(LimitError), bounded_operations("this test", operations=5):
        schedule_properties(scop, schedule)
