"""The way toward an end is the inverse of deciding: replayed, it comes to that end exactly."""

from __future__ import annotations

from dataclasses import replace
from functools import cache

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from polybench import Dataset
from polygym.mapping.mapping import DEFAULT_MAPPING, Mapping, parse_mapping
from polygym.mapping.sizes import scop_sizes
from polygym.mdp.action_sequence import actions_to, per_nest_mapping
from polygym.mdp.editing import EDITS, EditKind
from polygym.mdp.episode import Episode, Task
from polygym.mdp.mapping_decisions import USE_DEFAULT
from polygym.mdp.policies.registry import play_episode, policy_named
from polygym.mdp.task_options import MappingDecisions, Phase, TaskOptions
from polygym.poly.scheduling.alternatives import alternative_schedules
from polygym.poly.scheduling.strategy import ISL
from polygym.programs import load_program

TWO = replace(DEFAULT_MAPPING, threads=2)


@cache
def task(name: str, start: str = "threads=2") -> Task:
    program = load_program(name, dataset=Dataset.MINI)
    sizes = scop_sizes(program.scop, dict(program.parameters))
    return Task(
        program.scop,
        TaskOptions(mapping_decisions=MappingDecisions(parse_mapping(start), ISL)),
        sizes,
    )


def replayed(episode: Episode, actions: tuple[int, ...] | None) -> Episode:
    assert actions is not None
    for action in actions:
        assert episode.mask()[action]
        episode = episode.after(action)
    return episode


def adopting(episode: Episode, rolls: list[int]) -> Episode:
    """Play to the end by rolls; of edits none but adopt is begun."""
    first = episode.task.options.first_answer
    adopt = first + 2 + EDITS.index(EditKind.ADOPT)
    for roll in rolls:
        if episode.is_over:
            return episode
        allowed = [action for action, is_allowed in enumerate(episode.mask()) if is_allowed]
        if episode.edit_state is not None and episode.phase is Phase.EDIT:
            if episode.edit_state.is_between_edits:
                allowed = [choice for choice in allowed if choice in (first, first + 1, adopt)]
        elif roll % 5:
            allowed.remove(first + 1)
        episode = episode.after(allowed[roll % len(allowed)])
    raise AssertionError("the rolls are not enough")


@settings(max_examples=80, deadline=None)
@given(
    st.sampled_from(["mvt", "gemm", "2mm", "trisolv"]),
    st.sampled_from(["threads=2", "default", "threads=2 tile=8 S1:unroll_jam=2", "sequential"]),
    st.lists(st.integers(0, 10_000), min_size=150, max_size=150),
)
def test_random_ends_are_reached_exactly(name: str, start: str, rolls: list[int]) -> None:
    begin = task(name, start).start()
    end = adopting(begin, rolls)
    assert end.phase is Phase.COMPLETE
    assert end.mapping is not None
    again = replayed(begin, actions_to(begin, end.schedule(), end.mapping))
    assert again.phase is Phase.COMPLETE
    assert again.schedule() == end.schedule()
    assert again.mapping == end.mapping


def test_the_way_goes_on_from_anywhere_on_it() -> None:
    begin = task("2mm").start()
    other = next(
        schedule
        for schedule in alternative_schedules(begin.task.scop).values()
        if schedule != begin.schedule()
    )
    name = max(task("2mm").nests(other)[0].statements)
    mapping = parse_mapping(f"threads=2 pack=off {name}:tile=4x8 {name}:vector_bits=256")
    actions = actions_to(begin, other, mapping)
    assert actions is not None
    for done in range(len(actions) + 1):
        between = replayed(begin, actions[:done])
        if done == 1:
            continue  # an edit that has been begun is dropped first
        assert actions_to(between, other, mapping) == actions[done:]


def test_an_edit_that_has_been_begun_is_dropped() -> None:
    begin = task("gemm").start()
    first = begin.task.options.first_answer
    begun = begin.after(first + 2 + EDITS.index(EditKind.SKEW))
    actions = actions_to(begun, begin.schedule(), TWO)
    assert actions is not None
    assert actions[0] == first + USE_DEFAULT
    assert replayed(begun, actions).mapping == TWO


@pytest.mark.parametrize(
    "text", ["threads=2 tile=5", "threads=2 S0:tile=5", "default", "threads=2 S0:unroll_jam=5"]
)
def test_what_no_answers_give_is_not_reached(text: str) -> None:
    begin = task("gemm").start()
    assert actions_to(begin, begin.schedule(), parse_mapping(text)) is None


def test_other_schedules_are_not_reached_and_spaces_have_no_way() -> None:
    begin = task("gemm").start()
    generator = np.random.default_rng(1)
    plain = Task(begin.task.scop, TaskOptions(), begin.task.sizes)
    schedule = play_episode(plain.start(), policy_named("uniform"), generator).schedule()
    assert schedule not in alternative_schedules(begin.task.scop).values()
    assert actions_to(begin, schedule, TWO) is None
    built = Task(
        begin.task.scop, TaskOptions(mapping_decisions=MappingDecisions(TWO)), begin.task.sizes
    ).start()
    assert actions_to(built, schedule, TWO) is None


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("threads=2", "threads=2"),
        ("threads=2 tile=8x4", "threads=2 S1:tile=8x4"),
        ("threads=2 tile=off outer_tile=4", "threads=2 S1:tile=off"),
        ("threads=2 vector_bits=off vector_copies=4", "threads=2 S1:vector_bits=off"),
        ("threads=2 diamond=off", "threads=2 S1:wavefront=on S1:diamond=off"),
        ("threads=2 wavefront=off", "threads=2 S1:wavefront=off S1:diamond=off"),
        ("threads=2 parallel=off wavefront=off", "threads=2 S1:parallel=off"),
        ("threads=2 pack=off S0:unroll_jam=2", "threads=2 pack=off S1:unroll_jam=2"),
    ],
)
def test_what_is_said_of_all_is_said_nest_by_nest(text: str, said: str) -> None:
    begin = task("gemm").start()
    nests = begin.task.nests(begin.schedule())
    assert {max(nest.statements) for nest in nests} == {"S1"}
    mapping: Mapping = per_nest_mapping(parse_mapping(text), TWO, nests)
    assert mapping == parse_mapping(said)
    replayed(begin, actions_to(begin, begin.schedule(), mapping))
