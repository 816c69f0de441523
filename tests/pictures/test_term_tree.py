"""Trees of words: the same words, the same pixels; another mark, other ones; never too many."""

from __future__ import annotations

import numpy as np

from polygym.pictures.term_tree import tree_picture

WORDS, PARENTS = ["mul", "add", "x$", "y", "2.0"], [-1, 0, 1, 1, 0]


def test_the_same_tree_has_the_same_picture() -> None:
    array = tree_picture("a term", WORDS, PARENTS, 1)
    assert array.shape == (640, 960, 3)
    assert np.array_equal(array, tree_picture("a term", WORDS, PARENTS, 1))
    assert not np.array_equal(array, tree_picture("a term", WORDS, PARENTS, 4))
    assert not np.array_equal(array, tree_picture("a term", WORDS, [-1, 0, 1, 1, 1], 1))


def test_one_node_and_many() -> None:
    assert tree_picture("", ["x"], [-1]).shape == (640, 960, 3)
    assert tree_picture("", ["x"] * 5000, [-1, *range(4999)]).shape == (640, 960, 3)
