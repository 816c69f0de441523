"""Expert iteration: a search that the network guides plays, and the network learns from it.

A leg plays episodes, with the network as it is in the checkpoint, until as many steps are taken as
a leg has; the last one is played to its end. Where there is a choice the action is drawn by the
visits of a tree search (:class:`~agents.policies.tree.TreeSearch`), and a position is kept: what
was seen, the parts of the visits, and the return of the episode. What is forced is no position.
Then the network is fitted to positions of the last ``replay_size`` that are drawn by dice.

So the search is the expert, which the network imitates, and a better network makes a better search.

Source: Anthony, Tian and Barber, Thinking fast and slow with deep learning and tree search (2017).
"""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import gymnasium
import numpy as np

from agents.legs.beginning import begun, steps_of_leg
from agents.legs.fitting import fit
from agents.legs.options import IterationOptions
from agents.legs.positions import Positions
from agents.legs.protocol import kept_memory
from agents.policies.guide import Array, NetworkGuide, scaled
from agents.policies.protocol import inner, run_episode
from agents.policies.tree import TreeSearch, forced
from agents.tables import Played
from polygym.episodes.tables import Observation

if TYPE_CHECKING:
    from agents.experiments import Experiment


@dataclass(slots=True)
class ExpertIteration:
    """Plays by search, and fits the network to what the search found."""

    experiment: Experiment
    model: Any
    env: Any
    replay: Positions
    seed: int
    memory: str = ".npz"
    told: dict[str, float] = field(default_factory=dict)

    @staticmethod
    def begun(experiment: Experiment, seed: int, checkpoint: Path) -> ExpertIteration:
        """Return the learner of the leg behind a checkpoint.

        Raises:
            InputError: the positions are missing that belong to the checkpoint.
        """
        found = begun(experiment, seed, checkpoint)
        options = IterationOptions(**experiment.hyperparameters)
        replay = Positions(inner(found.env).observation_space, options.replay_size)
        if checkpoint.exists():
            replay.load(kept_memory(checkpoint, int(found.model.num_timesteps), ".npz"))
        return ExpertIteration(experiment, found.model, found.env, replay, found.seed)

    def keep(self, file: Path) -> None:
        """Write the replay buffer."""
        self.replay.save(file)

    def leg(self) -> list[Played]:
        """Play and learn up to the next checkpoint; return the episodes that were played."""
        options = IterationOptions(**self.experiment.hyperparameters)
        dice = np.random.default_rng(self.seed)
        end = int(self.model.num_timesteps) + steps_of_leg(self.experiment, self.model)
        search = TreeSearch(
            NetworkGuide(self.model, is_scaled=True),
            options.simulations,
            exploration=options.exploration,
            noise=options.noise,
            temperature=options.temperature,
            dice=dice,
        )
        played: list[Played] = []
        while self.model.num_timesteps < end:
            played.append(self._episode(search, None if played else self.seed))
        # Where every step was forced there is nothing to learn.
        for _ in range(options.updates if len(self.replay) else 0):
            numbers = dice.integers(len(self.replay), size=options.batch_size)
            fit(self.model, self.replay.batch(numbers.tolist()), options)
        return played

    def _episode(self, search: TreeSearch, seed: int | None) -> Played:
        """Play an episode, and keep its positions."""
        steps: list[tuple[Observation, tuple[bool, ...], Array]] = []

        def act(env: gymnasium.Env[Any, Any], observation: Observation) -> int:
            own = inner(env)
            allowed = own.allowed(own.episode)
            if (action := forced(allowed)) is not None:
                return action
            visits = search.distribution(own)
            steps.append((observation, allowed, visits))
            return search.drawn(visits)

        ending = run_episode(self.env, act, seed=seed)
        self.model.num_timesteps += ending.steps
        worth = scaled(ending.reward)
        self.replay.extend([self.replay.position(*step, worth) for step in steps])
        return Played.of(int(self.model.num_timesteps), ending)
