"""Which home a program was given before, by all that decides it: in the user's cache folder.

There is a small file for each question, ``homes/KEY.json``, where KEY is a fingerprint of the
program, its sizes, the mapping, the limits, the kind of machine, the models, and polygym's own
sources. It has the ranking, of which the answer follows; the plan in it is proved again whenever it
is used, so that a file that was damaged can do no harm.

Example: floyd-warshall takes a second the first time and a few milliseconds from then on.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass, fields, is_dataclass
from enum import Enum
from functools import cache
from pathlib import Path
from typing import Any, TypeAlias

from polygym.compiler.codegen.common.mapping import Mapping
from polygym.compiler.poly.splitting.cuts import Splitting, parse_splitting
from polygym.compiler.storage.plan import StoragePlan, parse_storage
from polygym.cost import shipped as trees
from polygym.episodes import learned_weights as networks
from polygym.errors import InputError, Place
from polygym.files import cache_folder, write_atomically
from polygym.measure.evaluation.fingerprint import fingerprint
from polygym.pickles import pickled_by_name
from polygym.programs import Program
from polygym.sources import fingerprint_of
from polygym.version import __version__

_FOLDER = "homes"

DECIDING = (
    "compiler/codegen",
    "compiler/ir",
    "compiler/poly",
    "compiler/storage",
    "cost",
    "episodes",
)
"""The folders of the package whose modules decide it."""


@pickled_by_name
@dataclass(frozen=True, slots=True)
class Home:
    """Cuts and a plan, what is promised of them beside the program as it was written, and a score.

    The score is the static one of the schedule; both are None where isl would take too long.
    """

    splitting: Splitting
    storage: StoragePlan
    promise: float | None = None
    score: float | None = None

    def to_json(self) -> dict[str, Any]:
        """Return plain data; :func:`home_from_json` reads it."""
        return {
            "splitting": str(self.splitting),
            "storage": str(self.storage),
            "promise": self.promise,
            "score": self.score,
        }


Ranking: TypeAlias = tuple[Home, ...]
"""The homes that were judged, that of the program as it was written first."""


def home_from_json(data: dict[str, Any]) -> Home:
    """Return the home that :meth:`Home.to_json` wrote.

    Raises:
        InputError, KeyError, TypeError, ValueError: it did not.
    """
    numbers = (data["promise"], data["score"])
    promise, score = (None if one is None else float(one) for one in numbers)
    return Home(parse_splitting(data["splitting"]), parse_storage(data["storage"]), promise, score)


def question(program: Program, mapping: Mapping, limit: int, least: float) -> str:
    """Return the fingerprint of all that decides where a program keeps its values."""
    asked = {
        "program": _plain(program.scop),
        "sizes": sorted(program.parameters),
        "mapping": str(mapping),
        "limits": [limit, least],
        "machine": fingerprint().key,
        "models": [trees.digest(), networks.digest()],
        "polygym": [__version__, _sources()],
    }
    return hashlib.sha256(json.dumps(asked, sort_keys=True).encode()).hexdigest()[:32]


def recall(question: str) -> Ranking | None:
    """Return what was answered before; None where nothing was, or it cannot be read."""
    path = _path(question)
    if path is None:
        return None
    with suppress(OSError, ValueError, InputError, KeyError, TypeError, RecursionError):
        found = json.loads(path.read_text(encoding="utf-8"))["ranking"]
        return tuple(home_from_json(one) for one in found) or None
    return None


def keep(question: str, ranking: Iterable[Home]) -> None:
    """Keep an answer; where nothing can be kept it is found each time."""
    path = _path(question)
    if path is None:
        return
    document = {"ranking": [one.to_json() for one in ranking]}
    with suppress(OSError):
        path.parent.mkdir(parents=True, exist_ok=True)
        write_atomically(path, json.dumps(document, indent=1).encode())


def forget() -> int:
    """Forget all answers, and return how many there were."""
    folder = _folder()
    found = [] if folder is None else list(folder.glob("*.json"))
    for one in found:
        one.unlink(missing_ok=True)
    return len(found)


def _path(question: str) -> Path | None:
    folder = _folder()
    return None if folder is None else folder / f"{question}.json"


def _folder() -> Path | None:
    folder = cache_folder()
    return None if folder is None else folder / _FOLDER


@cache
def _sources() -> str:
    return fingerprint_of(DECIDING)


def _plain(value: Any) -> Any:
    """Return a program as plain data, wherever its text stands.

    A place is left out, and so is the name of the file: neither decides anything.
    """
    match value:
        case Place():
            return None
        case Enum():
            return value.name
        case tuple() | list():
            return [_plain(one) for one in value]
        case _ if is_dataclass(value):
            named = (one.name for one in fields(value) if one.name != "file")
            return [
                type(value).__name__,
                {name: _plain(getattr(value, name)) for name in named},
            ]
        case bool() | int() | str() | None:
            return value
        case _:
            return repr(value)
