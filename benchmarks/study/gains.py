"""What a search gains over what it begins with: isl's schedule under the default mapping.

The search is that of `polygym tune`. In the end its best five and what it began with run in turn,
and the gain is by these times; it is 1 where nothing is faster by more than noise, since then the
search keeps what it began with.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, replace
from math import log
from pathlib import Path
from typing import TypeAlias

from polygym.compiler.codegen.common.mapping import DEFAULT
from polygym.errors import PolygymError
from polygym.search.tune import Plan
from polygym.search.tune.tuner import tune
from study.clock import check_tuned
from study.curves import interval
from study.journal import add_line, read_lines
from study.programs import load

POPULATION = 32


@dataclass(frozen=True)
class Gain:
    """Speedups over the original order of the start and of the best, run in turn.

    ``tried`` is how many candidates there were: all that a search begins with are tried, however
    few trials it has.
    """

    program: str
    dataset: str
    threads: int
    trials: int
    search: str
    seed: int
    start: float
    best: float
    gain: float
    tried: int
    seconds: float
    strategy: str
    schedule: str
    mapping: str


Key: TypeAlias = tuple[str, str, int, int, str, int]
"""Program, sizes, threads, trials, which search, seed."""


def asked(one: Gain) -> Key:
    """Return what was asked for."""
    return (one.program, one.dataset, one.threads, one.trials, one.search, one.seed)


def gained(
    name: str,
    dataset: str,
    threads: int,
    trials: int,
    search: str,
    seed: int,
    tell: Callable[[int], None],
) -> Gain:
    """Search, and return what that has gained; ``tell`` hears how many trials there are.

    Raises:
        PolygymError: the program cannot be read or run, code crashed, or an output was wrong.
    """
    began = time.monotonic()
    population = min(POPULATION, trials)
    plan = Plan(-(-trials // population), population, search, seed)
    program = load(name, dataset)
    found = tune(program, replace(DEFAULT, threads=threads), plan, show=lambda one: tell(one.tried))
    if found.interrupted:
        raise KeyboardInterrupt
    check_tuned(name, found)
    if not found.start.is_ok:
        raise PolygymError(f"{name}: expected the start to run, found: {found.start.status.value}")
    return Gain(
        name, dataset, threads, trials, search, seed,
        start=round(found.start.speedup, 4),
        best=round(found.best.speedup, 4),
        gain=round(found.gain, 4),
        tried=found.tried,
        seconds=round(time.monotonic() - began, 1),
        strategy=str(found.strategy),
        schedule=str(found.best.schedule),
        mapping=str(found.best.mapping),
    )  # fmt: skip


def remembered(path: Path) -> dict[Key, Gain]:
    """Return what an earlier run has found."""
    return {asked(one): one for _, one in read_lines(path, lambda data: Gain(**data))}


def keep(path: Path, one: Gain) -> None:
    """Add a row to a file."""
    add_line(path, json.dumps(asdict(one)))


def table(rows: Sequence[Gain]) -> str:
    """Return a table in Markdown, the geometric mean of programs in the last row."""
    heads = ("program", "start", "best", "gain", "candidates", "seconds")
    lines = [f"| {' | '.join(heads)} |", "|---" * len(heads) + "|"]
    logs: dict[str, list[float]] = {}
    for one in rows:
        label = one.program if one.seed == 0 else f"{one.program}, seed {one.seed}"
        lines.append(
            f"| {label} | {one.start:.2f}x | {one.best:.2f}x | {one.gain:.2f} | {one.tried} | "
            f"{one.seconds:.0f} |"
        )
        logs.setdefault(one.program, []).append(log(one.gain))
    if logs:
        mean = interval([sum(own) / len(own) for own in logs.values()])
        lines.append(f"| geometric mean | | | {mean} | | |")
    return "\n".join(lines)
