"""A knob is one row: a throw-away one prints, parses, is asked, has columns and a neighbourhood."""

from __future__ import annotations

from dataclasses import fields
from pathlib import Path

import pytest

from polygym.mapping.knobs import KNOB_NAMED, KNOBS, QUESTIONS
from polygym.mapping.mapping import NEST_OPTIONS, Mapping
from tests.patched_package import run_patched

FIELD = "    prefetch: bool = False\n"
ROW = """    Knob("prefetch", Flag(is_likely=0.5), "loads are issued ahead", is_per_nest=True,
         question=flag_question("prefetch"), variants=("prefetch=on",)),
"""
CHECK = """
import numpy as np
from polygym.cost.features.candidates.candidate_vector import MAPPING_COLUMNS, mapping_vector
from polygym.envs import OptimizeEnv
from polygym.mapping.knobs import QUESTIONS
from polygym.mapping.mapping import Mapping, parse_mapping
from polygym.mdp.mapping_decisions import MappingState
from polygym.mdp.nest_shapes import NestShape
from polygym.mdp.observation.mapping_arrays import (
    NEST_COLUMNS, QUESTION_COLUMNS, nests_array, question_array,
)
from polygym.search.strategies.neighborhood import (
    initial_variants, mutate_mapping, sample_value, searchable_options,
)

mapping = parse_mapping("prefetch=on S0:prefetch=off")
assert mapping == Mapping(prefetch=True, nests=(("S0", (("prefetch", False),)),))
assert str(mapping) == "prefetch=on S0:prefetch=off"

nests = (NestShape(("S0",), (100, 26), (True, True)),)
state, kinds = MappingState(Mapping(), nests), []
while state.question is not None:
    kinds.append(state.question.kind.name)
    if kinds[-1] == "prefetch":
        assert state.values == (True,)
        assert question_array(state, None)[QUESTION_COLUMNS.index("about_prefetch")] == 1
    state = state.after(2 if kinds[-1] == "prefetch" else 0)
assert kinds[-1] == "prefetch" and str(state.mapping) == "S0:prefetch=on"
assert QUESTIONS["prefetch"].describe(True) == "on"
assert "| prefetch | each nest |" in OptimizeEnv.__doc__

assert mapping_vector(mapping)[MAPPING_COLUMNS.index("prefetch")] == 1
table = nests_array(nests, state.mapping, None)
assert table[0, NEST_COLUMNS.index("prefetch")] == 1

rng = np.random.default_rng(0)
assert "prefetch" in searchable_options(1)
assert {sample_value("prefetch", (1,), 2, rng) for _ in range(99)} == {False, True}
assert any(mutate_mapping(Mapping(), rng).prefetch for _ in range(99))
assert Mapping(prefetch=True) in initial_variants(Mapping())
"""


@pytest.mark.always
def test_a_new_knob_is_a_field_and_a_row(tmp_path: Path) -> None:
    """The third file would be the pass that reads it."""
    nests, orders = "    nests: Nests = ()\n", ")  # fmt: skip\n\n# The orders"
    changes = {
        "mapping/mapping.py": (nests, FIELD + nests),
        "mapping/knobs.py": (orders, ROW + orders),
    }
    run_patched(tmp_path, changes, CHECK)


def test_every_option_has_a_row() -> None:
    names = {field.name for field in fields(Mapping)} - {"nests"}
    assert set(KNOB_NAMED) == names
    assert len(KNOBS) == len(names)
    assert set(NEST_OPTIONS) == {knob.name for knob in KNOBS if knob.is_per_nest}


def test_questions_are_about_knobs_of_one_kind() -> None:
    for question in QUESTIONS.values():
        assert len({KNOB_NAMED[name].is_per_nest for name in question.knobs}) == 1
