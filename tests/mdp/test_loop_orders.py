"""The question of the order: asked from the inside, undone, replayed, none in old records."""

from __future__ import annotations

import json
from dataclasses import replace
from functools import cache
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from polybench import Dataset
from polygym.codegen.tree.build import build_tree
from polygym.codegen.tree.planning.plan import plan_tree
from polygym.envs import decision_text as questions
from polygym.envs.optimize import OptimizeEnv
from polygym.errors import InputError
from polygym.mapping.knobs import QUESTIONS
from polygym.mapping.machine import Machine
from polygym.mapping.mapping import DEFAULT_MAPPING, parse_mapping
from polygym.mapping.sizes import scop_sizes
from polygym.mdp.action_sequence import actions_to, per_nest_mapping
from polygym.mdp.episode import Episode, Task
from polygym.mdp.mapping_decisions import (
    QUESTIONS_VERSION,
    USE_DEFAULT,
    USE_DEFAULT_FOR_ALL,
    MappingState,
)
from polygym.mdp.nest_shapes import NestShape
from polygym.mdp.observation.mapping_arrays import CHOICE_COLUMNS, NEST_COLUMNS, mapping_arrays
from polygym.mdp.policies.pretrained import PretrainedPolicy
from polygym.mdp.records import episode_record
from polygym.mdp.task_options import MappingDecisions, Phase, TaskOptions
from polygym.poly.legality import LegalSchedule
from polygym.poly.scheduling.strategy import ISL, ORIGINAL, ScheduleStrategy
from polygym.programs import load_program
from tests.codegen.mapped_programs import PROGRAMS, scop_of
from tests.codegen.tree.planning.test_plan import small_run, some_schedule
from tests.mdp.policies.test_pretrained import weights
from tests.oracles.mapped_trees import check_tree

THREE = NestShape(("S",), (9, 8, 7), (True, False, True), ((1, 2),), ((1, 2, 3),))


@cache
def task(
    name: str,
    start: ScheduleStrategy = ISL,
    text: str = "threads=2",
) -> Task:
    program = load_program(name, dataset=Dataset.MINI)
    sizes = scop_sizes(program.scop, dict(program.parameters))
    decides = MappingDecisions(parse_mapping(text), start)
    return Task(program.scop, TaskOptions(mapping_decisions=decides), sizes)


def at_order(deciding: MappingState) -> MappingState:
    while deciding.question is not None and deciding.question.kind is not QUESTIONS["order"]:
        deciding = deciding.after(USE_DEFAULT)
    assert deciding.question is not None
    return deciding


def values_after(deciding: MappingState, *loops: int) -> tuple[Any, ...]:
    for loop in loops:
        deciding = deciding.after(USE_DEFAULT_FOR_ALL + 1 + deciding.values.index((loop,)))
    question = deciding.question
    return deciding.values if question and question.kind is QUESTIONS["order"] else ()


def test_loops_are_asked_for_from_the_inside_as_long_as_there_is_a_choice() -> None:
    deciding = at_order(MappingState(DEFAULT_MAPPING, (THREE,)))
    assert deciding.values == ((1,), (2,), (3,))
    assert values_after(deciding, 3) == ((1,), (2,))
    assert values_after(deciding, 3, 1) == ()
    state = deciding.after(USE_DEFAULT_FOR_ALL + 1 + 2).after(USE_DEFAULT_FOR_ALL + 1)
    assert state.mapping == parse_mapping("S:order=1x3")
    assert state.question is None
    assert deciding.after(USE_DEFAULT_FOR_ALL + 1 + 1).after(USE_DEFAULT).mapping == parse_mapping(
        "S:order=2"
    )
    assert deciding.questions_left == 2
    assert deciding.after(USE_DEFAULT_FOR_ALL + 3).questions_left == 1


def test_where_points_stay_fewer_loops_change_places() -> None:
    deciding = at_order(MappingState(parse_mapping("sink=off"), (THREE,)))
    assert deciding.values == ((1,), (2,))
    assert values_after(deciding, 2) == ()
    assert at_order(MappingState(parse_mapping("tile=off"), (THREE,))).values == ((1,), (2,))


def test_an_order_to_begin_with_can_be_taken_off() -> None:
    deciding = at_order(MappingState(parse_mapping("order=2x1"), (THREE,)))
    assert deciding.values == ((), (1,), (2,), (3,))
    assert deciding.after(USE_DEFAULT).mapping == parse_mapping("order=2x1")
    assert deciding.after(USE_DEFAULT_FOR_ALL + 1).mapping == parse_mapping("order=2x1 S:order=off")


def test_no_loops_that_may_change_places_no_question() -> None:
    nest = replace(THREE, permutable=(), joined=())
    deciding = MappingState(DEFAULT_MAPPING, (nest,))
    seen = set()
    while deciding.question is not None:
        seen.add(deciding.question.kind)
        deciding = deciding.after(USE_DEFAULT)
    assert QUESTIONS["sink"] in seen
    assert QUESTIONS["order"] not in seen


@settings(max_examples=60, deadline=None)
@given(st.sampled_from(sorted(PROGRAMS)), st.integers(0, 2**32))
def test_the_mask_offers_no_order_that_breaks_a_dependence(name: str, seed: int) -> None:
    """By brute force: under each answer all dependent instances of a small run keep their order."""
    scop, generator = scop_of(name), np.random.default_rng(seed)
    run, schedule = small_run(scop), some_schedule(scop, generator)
    legal = LegalSchedule(scop, schedule)
    given = Task(scop, TaskOptions(mapping_decisions=MappingDecisions(DEFAULT_MAPPING)), run.sizes)
    start = parse_mapping(str(generator.choice(["tile=2", "tile=off", "sink=off", "threads=2"])))
    for place in range(len(given.nests(schedule))):
        deciding = MappingState(start, given.nests(schedule)[place : place + 1])
        while deciding.question is not None:
            if deciding.question.kind is not QUESTIONS["order"]:
                deciding = deciding.after(USE_DEFAULT)
                continue
            for answer in range(
                USE_DEFAULT_FOR_ALL + 1, USE_DEFAULT_FOR_ALL + 1 + len(deciding.values)
            ):
                mapping = deciding.after(answer).mapping
                tree = plan_tree(build_tree(legal), legal, mapping, Machine(), run.sizes)
                check_tree(tree, run, schedule.parameters)
            allowed = [
                action
                for action, is_so in enumerate(deciding.mask())
                if is_so and action != USE_DEFAULT_FOR_ALL
            ]
            deciding = deciding.after(int(generator.choice(allowed)))


@settings(max_examples=40, deadline=None)
@given(
    st.sampled_from(["gemm", "2mm", "heat-3d", "fdtd-2d"]),
    st.sampled_from(["threads=2", "threads=2 order=2", "threads=2 sink=off S0:order=1"]),
    st.lists(st.integers(0, 10_000), min_size=120, max_size=120),
)
def test_ends_with_orders_are_reached_exactly(name: str, start: str, rolls: list[int]) -> None:
    begin = task(name, text=start).start()
    first = begin.task.options.first_answer
    episode = begin.after(first)
    for roll in rolls:
        if episode.is_over:
            break
        assert episode.mapping_state is not None
        question = episode.mapping_state.question
        allowed = [
            choice
            for choice, is_so in enumerate(episode.mask())
            if is_so and choice != first + USE_DEFAULT_FOR_ALL
        ]
        if question is None or question.kind is not QUESTIONS["order"]:
            allowed = allowed if roll % 4 == 0 else [first]
        episode = episode.after(allowed[roll % len(allowed)])
    assert episode.mapping is not None
    actions = actions_to(begin, episode.schedule(), episode.mapping)
    assert actions is not None
    again: Episode = begin
    for action in actions:
        assert again.mask()[action]
        again = again.after(action)
    assert again.mapping == episode.mapping


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("threads=2 order=3x2", "threads=2 S1:order=3x2"),
        ("threads=2 order=1x2x3", "threads=2 S1:order=2x3"),
        ("threads=2 order=7x2", "threads=2 S1:order=2"),
        ("threads=2 order=9", "threads=2"),
    ],
)
def test_what_is_said_of_all_is_said_nest_by_nest(text: str, said: str) -> None:
    begin = task("gemm").start()
    nests = begin.task.nests(begin.schedule())
    mapping = per_nest_mapping(parse_mapping(text), parse_mapping("threads=2"), nests)
    assert mapping == parse_mapping(said)
    assert actions_to(begin, begin.schedule(), mapping) is not None


def test_records_with_answers_to_other_questions_are_refused() -> None:
    env = OptimizeEnv("mvt", dataset="mini", start="isl", reward="static", features=False)
    env.reset(seed=0)
    env.step(env.problem.options.first_answer + 1)
    record = json.loads(json.dumps(env.export()))
    assert record["process"]["questions"] == QUESTIONS_VERSION
    for wrong in (0, QUESTIONS_VERSION - 1, QUESTIONS_VERSION + 1, "3", None, True):
        given = {**record, "process": {**record["process"], "questions": wrong}}
        read = episode_record.read_record(json.dumps(given), "x.json")
        with pytest.raises(InputError, match=r"process\.questions: expected"):
            episode_record.replay_record(read, "x.json")


def test_an_order_is_shown_forked_and_replayed() -> None:
    env = OptimizeEnv(
        "gemm", dataset="mini", threads=2, start="isl", reward="static", features=False
    )
    env.reset(seed=0)
    first = env.problem.options.first_answer
    observation, *_ = env.step(first)
    while (
        questions.question_text(env.episode)
        != "order, loop 1 from the inside, in the nest of S0, S1"
    ):
        observation, *_ = env.step(first)
    choices = observation["choices"].reshape(mapping_arrays()["choices"].shape)
    levels = choices[:, CHOICE_COLUMNS.index("level")]
    assert levels.tolist()[:6] == [0, 0, 1, 2, 3, 0]
    assert [text for _, text, _ in questions.answer_texts(env.episode)][2:] == [
        "loop 1", "loop 2", "loop 3",
    ]  # fmt: skip
    fork = env.fork()
    env.step(first + 3)
    observation, *_, info = env.step(first + 3)
    nests = observation["nests"].reshape(mapping_arrays()["nests"].shape)
    from_inside = nests[0, [NEST_COLUMNS.index(f"order_{level}") for level in (1, 2, 3)]]
    assert from_inside.tolist() == [0, 1, 2]
    assert "order loop 3, 2" in questions.decided_lines(env.episode)[-2]
    assert info["mapping"] == "threads=2 S1:order=3x2"
    *_, other = fork.step(first)
    assert other["mapping"] == "threads=2"
    for optimize_env, text in ((env, info["mapping"]), (fork, other["mapping"])):
        exported = json.dumps(optimize_env.export())
        assert json.loads(exported)["process"]["questions"] == QUESTIONS_VERSION
        again = episode_record.replay_record(
            episode_record.read_record(exported, "x.json"), "x.json"
        )
        assert again.episode is not None
        assert again.episode.mapping == parse_mapping(text)


@pytest.mark.parametrize("name", ["gemm", "2mm", "jacobi-1d"])
@pytest.mark.parametrize("heat", [0.0, 0.5])
def test_the_learned_policy_leaves_the_order_as_it_is(name: str, heat: float) -> None:
    given = task(name, ORIGINAL)
    episode, rng, orders = given.start(), np.random.default_rng(5), 0
    while episode.phase not in (Phase.COMPLETE, Phase.INVALID):
        action = PretrainedPolicy(weights(0.1), heat)(episode, rng)
        question = None if episode.mapping_state is None else episode.mapping_state.question
        if question is not None and question.kind is QUESTIONS["order"]:
            assert action == given.options.first_answer + USE_DEFAULT
            orders += 1
        episode = episode.after(action)
    assert orders or name == "jacobi-1d"
