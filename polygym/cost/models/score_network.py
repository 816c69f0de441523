"""Networks that give candidates scores, read and asked by NumPy alone.

A network is an ensemble of members, each of a few layers: with x the features, standardised and cut
off at ±:data:`CLIP`,

    h₁ = relu(W₁·x + b₁),  h₂ = relu(W₂·h₁ + b₂),  …,  score = w·h + b

As with all models of cost (:mod:`polygym.cost.models.cost_model`) a score is -log2 of a time up to
a constant of the program, so the difference of two says how many times as fast one candidate is as
the other, and how much members differ says how sure that is.

Example, one feature x with mean 1 and deviation 2, one layer of one unit, W₁ = 3, b₁ = 0, w = 1,
b = 0: x = 5 is standardised to 2, and the score is 6; x = -1 to -1, and the score is 0.

What trains them is :mod:`polygym.cost.models.score_network_training`, by PyTorch; to ask them needs
none.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from polygym.cost.features.candidates.loop_tree import LoopForest
from polygym.cost.features.loops.nests import Floats

CLIP = 6.0
"""Standardised features beyond this are taken for this: nothing like them was learned from."""

Float32Array = np.ndarray[Any, np.dtype[np.float32]]


@dataclass(frozen=True, slots=True, eq=False)
class ScoreNetworkMember:
    """A member: the weights and the biases of its layers, from the features on."""

    weights: tuple[Float32Array, ...]
    biases: tuple[Float32Array, ...]

    def scores(self, features: Float32Array) -> Floats:
        """Return the scores of standardised features, a number for each row."""
        array = features
        for weights, biases in zip(self.weights[:-1], self.biases[:-1], strict=True):
            array = np.maximum(array @ weights.T + biases, np.float32(0.0))
        last = array @ self.weights[-1].T + self.biases[-1]
        return np.asarray(last[:, 0], dtype=np.float64)


@dataclass(frozen=True, slots=True, eq=False)
class ScoreNetwork:
    """Members over the same features, whose means and deviations they were trained with."""

    feature_names: tuple[str, ...]
    mean: Float32Array
    deviation: Float32Array
    members: tuple[ScoreNetworkMember, ...]

    def scores(self, features: Floats, loops: LoopForest | None = None) -> Floats:
        """Return the scores of candidates of one program, a row for every member."""
        given = (np.asarray(features, dtype=np.float32) - self.mean) / self.deviation
        given = np.clip(np.nan_to_num(given), -CLIP, CLIP)
        return np.array([member.scores(given) for member in self.members])

    def arrays(self, name: str) -> dict[str, Float32Array]:
        """Return everything by names that begin with this one, as it is written to a file."""
        float32_arrays = {f"{name}/mean": self.mean, f"{name}/deviation": self.deviation}
        for number, member in enumerate(self.members):
            for layer, (weights, biases) in enumerate(
                zip(member.weights, member.biases, strict=True)
            ):
                float32_arrays[f"{name}/{number}/{layer}/weights"] = weights
                float32_arrays[f"{name}/{number}/{layer}/biases"] = biases
        return float32_arrays

    @staticmethod
    def of_arrays(name: str, names: tuple[str, ...], arrays: Mapping[str, Any]) -> ScoreNetwork:
        """Return the network that was written under a name.

        Raises:
            ValueError: there is none, or one of other features.
        """

        def array(part: str) -> Float32Array:
            try:
                result = np.asarray(arrays[f"{name}/{part}"], dtype=np.float32)
            except KeyError:
                raise ValueError(f"no array {name}/{part}") from None
            if not np.isfinite(result).all():
                raise ValueError(f"numbers of {name}/{part} that are none")
            return result

        members: list[ScoreNetworkMember] = []
        while f"{name}/{len(members)}/0/weights" in arrays:
            number = len(members)
            weights: list[Float32Array] = []
            biases: list[Float32Array] = []
            while f"{name}/{number}/{len(weights)}/weights" in arrays:
                layer = len(weights)
                weights.append(array(f"{number}/{layer}/weights"))
                biases.append(array(f"{number}/{layer}/biases"))
            members.append(ScoreNetworkMember(tuple(weights), tuple(biases)))
        network = ScoreNetwork(names, array("mean"), array("deviation"), tuple(members))
        network._expect_shapes(name)
        return network

    def _expect_shapes(self, name: str) -> None:
        """Refuse layers that do not fit together.

        Raises:
            ValueError: some do not, or there is no member.
        """
        if not self.members:
            raise ValueError(f"no member of {name}")
        if self.mean.shape != (len(self.feature_names),) or self.deviation.shape != self.mean.shape:
            raise ValueError(
                f"{name} of {self.mean.size} features, not of {len(self.feature_names)}"
            )
        for member in self.members:
            width = len(self.feature_names)
            for weights, biases in zip(member.weights, member.biases, strict=True):
                if weights.shape != (len(biases), width):
                    raise ValueError(f"layers of {name} that do not fit together")
                width = len(biases)
            if width != 1:
                raise ValueError(f"{name} with {width} scores for a candidate")
