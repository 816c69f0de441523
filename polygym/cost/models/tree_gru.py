"""The TreeGRU: a model that reads the loops themselves, where trees read columns made of them.

The network (:mod:`polygym.cost.models.tree_gru_network`) is fitted by AdamW on batches of whole
cases, with a rate that rises for a tenth of the steps and then falls to nothing along a cosine. In
a case with scores s (0 in the mean) and predictions f the loss is

* for the rank objective, over the pairs in which i is faster than j by more than noise, the mean
  of log(1 + exp(f_j - f_i));
* for the regression, the mean of (f_i - f̄ - s_i)², where f̄ is the case's mean: a case's constant is
  private.

Example: scores 1 and -1, predictions 0.5 and 0.5. One pair, log(1 + exp(0)) = 0.69; or, with f̄ =
0.5, the mean of 1 and 1.

Inputs are standardised; their mean and deviation are the network's, and so are in the file. The
file is NumPy's archive of plain arrays, float32, and a header in JSON; nothing in it is run.

With how many threads PyTorch computes.

For networks as small as those of this project one is as fast as several and always adds in the
same order. Threads of PyTorch wait for each other busily, also for one that has no processor:
beside other work a small training (A2C) took 14.8 CPU seconds with two and 1.6 with one, and what
is measured meanwhile has to share the processors with them.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass, replace
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any, assert_never

import numpy as np

from polygym.cost.features.candidates.loop_tree import NODE_COLUMNS, LoopForest
from polygym.cost.features.loops.nests import Floats
from polygym.cost.models.array_archives import ARCHIVE_ERRORS, pack_archive, unpack_archive
from polygym.cost.models.cost_model import (
    MODEL_VERSION,
    SCORE_NOISE,
    ModelCard,
    ModelKind,
    Objective,
    TrainingSamples,
    bootstrap_samples,
)
from polygym.errors import InputError, MissingLibraryError
from polygym.files import write_atomically
from polygym.pickling import pickle_by_name

if TYPE_CHECKING:
    from torch import Tensor

    from polygym.cost.models.tree_gru_network import TreeGRUNetwork


@contextmanager
def use_torch_threads(count: int) -> Iterator[None]:
    """Let PyTorch use so many threads, and as many as before afterwards."""
    import torch

    before = torch.get_num_threads()
    torch.set_num_threads(count)
    try:
        yield
    finally:
        torch.set_num_threads(before)


_FORMAT = "polygym tree-gru"
_BATCH_SIZE = 1024  # candidates that are scored together: a few MB of states
_MAX_CASE_ROWS = 64  # rows of a case in one batch: pairs grow with their square
_WARMUP_SHARE = 0.1
_MAX_GRADIENT_NORM = 1.0  # the gradient's norm, at most
_MAX_WIDTH = 4096  # what a file may ask for


@dataclass(frozen=True, slots=True)
class TreeGRUShape:
    """How large a network is."""

    embedding: int = 64
    hidden: int = 64
    slots: int = 8


@pickle_by_name
@dataclass(frozen=True, slots=True)
class TreeGRUOptions:
    """How a network is fitted; ``members`` is the size of the ensemble, each on a bootstrap sample.

    ``cases_per_batch`` are in a batch; ``weight_decay`` is that of weights.
    """

    objective: Objective = Objective.RANK
    shape: TreeGRUShape = TreeGRUShape()
    epochs: int = 20
    learning_rate: float = 2e-3
    weight_decay: float = 1e-2
    cases_per_batch: int = 4
    members: int = 1
    seed: int = 0
    threads: int = 1


@pickle_by_name
@dataclass(frozen=True, slots=True, eq=False)
class TreeGRU:
    """An ensemble of networks of one shape."""

    members: tuple[TreeGRUNetwork, ...]
    shape: TreeGRUShape
    model_card: ModelCard

    @property
    def card(self) -> ModelCard:
        """What it is made of."""
        return self.model_card

    @property
    def wants_loops(self) -> bool:
        """Loops are all that it looks at."""
        return True

    def scores(self, features: Floats, loops: LoopForest | None = None) -> Floats:
        """Return the scores of candidates, a row for every member.

        Raises:
            InputError: there are no loops.
        """
        import torch

        from polygym.cost.models.tree_gru_network import LoopTreeBatch

        if loops is None:
            raise InputError("scores of a tree-gru: expected the candidates' loops, found none")
        array = np.zeros((len(self.members), len(loops)))
        with torch.inference_mode(), use_torch_threads(1):
            for begin in range(0, len(loops), _BATCH_SIZE):
                chosen = np.arange(begin, min(begin + _BATCH_SIZE, len(loops)))
                batch = LoopTreeBatch.of(loops[chosen])
                for place, member in enumerate(self.members):
                    array[place, chosen] = member(batch).numpy()
        return array

    def save(self, path: Path) -> None:
        """Write the model to one file."""
        header = {
            "format": _FORMAT,
            "version": MODEL_VERSION,
            "columns": list(NODE_COLUMNS),
            "shape": asdict(self.shape),
            "members": len(self.members),
            "card": asdict(self.model_card),
        }
        arrays = {
            f"{place}.{name}": array.numpy()
            for place, member in enumerate(self.members)
            for name, array in member.state_dict().items()
        }
        write_atomically(path, pack_archive(header, arrays))

    @staticmethod
    def load(path: Path) -> TreeGRU:
        """Read a model.

        Raises:
            InputError: the file is no model, or one of another version of features.
        """
        expect_torch()
        try:
            header, arrays = unpack_archive(path)
            if header["format"] != _FORMAT:
                raise ValueError(f"format {header['format']}")
            version, columns = header["version"], tuple(header["columns"])
            if version != MODEL_VERSION or columns != NODE_COLUMNS:
                raise InputError(
                    f"{path}: expected a model of the {len(NODE_COLUMNS)} columns of version "
                    f"{MODEL_VERSION}, "
                    f"found one of {len(columns)} of version {version}; it has to be trained again"
                )
            card = ModelCard.from_json(header["card"])
            shape = TreeGRUShape(**header["shape"])
            members = _load_networks(arrays, shape, header["members"])
        except ARCHIVE_ERRORS as error:
            raise InputError(f"{path}: expected a tree-gru, found: {error}") from None
        return TreeGRU(members, shape, card)


def train_tree_gru(
    samples: TrainingSamples,
    options: TreeGRUOptions = TreeGRUOptions(),
    card: ModelCard | None = None,
    base_scores: Floats | None = None,
) -> TreeGRU:
    """Fit networks to the loops of samples; to be added to ``base_scores`` where it is given.

    Raises:
        InputError: there are too few rows, or no loops, or PyTorch is not there.
    """
    if len(samples) < 4:
        raise InputError(f"training: expected at least 4 rows, found {len(samples)}")
    if samples.loops is None:
        raise InputError("training of a tree-gru: expected the candidates' loops, found none")
    expect_torch()
    started = time.monotonic()
    members = [
        _train_network(
            samples.select(rows),
            replace(options, seed=options.seed + member),
            None if base_scores is None else base_scores[rows],
        )
        for member, rows in enumerate(
            bootstrap_samples(len(samples), options.members, options.seed)
        )
    ]
    about = card or ModelCard(
        ModelKind.TREE_GRU.value, options.objective.value, len(samples), 0, 0, options.seed
    )
    made = replace(about, seconds=time.monotonic() - started)
    return TreeGRU(tuple(members), options.shape, made)


def expect_torch() -> None:
    """Refuse to go on without PyTorch.

    Raises:
        InputError: it is not there.
    """
    if find_spec("torch") is None:
        raise MissingLibraryError("a tree-gru", "torch", "cost")


def _train_network(
    samples: TrainingSamples, options: TreeGRUOptions, base: Floats | None
) -> TreeGRUNetwork:
    """Return a trained network; all random choices follow from the seed."""
    import torch

    from polygym.cost.models.tree_gru_network import LoopTreeBatch, TreeGRUNetwork

    assert samples.loops is not None
    forest, scores = samples.loops, samples.targets(options.objective)
    rng = np.random.default_rng(options.seed)
    with torch.random.fork_rng(devices=[]), use_torch_threads(options.threads):
        torch.manual_seed(options.seed)
        shape = options.shape
        network = TreeGRUNetwork(len(NODE_COLUMNS), shape.embedding, shape.hidden, shape.slots)
        network.standardize(torch.from_numpy(forest.rows))
        optimizer = torch.optim.AdamW(
            network.parameters(), lr=options.learning_rate, weight_decay=options.weight_decay
        )
        groups = [np.flatnonzero(samples.cases == case) for case in np.unique(samples.cases)]
        steps = options.epochs * -(-len(groups) // options.cases_per_batch)
        schedule = torch.optim.lr_scheduler.LambdaLR(
            optimizer, lambda step: _learning_rate_factor(step, steps)
        )
        for _ in range(options.epochs):
            for rows, sizes in _batches(groups, options.cases_per_batch, rng):
                predicted = network(LoopTreeBatch.of(forest[rows]))
                if base is not None:
                    predicted = predicted + torch.from_numpy(base[rows]).float()
                loss = _loss(
                    predicted, torch.from_numpy(scores[rows]).float(), sizes, options.objective
                )
                optimizer.zero_grad()
                loss.backward()  # type: ignore[no-untyped-call]
                torch.nn.utils.clip_grad_norm_(network.parameters(), _MAX_GRADIENT_NORM)
                optimizer.step()
                schedule.step()
    return network.eval()


def _learning_rate_factor(step: int, steps: int) -> float:
    """Return the part of the rate at which a step is made."""
    warm = max(1.0, _WARMUP_SHARE * steps)
    along = min(1.0, max(0.0, (step - warm) / max(1.0, steps - warm)))
    return min((step + 1) / warm, 0.5 + 0.5 * float(np.cos(np.pi * along)))


def _batches(
    groups: list[np.ndarray[Any, np.dtype[np.int64]]], each: int, rng: np.random.Generator
) -> Iterator[tuple[np.ndarray[Any, np.dtype[np.int64]], list[int]]]:
    """Yield the rows of some cases after the others, case by case, and how many each has.

    Of a case with many rows there are some, others each time.
    """
    order = rng.permutation(len(groups))
    for begin in range(0, len(order), each):
        chosen = [groups[int(place)] for place in order[begin : begin + each]]
        parts = [
            rng.choice(rows, _MAX_CASE_ROWS, replace=False) if len(rows) > _MAX_CASE_ROWS else rows
            for rows in chosen
        ]
        yield np.concatenate(parts), [len(part) for part in parts]


def _loss(predicted: Tensor, scores: Tensor, sizes: list[int], objective: Objective) -> Tensor:
    """Return the mean of the cases' losses."""
    import torch

    parts = []
    for own, wanted in zip(torch.split(predicted, sizes), torch.split(scores, sizes), strict=True):
        match objective:
            case Objective.RANK:
                faster = wanted[:, None] - wanted[None, :] > SCORE_NOISE
                ahead = own[:, None] - own[None, :]
                pairs = torch.nn.functional.softplus(-ahead[faster])
                parts.append(pairs.sum() / max(1, len(pairs)))
            case Objective.REGRESSION:
                parts.append(((own - own.mean() - wanted) ** 2).mean())
            case Objective.SPEEDUP:
                parts.append(((own - wanted) ** 2).mean())
            case _:
                assert_never(objective)
    return torch.stack(parts).mean()


def _load_networks(
    arrays: dict[str, np.ndarray[Any, Any]], shape: TreeGRUShape, count: int
) -> tuple[TreeGRUNetwork, ...]:
    """Return the networks whose arrays these are, which have to be just those of the shape.

    Raises:
        ValueError: they are not.
    """
    import torch

    from polygym.cost.models.tree_gru_network import TreeGRUNetwork

    sizes = (shape.embedding, shape.hidden, shape.slots)
    if not all(isinstance(size, int) and 1 <= size <= _MAX_WIDTH for size in sizes):
        raise ValueError(f"a network of {sizes}")
    members = []
    for place in range(count):
        network = TreeGRUNetwork(len(NODE_COLUMNS), *sizes)
        wanted = network.state_dict()
        state = {}
        for name, array in wanted.items():
            loaded = arrays.pop(f"{place}.{name}")
            if loaded.dtype != np.float32 or loaded.shape != tuple(array.shape):
                raise ValueError(f"{name} of {loaded.dtype} {loaded.shape}")
            if not np.isfinite(loaded).all():
                raise ValueError(f"{name} that is not finite")
            state[name] = torch.from_numpy(loaded)
        network.load_state_dict(state)
        members.append(network.eval())
    if arrays or not members:
        raise ValueError(f"{len(members)} networks and {len(arrays)} arrays besides")
    return tuple(members)
