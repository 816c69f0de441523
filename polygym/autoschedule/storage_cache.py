"""Cache of the storage variants that programs were given, in the user's cache folder.

There is a small file for each question, ``storage-variants/KEY.json``. KEY is a fingerprint of the
program, its sizes, the mapping, the limits, the kind of machine, the models, and polygym's own
sources. It has the ranking, of which the answer follows; the plan in it is proved again whenever it
is used, so that a file that was damaged can do no harm.

Example: floyd-warshall takes a second the first time and a few milliseconds from then on.
"""

import hashlib
import json
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass, fields, is_dataclass
from enum import Enum
from functools import cache
from pathlib import Path
from typing import Any, TypeAlias

from polygym.autoschedule import weights as networks
from polygym.cost.models import pretrained as trees
from polygym.errors import InputError, SourceLocation
from polygym.files import cache_folder, write_atomically
from polygym.mapping.mapping import Mapping
from polygym.pickling import pickle_by_name
from polygym.poly.transform.splitting.conditions import Splitting, parse_splitting
from polygym.poly.transform.storage.plan import StoragePlan, parse_storage
from polygym.programs import Program
from polygym.runtime.evaluation.fingerprint import machine_fingerprint
from polygym.source_fingerprint import source_fingerprint
from polygym.version import __version__

_FOLDER = "storage-variants"

FINGERPRINTED_FOLDERS = (
    "autoschedule",
    "codegen",
    "cost",
    "ir",
    "mapping",
    "poly",
)
"""The folders of the package whose modules decide it."""


@pickle_by_name
@dataclass(frozen=True, slots=True)
class StorageVariant:
    """A splitting and a plan, their predicted gain over the program as it was written, and a score.

    The score is the static one of the schedule, and ``band_width`` is how many of its loops may be
    in tiles together; all are None where isl would take too long.
    """

    splitting: Splitting
    storage: StoragePlan
    predicted_gain: float | None = None
    score: float | None = None
    band_width: float | None = None

    def to_json(self) -> dict[str, Any]:
        """Return plain data; :func:`variant_from_json` reads it."""
        return {
            "splitting": str(self.splitting),
            "storage": str(self.storage),
            "predicted_gain": self.predicted_gain,
            "score": self.score,
            "band_width": self.band_width,
        }


VariantRanking: TypeAlias = tuple[StorageVariant, ...]
"""The storage variants that were judged, that of the program as it was written first."""


def variant_from_json(data: dict[str, Any]) -> StorageVariant:
    """Return the storage variant that :meth:`StorageVariant.to_json` wrote.

    Raises:
        InputError, KeyError, TypeError, ValueError: it did not.
    """
    gain, score, width = (
        None if data[name] is None else float(data[name])
        for name in ("predicted_gain", "score", "band_width")
    )
    return StorageVariant(
        parse_splitting(data["splitting"]), parse_storage(data["storage"]), gain, score, width
    )


def variant_cache_key(program: Program, mapping: Mapping, limit: int, least: float) -> str:
    """Return the fingerprint of all that decides where a program keeps its values."""
    asked = {
        "program": _plain_data(program.scop),
        "sizes": sorted(program.parameters),
        "mapping": str(mapping),
        "limits": [limit, least],
        "machine": machine_fingerprint().key,
        "models": [trees.pretrained_digest(), networks.weights_digest()],
        "polygym": [__version__, _source_fingerprint()],
    }
    return hashlib.sha256(json.dumps(asked, sort_keys=True).encode()).hexdigest()[:32]


def read_ranking(question: str) -> VariantRanking | None:
    """Return what was answered before; None where nothing was, or it cannot be read."""
    path = _path(question)
    if path is None:
        return None
    with suppress(OSError, ValueError, InputError, KeyError, TypeError, RecursionError):
        result = json.loads(path.read_text(encoding="utf-8"))["ranking"]
        return tuple(variant_from_json(variant) for variant in result) or None
    return None


def write_ranking(question: str, ranking: Iterable[StorageVariant]) -> None:
    """Keep an answer; where nothing can be kept it is found each time."""
    path = _path(question)
    if path is None:
        return
    document = {"ranking": [variant.to_json() for variant in ranking]}
    with suppress(OSError):
        path.parent.mkdir(parents=True, exist_ok=True)
        write_atomically(path, json.dumps(document, indent=1).encode())


def clear_rankings() -> int:
    """Forget all answers, and return how many there were."""
    folder = _folder()
    paths = [] if folder is None else list(folder.glob("*.json"))
    for path in paths:
        path.unlink(missing_ok=True)
    return len(paths)


def _path(question: str) -> Path | None:
    folder = _folder()
    return None if folder is None else folder / f"{question}.json"


def _folder() -> Path | None:
    folder = cache_folder()
    return None if folder is None else folder / _FOLDER


@cache
def _source_fingerprint() -> str:
    return source_fingerprint(FINGERPRINTED_FOLDERS)


def _plain_data(value: Any) -> Any:
    """Return a program as plain data, wherever its text stands.

    A place is left out, and so is the name of the file: neither decides anything.
    """
    match value:
        case SourceLocation():
            return None
        case Enum():
            return value.name
        case tuple() | list():
            return [_plain_data(item) for item in value]
        case _ if is_dataclass(value):
            named = (field.name for field in fields(value) if field.name != "file")
            return [
                type(value).__name__,
                {name: _plain_data(getattr(value, name)) for name in named},
            ]
        case bool() | int() | str() | None:
            return value
        case _:
            return repr(value)
