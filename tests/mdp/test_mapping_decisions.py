"""Deciding a mapping and editing a schedule: every answer has an effect, every end is legal."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from polybench import Dataset
from polygym.codegen.tree.build import build_tree
from polygym.codegen.tree.ir import independent_groups
from polygym.mapping.knobs import QUESTIONS, KnobQuestion
from polygym.mapping.mapping import DEFAULT_MAPPING, Mapping, WorkSharing, parse_mapping
from polygym.mapping.sizes import scop_sizes
from polygym.mdp.editing import BACK, EDITS, MOST_STEPS, EditKind, EditState, Operand
from polygym.mdp.episode import Episode, Task
from polygym.mdp.mapping_decisions import (
    ANSWERS,
    MOST_NESTS,
    MOST_VALUES,
    USE_DEFAULT,
    USE_DEFAULT_FOR_ALL,
    MappingState,
)
from polygym.mdp.nest_shapes import NestShape, nest_shapes
from polygym.mdp.policies.registry import play_episode, policy_named
from polygym.mdp.task_options import MappingDecisions, Phase, TaskOptions
from polygym.poly import edits
from polygym.poly.legality import LegalSchedule, is_legal
from polygym.poly.schedule import parse_schedule
from polygym.poly.scheduling.alternatives import ALTERNATIVES, alternative_schedules
from polygym.poly.scheduling.baselines import isl_schedule, original_schedule
from polygym.poly.scheduling.strategy import ISL, ORIGINAL, ScheduleStrategy
from polygym.programs import load_program
from tests.c_programs import kernel_scop
from tests.oracles.random_schedules import random_legal_schedule

START = replace(DEFAULT_MAPPING, threads=2)
TWO = (
    NestShape(("S0",), (100, 26), (True, True)),
    NestShape(("S1", "S2"), (100, 50, 7), (True, False, True)),
)


def task(
    name: str = "gemm",
    start: ScheduleStrategy | None = None,
    mapping: Mapping = START,
    size: str = "mini",
) -> Task:
    program = load_program(name, dataset=Dataset[size.upper()])
    sizes = scop_sizes(program.scop, dict(program.parameters))
    return Task(
        program.scop, TaskOptions(mapping_decisions=MappingDecisions(mapping, start)), sizes
    )


def answered(deciding: MappingState, *answers: int) -> MappingState:
    for answer in answers:
        assert deciding.mask()[answer]
        deciding = deciding.after(answer)
    return deciding


def at(deciding: MappingState, subject: KnobQuestion, nest: int = -1) -> MappingState:
    """Leave everything to the model up to a question."""
    while (question := deciding.question) is not None:
        if question.kind is subject and question.nest == nest:
            return deciding
        deciding = deciding.after(USE_DEFAULT)
    raise AssertionError(f"{subject} is not asked")


def chosen(deciding: MappingState, value: object) -> MappingState:
    return answered(deciding, 2 + deciding.values.index(value))


# The questions of a mapping


@pytest.mark.parametrize("text", ["threads=2", "default", "sequential", "tile=8 S2:unroll_jam=2"])
def test_as_the_model_says_ends_with_the_mapping_to_begin_with(text: str) -> None:
    start = parse_mapping(text)
    deciding = MappingState(start, TWO)
    assert answered(deciding, USE_DEFAULT_FOR_ALL).mapping == start
    count = 0
    while deciding.question is not None:
        deciding = answered(deciding, USE_DEFAULT)
        count += 1
        assert deciding.mapping == start
    assert count > 5
    assert not any(deciding.mask())


@settings(max_examples=150, deadline=None)
@given(
    st.sampled_from(["threads=2", "default", "sequential", "parallel=off tile=off", "S1:tile=4"]),
    st.lists(st.integers(0, 10_000), max_size=60),
)
def test_every_choice_changes_the_mapping_and_the_end_comes(text: str, rolls: list[int]) -> None:
    deciding = MappingState(parse_mapping(text), TWO)
    asked = []
    for roll in rolls:
        if deciding.question is None:
            break
        asked.append(deciding.question)
        allowed = [answer for answer, is_allowed in enumerate(deciding.mask()) if is_allowed]
        assert allowed[:2] == [USE_DEFAULT, USE_DEFAULT_FOR_ALL]
        assert len(allowed) == 2 + len(deciding.values) <= ANSWERS
        # Two choices never mean the same, and none what is there already.
        results = [
            answered(deciding, answer).mapping
            for answer in allowed
            if answer != USE_DEFAULT_FOR_ALL
        ]
        assert len(set(results)) == len(results)
        before = deciding.questions_left
        deciding = deciding.after(allowed[roll % len(allowed)])
        assert deciding.questions_left < before
    assert len(set(asked)) == len(asked)
    assert parse_mapping(str(deciding.mapping)) == deciding.mapping


def test_questions_that_have_no_meaning_are_not_asked() -> None:
    alone = MappingState(DEFAULT_MAPPING, TWO)
    with pytest.raises(AssertionError, match="is not asked"):
        at(alone, QUESTIONS["parallel"], 0)
    with pytest.raises(AssertionError, match="is not asked"):
        at(alone, QUESTIONS["wavefront"], 0)
    off = chosen(at(MappingState(START, TWO), QUESTIONS["parallel"], 0), WorkSharing.OFF)
    assert off.question is not None
    assert off.question.kind is QUESTIONS["vector"]
    without = chosen(off, 0)
    assert without.question is not None
    assert without.question.kind is QUESTIONS["jam"]
    whole = chosen(at(without, QUESTIONS["tile"], 0), ())
    assert whole.question is not None
    assert (whole.question.nest, whole.question.kind) == (1, QUESTIONS["parallel"])
    assert whole.mapping == parse_mapping(
        "threads=2 S0:parallel=off S0:vector_bits=off S0:tile=off"
    )


def test_tiles_are_asked_for_loop_by_loop() -> None:
    deciding = at(MappingState(START, TWO), QUESTIONS["tile"], 1)
    assert deciding.values == ((), (1,), (4,), (8,), (16,), (25,), (32,), (34,), (50,), (64,))
    first = chosen(deciding, (32,))
    assert first.question is not None
    assert (first.question.kind, first.question.loop) == (QUESTIONS["tile"], 1)
    second = chosen(first, (1,))
    assert second.values == ((1,), (2,), (3,), (4,))
    assert answered(second, USE_DEFAULT).mapping == parse_mapping("threads=2 S2:tile=32x1")
    third = chosen(second, (4,))
    assert third.question is not None
    assert third.question.kind is QUESTIONS["outer_tile"]
    assert third.mapping == parse_mapping("threads=2 S2:tile=32x1x4")
    assert answered(first, USE_DEFAULT_FOR_ALL).mapping == parse_mapping("threads=2 S2:tile=32")


def test_a_value_of_a_nest_to_begin_with_is_what_the_model_says_there() -> None:
    start = parse_mapping("threads=2 S1:vector_bits=256 S2:tile=off")
    deciding = at(MappingState(start, TWO), QUESTIONS["vector"], 1)
    assert deciding.values == (0, 128, 512)
    assert chosen(deciding, 128).mapping == parse_mapping(
        "threads=2 S1:vector_bits=256 S2:tile=off S2:vector_bits=128"
    )
    assert () not in at(deciding, QUESTIONS["tile"], 1).values
    assert () in at(MappingState(start, TWO), QUESTIONS["tile"], 0).values


@settings(max_examples=60, deadline=None)
@given(st.integers(1, 100_000))
def test_no_loop_has_more_sizes_than_there_are_answers(length: int) -> None:
    nest = NestShape(("S",), (length,), (True,))
    values = at(MappingState(START, (nest,)), QUESTIONS["tile"], 0).values
    assert len(values) <= MOST_VALUES
    assert all(1 <= size < max(2, length) for (size,) in values[1:])


# The nests


@pytest.mark.parametrize(
    "name", ["gemm", "2mm", "lu", "jacobi-2d", "deriche", "durbin", "random:4"]
)
def test_nests_are_the_groups_that_share_loops(name: str) -> None:
    program = load_program(name, dataset=Dataset.MINI)
    scop, sizes = program.scop, scop_sizes(program.scop, dict(program.parameters))
    for schedule in (original_schedule(scop), isl_schedule(scop)):
        legal = LegalSchedule(scop, schedule)
        names = tuple(statement_schedule.statement for statement_schedule in schedule.statements)
        shapes = nest_shapes(legal, sizes, 1000)
        groups = [frozenset(nest_shape.statements) for nest_shape in shapes]
        every = list(independent_groups(build_tree(legal), names))
        assert groups == [nest for nest in every if nest in groups]
        without = set(every) - set(groups)
        assert all(scop.statement(member).depth == 0 for group in without for member in group)
        some = nest_shapes(legal, sizes, 2)
        assert list(some) == [shape for shape in shapes if shape in some]
        left = [shape.iterations for shape in shapes if shape not in some]
        assert max(left, default=0) <= min((kept.iterations for kept in some), default=0)


def test_the_shape_of_a_nest_is_counted_by_hand() -> None:
    program = load_program("gemm", dataset=Dataset.MINI)
    sizes = scop_sizes(program.scop, dict(program.parameters))
    (only,) = nest_shapes(
        LegalSchedule(program.scop, original_schedule(program.scop)), sizes, MOST_NESTS
    )
    assert only.trip_counts == (sizes["ni"], sizes["nk"], sizes["nj"])
    assert len(only.statements) == 2


# Editing


@pytest.mark.rotates
@pytest.mark.parametrize("name", ["gemm", "mvt", "jacobi-1d", "lu", "durbin", "deriche"])
@pytest.mark.parametrize("start", [ISL, ORIGINAL])
def test_random_edits_keep_a_schedule_legal(name: str, start: ScheduleStrategy) -> None:
    given_task = task(name, start)
    made = set()
    for seed in range(2):
        episode, rng = given_task.start(), np.random.default_rng(seed)
        assert episode.phase is Phase.EDIT
        steps = 0
        while episode.phase is Phase.EDIT:
            assert episode.edit_state is not None
            mask = np.flatnonzero(episode.mask())
            # The end is there, but is not taken before it has to be.
            further = [answer for answer in mask if answer >= given_task.options.first_answer + 2]
            begun = episode.edit_state
            action = int(rng.choice(further)) if further else given_task.options.first_answer
            episode = episode.after(action)
            steps += 1
            now = episode.edit_state
            assert now is not None
            if now.edit_count > begun.edit_count:
                made.add(begun.edit)
                assert now.schedule != begun.schedule
                assert is_legal(given_task.scop, now.schedule)
                assert edits.is_small(now.schedule)
            else:
                assert now.schedule == begun.schedule
        assert MOST_STEPS <= steps <= MOST_STEPS + 2
        assert episode.phase in (Phase.MAP, Phase.COMPLETE)
    if name != "deriche":  # hardly any edit of one of its 47 statements is legal
        assert len(made) > 2


def test_each_kind_of_edit_does_what_it_says() -> None:
    scop = kernel_scop("mvt")
    before = parse_schedule("[n] -> { S0[i, j] -> [0, i, j]; S1[i, j] -> [1, i, j] }", scop)

    def after(*answers: object) -> str:
        editing = EditState(before, MOST_VALUES, scop)
        for answer in answers:
            place = (
                EDITS.index(answer)
                if isinstance(answer, EditKind)
                else editing.choices_of_step.index(answer)
            )
            editing = editing.after(1 + place)
        assert editing.edit_count == 1
        assert editing.is_between_edits
        return str(editing.schedule).partition("{")[2]

    assert "S0[i, j] -> [0, i + 2j, j]; S1[i, j] -> [1, i + 2j, j]" in after(EditKind.SKEW, 1, 2, 2)
    assert "S0[i, j] -> [0, j, i]" in after(EditKind.INTERCHANGE, 1, 2)
    assert "S0[i, j] -> [i, j, 0]" in after(EditKind.MOVE, 0, 2)
    assert "S0[i, j] -> [j, 0, i]" in after(EditKind.MOVE, 2, 0)
    assert "S0[i, j] -> [0, -i, j]" in after(EditKind.REVERSE, 1)
    assert "S0[i, j] -> [0, i, 0, j]; S1[i, j] -> [1, i, 1, j]" in after(EditKind.SPLIT, 2, 1)
    assert "S0[i, j] -> [i, j]; S1[i, j] -> [i, j]" in after(EditKind.FUSE, 0)
    assert "S0[i, j] -> [0, i, j]; S1[i, j] -> [1, i - 1, j]" in after(EditKind.SHIFT, 1, 1, -1)
    assert "S0[i, j] -> [0, i, i + j]; S1[i, j] -> [1, i, j]" in after(
        EditKind.COEFFICIENT, 2, 0, 0, 1
    )


def test_an_edit_can_be_dropped_and_a_mask_has_what_is_legal() -> None:
    scop = kernel_scop("jacobi-1d")  # backwards in time is never legal
    editing = EditState(original_schedule(scop), MOST_VALUES, scop)
    begun = editing.after(1 + EDITS.index(EditKind.REVERSE))
    assert begun.operand is Operand.ROW
    asked = []

    def legal(schedule: object) -> bool:
        asked.append(schedule)
        return is_legal(scop, schedule)  # type: ignore[arg-type]

    mask = begun.mask(legal)
    assert len(asked) >= 1
    assert mask[BACK]
    assert not mask[1]
    assert begun.after(BACK).is_between_edits
    assert begun.after(BACK).schedule == editing.schedule


def test_another_schedule_of_the_program_is_adopted() -> None:
    scop = kernel_scop("2mm")
    editing = EditState(isl_schedule(scop), MOST_VALUES, scop).after(
        1 + EDITS.index(EditKind.ADOPT)
    )
    assert editing.operand is Operand.STRATEGY
    mask = editing.mask(lambda schedule: is_legal(scop, schedule))
    adopted = {
        strategy: editing.after(1 + place).schedule
        for place, strategy in enumerate(editing.choices_of_step)
        if mask[1 + place]
    }
    assert adopted[ALTERNATIVES.index(ORIGINAL)] == original_schedule(scop)
    assert len(set(adopted.values())) == len(adopted) >= 3
    assert isl_schedule(scop) not in adopted.values()  # where it begins
    assert ALTERNATIVES.index(ISL) not in adopted
    known = alternative_schedules(scop)
    assert {known[strategy] for strategy in adopted} == set(adopted.values())


def test_a_long_list_is_chosen_from_in_parts() -> None:
    scop = kernel_scop("deriche")
    assert len(scop.statements) > 2 * MOST_VALUES
    editing = EditState(original_schedule(scop), MOST_VALUES, scop)
    editing = editing.after(1 + EDITS.index(EditKind.SHIFT)).after(1)
    assert editing.operand is Operand.STATEMENT
    assert editing.is_choosing_part
    seen = []
    for part in range(len(editing.choices_of_step)):
        chosen_part = editing.after(1 + part)
        assert not chosen_part.is_choosing_part
        seen += chosen_part.choices_of_step
    assert seen == list(range(len(scop.statements)))


# Whole episodes


@pytest.mark.parametrize("name", ["gemm", "mvt", "lu", "correlation"])
def test_earliest_leaves_the_mapping_and_builds_what_it_always_does(name: str) -> None:
    ended = play_episode(task(name).start(), policy_named("earliest"), np.random.default_rng(0))
    plain = play_episode(
        Task(kernel_scop(name)).start(), policy_named("earliest"), np.random.default_rng(0)
    )
    assert ended.phase is Phase.COMPLETE
    assert ended.mapping == START
    assert ended.schedule() == plain.schedule()


@pytest.mark.parametrize("start", [None, ISL, ORIGINAL])
@pytest.mark.parametrize("name", ["uniform", "bias_coeff_0", "greedy"])
def test_every_policy_comes_to_an_end(name: str, start: ScheduleStrategy | None) -> None:
    given_task = task("mvt", start)
    for seed in range(4):
        ended = play_episode(given_task.start(), policy_named(name), np.random.default_rng(seed))
        assert ended.phase is Phase.COMPLETE
        assert is_legal(given_task.scop, ended.schedule())
        assert ended.mapping is not None
        assert ended.mapping.threads == 2


def test_the_default_is_one_action_away() -> None:
    given_task = task("2mm", ISL)
    ended = given_task.start().after(given_task.options.first_answer + USE_DEFAULT_FOR_ALL)
    assert ended.phase is Phase.COMPLETE
    assert ended.schedule() == isl_schedule(given_task.scop)
    assert ended.mapping == START


def test_answers_that_are_not_there_cost_and_change_nothing() -> None:
    given_task = task("gemm", ISL)
    first = given_task.start()
    for action in (0, 3, given_task.options.first_answer + 2 + len(EDITS)):
        assert not first.mask()[action]
        refused = first.after(action)
        assert refused.illegal_count == 1
        assert refused.schedule() == first.schedule()
        assert refused.phase is Phase.EDIT
    mapping = first.after(given_task.options.first_answer)
    assert mapping.phase is Phase.MAP
    assert mapping.after(1).illegal_count == 1
    assert mapping.after(given_task.options.actions - 1).illegal_count == 1


def test_a_program_without_loops_has_questions_about_the_whole_alone() -> None:
    def whole(episode: Episode) -> Episode:
        while episode.phase is not Phase.MAP:
            episode = episode.after(episode.mask().index(True))
        return episode

    given_task = task("random:4")
    assert given_task.nests(original_schedule(given_task.scop))
    deciding = MappingState(START, ())
    assert [at(deciding, subject).question for subject in list(QUESTIONS.values())[:3]]
    assert answered(deciding, USE_DEFAULT, USE_DEFAULT, USE_DEFAULT).question is None
    assert whole(given_task.start()).mapping_state is not None


def test_random_legal_schedules_have_nests() -> None:
    for seed in range(6):
        program = load_program("lu", dataset=Dataset.MINI)
        scop, rng = program.scop, np.random.default_rng(seed)
        schedule = random_legal_schedule(scop, rng, rows=2)
        shapes = nest_shapes(LegalSchedule(scop, schedule), dict(program.parameters), MOST_NESTS)
        assert all(min(nest_shape.trip_counts) >= 1 for nest_shape in shapes)


def test_threads_can_be_used_where_nothing_is_parallel_to_begin_with() -> None:
    sequential = replace(parse_mapping("sequential"), threads=2)
    deciding = MappingState(sequential, TWO)
    while deciding.question is not None and deciding.question.kind is not QUESTIONS["parallel"]:
        deciding = deciding.after(USE_DEFAULT)
    assert deciding.question is not None
    assert deciding.values == (WorkSharing.DYNAMIC, WorkSharing.STATIC)
    shared = deciding.after(2).after(USE_DEFAULT_FOR_ALL)
    assert "S0:parallel=dynamic" in str(shared.mapping)
    alone = MappingState(replace(sequential, threads=1), TWO)
    while alone.question is not None:
        assert alone.question.kind is not QUESTIONS["parallel"]
        alone = alone.after(USE_DEFAULT)
