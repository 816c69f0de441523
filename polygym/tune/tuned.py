"""What a tuner has found, as a value and as a file.

The file is JSON with the schedule and the mapping, which is all that it takes to use them again,
and with what was measured, which is for people. ``polygym run --schedule FILE`` reads it too; and
what `polygym tune` and `polygym optimize` write as ``best.json`` can be read here.
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping as Dictionary
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from polygym.codegen.mapping import Mapping, parse_mapping
from polygym.errors import InputError
from polygym.evaluation import Evaluation
from polygym.ir.scop import Scop
from polygym.poly.schedule import Schedule, parse
from polygym.search.files import write_atomically
from polygym.tune.candidates import Way

FORMAT = "polygym tuned"
VERSION = 1
_LARGEST_FILE = 1 << 24


@dataclass(frozen=True, slots=True)
class Tuned:
    """What a tuner has found for a program of certain sizes.

    ``best`` and ``start`` were measured side by side in the end; ``start`` is what there was to
    begin with, and ``strategy`` how the best schedule came about. ``wrong`` counts candidates that
    computed something else: a defect of polygym.
    """

    program: str
    parameters: tuple[tuple[str, int], ...]
    best: Evaluation
    strategy: Way
    start: Evaluation
    tried: int
    wrong: int
    interrupted: bool

    @property
    def gain(self) -> float:
        """How many times faster than the start the best is."""
        return self.best.speedup / self.start.speedup if self.start.speedup else 0.0

    def to_json(self) -> dict[str, Any]:
        """Return plain data."""
        return {
            "format": FORMAT,
            "version": VERSION,
            "program": self.program,
            "parameters": dict(self.parameters),
            "schedule": str(self.best.schedule),
            "mapping": str(self.best.mapping),
            "strategy": str(self.strategy),
            "best": self.best.to_json(),
            "start": self.start.to_json(),
            "gain": self.gain,
            "tried": self.tried,
            "wrong": self.wrong,
            "interrupted": self.interrupted,
        }

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write it to a file, in one step."""
        write_atomically(Path(path), (json.dumps(self.to_json(), indent=2) + "\n").encode())


def read_choice(path: str | os.PathLike[str], scop: Scop) -> tuple[Schedule, Mapping]:
    """Return the schedule and the mapping of a file, for a program.

    Raises:
        InputError: it cannot be read, or what it has is none of this program.
    """
    try:
        if os.path.getsize(path) > _LARGEST_FILE:
            raise ValueError(f"it has more than {_LARGEST_FILE:,} bytes")
        data = json.loads(Path(path).read_text(encoding="utf-8"))
        schedule, mapping = _parts(data)
    except (OSError, ValueError, TypeError, KeyError, RecursionError) as error:
        raise InputError(
            f"{os.fspath(path)}: expected what a tuner has saved, found something else "
            f"({type(error).__name__}: {error})"
        ) from None
    try:
        return parse(schedule, scop), parse_mapping(mapping)
    except InputError as error:
        raise InputError(f"{os.fspath(path)}: {error}") from None


def _parts(data: Any) -> tuple[str, str]:
    """Return the texts of the schedule and of the mapping, from any of the files that have both."""
    if not isinstance(data, Dictionary):
        raise TypeError(f"expected an object, found {type(data).__name__}")
    schedule = data["schedule"]
    mapping = data["mapping"] if "mapping" in data else data["outcome"]["mapping"]
    for text in (schedule, mapping):
        if not isinstance(text, str):
            raise TypeError(f"expected a text, found {text!r}")
    return schedule, mapping
