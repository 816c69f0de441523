"""Programs under a plan: what they look like, what they free, what they refuse."""

from dataclasses import replace

import pytest

from polygym.codegen.contraction import contract_legal
from polygym.errors import InputError
from polygym.frontend.c import parse_text
from polygym.ir.access_replacement import replace_accesses
from polygym.ir.scop import Scop, StorageClass
from polygym.poly.dependences import DependenceKind, dependences, relations_by_array
from polygym.poly.legality import LegalSchedule, is_legal
from polygym.poly.schedule import parse_schedule
from polygym.poly.scheduling.baselines import original_schedule
from polygym.poly.transform.storage.apply import apply_plan
from polygym.poly.transform.storage.copy_statements import expect_same_values
from polygym.poly.transform.storage.memory_cost import (
    check_memory_limit,
    format_bytes,
    new_array_bytes,
)
from polygym.poly.transform.storage.plan import SOURCE_STORAGE, parse_storage
from tests.poly.transform.storage.random_plans import scop_of


def texts(scop: Scop) -> dict[str, str]:
    return {statement.name: statement.text for statement in scop.statements}


def under(name: str, plan: str) -> Scop:
    return apply_plan(scop_of(name), parse_storage(plan))


def test_nothing_is_another_program() -> None:
    scop = scop_of("symmetric")
    assert apply_plan(scop, SOURCE_STORAGE) is scop


def test_a_scalar_is_expanded_along_two_loops() -> None:
    scop = under("symmetric", "t=expand:i,j")
    assert texts(scop)["S0"] == "t_1[i][j] = 0.0;"
    assert texts(scop)["S2"] == "t_1[i][j] = t_1[i][j] + B[k][j] * A[i][k];"
    assert "t" not in [array.name for array in scop.arrays]  # nobody uses it any more
    new = scop.array("t_1")
    assert (new.storage_class, new.c_extents) == (StorageClass.SCRATCH, ("m", "n"))
    assert scop.statement("S2").accumulator_reads  # still recognised as a sum
    by_memory = {
        array for kind, array in relations_by_array(scop) if DependenceKind.FLOW not in kind
    }
    assert by_memory == {"C", "t_1"}


def test_single_assignment_leaves_no_dependence_by_memory() -> None:
    scop = under("symmetric", "t=expand")
    assert texts(scop)["S2"] == "t_1[i][j][k + 1] = t_1[i][j][k] + B[k][j] * A[i][k];"
    assert texts(scop)["S3"].endswith("alpha * t_1[i][j][i];")
    kinds = {kind for kind, array in relations_by_array(scop) if array == "t_1"}
    assert kinds == {DependenceKind.FLOW}


def test_what_is_legal_is_decided_on_what_is_left() -> None:
    text = "{ S0[i,j] -> [-j,i,0,0]; S1[i,j,k] -> [-j,i,1,k]; S2[i,j,k] -> [-j,i,1,k]; "
    text += "S3[i,j] -> [-j,i,2,0] }"
    for plan, expected in (("keep", False), ("t=expand:j", True), ("t=expand:i", False)):
        scop = under("symmetric", plan)
        assert is_legal(scop, parse_schedule(text, scop)) is expected, plan


def test_a_downward_loop_begins_behind_its_last_iteration() -> None:
    scop = under("two_recurrences", "S5:a=expand")
    bodies = texts(scop)
    assert bodies["S5"] == "a_1[j][n] = 0.0f;"
    assert bodies["S9"] == "a_1[j][i] = Y[i][j];"
    assert bodies["S7"] == "X[i][j] = Y[i][j] + 0.5f * a_1[j][i + 1] + c;"
    assert bodies["S0"] == "a = 0.0f;"  # the other web keeps the source's


def test_each_web_has_an_array_of_its_own() -> None:
    scop = under("two_recurrences", "a=rename")
    bodies = texts(scop)
    assert (bodies["S0"], bodies["S5"]) == ("a_1 = 0.0f;", "a_2 = 0.0f;")
    pairs = {
        (dependence.source, dependence.sink)
        for dependence in dependences(scop)
        if "a_1" in dependence.arrays
    }
    assert all(name in ("S0", "S2", "S3", "S4") for pair in pairs for name in pair)


def test_what_is_read_before_is_copied_in_and_what_is_left_copied_out() -> None:
    scop = under("live_before", "s=expand:i")
    first, last = scop.statements[0], scop.statements[-1]
    assert first.text == "s_1[0] = s;"
    assert last.text == "s = s_1[n];"
    assert "s_1_in[] -> [0, " in scop.schedule
    assert "s_1_out[] -> [2, " in scop.schedule


def test_what_was_there_before_has_a_version_where_nothing_is_written() -> None:
    """With n = 1 and m <= 4 no loop around a write runs, and B[0] still sees what s was."""
    scop = under("loops_that_may_not_run", "s=expand:i")
    assert texts(scop)["s_1_in"] == "s_1[0] = s;"
    seen = "m <= 4 && i == 1 && k == 0 ? 0 : m <= 4 && i >= 2 && k == 0 ? i : i + 1"
    assert texts(scop)["S2"] == f"s_1[i + 1] = A[k] - s_1[{seen}];"


def test_a_write_around_which_a_loop_never_runs_has_a_version_of_its_own_iteration() -> None:
    """Where i > m there is no j: any version of iteration i will do."""
    scop = under("behind_loops_that_do_not_run", "s=expand")
    assert texts(scop)["S0"].startswith("s_1[i + 1][j + 1] = ")
    assert texts(scop)["S2"] == "s_1[i + 1][1] = y[i - 1];"


def test_versions_that_are_used_in_turn() -> None:
    scop = under("row_used_again", "row=expand:k%2")
    assert scop.array("row_1").c_extents == ("2", "n")
    # The last row is left, whichever of the two it is in.
    assert any(statement.write.array == "row" for statement in scop.statements)


@pytest.mark.parametrize(
    ("plan", "expected"),
    [
        ("u=expand", "an array that f writes, t, C, found u"),
        ("A=expand", "an array that f writes, t, C, found A"),
        ("S1:t=expand", "a statement that writes t, S0, S2, found S1"),
        ("t=expand:l", "a loop around what writes t, i, j, k, found l"),
    ],
)
def test_a_plan_for_what_is_not_there(plan: str, expected: str) -> None:
    with pytest.raises(InputError, match=f"^storage: .*expected {expected}"):
        under("symmetric", plan)


def test_memory_that_would_explode_is_refused_with_the_amount() -> None:
    scop = under("symmetric", "t=expand")
    sizes = {"m": 1000, "n": 1200}
    assert new_array_bytes(scop, sizes) == 1000 * 1200 * 1000 * 8
    check_memory_limit(scop, sizes, 1000 * 1200 * 1000 * 8)
    expected = r"at most 537 MB for new arrays, found 9\.6 GB \(t_1 9\.6 GB\) for m = 1000"
    with pytest.raises(InputError, match=expected):
        check_memory_limit(scop, sizes, 512 << 20)
    assert new_array_bytes(scop_of("symmetric"), sizes) == 0
    assert format_bytes(999) == "999 bytes"


@pytest.mark.parametrize("wrong", ["t_1[i, 1 + j]", "t_1[i, 0]", "t_1[j, i]"])
def test_a_read_of_another_version_does_not_go_unnoticed(wrong: str) -> None:
    """The proof knows nothing of how versions are chosen: whatever they are, it finds out."""
    before, after = scop_of("symmetric"), under("symmetric", "t=expand:i,j")
    statement = after.statement("S3")
    (access,) = (read for read in statement.reads if read.array == "t_1")
    relation = f"[m, n] -> {{ S3[i, j] -> {wrong} }}"
    body = replace_accesses(statement.body, {access: replace(access, relation=relation)})
    broken = tuple(
        replace(statement, body=body) if other.name == "S3" else other for other in after.statements
    )
    expect_same_values(before, after, {"t_1": "t"})
    with pytest.raises(InputError, match="S3 would not see the value of t"):
        expect_same_values(before, replace(after, statements=broken), {"t_1": "t"})


def test_a_value_that_is_not_left_does_not_go_unnoticed() -> None:
    before, after = scop_of("live_after"), under("live_after", "s=expand:i")
    kept = tuple(statement for statement in after.statements if statement.name != "s_1_out")
    assert len(kept) < len(after.statements)
    with pytest.raises(InputError, match="s would not be left with the values"):
        expect_same_values(before, replace(after, statements=kept), {"s_1": "s"})


DEAD = """
void f(int n, double A[n][n], double p[n][n], double y[n]) {
#pragma scop
  for (int i = 0; i < n; i++) {
    p[i][0] = A[i][0];
    for (int j = 1; j < n; j++)
      p[i][j] = p[i][j-1] * A[i][j];
    y[i] = p[i][n-1];
  }
#pragma endscop
}
"""


def test_what_is_dead_is_not_copied_out_and_may_be_contracted() -> None:
    scop = parse_text(DEAD)
    seen = apply_plan(scop, parse_storage("p=rename"))
    assert "p_1_out" in seen.names
    changed = apply_plan(scop, parse_storage("p=dead contract"))
    assert {statement.write.array for statement in changed.statements} == {"p_1", "y"}
    assert changed.array("p") == scop.array("p")  # the argument stays what it was
    small = contract_legal(LegalSchedule(changed, original_schedule(changed))).scop
    assert small.array("p_1").rank == 1  # rows may run at the same time, values of a row may not
    with pytest.raises(InputError, match=r"expected an array that f writes, p, y, found A"):
        apply_plan(scop, parse_storage("A=dead"))
    with pytest.raises(InputError, match="found x"):
        apply_plan(scop, parse_storage("x=dead"))


def test_what_is_dead_and_more() -> None:
    scop = apply_plan(parse_text(DEAD), parse_storage("p=dead p=expand:i"))
    assert scop.array("p_1").rank == 3
    assert not [statement.name for statement in scop.statements if "out" in statement.name]
