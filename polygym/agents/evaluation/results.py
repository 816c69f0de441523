"""Results of agents, one line an episode: agent, kernel, seed, reward, status.

A line is an object of these entries; ``record`` is the episode as its environment exports it, which
anybody can play and measure again::

    {"agent": "earliest", "seed": 0, "kernel": "mvt", "episode": 0, "reward": 0.61,
     "speedup": 0.0, "status": "not measured", "record": {…}, "trained_on": false}

``trained_on`` says that the agent has learned from the kernel, which is one for tests
(:mod:`polygym.agents.experiments.train_test_leakage`), or from a program that does the same.
"""

import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from math import isfinite
from pathlib import Path
from typing import Any, get_type_hints

from polygym.errors import InputError
from polygym.files import write_atomically


@dataclass(frozen=True, slots=True)
class EpisodeResultLine:
    """One episode of one agent; the module's docstring says what each entry means."""

    agent: str
    seed: int
    kernel: str
    episode: int
    reward: float
    speedup: float
    status: str
    record: dict[str, Any]
    trained_on: bool = False


def write_results(file: Path, results: Sequence[EpisodeResultLine]) -> None:
    """Write a file, whole or not at all."""
    lines = [json.dumps(asdict(line)) for line in results]
    write_atomically(file, "".join(f"{line}\n" for line in lines).encode())


def read_results(file: Path) -> list[EpisodeResultLine]:
    """Return the results of a file.

    Raises:
        InputError: it cannot be read, or a line is none.
    """
    try:
        lines = file.read_text(encoding="utf-8").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(f"{file}: expected results, found: {error}") from None
    result_lines = [_result(line, f"{file}:{number}") for number, line in enumerate(lines, start=1)]
    if not result_lines:
        raise InputError(f"{file}: expected results, found an empty file")
    return result_lines


_ENTRY_TYPES: dict[Any, tuple[type, ...]] = {
    str: (str,),
    bool: (bool,),
    int: (int,),
    float: (float, int),
    dict[str, Any]: (dict,),
}


def _result(line: str, place: str) -> EpisodeResultLine:
    try:
        data = json.loads(line)
    except (ValueError, RecursionError) as error:
        raise InputError(f"{place}: expected a result as JSON, found: {error}") from None
    hints = get_type_hints(EpisodeResultLine)
    known = {name: _ENTRY_TYPES[annotation] for name, annotation in hints.items()}
    if not isinstance(data, dict) or set(data) != set(known):
        raise InputError(f"{place}: expected the entries {', '.join(known)}")
    for name, kinds in known.items():
        value = data[name]
        wrong = not isinstance(value, kinds) or (isinstance(value, bool) and bool not in kinds)
        if wrong or (float in kinds and not _is_finite(value)):
            raise InputError(f"{place}: {name}: expected {kinds[0].__name__}, found {value!r:.60}")
    return EpisodeResultLine(**data)


def _is_finite(value: float) -> bool:
    """Whether a number is one that tables can have; an integer may be too large for that."""
    try:
        return isfinite(value)
    except OverflowError:
        return False
