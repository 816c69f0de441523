"""The policy that has learned: legal, certain, careful, and of every program."""

import json
from pathlib import Path

import gymnasium
import numpy as np
import pytest

import polybench
from polygym.autoschedule.weights import (
    WEIGHTS_FILE,
    EnsembleScores,
    PolicyWeights,
    ensemble_gain,
    shipped_weights,
)
from polygym.cost.features.candidates.candidate_vector import FEATURE_NAMES
from polygym.cost.features.schedules.schedule_vector import SCHEDULE_FEATURE_NAMES
from polygym.cost.models.cost_model import ModelCard
from polygym.cost.models.score_network import ScoreNetwork, ScoreNetworkMember
from polygym.cost.models.tree_inference import TreeArrays, TreeInference
from polygym.envs.base import PolygymEnv
from polygym.mapping.mapping import parse_mapping
from polygym.mapping.sizes import scop_sizes
from polygym.mdp.episode import Episode, Task
from polygym.mdp.policies.pretrained import PretrainedPolicy
from polygym.mdp.policies.registry import play_episode, policy_named
from polygym.mdp.task_options import MappingDecisions, Phase, TaskOptions
from polygym.poly.legality import is_legal
from polygym.poly.scheduling.alternatives import alternative_schedules
from polygym.poly.scheduling.baselines import isl_schedule, original_schedule
from polygym.poly.scheduling.strategy import ISL
from polygym.programs import load_program
from polygym.search.corpus.packing import LARGE_FILE, NEAR_FILE, STORAGE_VARIANTS_FILE, unpack
from polygym.search.corpus.program_choice import TEST_KERNELS
from polygym.search.corpus.store import open_corpus


def task(name: str, *, edits: bool = True, threads: int = 2) -> Task:
    program = load_program(name, dataset=polybench.Dataset.SMALL)
    mapping = parse_mapping(f"threads={threads}")
    decides = MappingDecisions(mapping, ISL if edits else None)
    sizes = scop_sizes(program.scop, dict(program.parameters))
    return Task(program.scop, TaskOptions(mapping_decisions=decides), sizes)


def linear(names: tuple[str, ...], column: str, slope: float) -> ScoreNetwork:
    """Return two members that agree: so many for each unit of a column."""
    weights = np.zeros((1, len(names)), np.float32)
    weights[0, names.index(column)] = slope
    member = ScoreNetworkMember((weights,), (np.zeros(1, np.float32),))
    zero, array = np.zeros(len(names), np.float32), np.ones(len(names), np.float32) * 16
    return ScoreNetwork(names, zero, array, (member, member))


def weights(least: float, slope: float = -16.0) -> PolicyWeights:
    """Return weights that want few cycles, as the formula has them."""
    card = ModelCard("learned policy", "by hand", 0, 0, 0, 0)
    return PolicyWeights(
        linear(SCHEDULE_FEATURE_NAMES, "total_cycles", slope),
        linear(FEATURE_NAMES, "total_cycles", slope),
        0.5,
        least,
        card,
        least,
    )


def played(given: Task, choose: PretrainedPolicy, seed: int = 0) -> Episode:
    """Return an episode at its end, every action of which was allowed."""
    episode, rng = given.start(), np.random.default_rng(seed)
    while not episode.is_over:
        action = choose(episode, rng)
        assert episode.mask()[action]
        episode = episode.after(action)
    assert episode.phase is Phase.COMPLETE
    assert is_legal(given.scop, episode.schedule())
    return episode


@pytest.mark.parametrize("name", ["gemm", "jacobi-1d", "durbin", "3mm", "adi"])
@pytest.mark.parametrize("heat", [0.0, 0.5])
def test_it_comes_to_an_end_and_the_same_dice_give_the_same(name: str, heat: float) -> None:
    given = task(name)
    choose = PretrainedPolicy(weights(0.1), heat)
    first = played(given, choose)
    assert played(given, choose).actions == first.actions
    assert first.mapping is not None
    assert first.mapping.threads == 2
    if not heat:
        assert played(given, choose, seed=9).actions == first.actions


@pytest.mark.parametrize("least", [100.0, np.inf])
def test_who_wants_too_much_keeps_the_default(least: float, tmp_path: Path) -> None:
    given = task("2mm")
    weights(least).save(tmp_path / "own.npz")
    own = PolicyWeights.load(tmp_path / "own.npz")
    assert (own.least_gain, own.least_mapping_gain) == (least, least)
    episode = played(given, PretrainedPolicy(own))
    assert episode.schedule() == isl_schedule(given.scop)
    assert episode.mapping == parse_mapping("threads=2")


def test_what_promises_most_is_adopted() -> None:
    # More cycles are better: some other schedule has the most, and is taken whatever it is.
    given = task("gemm")
    episode = played(given, PretrainedPolicy(weights(0.01, slope=16.0)))
    assert episode.schedule() in set(alternative_schedules(given.scop).values()) - {
        isl_schedule(given.scop)
    }
    assert episode.mapping != parse_mapping("threads=2")
    for name in ("mvt", "jacobi-1d"):
        given = task(name)
        kinds = {
            played(given, PretrainedPolicy(weights(0.01, slope))).schedule() for slope in (-16, 16)
        }
        assert kinds <= {isl_schedule(given.scop), *alternative_schedules(given.scop).values()}
        assert original_schedule(given.scop) in kinds or len(kinds) == 1


def test_it_builds_schedules_too() -> None:
    given = task("mvt", edits=False)
    for seed in range(2):
        assert played(given, PretrainedPolicy(weights(0.1)), seed).schedule().dimensions >= 2
    plain = Task(given.scop, TaskOptions(), given.sizes)
    ended = play_episode(plain.start(), PretrainedPolicy(weights(0.1)), np.random.default_rng(0))
    assert is_legal(plain.scop, ended.schedule())


def test_a_promise_by_hand() -> None:
    scores = EnsembleScores(np.array([0.5, 0.7, 0.6, 0.8, 0.4]))
    assert ensemble_gain(scores, EnsembleScores(np.zeros(5)), 1.0) == pytest.approx(
        0.6 - np.sqrt(0.02)
    )
    assert ensemble_gain(scores, None, 1.0) == -np.inf
    assert ensemble_gain(None, scores, 1.0) == -np.inf


@pytest.mark.parametrize(("trees", "promise"), [(1.0, 0.6), (0.0, 0.0), (-0.2, -0.2)])
def test_a_promise_takes_both(trees: float, promise: float) -> None:
    scores = EnsembleScores(np.array([0.36, 0.36]), 5.0 + trees)
    assert ensemble_gain(scores, EnsembleScores(np.zeros(2), 5.0), 1.0) == pytest.approx(promise)
    assert ensemble_gain(
        EnsembleScores(scores.members), EnsembleScores(np.zeros(2), 5.0), 1.0
    ) == pytest.approx(0.36)


def test_trees_that_think_nothing_of_it_leave_all_as_it_is() -> None:
    given = task("gemm")
    leaf = TreeArrays(
        np.zeros((1, 1), np.int64),
        np.zeros((1, 1)),
        np.full((1, 1), -1),
        np.full((1, 1), -1),
        np.zeros((1, 1)),
    )
    card = weights(0.01).card
    none = TreeInference((leaf,), card)
    episode = played(given, PretrainedPolicy(weights(0.01, slope=16.0), trees=none))
    assert episode.schedule() == isl_schedule(given.scop)
    assert episode.mapping == parse_mapping("threads=2")


# What comes with polygym


def test_the_weights_that_come_with_polygym() -> None:
    policy_weights = shipped_weights()
    assert WEIGHTS_FILE.stat().st_size < 3_000_000
    assert (
        len(policy_weights.schedule_network.members)
        == len(policy_weights.candidate_network.members)
        >= 3
    )
    assert policy_weights.card.rows > 20_000
    assert policy_weights.card.programs > 300
    assert policy_weights.least_gain > 0
    json.dumps(policy_weights.card.notes)


@pytest.mark.parametrize("file", [LARGE_FILE, STORAGE_VARIANTS_FILE, NEAR_FILE])
def test_no_corpus_that_comes_with_polygym_has_a_test_kernel(file: Path, tmp_path: Path) -> None:
    unpack(file, tmp_path / "corpus.sqlite")
    with open_corpus(tmp_path / "corpus.sqlite") as corpus:
        programs = {visit.case.program for visit, _ in corpus.visits(None)}
    assert len(programs) > 50
    assert programs.isdisjoint(TEST_KERNELS)


def test_an_environment_asks_it() -> None:
    env = gymnasium.make(
        "polygym:polygym/Optimize-v0",
        kernel="gemm",
        dataset="mini",
        start="isl",
        reward="static",
        policy="learned",
        features=False,
    )
    env.reset(seed=0)
    inner = env.unwrapped
    assert isinstance(inner, PolygymEnv)
    over, value = False, 0.0
    while not over:
        action = inner.suggested_action()
        assert env.action_space.contains(np.int64(action))
        assert inner.action_masks()[action]
        _, value, over, *_ = env.step(action)
    assert 0 < value <= 1
    ended = play_episode(
        inner.problem.task.start(), policy_named("learned"), np.random.default_rng(0)
    )
    assert ended.actions == inner.episode.actions
