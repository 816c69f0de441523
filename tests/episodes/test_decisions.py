"""Deciding a mapping and editing a schedule: every answer has an effect, every end is legal."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from polybench import Dataset
from polygym.compiler.codegen.common.mapping import DEFAULT, Mapping, Sharing, parse_mapping
from polygym.compiler.codegen.common.sizes import own_sizes
from polygym.compiler.codegen.trees.build import build_tree
from polygym.compiler.codegen.trees.tree import parts
from polygym.compiler.poly import edits
from polygym.compiler.poly.alternatives import ALTERNATIVES, alternatives
from polygym.compiler.poly.baselines import isl_schedule, original
from polygym.compiler.poly.legality import LegalSchedule, is_legal
from polygym.compiler.poly.schedule import parse
from polygym.compiler.poly.strategy import ISL, ORIGINAL, Strategy
from polygym.episodes.decisions import ANSWERS, CHOICES, DONE, MODEL, NESTS, Deciding, Subject
from polygym.episodes.editing import BACK, EDITS, MOST_STEPS, Edit, Editing, Operand
from polygym.episodes.episode import Episode, Task
from polygym.episodes.nest_shapes import NestShape, nest_shapes
from polygym.episodes.policies import play, policy
from polygym.episodes.task_options import Decides, Phase, TaskOptions
from polygym.programs import load_program
from tests.oracles.random_schedules import random_legal_schedule
from tests.sources import kernel_scop

START = replace(DEFAULT, threads=2)
TWO = (
    NestShape(("S0",), (100, 26), (True, True)),
    NestShape(("S1", "S2"), (100, 50, 7), (True, False, True)),
)


def task(
    name: str = "gemm", start: Strategy | None = None, mapping: Mapping = START, size: str = "mini"
) -> Task:
    program = load_program(name, dataset=Dataset[size.upper()])
    sizes = own_sizes(program.scop, dict(program.parameters))
    return Task(program.scop, TaskOptions(decides=Decides(mapping, start)), sizes)


def answered(deciding: Deciding, *answers: int) -> Deciding:
    for answer in answers:
        assert deciding.mask()[answer]
        deciding = deciding.after(answer)
    return deciding


def at(deciding: Deciding, subject: Subject, nest: int = -1) -> Deciding:
    """Leave everything to the model up to a question."""
    while (question := deciding.question) is not None:
        if question.subject is subject and question.nest == nest:
            return deciding
        deciding = deciding.after(MODEL)
    raise AssertionError(f"{subject} is not asked")


def chosen(deciding: Deciding, value: object) -> Deciding:
    return answered(deciding, 2 + deciding.values.index(value))


# The questions of a mapping


@pytest.mark.parametrize("text", ["threads=2", "default", "sequential", "tile=8 S2:unroll_jam=2"])
def test_as_the_model_says_ends_with_the_mapping_to_begin_with(text: str) -> None:
    start = parse_mapping(text)
    deciding = Deciding(start, TWO)
    assert answered(deciding, DONE).mapping == start
    count = 0
    while deciding.question is not None:
        deciding = answered(deciding, MODEL)
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
    deciding = Deciding(parse_mapping(text), TWO)
    asked = []
    for roll in rolls:
        if deciding.question is None:
            break
        asked.append(deciding.question)
        allowed = [answer for answer, is_allowed in enumerate(deciding.mask()) if is_allowed]
        assert allowed[:2] == [MODEL, DONE]
        assert len(allowed) == 2 + len(deciding.values) <= ANSWERS
        # Two choices never mean the same, and none what is there already.
        results = [answered(deciding, answer).mapping for answer in allowed if answer != DONE]
        assert len(set(results)) == len(results)
        before = deciding.questions_left
        deciding = deciding.after(allowed[roll % len(allowed)])
        assert deciding.questions_left < before
    assert len(set(asked)) == len(asked)
    assert parse_mapping(str(deciding.mapping)) == deciding.mapping


def test_questions_that_have_no_meaning_are_not_asked() -> None:
    alone = Deciding(DEFAULT, TWO)
    with pytest.raises(AssertionError, match="is not asked"):
        at(alone, Subject.PARALLEL, 0)
    with pytest.raises(AssertionError, match="is not asked"):
        at(alone, Subject.WAVEFRONT, 0)
    off = chosen(at(Deciding(START, TWO), Subject.PARALLEL, 0), Sharing.OFF)
    assert off.question is not None
    assert off.question.subject is Subject.VECTOR
    without = chosen(off, 0)
    assert without.question is not None
    assert without.question.subject is Subject.JAM
    whole = chosen(at(without, Subject.TILE, 0), ())
    assert whole.question is not None
    assert (whole.question.nest, whole.question.subject) == (1, Subject.PARALLEL)
    assert whole.mapping == parse_mapping(
        "threads=2 S0:parallel=off S0:vector_bits=off S0:tile=off"
    )


def test_tiles_are_asked_for_loop_by_loop() -> None:
    deciding = at(Deciding(START, TWO), Subject.TILE, 1)
    assert deciding.values == ((), (1,), (4,), (8,), (16,), (25,), (32,), (34,), (50,), (64,))
    first = chosen(deciding, (32,))
    assert first.question is not None
    assert (first.question.subject, first.question.loop) == (Subject.TILE, 1)
    second = chosen(first, (1,))
    assert second.values == ((1,), (2,), (3,), (4,))
    assert answered(second, MODEL).mapping == parse_mapping("threads=2 S2:tile=32x1")
    third = chosen(second, (4,))
    assert third.question is not None
    assert third.question.subject is Subject.OUTER_TILE
    assert third.mapping == parse_mapping("threads=2 S2:tile=32x1x4")
    assert answered(first, DONE).mapping == parse_mapping("threads=2 S2:tile=32")


def test_a_value_of_a_nest_to_begin_with_is_what_the_model_says_there() -> None:
    start = parse_mapping("threads=2 S1:vector_bits=256 S2:tile=off")
    deciding = at(Deciding(start, TWO), Subject.VECTOR, 1)
    assert deciding.values == (0, 128, 512)
    assert chosen(deciding, 128).mapping == parse_mapping(
        "threads=2 S1:vector_bits=256 S2:tile=off S2:vector_bits=128"
    )
    assert () not in at(deciding, Subject.TILE, 1).values
    assert () in at(Deciding(start, TWO), Subject.TILE, 0).values


@settings(max_examples=60, deadline=None)
@given(st.integers(1, 100_000))
def test_no_loop_has_more_sizes_than_there_are_answers(length: int) -> None:
    nest = NestShape(("S",), (length,), (True,))
    values = at(Deciding(START, (nest,)), Subject.TILE, 0).values
    assert len(values) <= CHOICES
    assert all(1 <= size < max(2, length) for (size,) in values[1:])


# The nests


@pytest.mark.parametrize(
    "name", ["gemm", "2mm", "lu", "jacobi-2d", "deriche", "durbin", "random:4"]
)
def test_nests_are_the_groups_that_share_loops(name: str) -> None:
    program = load_program(name, dataset=Dataset.MINI)
    scop, sizes = program.scop, own_sizes(program.scop, dict(program.parameters))
    for schedule in (original(scop), isl_schedule(scop)):
        legal = LegalSchedule(scop, schedule)
        names = tuple(one.statement for one in schedule.statements)
        found = nest_shapes(legal, sizes, 1000)
        groups = [frozenset(one.statements) for one in found]
        every = list(parts(build_tree(legal), names))
        assert groups == [one for one in every if one in groups]
        without = set(every) - set(groups)
        assert all(scop.statement(one).depth == 0 for group in without for one in group)
        some = nest_shapes(legal, sizes, 2)
        assert list(some) == [one for one in found if one in some]
        left = [one.iterations for one in found if one not in some]
        assert max(left, default=0) <= min((one.iterations for one in some), default=0)


def test_the_shape_of_a_nest_is_counted_by_hand() -> None:
    program = load_program("gemm", dataset=Dataset.MINI)
    sizes = own_sizes(program.scop, dict(program.parameters))
    (only,) = nest_shapes(LegalSchedule(program.scop, original(program.scop)), sizes, NESTS)
    assert only.lengths == (sizes["ni"], sizes["nk"], sizes["nj"])
    assert len(only.statements) == 2


# Editing


@pytest.mark.parametrize("name", ["gemm", "mvt", "jacobi-1d", "lu", "durbin", "deriche"])
@pytest.mark.parametrize("start", [ISL, ORIGINAL])
def test_random_edits_keep_a_schedule_legal(name: str, start: Strategy) -> None:
    given_task = task(name, start)
    made = set()
    for seed in range(2):
        episode, dice = given_task.start(), np.random.default_rng(seed)
        assert episode.phase is Phase.EDIT
        steps = 0
        while episode.phase is Phase.EDIT:
            assert episode.editing is not None
            mask = np.flatnonzero(episode.mask())
            # The end is there, but is not taken before it has to be.
            further = [one for one in mask if one >= given_task.options.first_answer + 2]
            begun = episode.editing
            action = int(dice.choice(further)) if further else given_task.options.first_answer
            episode = episode.after(action)
            steps += 1
            now = episode.editing
            assert now is not None
            if now.edits > begun.edits:
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
    before = parse("[n] -> { S0[i, j] -> [0, i, j]; S1[i, j] -> [1, i, j] }", scop)

    def after(*answers: object) -> str:
        editing = Editing(before, CHOICES, scop)
        for answer in answers:
            place = (
                EDITS.index(answer) if isinstance(answer, Edit) else editing.values.index(answer)
            )
            editing = editing.after(1 + place)
        assert editing.edits == 1
        assert editing.is_at_rest
        return str(editing.schedule).partition("{")[2]

    assert "S0[i, j] -> [0, i + 2j, j]; S1[i, j] -> [1, i + 2j, j]" in after(Edit.SKEW, 1, 2, 2)
    assert "S0[i, j] -> [0, j, i]" in after(Edit.INTERCHANGE, 1, 2)
    assert "S0[i, j] -> [i, j, 0]" in after(Edit.MOVE, 0, 2)
    assert "S0[i, j] -> [j, 0, i]" in after(Edit.MOVE, 2, 0)
    assert "S0[i, j] -> [0, -i, j]" in after(Edit.REVERSE, 1)
    assert "S0[i, j] -> [0, i, 0, j]; S1[i, j] -> [1, i, 1, j]" in after(Edit.SPLIT, 2, 1)
    assert "S0[i, j] -> [i, j]; S1[i, j] -> [i, j]" in after(Edit.FUSE, 0)
    assert "S0[i, j] -> [0, i, j]; S1[i, j] -> [1, i - 1, j]" in after(Edit.SHIFT, 1, 1, -1)
    assert "S0[i, j] -> [0, i, i + j]; S1[i, j] -> [1, i, j]" in after(Edit.COEFFICIENT, 2, 0, 0, 1)


def test_an_edit_can_be_dropped_and_a_mask_has_what_is_legal() -> None:
    scop = kernel_scop("jacobi-1d")  # backwards in time is never legal
    editing = Editing(original(scop), CHOICES, scop)
    begun = editing.after(1 + EDITS.index(Edit.REVERSE))
    assert begun.operand is Operand.ROW
    asked = []

    def legal(schedule: object) -> bool:
        asked.append(schedule)
        return is_legal(scop, schedule)  # type: ignore[arg-type]

    mask = begun.mask(legal)
    assert len(asked) >= 1
    assert mask[BACK]
    assert not mask[1]
    assert begun.after(BACK).is_at_rest
    assert begun.after(BACK).schedule == editing.schedule


def test_another_schedule_of_the_program_is_adopted() -> None:
    scop = kernel_scop("2mm")
    editing = Editing(isl_schedule(scop), CHOICES, scop).after(1 + EDITS.index(Edit.ADOPT))
    assert editing.operand is Operand.STRATEGY
    mask = editing.mask(lambda schedule: is_legal(scop, schedule))
    adopted = {
        strategy: editing.after(1 + place).schedule
        for place, strategy in enumerate(editing.values)
        if mask[1 + place]
    }
    assert adopted[ALTERNATIVES.index(ORIGINAL)] == original(scop)
    assert len(set(adopted.values())) == len(adopted) >= 3
    assert isl_schedule(scop) not in adopted.values()  # where it begins
    assert ALTERNATIVES.index(ISL) not in adopted
    known = alternatives(scop)
    assert {known[strategy] for strategy in adopted} == set(adopted.values())


def test_a_long_list_is_chosen_from_in_parts() -> None:
    scop = kernel_scop("deriche")
    assert len(scop.statements) > 2 * CHOICES
    editing = Editing(original(scop), CHOICES, scop)
    editing = editing.after(1 + EDITS.index(Edit.SHIFT)).after(1)
    assert editing.operand is Operand.STATEMENT
    assert editing.chooses_part
    seen = []
    for part in range(len(editing.values)):
        chosen_part = editing.after(1 + part)
        assert not chosen_part.chooses_part
        seen += chosen_part.values
    assert seen == list(range(len(scop.statements)))


# Whole episodes


@pytest.mark.parametrize("name", ["gemm", "mvt", "lu", "correlation"])
def test_earliest_leaves_the_mapping_and_builds_what_it_always_does(name: str) -> None:
    ended = play(task(name).start(), policy("earliest"), np.random.default_rng(0))
    plain = play(Task(kernel_scop(name)).start(), policy("earliest"), np.random.default_rng(0))
    assert ended.phase is Phase.COMPLETE
    assert ended.mapping == START
    assert ended.schedule() == plain.schedule()


@pytest.mark.parametrize("start", [None, ISL, ORIGINAL])
@pytest.mark.parametrize("name", ["uniform", "bias_coeff_0", "greedy"])
def test_every_policy_comes_to_an_end(name: str, start: Strategy | None) -> None:
    given_task = task("mvt", start)
    for seed in range(4):
        ended = play(given_task.start(), policy(name), np.random.default_rng(seed))
        assert ended.phase is Phase.COMPLETE
        assert is_legal(given_task.scop, ended.schedule())
        assert ended.mapping is not None
        assert ended.mapping.threads == 2


def test_the_default_is_one_action_away() -> None:
    given_task = task("2mm", ISL)
    ended = given_task.start().after(given_task.options.first_answer + DONE)
    assert ended.phase is Phase.COMPLETE
    assert ended.schedule() == isl_schedule(given_task.scop)
    assert ended.mapping == START


def test_answers_that_are_not_there_cost_and_change_nothing() -> None:
    given_task = task("gemm", ISL)
    first = given_task.start()
    for action in (0, 3, given_task.options.first_answer + 2 + len(EDITS)):
        assert not first.mask()[action]
        refused = first.after(action)
        assert refused.illegal == 1
        assert refused.schedule() == first.schedule()
        assert refused.phase is Phase.EDIT
    mapping = first.after(given_task.options.first_answer)
    assert mapping.phase is Phase.MAP
    assert mapping.after(1).illegal == 1
    assert mapping.after(given_task.options.actions - 1).illegal == 1


def test_a_program_without_loops_has_questions_about_the_whole_alone() -> None:
    def whole(episode: Episode) -> Episode:
        while episode.phase is not Phase.MAP:
            episode = episode.after(episode.mask().index(True))
        return episode

    given_task = task("random:4")
    assert given_task.nests(original(given_task.scop))
    deciding = Deciding(START, ())
    assert [at(deciding, subject).question for subject in list(Subject)[:3]]
    assert answered(deciding, MODEL, MODEL, MODEL).question is None
    assert whole(given_task.start()).deciding is not None


def test_random_legal_schedules_have_nests() -> None:
    for seed in range(6):
        program = load_program("lu", dataset=Dataset.MINI)
        scop, dice = program.scop, np.random.default_rng(seed)
        schedule = random_legal_schedule(scop, dice, rows=2)
        found = nest_shapes(LegalSchedule(scop, schedule), dict(program.parameters), NESTS)
        assert all(min(one.lengths) >= 1 for one in found)
