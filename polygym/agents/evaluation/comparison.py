"""Agents beside each other: means with intervals, and how each does beside the first.

The mean of an agent is over kernels, of the mean of its seeds; speedups have a geometric mean. The
interval of 90 % draws seeds, and kernels beside the first agent's. ``polygym compare``
prints it.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from polygym.agents.evaluation.results import EpisodeResultLine
from polygym.agents.experiments.train_test_leakage import leakage_note
from polygym.errors import InputError

_RESAMPLES = 2000
_FAILED_SPEEDUP = 1e-3  # what has failed


@dataclass(frozen=True, slots=True)
class ComparedAgent:
    """An agent: its mean, and that beside the first one's, each with the ends of an interval.

    ``trained_on`` are the kernels for tests among these that it has learned from.
    """

    agent: str
    seeds: int
    kernels: int
    mean: tuple[float, float, float]
    relative: tuple[float, float, float]
    leaked_kernels: tuple[str, ...] = ()

    @property
    def marked_name(self) -> str:
        """The agent, with a star if it has learned from kernels for tests that it is judged by."""
        return f"{self.agent} *" if self.leaked_kernels else self.agent


def compare_agents(results: Sequence[EpisodeResultLine], by: str) -> list[ComparedAgent]:
    """Return the agents in the order in which they come.

    Raises:
        InputError: they have no kernel in common, an episode twice, or were asked for other things.
    """
    _expect_unique_episodes(results)
    agents = list(dict.fromkeys(line.agent for line in results))
    common = set.intersection(
        *({result.kernel for result in results if result.agent == agent} for agent in agents)
    )
    if not common:
        raise InputError("results: expected kernels that all agents have, found none")
    _expect_comparable([line for line in results if line.kernel in common], by)
    kernels = [
        name for name in dict.fromkeys(result.kernel for result in results) if name in common
    ]
    tables = [_table(results, agent, kernels, by) for agent in agents]
    first = tables[0].mean(axis=0)
    rng = np.random.default_rng(0)
    rows = []
    for agent, own in zip(agents, tables, strict=True):
        seeds = rng.integers(len(own), size=(_RESAMPLES, len(own)))
        drawn = own[seeds].mean(axis=1)
        places = rng.integers(len(kernels), size=(_RESAMPLES, len(kernels)))
        ahead = (own.mean(axis=0) - first)[places].mean(axis=1)
        mean, beside = drawn.mean(axis=1), ahead
        rows.append(
            ComparedAgent(
                agent,
                len(own),
                len(kernels),
                _mean_with_interval(own.mean(), mean, by),
                _mean_with_interval((own.mean(axis=0) - first).mean(), beside, by),
                _leaked_kernels(results, agent, kernels),
            )
        )
    return rows


def _expect_unique_episodes(lines: Sequence[EpisodeResultLine]) -> None:
    """Refuse an episode that is there twice: its agent would count as if it had more of them."""
    seen = set()
    for line in lines:
        episode = line.agent, line.seed, line.kernel, line.episode
        if episode in seen:
            raise InputError(
                f"{line.agent}: expected episode {line.episode} of "
                f"{line.kernel}, seed {line.seed}, once, found it twice"
            )
        seen.add(episode)


def _expect_comparable(lines: Sequence[EpisodeResultLine], by: str) -> None:
    """Refuse numbers that say nothing beside each other: of other sizes, threads, rewards."""
    first: dict[str, tuple[str, dict[str, Any]]] = {}
    for line in lines:
        arguments, program = line.record.get("arguments"), line.record.get("program")
        if not isinstance(arguments, dict) or not isinstance(program, dict):
            continue  # a record that says nothing of it
        own = {"parameters": program.get("parameters"), "threads": arguments.get("threads")}
        if by == "reward":
            own["reward"] = arguments.get("reward")
        agent, known = first.setdefault(line.kernel, (line.agent, own))
        for name, value in own.items():
            if value != known[name]:
                raise InputError(
                    f"{line.agent}: expected for {line.kernel} the {name} of "
                    f"{agent}, {known[name]}, found {value}"
                )


def _table(lines: Sequence[EpisodeResultLine], agent: str, kernels: Sequence[str], by: str) -> Any:
    """Return a row for every seed, with a column for every kernel; speedups as logarithms."""
    seeds = list(dict.fromkeys(line.seed for line in lines if line.agent == agent))
    values: dict[tuple[int, str], list[float]] = {}
    for line in lines:
        if line.agent == agent:
            value = (
                line.reward if by == "reward" else float(np.log(max(_FAILED_SPEEDUP, line.speedup)))
            )
            values.setdefault((line.seed, line.kernel), []).append(value)
    missing = [(seed, name) for seed in seeds for name in kernels if (seed, name) not in values]
    if missing:
        seed, name = missing[0]
        raise InputError(f"{agent}: expected {name} of seed {seed} too")
    return np.array([[np.mean(values[seed, name]) for name in kernels] for seed in seeds])


def _leaked_kernels(
    lines: Sequence[EpisodeResultLine], agent: str, kernels: Sequence[str]
) -> tuple[str, ...]:
    own = {line.kernel for line in lines if line.agent == agent and line.trained_on}
    return tuple(name for name in kernels if name in own)


def _mean_with_interval(middle: float, drawn: Any, by: str) -> tuple[float, float, float]:
    numbers = (float(middle), *(float(quantile) for quantile in np.quantile(drawn, (0.05, 0.95))))
    first, low, high = (number if by == "reward" else float(np.exp(number)) for number in numbers)
    return first, low, high


def markdown(rows: Sequence[ComparedAgent], by: str) -> str:
    """Return a table in Markdown."""
    relation = "minus" if by == "reward" else "over"
    lines = [
        f"| agent | seeds | kernels | {by} | {relation} {rows[0].agent} |",
        "|---|---|---|---|---|",
    ]
    for agent in rows:
        cells = [
            f"{mid:.3f} ({low:.3f} to {high:.3f})"
            for mid, low, high in (agent.mean, agent.relative)
        ]
        lines.append(
            f"| {agent.marked_name} | {agent.seeds} | {agent.kernels} | {' | '.join(cells)} |"
        )
    notes = [
        f"\n\\* {leakage_note(agent.agent, agent.leaked_kernels)}"
        for agent in rows
        if agent.leaked_kernels
    ]
    return "\n".join([*lines, *notes])
