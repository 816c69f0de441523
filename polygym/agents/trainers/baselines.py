"""The algorithms of stable-baselines3 and sb3-contrib: MaskablePPO, PPO, A2C and DQN, as they are.

DQN's replay buffer is kept beside its checkpoint, packed, and only its used part:
stable-baselines3 would write a million steps, 46 GB of zeros here, after every interval.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from polygym.agents.experiments.environments import subject_of
from polygym.agents.experiments.experiment import Experiment
from polygym.agents.policies.env_policy import inner_env
from polygym.agents.trainers.delayed_rewards import (
    DelayedReward,
    assign_rewards,
    delayed_rewards_in,
)
from polygym.agents.trainers.learner_protocol import existing_replay_file
from polygym.agents.trainers.trainer_state import load_trainer_state, steps_of_interval
from polygym.agents.trainers.training_tables import TrainingEpisode

if TYPE_CHECKING:
    from polygym.envs.episode_end import RemoteEvaluator

_STEP_ARRAYS = ("actions", "rewards", "dones", "timeouts")
_STATE_ARRAYS = ("observations", "next_observations")


def save_replay(buffer: Any, file: Path) -> None:
    """Write what is in a buffer."""
    used = buffer.size()
    held = {name: array[:used] for name, array in _arrays(buffer).items()}
    np.savez_compressed(file, place=buffer.pos, is_full=buffer.full, **held)


def load_replay(buffer: Any, file: Path) -> None:
    """Put what :func:`save_replay` wrote into a new buffer of the same size."""
    with np.load(file, allow_pickle=False) as archive:
        buffer.pos, buffer.full = int(archive["place"]), bool(archive["is_full"])
        used = buffer.size()
        for name, array in _arrays(buffer).items():
            array[:used] = archive[name]


def _arrays(buffer: Any) -> dict[str, Any]:
    """Return the arrays of a buffer, which have a row for every step, by their names."""
    result = {name: getattr(buffer, name) for name in _STEP_ARRAYS}
    for name in _STATE_ARRAYS:
        for key, array in getattr(buffer, name).items():
            result[f"{name}/{key}"] = array
    return result


@dataclass(slots=True)
class LibraryLearner:
    """Lets an algorithm learn as its library has it."""

    experiment: Experiment
    model: Any
    replay_suffix: str
    metrics: dict[str, float] = field(default_factory=dict)

    @staticmethod
    def resume(
        experiment: Experiment,
        seed: int,
        checkpoint: Path,
        remote_evaluator: RemoteEvaluator | None = None,
    ) -> LibraryLearner:
        """Return the learner of the interval behind a checkpoint.

        ``remote_evaluator`` measures, if given.

        Raises:
            InputError: the replay buffer is missing that belongs to the checkpoint.
        """
        beginning = load_trainer_state(experiment, seed, checkpoint)
        if remote_evaluator is not None:
            for env in beginning.envs.envs:
                inner_env(env).remote_evaluator = remote_evaluator
        model = beginning.model
        memory = ".npz" if experiment.algorithm == "dqn" else ""
        if memory and checkpoint.exists():
            kept = existing_replay_file(checkpoint, int(model.num_timesteps), memory)
            load_replay(model.replay_buffer, kept)
        return LibraryLearner(experiment, model, memory)

    def save_replay(self, file: Path) -> None:
        """Write the replay buffer."""
        save_replay(self.model.replay_buffer, file)

    def train_interval(self) -> list[TrainingEpisode]:
        """Learn up to the next checkpoint; return the episodes that ended meanwhile."""
        from stable_baselines3.common.callbacks import BaseCallback

        experiment = self.experiment
        subject = subject_of(experiment.environment)
        episodes: list[TrainingEpisode] = []

        class Watching(BaseCallback):
            """Writes down every episode; rewards that come later are waited for at the end."""

            def __init__(self) -> None:
                super().__init__()
                self._rewards = np.zeros(experiment.n_envs)
                self._lengths = np.zeros(experiment.n_envs, int)
                self._late: list[tuple[int, DelayedReward]] = []

            def _on_training_start(self) -> None:
                # What falls with the progress falls over the whole training, not over an interval.
                self.model._total_timesteps = experiment.steps

            def _on_step(self) -> bool:
                self._rewards += self.locals["rewards"]
                self._lengths += 1
                late = {}
                if any("pending" in info for info in self.locals["infos"]):
                    late = {reward.env: reward for reward in delayed_rewards_in(self.locals)}
                for place in np.flatnonzero(self.locals["dones"]).tolist():
                    info = self.locals["infos"][place]
                    if place in late:
                        self._late.append((len(episodes), late[place]))
                    episodes.append(
                        TrainingEpisode(
                            self.num_timesteps, info[subject],
                            round(float(self._rewards[place]), 6),
                            int(self._lengths[place]), info["status"],
                        )
                    )  # fmt: skip
                    self._rewards[place], self._lengths[place] = 0.0, 0
                return True

            def _on_rollout_end(self) -> None:
                if not self._late:  # DQN has no rollouts, and ends are measured in place
                    return
                come = assign_rewards(self.model, [delayed for _, delayed in self._late])
                for (place, _), (reward, status) in zip(self._late, come, strict=True):
                    played = episodes[place]
                    total = round(played.reward + reward, 6)
                    episodes[place] = played._replace(reward=total, status=status)
                self._late = []

        self.model.learn(
            steps_of_interval(experiment, self.model),
            callback=Watching(),
            reset_num_timesteps=False,
            tb_log_name="run",
            log_interval=1,
        )
        return episodes
