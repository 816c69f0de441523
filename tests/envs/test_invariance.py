"""What an observation does not depend on: names, the order of arguments, the order of the text."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from polygym.envs.base import PolygymEnv
from polygym.mdp.observation.arrays import MOST_LOOPS, MOST_PARAMETERS, MOST_STATEMENTS
from polygym.mdp.observation.episode_arrays import (
    DEPENDENCE_COLUMNS,
    ROW_COLUMNS,
    STATEMENT_COLUMNS,
)
from polygym.programs.generate import generate_source
from tests.envs.episodes import make
from tests.renamed_programs import beside_each_other, names_of, renamed, reordered, reversing

SCHEDULE, OPTIMIZE = "polygym/Schedule-v0", "polygym/Optimize-v0"
STARTS: list[tuple[str, dict[str, Any]]] = [
    (SCHEDULE, {}),
    (OPTIMIZE, {"start": "isl", "threads": 2}),
]
SIZES = (23, 37, 53, 61)

Shown = dict[str, np.ndarray]


def env_of(folder: Path, text: str, name: str, sizes: dict[str, int], **others: Any) -> PolygymEnv:
    file = folder / f"{len(list(folder.iterdir()))}.c"
    file.write_text(text)
    return make(name, kernel=str(file), parameters=sizes, **others)


def together(first: PolygymEnv, second: PolygymEnv, seed: int) -> Iterator[tuple[Shown, Shown]]:
    """Yield what both show while the same allowed actions are taken; rewards are the same."""
    rng, over = np.random.default_rng(seed), False
    observation, _ = first.reset(seed=0)
    other, _ = second.reset(seed=0)
    yield observation, other
    while not over:
        assert np.array_equal(first.action_masks(), second.action_masks())
        action = int(rng.choice(np.flatnonzero(first.action_masks())))
        observation, reward, over, _, _ = first.step(action)
        other, again, ended, _, _ = second.step(action)
        assert (reward, over) == (pytest.approx(again), ended)
        yield observation, other


@pytest.mark.parametrize(("name", "arguments"), STARTS)
@pytest.mark.parametrize("seed", [4, 7, 11, 12])
def test_names_say_nothing(tmp_path: Path, seed: int, name: str, arguments: dict[str, Any]) -> None:
    text = generate_source(seed)
    names = names_of(text)
    others = {
        old: other
        for kind in ("iterators", "arrays", "parameters")
        for old, other in reversing(names[kind], f"z{kind[0]}").items()
    }
    sizes = dict(zip(names["parameters"], SIZES, strict=False))
    first = env_of(tmp_path, text, name, sizes, **arguments)
    again = {others[parameter]: size for parameter, size in sizes.items()}
    second = env_of(tmp_path, renamed(text, others), name, again, **arguments)
    for shown, other in together(first, second, seed):
        assert {key for key in shown if not np.array_equal(shown[key], other[key])} == set()


@pytest.mark.parametrize(("name", "arguments"), STARTS)
@pytest.mark.parametrize("seed", [4, 7, 11, 12])
def test_the_order_of_arguments_is_that_of_columns(
    tmp_path: Path, seed: int, name: str, arguments: dict[str, Any]
) -> None:
    text = generate_source(seed)
    own = names_of(text)["parameters"]
    sizes = dict(zip(own, SIZES, strict=False))
    first = env_of(tmp_path, text, name, sizes, **arguments)
    second = env_of(tmp_path, reordered(text), name, sizes, **arguments)
    columns = np.arange(len(ROW_COLUMNS))
    columns[MOST_LOOPS : MOST_LOOPS + len(own)] = columns[MOST_LOOPS : MOST_LOOPS + len(own)][
        ::-1
    ].copy()
    assert len(own) <= MOST_PARAMETERS
    for shown, other in together(first, second, seed):
        if shown["progress"][1]:
            break  # generators are in the order of their numbers
        for key in ("rows", "generator", "point"):
            other[key] = other[key].reshape(-1, len(ROW_COLUMNS))[:, columns].ravel()
        assert {key for key in shown if not np.array_equal(shown[key], other[key])} == set()


@pytest.mark.parametrize("seeds", [(7, 12), (4, 11), (0, 9)])
def test_the_order_of_the_text_is_that_of_rows(tmp_path: Path, seeds: tuple[int, int]) -> None:
    before, after, rows = beside_each_other(*seeds)
    sizes = dict.fromkeys(names_of(before)["parameters"], 23)
    shown = []
    for text in (before, after):
        observation, _ = env_of(tmp_path, text, SCHEDULE, sizes).reset(seed=0)
        shown.append(observation)
    one, other = shown
    tables = [each["statements"].reshape(MOST_STATEMENTS, len(STATEMENT_COLUMNS)) for each in shown]
    assert np.array_equal(tables[0][: len(rows)], tables[1][rows])
    assert not tables[0][len(rows) :].any()
    assert pairs(one, dict(enumerate(rows))) == pairs(other, {k: k for k in range(len(rows))})
    assert np.array_equal(one["remaining"], other["remaining"])


def pairs(observation: Shown, rows: dict[int, int]) -> list[list[int]]:
    """Return the rows of dependences in some order of their own, with statements renumbered.

    Which of them is looked at follows their order.
    """
    table = observation["dependences"].reshape(-1, len(DEPENDENCE_COLUMNS)).astype(int)
    table = table[table[:, DEPENDENCE_COLUMNS.index("exists")] == 1]
    for column in ("source", "sink"):
        place = DEPENDENCE_COLUMNS.index(column)
        table[:, place] = [rows[number] for number in table[:, place]]
    table[:, DEPENDENCE_COLUMNS.index("looked_at")] = 0
    return sorted(table.tolist())
