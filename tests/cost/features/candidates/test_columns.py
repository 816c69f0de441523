"""A feature of nests is one row: a throw-away one is in the vector of candidates."""

from __future__ import annotations

from pathlib import Path

import pytest

from polygym.cost.features.candidates.nest_vectors import NEST
from tests.patched_package import run_patched

ROW = """    NestColumn("jammed", "1: copies run together", lambda at: at.copies > 1),
"""
CHECK = """
from polybench import Dataset
from polygym.cost.features.candidates.candidate_vector import FEATURE_NAMES, FeatureExtractor
from polygym.mapping.mapping import parse_mapping
from polygym.mapping.sizes import scop_sizes
from polygym.poly.legality import LegalSchedule
from polygym.poly.scheduling.baselines import isl_schedule
from polygym.programs import load_program

program = load_program("gemm", dataset=Dataset.MINI)
legal = LegalSchedule(program.scop, isl_schedule(program.scop))
extractor = FeatureExtractor(legal, scop_sizes(program.scop, dict(program.parameters)))
place = FEATURE_NAMES.index("jammed_main")
texts = "vector_bits=256 vector_copies=2", "sequential"
jammed = [features.vector[place] for features in extractor.features(map(parse_mapping, texts))]
assert jammed == [1.0, 0.0], jammed
"""


@pytest.mark.always
def test_a_new_feature_is_a_row(tmp_path: Path) -> None:
    file, before = "cost/features/candidates/nest_vectors.py", ')\n"""The columns of a nest;'
    run_patched(tmp_path, {file: (before, ROW + before)}, CHECK)


def test_columns_have_different_names_and_meanings_in_words() -> None:
    assert len({column.name for column in NEST}) == len(NEST)
    assert all(column.doc for column in NEST)
