"""Files of boosted trees: LightGBM's texts and a card, packed, with a sum that says they are whole.

They are read without LightGBM; who makes something of the texts is :mod:`polygym.cost.trees`, which
asks LightGBM, and :mod:`polygym.cost.walked_trees`, which walks from node to node by itself.
"""

from __future__ import annotations

import gzip
import hashlib
import json
import zlib
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

from polygym.cost.candidate import NAMES
from polygym.cost.model import VERSION, Card
from polygym.errors import InputError
from polygym.files import write_atomically

_FORMAT = "polygym trees"
_MOST_BYTES = 1 << 28
_NO_MODEL = (OSError, EOFError, ValueError, KeyError, TypeError, RecursionError, zlib.error)


@dataclass(frozen=True, slots=True)
class TreeFile:
    """What a file holds: the texts of the members of an ensemble, and what is said of them."""

    texts: tuple[str, ...]
    card: Card
    names: tuple[str, ...] = NAMES

    def write(self, path: Path) -> None:
        """Write everything to one file."""
        document = {
            "format": _FORMAT,
            "version": VERSION,
            "names": list(self.names),
            "card": asdict(self.card),
            "members": list(self.texts),
            "sum": _sum(self.texts),
        }
        write_atomically(path, gzip.compress(json.dumps(document).encode(), mtime=0))

    @staticmethod
    def read(path: Path) -> TreeFile:
        """Read a file.

        Raises:
            InputError: it is no model, or one of another version of features.
        """
        try:
            document = json.loads(_unpacked(path))
            if document["format"] != _FORMAT:
                raise ValueError(f"the format {document['format']!r:.60}")
            version, names = document["version"], tuple(document["names"])
            if version != VERSION or names != NAMES:
                raise InputError(
                    f"{path}: expected a model of the {len(NAMES)} features of version {VERSION}, "
                    f"found one of {len(names)} of version {version}; it has to be trained again"
                )
            card = Card.from_json(document["card"])
            texts = tuple(map(str, document["members"]))
            if not texts:
                raise ValueError("a model without trees")
            # LightGBM ends the process where a text is cut, and follows what is changed for ever.
            if document["sum"] != _sum(texts):
                raise ValueError("trees that are not as they were written")
        except _NO_MODEL as error:
            raise InputError(f"{path}: expected a model of trees, found: {error}") from None
        return TreeFile(texts, card, names)


def _unpacked(path: Path) -> bytes:
    """Return what is packed in a file; it is not trusted, so there is a limit to how much."""
    with gzip.open(path) as file:
        text = file.read(_MOST_BYTES + 1)
    if len(text) > _MOST_BYTES:
        raise ValueError(f"more than {_MOST_BYTES >> 20} MB")
    return text


def _sum(members: Sequence[str]) -> str:
    """Return the check sum of trees as texts."""
    found = hashlib.sha256()
    for one in members:
        found.update(f"{len(one)}\0{one}".encode())
    return found.hexdigest()
