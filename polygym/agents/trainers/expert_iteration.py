"""Expert iteration: a search that the network guides plays, and the network learns from it.

An interval plays episodes, with the network as it is in the checkpoint, until as many steps are
taken as an interval has; the last one is played to its end. Where there is a choice the action is
drawn by the visits of a tree search (:class:`~polygym.agents.policies.tree_search.TreeSearch`), and
a position is kept: what was seen, the parts of the visits, and the return of the episode. What is
forced is no position. Then the network is fitted to positions of the last ``replay_size`` that are
drawn at random.

So the search is the expert, which the network imitates, and a better network makes a better search.

Source: Anthony, Tian and Barber, Thinking fast and slow with deep learning and tree search (2017).
"""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import gymnasium
import numpy as np

from polygym.agents.experiments.experiment import Experiment
from polygym.agents.experiments.options import IterationOptions
from polygym.agents.policies.env_policy import inner_env, run_episode
from polygym.agents.policies.guide import Array, NetworkGuide, scaled_value
from polygym.agents.policies.tree_search import TreeSearch, forced_action
from polygym.agents.trainers.learner_protocol import existing_replay_file
from polygym.agents.trainers.policy_dataset import PolicyDataset, fit_batch
from polygym.agents.trainers.trainer_state import load_trainer_state, steps_of_interval
from polygym.agents.trainers.training_tables import TrainingEpisode
from polygym.mdp.observation.arrays import Observation


@dataclass(slots=True)
class ExpertIterationLearner:
    """Plays by search, and fits the network to what the search found."""

    experiment: Experiment
    model: Any
    env: Any
    replay: PolicyDataset
    seed: int
    replay_suffix: str = ".npz"
    metrics: dict[str, float] = field(default_factory=dict)

    @staticmethod
    def resume(experiment: Experiment, seed: int, checkpoint: Path) -> ExpertIterationLearner:
        """Return the learner of the interval behind a checkpoint.

        Raises:
            InputError: the positions are missing that belong to the checkpoint.
        """
        state = load_trainer_state(experiment, seed, checkpoint)
        options = IterationOptions(**experiment.hyperparameters)
        replay = PolicyDataset(inner_env(state.env).observation_space, options.replay_size)
        if checkpoint.exists():
            replay.load(existing_replay_file(checkpoint, int(state.model.num_timesteps), ".npz"))
        return ExpertIterationLearner(experiment, state.model, state.env, replay, state.seed)

    def save_replay(self, file: Path) -> None:
        """Write the replay buffer."""
        self.replay.save(file)

    def train_interval(self) -> list[TrainingEpisode]:
        """Play and learn up to the next checkpoint; return the episodes that were played."""
        options = IterationOptions(**self.experiment.hyperparameters)
        rng = np.random.default_rng(self.seed)
        end = int(self.model.num_timesteps) + steps_of_interval(self.experiment, self.model)
        search = TreeSearch(
            NetworkGuide(self.model, is_scaled=True),
            options.simulations,
            exploration=options.exploration,
            noise=options.noise,
            temperature=options.temperature,
            rng=rng,
        )
        played: list[TrainingEpisode] = []
        while self.model.num_timesteps < end:
            played.append(self._episode(search, None if played else self.seed))
        # Where every step was forced there is nothing to learn.
        for _ in range(options.updates if len(self.replay) else 0):
            numbers = rng.integers(len(self.replay), size=options.batch_size)
            fit_batch(self.model, self.replay.batch(numbers.tolist()), options)
        return played

    def _episode(self, search: TreeSearch, seed: int | None) -> TrainingEpisode:
        """Play an episode, and keep its positions."""
        steps: list[tuple[Observation, tuple[bool, ...], Array]] = []

        def act(env: gymnasium.Env[Any, Any], observation: Observation) -> int:
            own = inner_env(env)
            allowed = own.allowed(own.episode)
            if (action := forced_action(allowed)) is not None:
                return action
            visits = search.visit_distribution(own)
            steps.append((observation, allowed, visits))
            return search.sample_action(visits)

        ending = run_episode(self.env, act, seed=seed)
        self.model.num_timesteps += ending.steps
        worth = scaled_value(ending.reward)
        self.replay.extend([self.replay.sample(*step, worth) for step in steps])
        return TrainingEpisode.of(int(self.model.num_timesteps), ending)
