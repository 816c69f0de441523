"""The order of the coefficients in a point, and the way there and back."""

import pytest

from polygym.compiler.frontend.c import parse_text
from polygym.compiler.poly.baselines import original
from polygym.compiler.poly.schedule import Row
from polygym.compiler.poly.spaces.layout import Coordinate, Layout, Part
from tests.sources import SMALL_PROGRAMS, Y_AX


def test_the_layout_of_y_ax() -> None:
    layout = Layout.of(parse_text(Y_AX))
    assert layout.width == 7
    assert [(one.statement, one.part, one.index) for one in layout.coordinates()] == [
        ("S", Part.ITERATOR, 0),
        ("T", Part.ITERATOR, 0),
        ("T", Part.ITERATOR, 1),
        ("S", Part.PARAMETER, 0),
        ("T", Part.PARAMETER, 0),
        ("S", Part.CONSTANT, 0),
        ("T", Part.CONSTANT, 0),
    ]
    point = layout.point({"S": Row((1,), (4,), 6), "T": Row((2, 3), (5,), 7)})
    assert point == (1, 2, 3, 4, 5, 6, 7)


def test_statements_stand_in_the_order_of_their_names() -> None:
    scop = parse_text(
        "void f(int n, int A[n]) {\n#pragma scop\nfor (int i = 0; i < n; i++) {\n"
        "B: A[i] = 1;\nS10: A[i] += 2;\nC: A[i] += 3;\nS2: A[i] += 4;\n}\n#pragma endscop\n}\n"
    )
    assert Layout.of(scop).statements == ("B", "C", "S10", "S2")


@pytest.mark.parametrize("name", SMALL_PROGRAMS)
def test_points_and_rows_are_inverse(name: str) -> None:
    scop = parse_text(SMALL_PROGRAMS[name])
    layout = Layout.of(scop)
    point = tuple(range(1, layout.width + 1))
    rows = {statement: layout.row(point, statement) for statement in layout.statements}
    assert layout.point(rows) == point
    for place, one in enumerate(layout.coordinates()):
        row = rows[one.statement]
        part = {
            Part.ITERATOR: row.iterators,
            Part.PARAMETER: row.parameters,
            Part.CONSTANT: (row.constant,),
        }[one.part]
        assert part[one.index] == point[place]
    schedule = original(scop)
    for k in range(schedule.dimensions):
        row_of = {part.statement: part.rows[k] for part in schedule.statements}
        found = layout.point(row_of)
        assert {name: layout.row(found, name) for name in row_of} == row_of


def test_coordinates_of_a_statement_without_loops() -> None:
    scop = parse_text("void f(int A[1]) {\n#pragma scop\nS: A[0] = 1;\n#pragma endscop\n}\n")
    layout = Layout.of(scop)
    assert layout.coordinates() == (Coordinate("S", Part.CONSTANT, 0),)
    assert layout.row((5,), "S") == Row((), (), 5)
