"""Dependences as sentences: distances and carriers are those of all pairs at small sizes."""

import islpy as isl
import numpy as np
import pytest

from polygym.text_interface.dependence_text import dependence_facts, dependence_sentences
from polygym.transformations.state import TransformState
from tests.c_programs import small_parameters
from tests.oracles.instances import pairs
from tests.text_interface.sessions import session_of
from tests.transformations.by_force import is_tree_step, walk_states


def check_facts(state: TransformState) -> None:
    """Check every dependence against the pairs at small sizes."""
    sizes = {name: value + 3 for name, value in small_parameters(state.scop).items()}
    for facts in dependence_facts(state):
        found = facts.dependence
        every = pairs(isl.Map(found.relation), sizes)
        if not every or (not facts.distances and not facts.is_kept_by_bodies):
            continue
        loops = [state.tree.nodes[distance.loop] for distance in facts.distances]
        vectors = set()
        for before, after in every:
            vectors.add(
                tuple(
                    _value(loop, found.sink, after, sizes, state)
                    - _value(loop, found.source, before, sizes, state)
                    for loop in loops
                )
            )
        for place, distance in enumerate(facts.distances):
            values = [vector[place] for vector in vectors]
            assert distance.least is None or distance.least <= min(values)
            assert distance.greatest is None or distance.greatest >= max(values)
            if distance.least == distance.greatest:
                assert set(values) == {distance.least}
        first = {next((k for k, d in enumerate(vector) if d), None) for vector in vectors}
        carriers = {facts.distances[k].loop for k in first if k is not None}
        assert carriers <= set(facts.carriers), (str(facts), vectors)
        assert facts.is_kept_by_bodies or None not in first


def _value(loop, statement, point, sizes, state) -> int:  # type: ignore[no-untyped-def]
    row = loop.row(statement)
    numbers = [sizes[name] for name in state.tree.parameters]
    own = sum(a * x for a, x in zip(row.iterators, point, strict=True))
    return own + sum(a * x for a, x in zip(row.parameters, numbers, strict=True)) + row.constant


@pytest.mark.parametrize("program", ["gemm", "jacobi-1d", "lu", "trisolv", "seidel-2d"])
def test_distances_are_those_of_all_pairs(program: str) -> None:
    for state in walk_states(session_of(program).state, np.random.default_rng(3), 3, is_tree_step):
        check_facts(state)


def test_sentences() -> None:
    state = session_of("gemm").state
    assert list(dependence_sentences(state)) == [
        "D0: S1 depends on S0 through C (flow, anti, output). Distance: L1 0. Kept by the order of "
        "the nodes.",
        "D1: S1 depends on S1 through C (flow, anti, output). Distance: L1 0, L3 1 or more, L4 0. "
        "Kept by L3.",
    ]
    assert len(list(dependence_sentences(state, ["S1"]))) == 1
