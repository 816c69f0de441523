"""Boosted trees that are asked without LightGBM: for a handful of candidates, and in no time.

LightGBM takes most of a second to be imported, and need not be there. To ask its trees is little:
each is a list of inner nodes, of which node 0 is the root. At node k a vector x goes to ``left[k]``
if x[feature[k]] ≤ threshold[k], else to ``right[k]``; where that is negative it is the end, leaf
-1 - left[k]. A score is the sum of the leaves of all trees, in their order.

Example: one tree with the node (feature 0, threshold 2.5, left -1, right -2) and the leaves 7 and 9
gives 7 to [2.0] and 9 to [3.0].

All trees are walked at once, level by level; the sums are those of LightGBM to the last bit.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from polygym.cost.features.candidates.loop_tree import LoopForest
from polygym.cost.features.loops.nests import Floats
from polygym.cost.models.boosted_tree_files import BoostedTreeFile
from polygym.cost.models.cost_model import ModelCard
from polygym.errors import InputError

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
            ValueError: there is something in it that is not understood.
        """
        found = [_parse_tree(block) for block in _tree_blocks(text)]
        if not found:
            raise ValueError("a text without trees")
        width = max(len(one["leaf_value"]) for one in found)

        def table(name: str, columns: int) -> Floats:
            rows = np.zeros((len(found), columns))
            for row, one in zip(rows, found, strict=True):
                row[: len(one[name])] = one[name]
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
    if {len(one) for one in result.values()} != {len(leaves) - 1}:
        raise ValueError(f"a tree of {len(leaves)} leaves with other nodes")
    return {**result, "leaf_value": leaves}


def _parse_numbers(text: str) -> list[float]:
    return [float(word) for word in text.split()]
