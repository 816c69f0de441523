"""Knossos: searches over terms explore, and the value function learns what they could have saved.

A step is an epoch (:mod:`polygym.terms.learning.training`). What is kept is a file of weights that
``polygym rewrite optimize --policy`` reads, and in a checkpoint what the optimiser holds; beside a
checkpoint are the examples that are remembered.
"""

from __future__ import annotations

import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import torch

from agents.legs.options import KnossosOptions
from agents.legs.protocol import kept_memory
from agents.rewriting import plan_of, rules_of, terms_of
from agents.tables import Judged, Played
from polygym.cost.model import Card
from polygym.errors import InputError
from polygym.measure.evaluation.fingerprint import fingerprint
from polygym.search.planning import explore
from polygym.terms.language.printing import text_of
from polygym.terms.learning.network import Shape
from polygym.terms.learning.training import Teaching, Trainer
from polygym.terms.learning.weights import Arrays, Weights
from polygym.terms.rules.sets import rules_named
from polygym.terms.system import TermSystem

if TYPE_CHECKING:
    from agents.experiments import Experiment

_ADAM, _PRESENT = "adam/", "present/"


@dataclass(slots=True)
class ValueModel:
    """A trainer as trainings keep models: by the epochs that it has had, saved to a file."""

    experiment: Experiment
    trainer: Trainer
    seconds: float = 0.0

    @property
    def num_timesteps(self) -> int:
        """How many epochs it has learned."""
        return self.trainer.number

    def save(self, path: Path) -> None:
        """Write the weights, and as long as the training goes on, what goes with them."""
        more = _going_on(self.trainer) if self._goes_on else {}
        Weights(self.trainer.averaged, self._card(), more).save(path)

    @property
    def _goes_on(self) -> bool:
        return self.num_timesteps < self.experiment.steps

    def _card(self) -> Card:
        teaching, trainer = self.trainer.teaching, self.trainer
        searches = trainer.number * min(teaching.expressions, len(trainer.programs))
        return Card(
            "value of terms", "what steps save", trainer.steps * teaching.batch,
            searches, len(trainer.programs), teaching.seed, fingerprint().key,
            fingerprint().processor, round(self.seconds, 1),
            {
                "command": "python -m agents.train",
                "experiment": self.experiment.document(),
                "epochs": trainer.number,
                "batches": trainer.steps,
            },
        )  # fmt: skip

    def judged(self) -> list[Judged]:
        """Return what searches with the value function make of the programs for evaluation."""
        options = KnossosOptions(**self.experiment.hyperparameters)
        plan = plan_of(self.experiment, options.evaluation_states)
        system = TermSystem(rules_named(rules_of(self.experiment)))
        found = []
        for number, program in enumerate(terms_of(self.experiment.evaluation.kernels)):
            seen, _ = explore(
                options.evaluation_search, system, program.body, plan, self.trainer.value
            )
            saved = seen.costs[0] - seen.costs[seen.best]
            name = text_of(program.body) if program.name == "it" else program.name
            found.append(Judged(self.num_timesteps, name, number, round(saved, 6), "searched", 0.0))
        return found


@dataclass(slots=True)
class Knossos:
    """Does epochs, with the network, its optimiser and the examples of the checkpoint."""

    experiment: Experiment
    model: ValueModel
    memory: str = ".npz"
    told: dict[str, float] = field(default_factory=dict)

    @staticmethod
    def begun(experiment: Experiment, seed: int, checkpoint: Path) -> Knossos:
        """Return the learner of the leg behind a checkpoint."""
        trainer = Trainer(terms_of(experiment.kernels), _teaching(experiment, seed))
        model = ValueModel(experiment, trainer)
        if checkpoint.exists():
            _restore(model, checkpoint)
        return Knossos(experiment, model)

    def keep(self, file: Path) -> None:
        """Write the examples that are remembered."""
        self.model.trainer.examples.save(file)

    def leg(self) -> list[Played]:
        """Have so many epochs; return a row for each, what its searches saved in all."""
        began, trainer = time.monotonic(), self.model.trainer
        rows, losses = [], []
        count = min(self.experiment.every, self.experiment.steps - trainer.number)
        for _ in range(count):
            epoch = trainer.epoch()
            losses.append(epoch.loss)
            saved = round(epoch.initial_cost - epoch.cost, 6)
            length = min(trainer.teaching.expressions, len(trainer.programs))
            rows.append(Played(epoch.number, self.experiment.kernels, saved, length, "searched"))
        self.told["training/loss"] = float(np.mean(losses))
        self.model.seconds += time.monotonic() - began
        return rows


def _teaching(experiment: Experiment, seed: int) -> Teaching:
    options = KnossosOptions(**experiment.hyperparameters)
    plan = plan_of(experiment, options.states)
    rules = rules_of(experiment)
    return Teaching(
        expressions=options.expressions,
        plan=plan,
        shape=Shape(plan.horizon, options.width, options.rounds),
        rules=(options.first_rules, rules) if options.first_rules else (rules,),
        search=options.search,
        rate=options.learning_rate,
        last_rate=options.last_rate,
        epochs=experiment.steps,
        batch=options.batch_size,
        kept=options.kept,
        memory=options.memory,
        updates=options.updates,
        averaging=options.averaging,
        seed=seed,
    )


def _going_on(trainer: Trainer) -> Arrays:
    """Return what the next epoch depends on beside the weights."""
    own = {f"{_PRESENT}{name}": one.numpy() for name, one in trainer.network.state_dict().items()}
    held = {
        f"{_ADAM}{number}/{name}": value.numpy()
        for number, held in trainer.optimizer.state_dict()["state"].items()
        for name, value in held.items()
    }
    return {**own, **held}


def _restore(model: ValueModel, checkpoint: Path) -> None:
    """Have a trainer go on where a checkpoint was made.

    Raises:
        InputError: the checkpoint is of another network, or its examples are missing.
    """
    kept, trainer = Weights.load(checkpoint), model.trainer
    mean = {name: torch.from_numpy(one.copy()) for name, one in kept.network.weights.items()}
    present = {
        name.removeprefix(_PRESENT): torch.from_numpy(one.copy())
        for name, one in kept.more.items()
        if name.startswith(_PRESENT)
    }
    try:
        trainer.network.load_state_dict(present or mean)  # of a training that is over, the mean
    except RuntimeError as error:
        raise InputError(f"{checkpoint}: expected the network that is trained: {error}") from None
    trainer.average = mean
    state: dict[int, dict[str, torch.Tensor]] = {}
    for name, value in kept.more.items():
        if name.startswith(_ADAM):
            number, _, word = name.removeprefix(_ADAM).partition("/")
            state.setdefault(int(number), {})[word] = torch.from_numpy(value.copy())
    groups = trainer.optimizer.state_dict()["param_groups"]
    trainer.optimizer.load_state_dict({"state": state, "param_groups": groups})
    trainer.number, model.seconds = int(kept.card.notes["epochs"]), kept.card.seconds
    trainer.steps = int(kept.card.notes["batches"])
    trainer.examples.load(kept_memory(checkpoint, trainer.number, ".npz"))
