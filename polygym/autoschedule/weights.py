"""The weights of the learned policy: two networks of scores in one file, and what they are.

``schedule_network`` looks at a schedule's rows alone
(:mod:`polygym.cost.features.schedules.schedule_vector`) and puts schedules in order that run under
polygym's default mapping; ``candidate_network`` looks at the loops that are planned for a schedule
and a mapping (:mod:`polygym.cost.features.candidates.candidate_vector`). The file is NumPy's
archive of plain arrays (:mod:`polygym.cost.models.array_archives`), float16 on the disk, with a
check sum in its header. ``caution`` and ``least_gain`` say when the policy departs from what it
would do anyway (:mod:`polygym.autoschedule.weights`), ``least_mapping_gain`` when it
answers a question about the mapping, inf if never; they were chosen with the weights, on programs
that were left out of their training.

Scores of candidates by an ensemble of models, and the gain that they predict together.

With member k's scores s_k(x) of what may be chosen and s_k(d) of what there is, a network promises

    mean over k of (s_k(x) - s_k(d)), less ``caution`` times their deviation,

that is: by which power of two x is faster, on the safe side. Boosted trees
(:mod:`polygym.cost.models.pretrained`) look at planned loops as well, and err elsewhere; of what
both promise the *promise* is √(a·b) where both are above 0, else the smaller one.

Example, five members that say 0.5, 0.7, 0.6, 0.8 and 0.4: 0.6 in the mean with a deviation of 0.14;
with a caution of 1 the network promises 0.46, a third faster at least. If trees promise 0.26, it is
0.35; if they promise -0.1, it is that.
"""

from __future__ import annotations

import hashlib
from dataclasses import asdict, dataclass
from functools import cache
from math import inf, isinf, sqrt
from pathlib import Path
from typing import Any

import numpy as np

from polygym.cost.features.candidates.candidate_vector import FEATURE_NAMES
from polygym.cost.features.loops.nests import Floats
from polygym.cost.features.schedules.schedule_vector import SCHEDULE_FEATURE_NAMES
from polygym.cost.models import array_archives
from polygym.cost.models.cost_model import MODEL_VERSION, ModelCard
from polygym.cost.models.pretrained import model_file_digest
from polygym.cost.models.score_network import ScoreNetwork
from polygym.cost.models.tree_inference import TreeInference
from polygym.errors import InputError
from polygym.files import write_atomically
from polygym.pickling import pickle_by_name

WEIGHTS_FILE = Path(__file__).parent / "data" / "pretrained.npz"
"""The weights that come with polygym."""

_FORMAT = "polygym learned policy"


@dataclass(frozen=True, slots=True, eq=False)
class PolicyWeights:
    """Both networks, how sure the policy wants to be, and the card."""

    schedule_network: ScoreNetwork
    candidate_network: ScoreNetwork
    caution: float
    least_gain: float
    card: ModelCard
    least_mapping_gain: float = inf

    def save(self, path: Path) -> None:
        """Write everything to one file."""
        arrays: dict[str, Any] = {}
        for part, network in (
            ("schedules", self.schedule_network),
            ("candidates", self.candidate_network),
        ):
            for name, array in network.arrays(part).items():
                # Means of logarithms may be large, and deviations small.
                is_weight = name.endswith(("/weights", "/biases"))
                arrays[name] = array.astype(np.float16) if is_weight else array
        header = {
            "format": _FORMAT,
            "version": MODEL_VERSION,
            "columns": _columns_digest(),
            "caution": self.caution,
            "least": _json_gain(self.least_gain),
            "least_of_mappings": _json_gain(self.least_mapping_gain),
            "card": asdict(self.card),
            "sum": array_archives.arrays_checksum(arrays),
        }
        write_atomically(path, array_archives.pack_archive(header, arrays))

    @staticmethod
    def load(path: Path) -> PolicyWeights:
        """Read a file.

        Raises:
            InputError: it has no weights, or some of other features.
        """
        try:
            header, arrays = array_archives.unpack_archive(path)
            if header["format"] != _FORMAT:
                raise ValueError("another format")
            if header["version"] != MODEL_VERSION or header["columns"] != _columns_digest():
                raise InputError(
                    f"{path}: expected weights for the features of version {MODEL_VERSION}, "
                    "found some "
                    f"of version {header['version']!r}; they have to be trained again"
                )
            if header["sum"] != array_archives.arrays_checksum(arrays):
                raise ValueError("numbers that are not as they were written")
            return PolicyWeights(
                ScoreNetwork.of_arrays("schedules", SCHEDULE_FEATURE_NAMES, arrays),
                ScoreNetwork.of_arrays("candidates", FEATURE_NAMES, arrays),
                float(header["caution"]),
                _gain_of_json(header["least"]),
                ModelCard.from_json(header["card"]),
                _gain_of_json(header["least_of_mappings"]),
            )
        except array_archives.ARCHIVE_ERRORS as error:
            raise InputError(f"{path}: expected weights of a policy, found: {error}") from None


def _json_gain(least: float) -> float | None:
    """Return a number as JSON has it, None where no promise is enough."""
    return None if isinf(least) else least


def _gain_of_json(least: float | None) -> float:
    return inf if least is None else float(least)


@cache
def shipped_weights() -> PolicyWeights:
    """Return the weights that come with polygym.

    Raises:
        InputError: this package has none, or they are damaged.
    """
    return PolicyWeights.load(WEIGHTS_FILE)


def expect_weights() -> None:
    """Refuse to go on without weights.

    Raises:
        InputError: this package has none.
    """
    if not WEIGHTS_FILE.exists():
        raise InputError("expected weights that come with polygym, found none in this package")


@cache
def weights_digest() -> str:
    """Return a word that is another one for other weights; empty in a package without any."""
    return model_file_digest(WEIGHTS_FILE) if WEIGHTS_FILE.exists() else ""


def _columns_digest() -> str:
    """Return a word that is another one for other features."""
    return hashlib.sha256(
        "\0".join((*FEATURE_NAMES, "", *SCHEDULE_FEATURE_NAMES)).encode()
    ).hexdigest()[:12]


@pickle_by_name
@dataclass(frozen=True, slots=True, eq=False)
class EnsembleScores:
    """What is thought of something: a score of every member of a network, and one of trees."""

    members: Floats
    trees: float | None = None


def ensemble_scores(
    vectors: Floats, network: ScoreNetwork, trees: TreeInference | None
) -> list[EnsembleScores]:
    """Return what is thought of candidates, by the features of their planned loops."""
    members = network.scores(vectors)
    if trees is None:
        return [EnsembleScores(row) for row in members.T]
    result = trees.scores(vectors).mean(axis=0)
    return [EnsembleScores(row, float(score)) for row, score in zip(members.T, result, strict=True)]


def ensemble_gain(
    candidate: EnsembleScores | None, current: EnsembleScores | None, caution: float
) -> float:
    """Return the promise of something beside what there is now; -inf where nothing is known."""
    if candidate is None or current is None:
        return -inf
    apart = candidate.members - current.members
    promised = float(apart.mean() - caution * apart.std())
    if candidate.trees is None or current.trees is None:
        return promised
    return combined_gain(promised, candidate.trees - current.trees)


def combined_gain(first: float, second: float) -> float:
    """Return what two models promise together.

    >>> combined_gain(4.0, 1.0), combined_gain(4.0, -1.0), combined_gain(0.0, 2.0)
    (2.0, -1.0, 0.0)
    """
    if first > 0 and second > 0:
        return sqrt(first * second)
    return min(first, second)
