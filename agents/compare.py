"""Put agents beside each other: means with intervals, and how each does beside the first.

    python -m agents.compare earliest.jsonl trained.jsonl
    python -m agents.compare earliest.jsonl trained.jsonl --by speedup --picture agents.svg

Files are those of `python -m agents.evaluate --out`. Kernels that not all agents have are left out.
The mean of an agent is over kernels, of what its seeds have in the mean; with `--by speedup` it is
geometric. In brackets is the interval of nine in ten, by drawing seeds, and kernels beside the
first agent's. An agent with a star has learned from kernels for tests that are among these.
"""

from __future__ import annotations

import sys
from argparse import Namespace
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from agents.commands import exit_code, expect_folder_of, parser_of
from agents.results import Result, read
from agents.seen import noted
from polygym.errors import InputError

_DRAWS = 2000
_WORST = 1e-3  # what has failed


@dataclass(frozen=True, slots=True)
class Compared:
    """An agent: its mean, and that beside the first one's, each with the ends of an interval.

    ``seen`` are the kernels for tests among these that it has learned from.
    """

    agent: str
    seeds: int
    kernels: int
    mean: tuple[float, float, float]
    beside: tuple[float, float, float]
    seen: tuple[str, ...] = ()

    @property
    def marked(self) -> str:
        """The agent, with a star if it has learned from kernels for tests that it is judged by."""
        return f"{self.agent} *" if self.seen else self.agent


def compared(found: Sequence[Result], by: str) -> list[Compared]:
    """Return the agents in the order in which they come.

    Raises:
        InputError: they have no kernel in common, an episode twice, or were asked for other things.
    """
    _expect_once(found)
    agents = list(dict.fromkeys(one.agent for one in found))
    common = set.intersection(
        *({one.kernel for one in found if one.agent == agent} for agent in agents)
    )
    if not common:
        raise InputError("results: expected kernels that all agents have, found none")
    _expect_alike([one for one in found if one.kernel in common], by)
    kernels = [name for name in dict.fromkeys(one.kernel for one in found) if name in common]
    tables = [_table(found, agent, kernels, by) for agent in agents]
    first = tables[0].mean(axis=0)
    dice = np.random.default_rng(0)
    rows = []
    for agent, own in zip(agents, tables, strict=True):
        seeds = dice.integers(len(own), size=(_DRAWS, len(own)))
        drawn = own[seeds].mean(axis=1)
        places = dice.integers(len(kernels), size=(_DRAWS, len(kernels)))
        ahead = (own.mean(axis=0) - first)[places].mean(axis=1)
        mean, beside = drawn.mean(axis=1), ahead
        rows.append(
            Compared(
                agent,
                len(own),
                len(kernels),
                _shown(own.mean(), mean, by),
                _shown((own.mean(axis=0) - first).mean(), beside, by),
                _seen(found, agent, kernels),
            )
        )
    return rows


def _expect_once(found: Sequence[Result]) -> None:
    """Refuse an episode that is there twice: its agent would count as if it had more of them."""
    seen = set()
    for one in found:
        episode = one.agent, one.seed, one.kernel, one.episode
        if episode in seen:
            raise InputError(
                f"{one.agent}: expected episode {one.episode} of {one.kernel}, seed {one.seed}, "
                "once, found it twice"
            )
        seen.add(episode)


def _expect_alike(found: Sequence[Result], by: str) -> None:
    """Refuse numbers that say nothing beside each other: of other sizes, threads, rewards."""
    first: dict[str, tuple[str, dict[str, Any]]] = {}
    for one in found:
        arguments, program = one.record.get("arguments"), one.record.get("program")
        if not isinstance(arguments, dict) or not isinstance(program, dict):
            continue  # a record that says nothing of it
        own = {"parameters": program.get("parameters"), "threads": arguments.get("threads")}
        if by == "reward":
            own["reward"] = arguments.get("reward")
        agent, known = first.setdefault(one.kernel, (one.agent, own))
        for name, value in own.items():
            if value != known[name]:
                raise InputError(
                    f"{one.agent}: expected for {one.kernel} the {name} of {agent}, "
                    f"{known[name]}, found {value}"
                )


def _table(found: Sequence[Result], agent: str, kernels: Sequence[str], by: str) -> Any:
    """Return a row for every seed, with a column for every kernel; speedups as logarithms."""
    seeds = list(dict.fromkeys(one.seed for one in found if one.agent == agent))
    values: dict[tuple[int, str], list[float]] = {}
    for one in found:
        if one.agent == agent:
            value = one.reward if by == "reward" else float(np.log(max(_WORST, one.speedup)))
            values.setdefault((one.seed, one.kernel), []).append(value)
    missing = [(seed, name) for seed in seeds for name in kernels if (seed, name) not in values]
    if missing:
        seed, name = missing[0]
        raise InputError(f"{agent}: expected {name} of seed {seed} too")
    return np.array([[np.mean(values[seed, name]) for name in kernels] for seed in seeds])


def _seen(found: Sequence[Result], agent: str, kernels: Sequence[str]) -> tuple[str, ...]:
    own = {one.kernel for one in found if one.agent == agent and one.seen}
    return tuple(name for name in kernels if name in own)


def _shown(middle: float, drawn: Any, by: str) -> tuple[float, float, float]:
    numbers = (float(middle), *(float(one) for one in np.quantile(drawn, (0.05, 0.95))))
    first, low, high = (one if by == "reward" else float(np.exp(one)) for one in numbers)
    return first, low, high


def markdown(rows: Sequence[Compared], by: str) -> str:
    """Return a table in Markdown."""
    relation = "minus" if by == "reward" else "over"
    lines = [
        f"| agent | seeds | kernels | {by} | {relation} {rows[0].agent} |",
        "|---|---|---|---|---|",
    ]
    for one in rows:
        cells = [
            f"{mid:.3f} ({low:.3f} to {high:.3f})" for mid, low, high in (one.mean, one.beside)
        ]
        lines.append(f"| {one.marked} | {one.seeds} | {one.kernels} | {' | '.join(cells)} |")
    notes = [f"\n\\* {noted(one.agent, one.seen)}" for one in rows if one.seen]
    return "\n".join([*lines, *notes])


def draw(rows: Sequence[Compared], by: str, file: Path) -> None:
    """Draw the agents' means with their intervals."""
    import matplotlib
    from matplotlib.figure import Figure

    figure = Figure(figsize=(7, 0.6 * len(rows) + 1.2), layout="constrained")
    axes = figure.subplots()
    for place, one in enumerate(reversed(rows)):
        middle, low, high = one.mean
        axes.plot([low, high], [place, place], color="#4477aa", linewidth=2)
        axes.plot([middle], [place], "o", color="#4477aa")
    axes.set_yticks(range(len(rows)), [one.marked for one in reversed(rows)])
    axes.set_xlabel(f"{by}, nine in ten")
    axes.grid(axis="x", alpha=0.3)
    with matplotlib.rc_context({"svg.hashsalt": "polygym"}):
        figure.savefig(file)


def main(arguments: list[str] | None = None) -> int:
    """Compare; return 0, 1 after Ctrl-C, 2 for what cannot be done."""
    parser = parser_of("compare", __doc__)
    parser.add_argument("files", nargs="+", type=Path, metavar="RESULTS")
    parser.add_argument("--by", choices=("reward", "speedup"), default="reward")
    parser.add_argument("--picture", type=Path, help="an SVG, PNG or PDF file")
    options = parser.parse_args(arguments)
    return exit_code(lambda: _compare(options), "ended")


def _compare(options: Namespace) -> None:
    expect_folder_of(options.picture, "--picture")
    rows = compared([one for file in options.files for one in read(file)], options.by)
    print(markdown(rows, options.by))
    if options.picture is not None:
        try:
            draw(rows, options.by, options.picture)
        except ValueError as error:  # an ending that is none of a picture
            raise InputError(f"--picture: {error}") from None


if __name__ == "__main__":
    sys.exit(main())
