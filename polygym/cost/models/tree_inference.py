"""Boosted trees that are asked without LightGBM: for a handful of candidates, and in no time.

LightGBM takes most of a second to be imported, and need not be there. To ask its trees is little:
each is a list of inner nodes, of which node 0 is the root. At node k a vector x goes to ``left[k]``
if x[feature[k]] ≤ threshold[k], else to ``right[k]``; where that is negative it is the end, leaf
-1 - left[k]. A score is the sum of the leaves of all trees, in their order.

Example: one tree with the node (feature 0, threshold 2.5, left -1, right -2) and the leaves 7 and 9
gives 7 to [2.0] and 9 to [3.0].

All trees are walked at once, level by level; the sums are those of LightGBM to the last bit.

Files of boosted trees: LightGBM's texts and a card, packed, with a sum that says they are whole.

They are read without LightGBM; who makes something of the texts is
:mod:`polygym.cost.models.boosted_trees`, which asks LightGBM, and
:mod:`polygym.cost.models.tree_inference`, which walks from node to node by itself.
"""

from __future__ import annotations

import gzip
import hashlib
import json
import zlib
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from polygym.cost.features.candidates.candidate_vector import FEATURE_NAMES
from polygym.cost.features.candidates.loop_tree import LoopForest
from polygym.cost.features.loops.nests import Floats
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


# Numbers are compared, and what is no number is 0: LightGBM's decision type of what trains here.
_COMPARISON_NODE = 2

Integers = NDArray[np.int64]


@dataclass(frozen=True, slots=True, eq=False)
class TreeArrays:
    """The trees of one member, a row for each; a tree of one leaf has a node that leads nowhere."""

    features: Integers
    thresholds: Floats
    left: Integers
    right: Integers
    leaves: Floats

    @staticmethod
    def of(text: str) -> TreeArrays:
        """Read LightGBM's text.

        Raises:
            ValueError: there is something in it that is not supported.
        """
        trees = [_parse_tree(block) for block in _tree_blocks(text)]
        if not trees:
            raise ValueError("a text without trees")
        width = max(len(tree["leaf_value"]) for tree in trees)

        def table(name: str, columns: int) -> Floats:
            rows = np.zeros((len(trees), columns))
            for row, tree in zip(rows, trees, strict=True):
                row[: len(tree[name])] = tree[name]
            return rows

        nodes = max(1, width - 1)
        features, left, right = (
            table(name, nodes).astype(np.int64)
            for name in ("split_feature", "left_child", "right_child")
        )
        return TreeArrays(
            features, table("threshold", nodes), left, right, table("leaf_value", width)
        )

    def scores(self, vectors: Floats) -> Floats:
        """Return the sums of the leaves that vectors come to."""
        vectors = np.asarray(vectors)
        at = np.zeros((len(vectors), len(self.features)), dtype=np.int64)
        rows, trees = np.indices(at.shape).reshape(2, -1)
        while len(rows):
            nodes = at[rows, trees]
            is_left = vectors[rows, self.features[trees, nodes]] <= self.thresholds[trees, nodes]
            at[rows, trees] = nodes = np.where(
                is_left, self.left[trees, nodes], self.right[trees, nodes]
            )
            rows, trees = rows[nodes >= 0], trees[nodes >= 0]
        # One after the other, as LightGBM adds them up.
        leaves = self.leaves[np.arange(len(self.features)), -1 - at]
        return np.asarray(np.cumsum(leaves, axis=1)[:, -1])


@dataclass(frozen=True, slots=True, eq=False)
class TreeInference:
    """An ensemble of boosted trees, to be asked only."""

    members: tuple[TreeArrays, ...]
    card: ModelCard

    @property
    def wants_loops(self) -> bool:
        """Vectors are all that it looks at."""
        return False

    def scores(self, features: Floats, loops: LoopForest | None = None) -> Floats:
        """Return the scores of candidates, a row for every member."""
        return np.array([tree_arrays.scores(features) for tree_arrays in self.members])

    @staticmethod
    def load(path: Path) -> TreeInference:
        """Read a model.

        Raises:
            InputError: the file is no model of trees, or one of another version of features.
        """
        file = BoostedTreeFile.read(path)
        try:
            return TreeInference(tuple(map(TreeArrays.of, file.texts)), file.card)
        except (ValueError, KeyError) as error:
            raise InputError(f"{path}: expected a model of trees, found: {error}") from None


def _tree_blocks(text: str) -> Iterator[dict[str, str]]:
    """Yield the entries of every tree."""
    for block in text.partition("\nend of trees")[0].split("\nTree=")[1:]:
        yield dict(line.partition("=")[::2] for line in block.splitlines()[1:] if "=" in line)


def _parse_tree(block: dict[str, str]) -> dict[str, list[float]]:
    """Return the numbers of a tree, whose text says the same of every node."""
    leaves = _parse_numbers(block["leaf_value"])
    if block.get("num_cat", "0") != "0" or block.get("is_linear", "0") != "0":
        raise ValueError("a tree with more than comparisons and numbers")
    if len(leaves) == 1:
        nowhere = {"split_feature": [0.0], "threshold": [0.0]}
        return {**nowhere, "left_child": [-1.0], "right_child": [-1.0], "leaf_value": leaves}
    result = {
        name: _parse_numbers(block[name])
        for name in ("split_feature", "threshold", "left_child", "right_child")
    }
    if set(_parse_numbers(block["decision_type"])) != {_COMPARISON_NODE}:
        raise ValueError("a tree with more than comparisons")
    if {len(numbers) for numbers in result.values()} != {len(leaves) - 1}:
        raise ValueError(f"a tree of {len(leaves)} leaves with other nodes")
    return {**result, "leaf_value": leaves}


def _parse_numbers(text: str) -> list[float]:
    return [float(word) for word in text.split()]
