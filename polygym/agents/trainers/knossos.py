"""Knossos: searches over terms explore, and the value function learns what they could have saved.

A step is an epoch (:mod:`polygym.terms.learning.training`). What is kept is a file of weights that
``polygym rewrite optimize --value-function`` reads, and in a checkpoint what the optimiser holds;
beside a checkpoint are the examples that are remembered.
"""

from __future__ import annotations

import time
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import torch

from polygym.agents.experiments.experiment import Experiment
from polygym.agents.experiments.options import KnossosOptions
from polygym.agents.experiments.rewrite_terms import (
    programs_of_selection,
    rule_set_of,
    search_plan_of,
)
from polygym.agents.trainers.learner_protocol import existing_replay_file
from polygym.agents.trainers.training_tables import EvaluationEpisode, TrainingEpisode
from polygym.cost.models.cost_model import ModelCard
from polygym.errors import InputError
from polygym.runtime.evaluation.fingerprint import machine_fingerprint
from polygym.search.planning import explore
from polygym.terms.language.printer import text_of
from polygym.terms.learning.training import NetworkShape, TrainingConfig, ValueTrainer
from polygym.terms.learning.weights import Arrays, ValueWeights
from polygym.terms.whole_programs.program_system import start_in, system_named

_ADAM, _CURRENT = "adam/", "present/"


@dataclass(slots=True)
class ValueModel:
    """A trainer as trainings keep models: by the epochs that it has had, saved to a file."""

    experiment: Experiment
    trainer: ValueTrainer
    seconds: float = 0.0

    @property
    def num_timesteps(self) -> int:
        """How many epochs it has learned."""
        return self.trainer.number

    def save(self, path: Path) -> None:
        """Write the weights, and as long as the training goes on, what goes with them."""
        more = _training_arrays(self.trainer) if self._is_unfinished else {}
        ValueWeights(self.trainer.averaged, self._card(), more).save(path)

    @property
    def _is_unfinished(self) -> bool:
        return self.num_timesteps < self.experiment.steps

    def _card(self) -> ModelCard:
        config, trainer = self.trainer.config, self.trainer
        searches = trainer.number * min(config.expressions, len(trainer.programs))
        return ModelCard(
            "value of terms", "what steps save", trainer.steps * config.batch_size,
            searches, len(trainer.programs), config.seed, machine_fingerprint().key,
            machine_fingerprint().processor, round(self.seconds, 1),
            {
                "command": "polygym train",
                "experiment": self.experiment.document(),
                "epochs": trainer.number,
                "batches": trainer.steps,
            },
        )  # fmt: skip

    def evaluate(self) -> list[EvaluationEpisode]:
        """Return what searches with the value function make of the programs for evaluation."""
        options = KnossosOptions(**self.experiment.hyperparameters)
        plan = search_plan_of(self.experiment, options.evaluation_states)
        system = system_named(options.space, rule_set_of(self.experiment))
        result = []
        for number, program in enumerate(programs_of_selection(self.experiment.evaluation.kernels)):
            seen, _ = explore(
                options.evaluation_search,
                system,
                start_in(options.space, program.body),
                plan,
                self.trainer.value,
            )
            saved = seen.costs[0] - seen.costs[seen.best]
            name = text_of(program.body) if program.name == "it" else program.name
            result.append(
                EvaluationEpisode(
                    self.num_timesteps, name, number, round(saved, 6), "searched", 0.0
                )
            )
        return result


@dataclass(slots=True)
class KnossosLearner:
    """Does epochs, with the network, its optimiser and the examples of the checkpoint."""

    experiment: Experiment
    model: ValueModel
    replay_suffix: str = ".npz"
    metrics: dict[str, float] = field(default_factory=dict)

    @staticmethod
    def resume(experiment: Experiment, seed: int, checkpoint: Path) -> KnossosLearner:
        """Return the learner of the interval behind a checkpoint."""
        trainer = ValueTrainer(
            programs_of_selection(experiment.kernels), _training_options(experiment, seed)
        )
        model = ValueModel(experiment, trainer)
        if checkpoint.exists():
            _restore_trainer(model, checkpoint)
        return KnossosLearner(experiment, model)

    def save_replay(self, file: Path) -> None:
        """Write the examples that are remembered."""
        self.model.trainer.examples.save(file)

    def train_interval(self) -> list[TrainingEpisode]:
        """Have so many epochs; return a row for each, what its searches saved in all."""
        began, trainer = time.monotonic(), self.model.trainer
        rows, losses = [], []
        count = min(self.experiment.every, self.experiment.steps - trainer.number)
        for _ in range(count):
            epoch = trainer.epoch()
            losses.append(epoch.loss)
            saved = round(epoch.initial_cost - epoch.cost, 6)
            length = min(trainer.config.expressions, len(trainer.programs))
            rows.append(
                TrainingEpisode(epoch.number, self.experiment.kernels, saved, length, "searched")
            )
        self.metrics["training/loss"] = float(np.mean(losses))
        self.model.seconds += time.monotonic() - began
        return rows


def _training_options(experiment: Experiment, seed: int) -> TrainingConfig:
    options = KnossosOptions(**experiment.hyperparameters)
    plan = search_plan_of(experiment, options.states)
    rules = rule_set_of(experiment)
    return TrainingConfig(
        expressions=options.expressions,
        search_plan=plan,
        shape=NetworkShape(plan.horizon, options.width, options.rounds),
        rules=(options.first_rules, rules) if options.first_rules else (rules,),
        search=options.search,
        learning_rate=options.learning_rate,
        final_learning_rate=options.final_learning_rate,
        epochs=experiment.steps,
        batch_size=options.batch_size,
        examples_per_search=options.examples_per_search,
        replay_capacity=options.replay_capacity,
        updates=options.updates,
        averaging=options.averaging,
        space=options.space,
        seed=seed,
    )


def _training_arrays(trainer: ValueTrainer) -> Arrays:
    """Return what the next epoch depends on beside the weights."""
    own = {
        f"{_CURRENT}{name}": tensor.numpy() for name, tensor in trainer.network.state_dict().items()
    }
    held = {
        f"{_ADAM}{number}/{name}": value.numpy()
        for number, held in trainer.optimizer.state_dict()["state"].items()
        for name, value in held.items()
    }
    return {**own, **held}


def _restore_trainer(model: ValueModel, checkpoint: Path) -> None:
    """Have a trainer go on where a checkpoint was made.

    Raises:
        InputError: the checkpoint is of another network, or its examples are missing.
    """
    kept, trainer = ValueWeights.load(checkpoint), model.trainer
    mean = {name: torch.from_numpy(floats.copy()) for name, floats in kept.network.weights.items()}
    present = {
        name.removeprefix(_CURRENT): torch.from_numpy(array.copy())
        for name, array in kept.extra_arrays.items()
        if name.startswith(_CURRENT)
    }
    try:
        trainer.network.load_state_dict(present or mean)  # of a training that is over, the mean
    except RuntimeError as error:
        raise InputError(f"{checkpoint}: expected the network that is trained: {error}") from None
    trainer.average = mean
    state: dict[int, dict[str, torch.Tensor]] = {}
    for name, value in kept.extra_arrays.items():
        if name.startswith(_ADAM):
            number, _, word = name.removeprefix(_ADAM).partition("/")
            state.setdefault(int(number), {})[word] = torch.from_numpy(value.copy())
    groups = trainer.optimizer.state_dict()["param_groups"]
    trainer.optimizer.load_state_dict({"state": state, "param_groups": groups})
    trainer.number, model.seconds = int(kept.card.notes["epochs"]), kept.card.seconds
    trainer.steps = int(kept.card.notes["batches"])
    trainer.examples.load(existing_replay_file(checkpoint, trainer.number, ".npz"))
