"""The order of the coefficients in a point, and the way there and back."""

import pytest

from polygym.frontend.c import parse_text
from polygym.poly.schedule import ScheduleRow
from polygym.poly.scheduling.baselines import original_schedule
from polygym.poly.spaces.coordinates import Coordinate, CoordinateKind, CoordinateLayout
from tests.c_programs import SMALL_PROGRAMS, Y_AX


def test_the_layout_of_y_ax() -> None:
    layout = CoordinateLayout.of(parse_text(Y_AX))
    assert layout.width == 7
    assert [
        (coordinate.statement, coordinate.kind, coordinate.index)
        for coordinate in layout.coordinates()
    ] == [
        ("S", CoordinateKind.ITERATOR, 0),
        ("T", CoordinateKind.ITERATOR, 0),
        ("T", CoordinateKind.ITERATOR, 1),
        ("S", CoordinateKind.PARAMETER, 0),
        ("T", CoordinateKind.PARAMETER, 0),
        ("S", CoordinateKind.CONSTANT, 0),
        ("T", CoordinateKind.CONSTANT, 0),
    ]
    point = layout.point({"S": ScheduleRow((1,), (4,), 6), "T": ScheduleRow((2, 3), (5,), 7)})
    assert point == (1, 2, 3, 4, 5, 6, 7)


def test_statements_stand_in_the_order_of_their_names() -> None:
    scop = parse_text(
        "void f(int n, int A[n]) {\n#pragma scop\nfor (int i = 0; i < n; i++) {\n"
        "B: A[i] = 1;\nS10: A[i] += 2;\nC: A[i] += 3;\nS2: A[i] += 4;\n}\n#pragma endscop\n}\n"
    )
    assert CoordinateLayout.of(scop).statements == ("B", "C", "S10", "S2")


@pytest.mark.parametrize("name", SMALL_PROGRAMS)
def test_points_and_rows_are_inverse(name: str) -> None:
    scop = parse_text(SMALL_PROGRAMS[name])
    layout = CoordinateLayout.of(scop)
    point = tuple(range(1, layout.width + 1))
    rows = {statement: layout.row(point, statement) for statement in layout.statements}
    assert layout.point(rows) == point
    for place, coordinate in enumerate(layout.coordinates()):
        row = rows[coordinate.statement]
        part = {
            CoordinateKind.ITERATOR: row.iterators,
            CoordinateKind.PARAMETER: row.parameters,
            CoordinateKind.CONSTANT: (row.constant,),
        }[coordinate.kind]
        assert part[coordinate.index] == point[place]
    schedule = original_schedule(scop)
    for k in range(schedule.dimensions):
        row_of = {part.statement: part.rows[k] for part in schedule.statements}
        vector = layout.point(row_of)
        assert {name: layout.row(vector, name) for name in row_of} == row_of


def test_coordinates_of_a_statement_without_loops() -> None:
    scop = parse_text("void f(int A[1]) {\n#pragma scop\nS: A[0] = 1;\n#pragma endscop\n}\n")
    layout = CoordinateLayout.of(scop)
    assert layout.coordinates() == (Coordinate("S", CoordinateKind.CONSTANT, 0),)
    assert layout.row((5,), "S") == ScheduleRow((), (), 5)
