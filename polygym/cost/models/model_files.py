"""Models in files: which kind a file has is told by how it begins.

Trees are packed by gzip; a tree-gru is NumPy's archive, which is a zip file.
"""

import hashlib
from pathlib import Path

from polygym.cost.models.boosted_trees import BoostedTrees
from polygym.cost.models.tree_gru import TreeGRU
from polygym.errors import InputError

_GZIP, _ZIP = b"\x1f\x8b", b"PK"


def model_file_digest(path: Path) -> str:
    """Return a word that is another one for another model.

    Raises:
        OSError: the file cannot be read.
    """
    return hashlib.sha256(path.read_bytes()).hexdigest()[:12]


def load_model(path: Path) -> BoostedTrees | TreeGRU:
    """Read a model of any kind.

    Raises:
        InputError: the file is no model, one of another version of features, or what its kind
            needs is not installed.
    """
    try:
        with path.open("rb") as file:
            begin = file.read(2)
    except OSError as error:
        raise InputError(f"{path}: expected a model, found: {error}") from None
    if begin == _GZIP:
        return BoostedTrees.load(path)
    if begin == _ZIP:
        return TreeGRU.load(path)
    raise InputError(f"{path}: expected a model of trees or a tree-gru, found neither")
