"""What is private by a schedule's tree, beside what code makes private of it."""

from __future__ import annotations

from dataclasses import replace

import pytest

from polygym.codegen.pipeline import lower
from polygym.codegen.tree.build import build_tree
from polygym.cost.features.candidates.candidate_vector import FEATURE_NAMES, candidate_features
from polygym.cost.features.candidates.private_arrays import with_private_arrays
from polygym.cost.features.statements.statement_work import work_of_statements
from polygym.frontend.c import parse_text
from polygym.ir.scop import PRIVATE_STORAGE_CLASSES, Scop, StorageClass
from polygym.mapping.mapping import DEFAULT_MAPPING, SEQUENTIAL_MAPPING, Mapping
from polygym.poly.legality import LegalSchedule
from polygym.poly.schedule import parse_schedule
from polygym.poly.scheduling.baselines import original_schedule
from polygym.poly.transform.storage.apply import apply_plan
from polygym.poly.transform.storage.plan import parse_storage

PAIR = """
void pair(int n, float x[n][n], float y[n][n]) {
#pragma scop
  for (int i = 0; i < n; i++)
    for (int j = 0; j < n; j++) {
      float w = x[i][j] * 2 + 1;
      y[i][j] = w * w;
    }
#pragma endscop
}
"""

ROWS = """
void rows(int n, float x[n][n], float y[n][n]) {
#pragma scop
  for (int i = 0; i < n; i++) {
    float sum = 0;
    for (int j = 0; j < n; j++)
      sum += x[i][j];
    for (int j = 0; j < n; j++)
      y[i][j] = x[i][j] / sum;
  }
#pragma endscop
}
"""

TOGETHER = "{ S0[i, j] -> [i, j, 0]; S1[i, j] -> [i, j, 1] }"
PARTED = "{ S0[i, j] -> [0, i, j]; S1[i, j] -> [1, i, j] }"
LINES = "{ S0[i, j] -> [i, 0, j]; S1[i, j] -> [i, 1, j] }"
TURNED = "{ S0[i, j] -> [j, i, 0]; S1[i, j] -> [j, i, 1] }"
SHIFTED = "{ S0[i, j] -> [i, j, 0]; S1[i, j] -> [i + 1, j, 1] }"
MAPPINGS = (SEQUENTIAL_MAPPING, DEFAULT_MAPPING, replace(DEFAULT_MAPPING, threads=2))


def private(scop: Scop) -> set[str]:
    return {array.name for array in scop.arrays if array.storage_class in PRIVATE_STORAGE_CLASSES}


def planned(text: str, storage: str, rows: str = "") -> LegalSchedule:
    scop = apply_plan(parse_text(text), parse_storage(storage))
    return LegalSchedule(scop, parse_schedule(rows, scop) if rows else original_schedule(scop))


@pytest.mark.parametrize(
    ("text", "storage", "rows", "expected", "mappings"),
    [
        (PAIR, "w=private:i,j", TOGETHER, {"w_1"}, MAPPINGS),
        (PAIR, "w=private:i,j", TURNED, {"w_1"}, MAPPINGS),
        (PAIR, "w=private:i,j", LINES, {"w_1"}, MAPPINGS[:1]),  # planning parts i
        (PAIR, "w=private:i,j", PARTED, set(), MAPPINGS),
        (PAIR, "w=private:i,j", SHIFTED, set(), MAPPINGS),
        (ROWS, "sum=private:i", "", {"sum_1"}, MAPPINGS[:1]),
        (PAIR, "w=expand:i,j", TOGETHER, set(), MAPPINGS),
    ],
)
def test_what_is_private_is_what_code_makes_so(
    text: str, storage: str, rows: str, expected: set[str], mappings: tuple[Mapping, ...]
) -> None:
    legal = planned(text, storage, rows)
    assert private(with_private_arrays(legal.scop, build_tree(legal))) == expected
    for mapping in mappings:
        made = lower(legal, mapping, {"n": 40}).scop
        assert {
            array.name for array in made.arrays if array.storage_class is StorageClass.PRIVATE
        } == expected


def test_what_is_private_is_touched_as_a_scalar() -> None:
    sizes = {"n": 500}
    seen = {}
    for rows in (TOGETHER, PARTED):
        for storage in ("w=private:i,j", "w=expand:i,j"):
            legal = planned(PAIR, storage, rows)
            seen[rows, storage] = candidate_features(
                legal, replace(DEFAULT_MAPPING, threads=2), sizes
            )
    traffic = FEATURE_NAMES.index("total_traffic_24")
    own, shared, *parted = (features.vector for features in seen.values())
    assert own[traffic] < shared[traffic]
    assert (parted[0] == parted[1]).all()
    works = work_of_statements(
        with_private_arrays(planned(PAIR, "w=private:i,j").scop, build_tree(legal)), sizes
    )
    assert {len(work.accesses) for work in works}


def test_each_schedule_of_a_program_has_its_own_features() -> None:
    """One memory of nests serves all schedules of a program, some of which share the array."""
    sizes = {"n": 300}
    first = [
        candidate_features(planned(ROWS, "sum=private:i"), mapping, sizes).vector
        for mapping in MAPPINGS
    ]
    parted = "{ S0[i] -> [0, i, 0]; S1[i, j] -> [1, i, j]; S2[i, j] -> [2, i, j] }"
    between = [
        candidate_features(planned(ROWS, "sum=private:i", parted), way, sizes) for way in MAPPINGS
    ]
    again = [
        candidate_features(planned(ROWS, "sum=private:i"), way, sizes).vector for way in MAPPINGS
    ]
    assert all((floats == other).all() for floats, other in zip(first, again, strict=True))
    assert not any((row == two.vector).all() for row, two in zip(first, between, strict=True))
