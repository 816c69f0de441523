"""The strategies of a search by name: one row each, with the options that it takes."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from types import MappingProxyType

import numpy as np

from polygym.autoschedule.weights import expect_weights
from polygym.cost.models.boosted_trees import expect_lightgbm
from polygym.errors import InputError
from polygym.ir.scop import Scop
from polygym.mapping.mapping import Mapping as MachineMapping
from polygym.mdp.episode import Task
from polygym.mdp.policies.registry import LEARNED, POLICIES, Policy
from polygym.mdp.task_options import TaskOptions
from polygym.poly.schedule import Schedule
from polygym.search.strategies.candidates import Candidate, ScheduleSource, SearchSpace, Strategy
from polygym.search.strategies.feature_cache import FeatureCache
from polygym.search.strategies.model_annealing import ModelAnnealing, ModelFilter
from polygym.search.strategies.model_options import DEFAULT_MODEL_OPTIONS, ModelOptions
from polygym.search.strategies.policy_search import PolicySearch
from polygym.search.strategies.random_search import GeneticSearch, RandomSearch
from polygym.search.strategies.samplers import GUIDED, EpisodeSearch, make_sampler
from polygym.search.strategies.step_search import STEP_SEARCHES, StepSearch

POLICY_PREFIX = "policy:"
EPISODE_BUDGET, CANDIDATE_BUDGET = 100, 1000


@dataclass(slots=True)
class StrategyContext:
    """The program of a search, and all that a strategy may want to know.

    ``known`` has the schedules by their sources, and gets those that the strategy constructs;
    ``initial`` are the candidates that every strategy proposes first.
    """

    scop: Scop
    sizes: Mapping[str, int]
    mapping: MachineMapping
    known: dict[ScheduleSource, Schedule]
    initial: Sequence[Candidate] = ()
    seed: int = 0
    population: int = 100
    model_options: ModelOptions = DEFAULT_MODEL_OPTIONS
    make_task: Callable[[], Task] | None = None
    space: SearchSpace = field(init=False)

    def __post_init__(self) -> None:
        """Derive the space from the schedules that are known at the beginning."""
        self.space = SearchSpace.for_program(self.scop, tuple(self.known), self.sizes, self.mapping)

    @property
    def task(self) -> Task:
        """The decision process in which schedules are constructed."""
        return Task(self.scop, TaskOptions()) if self.make_task is None else self.make_task()

    @property
    def rng(self) -> np.random.Generator:
        """Random numbers from the seed."""
        return np.random.default_rng(self.seed)

    @property
    def start(self) -> tuple[SearchSpace, Sequence[Candidate], np.random.Generator]:
        """The beginning of every search that is not indexed."""
        return self.space, self.initial, self.rng


@dataclass(frozen=True, slots=True)
class StrategyEntry:
    """A strategy: a summary, its maker, the options that it takes, and what it needs."""

    summary: str
    make: Callable[[StrategyContext], Strategy]
    options: frozenset[str] = frozenset()
    is_indexed: bool = False
    takes_fixed_schedule: bool = False
    expect: Callable[[ModelOptions], None] = lambda _: None

    @property
    def budget(self) -> int:
        """The default number of proposals."""
        return EPISODE_BUDGET if self.is_indexed else CANDIDATE_BUDGET


def _make_episodes(name: str, context: StrategyContext) -> Strategy:
    mapping, model = context.mapping, context.model_options.model
    sampler = make_sampler(name, context.task, context.sizes, mapping, model)
    return EpisodeSearch(sampler, name, context.seed, context.initial, mapping, context.known)


def _make_policy(name: str, policy: Policy, context: StrategyContext) -> Strategy:
    task = Task(context.scop, TaskOptions())
    return PolicySearch(*context.start, task, policy, name, context.seed, context.known)


def _make_steps(kind: type[StepSearch], context: StrategyContext) -> Strategy:
    return kind(*context.start, context.scop, context.sizes, context.known)


def _make_model(kind: type[ModelAnnealing], context: StrategyContext) -> Strategy:
    expect_lightgbm()
    options = context.model_options
    prior, learning = options.model.load(), options.learning
    program, has_loops = (context.scop, context.sizes, context.known), learning.wants_loops(prior)
    features = FeatureCache(*program, has_loops, machine=options.machine)
    return kind(*context.start, features, prior, options.is_local(prior), learning)


def _expect_model(options: ModelOptions) -> None:
    options.model.expect_model()


_MODEL_OPTIONS = frozenset({"model", "acquisition"})

STRATEGIES: Mapping[str, StrategyEntry] = MappingProxyType(
    {
        **{
            name: StrategyEntry(
                "the pretrained policy, its best-known episode first"
                if name == LEARNED
                else f"episodes of the policy {name}",
                partial(_make_episodes, name),
                is_indexed=True,
                expect=(lambda _: expect_weights()) if name == LEARNED else (lambda _: None),
            )
            for name in (LEARNED, *(name for name in POLICIES if name != LEARNED))
        },
        GUIDED: StrategyEntry(
            "the most promising of eight episodes, by a cost model",
            partial(_make_episodes, GUIDED),
            frozenset({"model"}),
            is_indexed=True,
            expect=_expect_model,
        ),
        "genetic": StrategyEntry(
            "children of the fastest candidates",
            lambda context: GeneticSearch(*context.start, context.population),
            frozenset({"population"}),
            takes_fixed_schedule=True,
        ),
        "random": StrategyEntry(
            "random candidates",
            lambda context: RandomSearch(*context.start),
            takes_fixed_schedule=True,
        ),
        "annealing": StrategyEntry(
            "annealing on a cost model that learns from the runs",
            partial(_make_model, ModelAnnealing),
            _MODEL_OPTIONS,
        ),
        "filter": StrategyEntry(
            "the best of many random candidates, by that model",
            partial(_make_model, ModelFilter),
            _MODEL_OPTIONS,
            takes_fixed_schedule=True,
        ),
        **{
            kind.name: StrategyEntry(summary, partial(_make_steps, kind))
            for summary, kind in STEP_SEARCHES
        },
        **{
            f"{POLICY_PREFIX}{name}": StrategyEntry(
                "its schedules, and other mappings of the best", partial(_make_policy, name, policy)
            )
            for name, policy in POLICIES.items()
        },
    }
)


def strategy_names() -> tuple[str, ...]:
    """Return the names of the strategies."""
    return tuple(STRATEGIES)


def strategy_entry(name: str) -> StrategyEntry:
    """Return the row of a strategy.

    Raises:
        InputError: there is none of that name.
    """
    check_strategy(name)
    return STRATEGIES[name]


def make_strategy(strategy: str | Policy, context: StrategyContext) -> Strategy:
    """Return the strategy of a name, or the search that a policy leads.

    Raises:
        InputError: there is no such strategy, or the space is too large for a policy, or a package
            that models need is missing.
    """
    check_strategy(strategy)
    if not isinstance(strategy, str):
        return _make_policy("policy", strategy, context)
    return STRATEGIES[strategy].make(context)


def check_strategy(strategy: str | Policy) -> None:
    """Refuse what is no strategy.

    Raises:
        InputError: it is none.
    """
    if strategy not in STRATEGIES if isinstance(strategy, str) else not callable(strategy):
        raise InputError(
            f"strategy: expected one of {', '.join(STRATEGIES)}, or a policy, found {strategy!r}"
        )
