"""Training of networks of scores, on pairs of candidates of one case.

Only differences within a case say something (:mod:`polygym.cost.models.cost_model`), so with the
scores s and y = -log2 of the times, of every pair with y_i > y_j

    loss = w·(log(1 + exp(-(s_i - s_j))) + λ·huber((s_i - s_j) - (y_i - y_j)))

is added up: the order, and how far apart the two are; pairs that differ by noise alone are not
asked for their order. w = 2^(τ·(max(y_i, y_j) - max y)) is less for pairs of slow candidates: what
is wanted is the first. Differences beyond :data:`_MAX_GAP` are taken for that.

Example, times 1 and 4 s and scores 1 and 0: y = 0 and -2, the pair is in the right order, which
costs log(1 + e⁻¹) = 0.31, and is too near by 1, which costs λ/2.

Each member begins with other weights and sees the cases in another order, with some of them left
out. This module imports PyTorch.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor, nn

from polygym.cost.models.cost_model import SCORE_NOISE, TrainingSamples
from polygym.cost.models.score_network import CLIP, ScoreNetwork, ScoreNetworkMember
from polygym.pickling import pickle_by_name

_MAX_GAP = 4.0
_TOP_WEIGHT = 0.5
_HUBER_WEIGHT = 0.5


@pickle_by_name
@dataclass(frozen=True, slots=True)
class ScoreNetworkOptions:
    """How a network is trained: its layers, how often it sees every case, how it is kept simple."""

    widths: tuple[int, ...] = (160, 160, 64)
    members: int = 5
    epochs: int = 60
    cases_per_batch: int = 16
    learning_rate: float = 2e-3
    weight_decay: float = 0.02
    dropout: float = 0.1
    case_fraction: float = 0.9
    seed: int = 0


def train_score_network(
    samples: TrainingSamples,
    feature_names: tuple[str, ...],
    options: ScoreNetworkOptions = ScoreNetworkOptions(),
    member_numbers: Sequence[int] | None = None,
) -> ScoreNetwork:
    """Return a network that has learned from samples, with all members or with some by number.

    The same seed and samples give the same network on one machine.
    """
    features = samples.features.astype(np.float32)
    mean = features.mean(axis=0)
    deviation = features.std(axis=0) + np.float32(1e-3)
    given = torch.from_numpy(np.clip((features - mean) / deviation, -CLIP, CLIP))
    wanted = torch.from_numpy(samples.scores.astype(np.float32))
    rows = [np.flatnonzero(samples.cases == case) for case in np.unique(samples.cases)]
    rows = [own for own in rows if len(own) > 1]
    wished = range(options.members) if member_numbers is None else member_numbers
    members = (_train_member(given, wanted, rows, options, number) for number in wished)
    return ScoreNetwork(feature_names, mean, deviation, tuple(members))


def _train_member(
    given: Tensor,
    wanted: Tensor,
    cases: list[np.ndarray[tuple[int], np.dtype[np.int64]]],
    options: ScoreNetworkOptions,
    number: int,
) -> ScoreNetworkMember:
    rng = np.random.default_rng([options.seed, number])
    kept = rng.permutation(len(cases))[: max(1, round(options.case_fraction * len(cases)))]
    with torch.random.fork_rng():
        torch.manual_seed(int(rng.integers(2**31)))
        model = member_layers(given.shape[1], options.widths, options.dropout)
        optimizer = torch.optim.AdamW(
            model.parameters(), lr=options.learning_rate, weight_decay=options.weight_decay
        )
        each = min(options.cases_per_batch, len(kept))
        steps = options.epochs * max(1, len(kept) // each)
        schedule = torch.optim.lr_scheduler.OneCycleLR(
            optimizer, options.learning_rate, total_steps=steps
        )
        model.train()
        order = np.empty(0, dtype=np.int64)
        for _ in range(steps):
            if len(order) < each:
                order = rng.permutation(kept)
            batch, order = [cases[case] for case in order[:each]], order[each:]
            predicted = model(given[np.concatenate(batch)]).squeeze(-1)
            parts = torch.split(predicted, [len(own) for own in batch])
            losses = [_loss(part, wanted[own]) for part, own in zip(parts, batch, strict=True)]
            optimizer.zero_grad()
            (torch.stack(losses).mean()).backward()  # type: ignore[no-untyped-call]
            optimizer.step()
            schedule.step()
    return member_of(model)


def member_layers(inputs: int, widths: tuple[int, ...], dropout: float = 0.0) -> nn.Sequential:
    """Return the layers of a member, with random weights."""
    parts: list[nn.Module] = []
    for width in widths:
        parts += [nn.Linear(inputs, width), nn.ReLU(), nn.Dropout(dropout)]
        inputs = width
    return nn.Sequential(*parts, nn.Linear(inputs, 1))


def member_of(model: nn.Sequential) -> ScoreNetworkMember:
    """Return the member that gives what these layers give."""
    linear = [part for part in model if isinstance(part, nn.Linear)]
    return ScoreNetworkMember(
        tuple(part.weight.detach().numpy().copy() for part in linear),
        tuple(part.bias.detach().numpy().copy() for part in linear),
    )


def _loss(predicted: Tensor, wanted: Tensor) -> Tensor:
    ahead = predicted[:, None] - predicted[None]
    truth = (wanted[:, None] - wanted[None]).clamp(-_MAX_GAP, _MAX_GAP)
    weights = torch.exp2(
        _TOP_WEIGHT * (torch.maximum(wanted[:, None], wanted[None]) - wanted.max())
    )
    ordered = weights * (truth > SCORE_NOISE)
    order = (nn.functional.softplus(-ahead) * ordered).sum() / ordered.sum().clamp(min=1.0)
    apart = nn.functional.huber_loss(ahead, truth, reduction="none")
    return order + _HUBER_WEIGHT * (apart * weights).sum() / weights.sum()
