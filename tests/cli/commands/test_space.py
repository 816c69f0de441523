"""``polygym space``: the counts of the paper, every kernel, choices that cannot be, limits."""

import json
from pathlib import Path
from typing import Any

import pytest

import polybench
from polygym.cli.options.carry import earliest, infeasible_reason, names, selections
from polygym.errors import InputError
from polygym.poly.spaces.polyhedra import RowPolyhedra
from tests.c_programs import kernel_scop
from tests.cli import invoke

FREE = """
void f(int n, double A[n][n]) {
#pragma scop
  for (int i = 0; i < n; i++)
    for (int j = 0; j < n; j++)
S:    A[i][j] = 1.0;
#pragma endscop
}
"""


def call(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, str, str]:
    return invoke.call(capsys, "space", *arguments)


def call_json(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, Any]:
    code, out, err = call(capsys, *arguments, "--json")
    assert err == ""
    return code, json.loads(out)


def counts(data: Any) -> list[tuple[int, int]]:
    return [(dimension["vertices"], dimension["rays"]) for dimension in data["dimensions"]]


def test_the_counts_of_the_paper(capsys: pytest.CaptureFixture[str], y_ax: str) -> None:
    code, data = call_json(capsys, y_ax, "--carry", "S->T@3,T->T@4")
    assert code == 0
    assert counts(data) == [(1, 10), (1, 10), (1, 10), (1, 13)]
    assert [dimension["carried"] for dimension in data["dimensions"]] == [
        [],
        [],
        ["S->T"],
        ["T->T"],
    ]
    assert all(dimension["complete"] for dimension in data["dimensions"])
    assert (data["complete"], data["choices"]) == (True, 43)
    assert data["coordinates"] == ["S.i", "T.i", "T.j", "S.n", "T.n", "S.1", "T.1"]
    assert (data["name"], data["statements"], data["parameters"]) == ("yax", ["S", "T"], ["n"])
    assert [(edge["source"], edge["sink"], edge["index"]) for edge in data["dependences"]] == [
        ("S", "T", 0),
        ("T", "T", 1),
    ]


def test_the_order_of_the_option_does_not_matter(
    capsys: pytest.CaptureFixture[str], y_ax: str
) -> None:
    _, one = call_json(capsys, y_ax, "--carry", "S->T@3,T->T@4")
    _, other = call_json(capsys, y_ax, "--carry", " T -> T @ 4 , S->T#1@3,")
    assert one["dimensions"] == other["dimensions"]


def test_generators_are_rows(capsys: pytest.CaptureFixture[str], y_ax: str) -> None:
    code, data = call_json(capsys, y_ax, "--generators", "--carry", "S->T@3,T->T@4")
    assert code == 0
    last = data["dimensions"][3]
    assert last["vertex_list"] == [{"numerators": [0, 0, 1, 0, 0, 0, 0], "denominator": 1}]
    assert len(last["ray_list"]) == 13
    assert last["ray_list"] == sorted(last["ray_list"], reverse=True)
    code, out, _ = call(capsys, y_ax, "--generators", "--carry", "S->T@3,T->T@4")
    assert code == 0
    assert "vertex 1  (T: j)" in out
    assert "(S: i, T: i)" in out
    assert "0 for every statement" in out


def test_people_get_a_table(capsys: pytest.CaptureFixture[str], y_ax: str) -> None:
    code, out, _ = call(capsys, y_ax)
    assert code == 0
    rows = [line.split() for line in out.splitlines()]
    assert ["DIMENSION", "CARRIES", "VERTICES", "RAYS", "COMPLETE"] in rows
    assert ["1", "S->T,", "T->T", "1", "10", "yes"] in rows
    assert "An episode chooses 10 coefficients" in out


@pytest.mark.rotates
@pytest.mark.parametrize("name", [kernel.name for kernel in polybench.select(("all",))])
def test_every_kernel_has_a_space(capsys: pytest.CaptureFixture[str], name: str) -> None:
    code, data = call_json(capsys, name)
    assert code == 0
    carried = [label for dimension in data["dimensions"] for label in dimension["carried"]]
    assert sorted(carried) == sorted(dependence["name"] for dependence in data["dependences"])
    assert data["never_carried"] == []
    assert all(dimension["vertices"] > 0 for dimension in data["dimensions"])
    assert data["seconds"] < 60


def test_an_impossible_choice_is_an_answer(capsys: pytest.CaptureFixture[str]) -> None:
    scop = kernel_scop("floyd-warshall")
    polyhedra = RowPolyhedra(scop)
    first = polyhedra.carryable(polyhedra.all_carryable)
    labels = names(polyhedra.dependences)
    late = [label for index, label in enumerate(labels) if index not in first]
    assert late, "a kernel that needs two dimensions"
    text = ",".join(f"{label}@1" for label in labels)
    code, data = call_json(capsys, "floyd-warshall", "--carry", text)
    assert code == 1
    assert (data["dimensions"][0]["vertices"], data["dimensions"][0]["rays"]) == (0, 0)
    code, out, err = call(capsys, "floyd-warshall", "--carry", text)
    assert code == 1
    assert "DIMENSION" in out
    assert "dimension 1 cannot carry" in err
    refused, _, possible = err.partition("it can carry:")
    assert all(label in refused for label in late)
    assert all(labels[index] in possible for index in first)


@pytest.mark.parametrize(
    ("carry", "fragments"),
    [
        ("S->T@1", ["none", "T->T", "--carry 'S->T@1,T->T@1'"]),
        ("", ["S->T, T->T"]),
        ("S-", ["'S-'", "quotes"]),
        ("S->T", ["SOURCE->SINK@DIMENSION", "'S->T'"]),
        ("S->T@1,T->T@0", ["1 to 64", "found 0"]),
        ("S->T@1,T->T@65", ["1 to 64", "found 65"]),
        ("S->T@1,T->T@" + "9" * 50, ["SOURCE->SINK@DIMENSION"]),
        ("S->T@1,S->T@2,T->T@1", ["S->T twice", "1 and 2"]),
        ("S->T#2@1,T->T@1", ["from #1 to #1", "found #2", "S[i] -> T[i', j]"]),
        ("S->U@1", ["S->T, T->T", "S->U"]),
        ("T->S@1", ["T->S"]),
        ("x" * 5000, ["…"]),
    ],
)
def test_choices_that_say_nothing(
    capsys: pytest.CaptureFixture[str], y_ax: str, carry: str, fragments: list[str]
) -> None:
    fragments = [fragment.replace("none", "found no dimension for") for fragment in fragments]
    code, out, err = call(capsys, y_ax, "--carry", carry)
    assert (code, out) == (2, "")
    assert "--carry: expected" in err
    assert all(fragment in err for fragment in fragments)
    assert len(err) < 1500


def test_pieces_between_two_statements() -> None:
    polyhedra = RowPolyhedra(kernel_scop("lu"))
    labels = names(polyhedra.dependences)
    assert {"S2->S2#1", "S2->S2#2", "S0->S1"} <= set(labels)
    others = ",".join(f"{label}@2" for label in labels if label != "S2->S2#2")
    chosen = selections(f"{others},S2->S2#2@1", polyhedra)
    assert [sorted(labels[index] for index in part) for part in chosen] == [
        ["S2->S2#2"],
        sorted(set(labels) - {"S2->S2#2"}),
    ]
    assert infeasible_reason(chosen, polyhedra) == ""
    with pytest.raises(InputError, match="S2->S2#1 twice"):
        selections("S2->S2@1,S2->S2#1@2", polyhedra)


def test_the_earliest_construction_is_feautriers() -> None:
    polyhedra = RowPolyhedra(kernel_scop("doitgen"))
    left = polyhedra.all_carryable
    for carried in earliest(polyhedra):
        assert carried == polyhedra.carryable(left)
        left -= carried
    assert not left


def test_a_program_without_dependences(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    path = tmp_path / "free.c"
    path.write_text(FREE)
    for carry in ("earliest", ""):
        code, data = call_json(capsys, str(path), "--carry", carry)
        assert code == 0
        assert counts(data) == [(1, 8), (1, 8)]
    code, _, err = call(capsys, str(path), "--carry", "S->S@1")
    assert code == 2
    assert "(none)" in err


def test_past_the_bound_there_is_a_sample(capsys: pytest.CaptureFixture[str]) -> None:
    code, data = call_json(capsys, "lu", "--max-generators", "5")
    assert code == 0
    assert not data["complete"]
    assert not data["dimensions"][0]["complete"]
    assert data["dimensions"][0]["rays"] > 0
    code, out, _ = call(capsys, "lu", "--max-rays", "7")
    assert code == 0
    assert "no, a sample" in out
    assert call(capsys, "lu", "--max-generators", "0")[0] == 2
    assert call(capsys, "lu", "--time-limit", "0s")[0] == 2
