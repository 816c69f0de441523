"""Copies of what is read and then overwritten: what is copied, refused, and computed."""

import numpy as np
import pytest

from polygym.codegen.pipeline import lower
from polygym.codegen.tree.analysis.band_width import band_width
from polygym.errors import InputError, LimitError
from polygym.frontend.c import parse_text
from polygym.ir.scop import Scop, StorageClass
from polygym.mapping.mapping import parse_mapping
from polygym.poly.legality import LegalSchedule
from polygym.poly.scheduling.baselines import isl_schedule, original_schedule
from polygym.poly.transform.splitting.apply import apply_splitting
from polygym.poly.transform.splitting.conditions import parse_splitting
from polygym.poly.transform.storage import read_copies
from polygym.poly.transform.storage.apply import apply_plan
from polygym.poly.transform.storage.plan import ReadCopy, StoragePlan, parse_storage
from polygym.poly.transform.storage.read_copies import default_read_copies
from tests.oracles.compiled_runs import random_arrays, run_in_order, run_loops
from tests.oracles.random_schedules import random_legal_schedule

PATHS = """
void f(int n, int p[n][n]) {
#pragma scop
  for (int k = 0; k < n; k++)
    for (int i = 0; i < n; i++)
      for (int j = 0; j < n; j++)
        p[i][j] = p[i][j] < p[i][k] + p[k][j] ? p[i][j] : p[i][k] + p[k][j];
#pragma endscop
}
"""
ELIMINATION = """
void f(int n, double a[n][n]) {
#pragma scop
  for (int k = 0; k < n; k++)
    for (int i = 0; i < n; i++)
      if (i != k)
        for (int j = n - 1; j >= k; j--)
          a[i][j] -= a[i][k] * a[k][j];
#pragma endscop
}
"""
LAST = """
void f(int n, float a[n]) {
#pragma scop
  for (int i = 0; i < n; i++)
    a[i] = 0.5f * a[i] + a[n - 1];
#pragma endscop
}
"""
CONDITIONAL = """
void f(int n, int m, double a[n][m], double x[m]) {
#pragma scop
  for (int i = 0; i < n; i++)
    for (int j = 0; j < m; j++)
      if (a[i][j] > x[j])
        a[i][j] = a[i][j] / a[i][m - 1];
#pragma endscop
}
"""
PRODUCT = """
void f(int n, double a[n][n], double x[n], double y[n]) {
#pragma scop
  for (int i = 0; i < n; i++) {
    y[i] = 0.0;
    for (int j = 0; j < n; j++)
      y[i] += a[i][j] * x[j];
  }
#pragma endscop
}
"""
CUT = "S0: i = k, j = k"


def cut_paths() -> Scop:
    return apply_splitting(parse_text(PATHS), parse_splitting(CUT))


def programs() -> dict[str, Scop]:
    last = apply_splitting(parse_text(LAST), parse_splitting("S0: i = n - 1"))
    elimination, conditional = parse_text(ELIMINATION), parse_text(CONDITIONAL)
    return {
        "paths": apply_plan(cut_paths(), parse_storage("p=copy")),
        "elimination": apply_plan(elimination, parse_storage("a=copy")),
        "last": apply_plan(last, parse_storage("a=copy")),
        "conditional": apply_plan(conditional, parse_storage("a=copy")),
    }


SOURCES = {
    "paths": PATHS,
    "elimination": ELIMINATION,
    "last": LAST,
    "conditional": CONDITIONAL,
}


def test_column_and_row_are_copied_before_their_step_overwrites_them() -> None:
    scop = apply_plan(cut_paths(), parse_storage("p=copy"))
    texts = {statement.name: statement.text for statement in scop.statements}
    assert texts["S0_0"] == (
        "p[i][j] = p[i][j] < p_1[k][i] + p_2[k][j] ? p[i][j] : p_1[k][i] + p_2[k][j];"
    )
    assert texts["S0_8"].count("p_") == 0  # behind T of its step, which it has to see
    assert texts["p_1_copy"] == "p_1[k][i] = p[i][k];"
    new = scop.array("p_1")
    assert (new.storage_class, new.c_extents) == (StorageClass.SCRATCH, ("n", "n"))


def test_copies_free_tiles_of_all_loops() -> None:
    cut = cut_paths()
    copied = apply_plan(cut, parse_storage("p=copy"))
    before, after = (band_width(LegalSchedule(s, isl_schedule(s))) for s in (cut, copied))
    assert (before, after) == (2, 3)


def test_what_changes_between_its_readers_is_not_copied() -> None:
    """Before it is cut, j = k overwrites what j > k reads."""
    with pytest.raises(InputError, match="would not see the value"):
        apply_plan(parse_text(PATHS), parse_storage("p=copy"))
    assert default_read_copies(parse_text(PATHS)) == ()


def test_nothing_to_copy_is_refused() -> None:
    with pytest.raises(InputError, match=r"y=copy: expected a statement in which several"):
        apply_plan(parse_text(PRODUCT), parse_storage("y=copy"))
    with pytest.raises(InputError, match=r"S0_8:p=copy: expected statement S0_8"):
        apply_plan(cut_paths(), parse_storage("S0_8:p=copy"))
    assert default_read_copies(parse_text(PRODUCT)) == ()


def test_one_statement_alone_reads_copies() -> None:
    scop = apply_plan(cut_paths(), parse_storage("S0_2:p=copy"))
    changed = [s.name for s in scop.statements if "p_1[" in s.text]
    assert changed == ["p_1_copy", "S0_2"]


def test_a_read_that_two_words_name_has_one_copy() -> None:
    both = apply_plan(cut_paths(), parse_storage("p=copy S0_2:p=copy"))
    assert both == apply_plan(cut_paths(), parse_storage("p=copy"))


def test_the_default_copies() -> None:
    assert default_read_copies(cut_paths()) == (ReadCopy("p"),)
    assert default_read_copies(parse_text(ELIMINATION)) == (ReadCopy("a"),)


@pytest.mark.parametrize("bound", [30, 300, 1000, 3000])
def test_a_search_that_takes_too_long_reaches_a_limit(
    bound: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(read_copies, "_MOST_OPERATIONS", bound)
    with pytest.raises(LimitError, match="looking for what is overwritten took more than"):
        default_read_copies(cut_paths())


def test_copies_in_the_text_of_a_plan() -> None:
    plan = parse_storage("q=dead S0:p=copy w=expand:i p=copy contract")
    assert str(plan) == "w=expand:i p=copy S0:p=copy q=dead contract"
    assert parse_storage(str(plan)) == plan
    assert not parse_storage("p=copy").is_source
    assert parse_storage("p=copy keep").is_source
    with pytest.raises(InputError, match="copies in the order"):
        StoragePlan(copies=(ReadCopy("w"), ReadCopy("a")))
    with pytest.raises(InputError, match="storage: expected"):
        parse_storage(":p=copy")


@pytest.mark.parametrize("name", SOURCES)
def test_every_schedule_leaves_the_bits_of_the_source(name: str) -> None:
    source, scop = parse_text(SOURCES[name]), programs()[name]
    generator = np.random.default_rng([14, len(name)])
    schedules = [
        original_schedule(scop),
        isl_schedule(scop),
        random_legal_schedule(scop, generator, rows=2),
    ]
    for schedule in schedules:
        legal = LegalSchedule(scop, schedule)
        for size, mapping in ((1, "sequential"), (2, "tile=2"), (9, "tile=4 threads=2")):
            parameters = {parameter.name: size for parameter in source.parameters}
            arrays = random_arrays(source, parameters, generator)
            expected = {key: array.copy() for key, array in arrays.items()}
            run_in_order(source, parameters, expected)
            run_loops(lower(legal, parse_mapping(mapping), parameters), parameters, arrays)
            for array in source.arrays:
                assert arrays[array.name].tobytes() == expected[array.name].tobytes()


BRANCH = """
void f(int n, double a[n], double x[n]) {
#pragma scop
  for (int k = 0; k < n; k++) {
    for (int j = 0; j < n; j++)
      x[j] = x[j] > 0.5 ? a[k + 1] : x[j] + 1.0;
    if (k + 1 < n)
      a[k + 1] = x[k];
  }
#pragma endscop
}
"""
GUARDED = """
void f(int n, double a[n], double x[n]) {
#pragma scop
  for (int k = 0; k < n; k++) {
    for (int j = 0; j < n; j++)
      x[j] = k > 0 ? x[j] + a[k - 1] : x[j] + 1.0;
    if (k > 0)
      a[k - 1] = x[k];
  }
#pragma endscop
}
"""


def test_a_read_that_may_not_happen_is_not_made_by_a_copy() -> None:
    """Elements outside of the array are not read; those under a condition only where it holds."""
    assert default_read_copies(parse_text(BRANCH)) == ()
    scop = apply_plan(parse_text(GUARDED), parse_storage("a=copy"))
    (copy,) = [statement for statement in scop.statements if statement.name == "a_1_copy"]
    assert copy.domain == "[n] -> { a_1_copy[k] : 0 < k < n }"
