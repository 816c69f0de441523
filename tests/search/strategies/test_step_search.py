"""Searches over transformation steps: legal candidates, no repeats, what outcomes change."""

from typing import Any

import pytest

from polybench import Dataset
from polygym.mapping.mapping import parse_mapping
from polygym.mapping.sizes import scop_sizes
from polygym.poly.legality import is_legal
from polygym.programs import load_program
from polygym.search.strategies.registry import StrategyContext, make_strategy, strategy_names
from polygym.search.strategies.step_search import (
    STEP_SEARCHES,
    StepSearch,
    StepTreeSearch,
    next_states,
)

NAMES = tuple(kind.name for _, kind in STEP_SEARCHES)


def context(kernel: str = "gemm", seed: int = 0) -> StrategyContext:
    program = load_program(kernel, dataset=Dataset.MINI)
    sizes = scop_sizes(program.scop, dict(program.parameters))
    return StrategyContext(program.scop, sizes, parse_mapping("threads=2"), {}, seed=seed)


def played(name: str, rounds: int, **others: Any) -> list[tuple[str, str]]:
    """Return the schedules and mappings of some proposals, told that later ones are faster."""
    about = context(**others)
    strategy = make_strategy(name, about)
    result = []
    for number in range(rounds):
        for candidate in strategy.ask(2):
            schedule = about.known[candidate.source]
            assert is_legal(about.scop, schedule)
            strategy.tell(candidate, 1.0 + number)
            result.append((str(schedule), str(candidate.mapping)))
    return result


@pytest.mark.parametrize("name", NAMES)
def test_proposals_are_legal_new_and_reproducible(name: str) -> None:
    assert name in strategy_names()
    first = played(name, 6)
    assert len(set(first)) == len(first) >= 10
    assert first == played(name, 6)
    assert name == "steps-mcts" or first != played(name, 6, seed=1)


def test_the_tree_begins_with_the_source_order() -> None:
    about = context()
    strategy = make_strategy("steps-mcts", about)
    (first,) = strategy.ask(1)
    assert "S0[i, j] -> [i, 0, j, 0]" in str(about.known[first.source])
    assert str(first.mapping) == "threads=2"


def test_the_tree_goes_on_behind_what_was_fast() -> None:
    about = context("mvt")
    strategy = make_strategy("steps-mcts", about)
    assert isinstance(strategy, StepTreeSearch)
    strategy._has_model = False
    for candidate in strategy.ask(1):
        strategy.tell(candidate, 1.0)
    candidates = [strategy.ask(1)[0] for _ in range(2)]
    for candidate, speedup in zip(candidates, (0.0, 50.0), strict=True):
        strategy.tell(candidate, speedup)
    slow, fast = (strategy._nodes[candidate] for candidate in candidates)
    for _ in range(12):
        for candidate in strategy.ask(1):
            strategy.tell(candidate, 1.0)
    assert fast.visits > slow.visits
    assert fast.best > slow.best


def test_steps_about_storage_are_left_out() -> None:
    strategy = make_strategy("steps", context("symm"))
    assert isinstance(strategy, StepSearch)
    kinds = {type(step).__name__ for step, _ in next_states(strategy.root)}
    assert not kinds & {"Store", "SplitIndexSet", "Contract", "Stop", "Undo"}
    assert {"Distribute", "Tile", "Skew"} <= kinds
