"""The algorithms of stable-baselines3 and sb3-contrib: MaskablePPO, PPO, A2C and DQN, as they are.

DQN's replay buffer is kept beside its checkpoint.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from agents.late import Late, noted, settle
from agents.legs import replays
from agents.legs.beginning import begun, steps_of_leg
from agents.legs.protocol import kept_memory
from agents.policies.protocol import inner
from agents.tables import Played

if TYPE_CHECKING:
    from agents.experiments import Experiment
    from polygym.envs.elsewhere import Elsewhere


@dataclass(slots=True)
class Baseline:
    """Lets an algorithm learn as its library has it."""

    experiment: Experiment
    model: Any
    memory: str
    told: dict[str, float] = field(default_factory=dict)

    @staticmethod
    def begun(
        experiment: Experiment, seed: int, checkpoint: Path, elsewhere: Elsewhere | None = None
    ) -> Baseline:
        """Return the learner of the leg behind a checkpoint; ``elsewhere`` measures, if given.

        Raises:
            InputError: the replay buffer is missing that belongs to the checkpoint.
        """
        beginning = begun(experiment, seed, checkpoint)
        inner(beginning.env).elsewhere = elsewhere
        model = beginning.model
        memory = ".npz" if experiment.algorithm == "dqn" else ""
        if memory and checkpoint.exists():
            kept = kept_memory(checkpoint, int(model.num_timesteps), memory)
            replays.restore(model.replay_buffer, kept)
        return Baseline(experiment, model, memory)

    def keep(self, file: Path) -> None:
        """Write the replay buffer."""
        replays.keep(self.model.replay_buffer, file)

    def leg(self) -> list[Played]:
        """Learn up to the next checkpoint; return the episodes that ended meanwhile."""
        from stable_baselines3.common.callbacks import BaseCallback

        experiment = self.experiment
        episodes: list[Played] = []

        class Watching(BaseCallback):
            """Writes down every episode; rewards that come later are waited for at the end."""

            def __init__(self) -> None:
                super().__init__()
                self._reward, self._length = 0.0, 0
                self._late: list[tuple[int, Late]] = []

            def _on_training_start(self) -> None:
                # What falls with the progress falls over the whole training, not over a leg.
                self.model._total_timesteps = experiment.steps

            def _on_step(self) -> bool:
                (reward,), (done,), (info,) = (
                    self.locals[name] for name in ("rewards", "dones", "infos")
                )
                self._reward += float(reward)
                self._length += 1
                if done:
                    if "pending" in info:
                        self._late += [(len(episodes), one) for one in noted(self.locals)]
                    episodes.append(
                        Played(
                            self.num_timesteps, info["kernel"], round(self._reward, 6),
                            self._length, info["status"],
                        )
                    )  # fmt: skip
                    self._reward, self._length = 0.0, 0
                return True

            def _on_rollout_end(self) -> None:
                if not self._late:  # DQN has no rollouts, and ends are measured in place
                    return
                come = settle(self.model, [one for _, one in self._late])
                for (place, _), (reward, status) in zip(self._late, come, strict=True):
                    played = episodes[place]
                    total = round(played.reward + reward, 6)
                    episodes[place] = played._replace(reward=total, status=status)
                self._late = []

        self.model.learn(
            steps_of_leg(experiment, self.model),
            callback=Watching(),
            reset_num_timesteps=False,
            tb_log_name="run",
            log_interval=1,
        )
        return episodes
