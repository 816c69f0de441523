"""Files of boosted trees: LightGBM's texts and a card, packed, with a sum that says they are whole.

They are read without LightGBM; who makes something of the texts is
:mod:`polygym.cost.models.boosted_trees`, which asks LightGBM, and
:mod:`polygym.cost.models.tree_inference`, which walks from node to node by itself.
"""

from __future__ import annotations

import gzip
import hashlib
import json
import zlib
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

from polygym.cost.features.candidates.candidate_vector import FEATURE_NAMES
from polygym.cost.models.cost_model import MODEL_VERSION, ModelCard
from polygym.errors import InputError
from polygym.files import write_atomically

_FORMAT = "polygym trees"
_MAX_BYTES = 1 << 28
_FILE_ERRORS = (OSError, EOFError, ValueError, KeyError, TypeError, RecursionError, zlib.error)


@dataclass(frozen=True, slots=True)
class BoostedTreeFile:
    """What a file holds: the texts of the members of an ensemble, and what is said of them."""

    texts: tuple[str, ...]
    card: ModelCard
    feature_names: tuple[str, ...] = FEATURE_NAMES

    def write(self, path: Path) -> None:
        """Write everything to one file."""
        document = {
            "format": _FORMAT,
            "version": MODEL_VERSION,
            "names": list(self.feature_names),
            "card": asdict(self.card),
            "members": list(self.texts),
            "sum": _checksum(self.texts),
        }
        write_atomically(path, gzip.compress(json.dumps(document).encode(), mtime=0))

    @staticmethod
    def read(path: Path) -> BoostedTreeFile:
        """Read a file.

        Raises:
            InputError: it is no model, or one of another version of features.
        """
        try:
            document = json.loads(_decompress(path))
            if document["format"] != _FORMAT:
                raise ValueError(f"the format {document['format']!r:.60}")
            version, names = document["version"], tuple(document["names"])
            if version != MODEL_VERSION or names != FEATURE_NAMES:
                raise InputError(
                    f"{path}: expected a model of the {len(FEATURE_NAMES)} features of version "
                    f"{MODEL_VERSION}, "
                    f"found one of {len(names)} of version {version}; it has to be trained again"
                )
            card = ModelCard.from_json(document["card"])
            texts = tuple(map(str, document["members"]))
            if not texts:
                raise ValueError("a model without trees")
            # LightGBM ends the process where a text is cut, and follows what is changed forever.
            if document["sum"] != _checksum(texts):
                raise ValueError("trees that are not as they were written")
        except _FILE_ERRORS as error:
            raise InputError(f"{path}: expected a model of trees, found: {error}") from None
        return BoostedTreeFile(texts, card, names)


def _decompress(path: Path) -> bytes:
    """Return what is packed in a file; it is not trusted, so there is a limit to how much."""
    with gzip.open(path) as file:
        text = file.read(_MAX_BYTES + 1)
    if len(text) > _MAX_BYTES:
        raise ValueError(f"more than {_MAX_BYTES >> 20} MB")
    return text


def _checksum(members: Sequence[str]) -> str:
    """Return the check sum of trees as texts."""
    result = hashlib.sha256()
    for member in members:
        result.update(f"{len(member)}\0{member}".encode())
    return result.hexdigest()
