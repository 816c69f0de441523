"""Trees that are asked without LightGBM say what LightGBM says."""

import gzip
import json
from pathlib import Path

import numpy as np
import pytest

from polygym.cost.features.candidates.candidate_vector import FEATURE_NAMES
from polygym.cost.models import pretrained
from polygym.cost.models.cost_model import ModelCard
from polygym.cost.models.tree_inference import BoostedTreeFile, TreeArrays, TreeInference
from polygym.errors import InputError

CARD = ModelCard("trees", "by hand", 0, 0, 0, 0)
TREE = """tree
version=v4

Tree=0
num_leaves=3
num_cat=0
split_feature=0 2
threshold=2.5 -1
decision_type=2 2
left_child=1 -2
right_child=-1 -3
leaf_value=9 7 0.5
is_linear=0


Tree=1
num_leaves=1
num_cat=0
leaf_value=100
is_linear=0


end of trees

parameters: Tree=2
"""


def test_a_tree_by_hand() -> None:
    vectors = np.array([[3.0, 0.0, 0.0], [2.5, 0.0, -1.0], [2.0, 0.0, -0.5]])
    assert TreeArrays.of(TREE).scores(vectors).tolist() == [109.0, 107.0, 100.5]


@pytest.mark.parametrize("seed", [0, 1])
def test_the_shipped_model_says_the_same(seed: int) -> None:
    pytest.importorskip("lightgbm")
    walked, usual = pretrained.pretrained_inference(), pretrained.pretrained_model()
    assert walked is not None
    assert usual is not None
    vectors = 8 * np.random.default_rng(seed).normal(size=(100, len(FEATURE_NAMES)))
    np.testing.assert_array_equal(walked.scores(vectors), usual.scores(vectors))
    assert walked.card == usual.card


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("decision_type=2 2", "decision_type=2 1"),
        ("num_cat=0", "num_cat=1"),
        ("is_linear=0", "is_linear=1"),
        ("left_child=1 -2", "left_child=1"),
        ("threshold=2.5 -1\n", ""),
        ("leaf_value=9 7 0.5", "leaf_value=9 seven 0.5"),
        (TREE, "tree"),
    ],
)
def test_what_is_not_understood_is_refused(old: str, new: str, tmp_path: Path) -> None:
    path = tmp_path / "a.model"
    BoostedTreeFile((TREE.replace(old, new),), CARD).write(path)
    with pytest.raises(InputError, match="expected a model of trees"):
        TreeInference.load(path)


def test_a_damaged_file_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "a.model"
    BoostedTreeFile((TREE,), CARD).write(path)
    document = json.loads(gzip.decompress(path.read_bytes()))
    document["members"] = [TREE.replace("2.5", "3.5")]
    path.write_bytes(gzip.compress(json.dumps(document).encode()))
    with pytest.raises(InputError, match="not as they were written"):
        TreeInference.load(path)
