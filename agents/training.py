"""Training in legs, so that what was interrupted goes on as if it had not been.

A leg is so many steps, from one checkpoint to the next. Each begins with what is in the checkpoint
and nothing else: the model is loaded from it, the environment is made anew, and all dice are seeded
with the seed of the training and the steps that were taken so far. So a training that was killed
and goes on has the same weights in the end, bit for bit, as one that was not; what is lost is the
leg in which it was killed.

A folder has for every seed::

    experiment.yaml             what is trained, as it was read
    seed-0/checkpoint.zip       the model after the last leg; replay-N.pkl beside it for dqn
    seed-0/episodes.csv         every episode: steps so far, kernel, reward, length, status
    seed-0/evaluations.csv      after every leg: steps, kernel, episode, reward, status, speedup
    seed-0/model.zip            the model at the end, with model.json, which says what it is
"""

from __future__ import annotations

import csv
import json
import os
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import gymnasium
import numpy as np

from agents.experiments import Experiment, make_env, parsed
from agents.models import algorithm_of, new_model
from agents.policies.networks import Network
from agents.policies.protocol import run_episode
from agents.splits import chosen
from agents.wrappers import ChoosesKernels
from polygym.errors import InputError, PolygymError
from polygym.files import locked, write_atomically
from polygym.measure.evaluation.fingerprint import fingerprint
from polygym.version import __version__

EPISODES = ("steps", "kernel", "reward", "length", "status")
EVALUATIONS = ("steps", "kernel", "episode", "reward", "status", "speedup")

# Episodes of evaluations have seeds of their own.
_EVALUATION = 1_000_000

Tell = Callable[[str], None]


def train(experiment: Experiment, folder: Path, tell: Tell, *, resume: bool = False) -> None:
    """Train all seeds of an experiment one after the other; what is done already is not done again.

    Raises:
        InputError: there is another training in the folder, or one that is not to go on.
        PolygymError: somebody else trains there.
    """
    with _alone(folder):
        _begin(experiment, folder, resume=resume)
        for seed in experiment.seeds:
            _train_seed(experiment, seed, folder / f"seed-{seed}", tell)


def trained(folder: Path) -> tuple[Experiment, dict[int, Path]]:
    """Return the experiment of a folder, and the models that have been trained, by seed.

    Raises:
        InputError: there is no experiment.
    """
    experiment = _experiment(folder)
    models = {seed: folder / f"seed-{seed}" / "model.zip" for seed in experiment.seeds}
    return experiment, {seed: path for seed, path in models.items() if path.exists()}


def rows_of(file: Path) -> list[dict[str, str]]:
    """Return the rows of one of the tables of a training; none where there is no file yet."""
    if not file.exists():
        return []
    with file.open(newline="", encoding="utf-8") as lines:
        return list(csv.DictReader(lines))


def _experiment(folder: Path) -> Experiment:
    import yaml

    file = folder / "experiment.yaml"
    try:
        return parsed(yaml.safe_load(file.read_text(encoding="utf-8")), str(file))
    except (OSError, UnicodeDecodeError, yaml.YAMLError, AttributeError) as error:
        raise InputError(f"{file}: expected an experiment, found: {error}") from None


@contextmanager
def _alone(folder: Path) -> Iterator[None]:
    folder.mkdir(parents=True, exist_ok=True)
    with (folder / "lock").open("w") as file:
        if not locked(file.fileno()):
            raise PolygymError(f"{folder}: expected nobody else to train there, found a training")
        yield


def _begin(experiment: Experiment, folder: Path, *, resume: bool) -> None:
    import yaml

    file = folder / "experiment.yaml"
    if file.exists():
        if not resume:
            raise InputError(
                f"{folder}: expected no training there, found one; --resume goes on with it"
            )
        before = _experiment(folder)
        if before != experiment:
            raise InputError(
                f"{folder}: expected the experiment of {file}, found another one; a changed "
                "experiment needs a folder of its own"
            )
    text = yaml.safe_dump(experiment.document(), sort_keys=False)
    write_atomically(file, text.encode())


def _train_seed(experiment: Experiment, seed: int, folder: Path, tell: Tell) -> None:
    if (folder / "model.zip").exists():
        tell(f"seed {seed}: trained already")
        return
    folder.mkdir(exist_ok=True)
    checkpoint = folder / "checkpoint.zip"
    while (model := _loaded(experiment, seed, checkpoint)).num_timesteps < experiment.steps:
        began = time.monotonic()
        first = int(model.num_timesteps)
        episodes = _leg(experiment, model)
        steps = int(model.num_timesteps)
        _append(folder / "episodes.csv", EPISODES, episodes, first)
        shown = _evaluated(experiment, model, steps)
        _append(folder / "evaluations.csv", EVALUATIONS, shown, first)
        _save(experiment, model, checkpoint)
        tell(
            f"seed {seed}: {steps} of {experiment.steps} steps, "
            f"{(steps - first) / max(1e-9, time.monotonic() - began):.0f} a second; mean reward "
            f"of {len(episodes)} episodes {_mean(episodes)}"
            + (f", evaluated {_mean(shown)}" if shown else "")
        )
    _finish(experiment, seed, model, folder)


def _dice(seed: int, steps: int) -> int:
    """Return the seed of the leg that begins after so many steps."""
    return int(np.random.SeedSequence([seed, steps]).generate_state(1)[0] % 2**31)


def _loaded(experiment: Experiment, seed: int, checkpoint: Path) -> Any:
    """Return the model at the beginning of a leg, with an environment and dice of its own."""
    from stable_baselines3.common.utils import set_random_seed
    from stable_baselines3.common.vec_env import DummyVecEnv

    envs = DummyVecEnv([lambda: make_env(experiment)])
    if checkpoint.exists():
        model = algorithm_of(experiment.algorithm).load(checkpoint, env=envs, device="cpu")
        if (replay := _replay(checkpoint, model)).exists():
            model.load_replay_buffer(replay)
    else:
        has_boards = find_spec("tensorboard") is not None
        boards = str(checkpoint.parent / "tensorboard") if has_boards else None
        model = new_model(experiment, envs, _dice(seed, 0), boards)
    leg = _dice(seed, int(model.num_timesteps))
    set_random_seed(leg)
    model.action_space.seed(leg)
    envs.seed(leg)
    done = rows_of(checkpoint.with_name("episodes.csv"))
    _go_on(envs.envs[0], seed, sum(int(row["steps"]) <= int(model.num_timesteps) for row in done))
    return model


def _go_on(env: Any, seed: int, episodes: int) -> None:
    """Have the wrappers go on with the kernels where the leg before has ended."""
    while isinstance(env, gymnasium.Wrapper):
        if isinstance(env, ChoosesKernels):
            env.hold(seed, episodes)
        env = env.env


def _leg(experiment: Experiment, model: Any) -> list[tuple[Any, ...]]:
    """Train up to the next checkpoint, and return the episodes that ended meanwhile."""
    from stable_baselines3.common.callbacks import BaseCallback

    episodes: list[tuple[Any, ...]] = []

    class Watching(BaseCallback):
        """Writes down every episode."""

        def __init__(self) -> None:
            super().__init__()
            self._reward, self._length = 0.0, 0

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
                episodes.append(
                    (
                        self.num_timesteps, info["kernel"], round(self._reward, 6), self._length,
                        info["status"],
                    )
                )  # fmt: skip
                self._reward, self._length = 0.0, 0
            return True

    steps = min(experiment.every, experiment.steps - int(model.num_timesteps))
    model.learn(
        steps, callback=Watching(), reset_num_timesteps=False, tb_log_name="run", log_interval=None
    )
    return episodes


def _evaluated(experiment: Experiment, model: Any, steps: int) -> list[tuple[Any, ...]]:
    """Let the model play, the likeliest action each time, and return what came of it."""
    if not experiment.evaluation.kernels.strip():
        return []
    found = []
    for kernel in chosen(experiment.evaluation.kernels):
        env, policy = make_env(experiment, kernel), Network(model)
        for number in range(experiment.evaluation.episodes):
            ending = run_episode(env, policy, seed=_EVALUATION + number)
            found.append(
                (
                    steps, ending.info["kernel"], number, round(ending.reward, 6),
                    ending.info["status"], round(ending.info["speedup"], 6),
                )
            )  # fmt: skip
        env.close()
    return found


def _append(file: Path, columns: Sequence[str], rows: Sequence[Sequence[Any]], after: int) -> None:
    """Add rows to a table; those of a leg that was not finished, behind ``after``, are dropped."""
    kept = [row for row in rows_of(file) if int(row["steps"]) <= after]
    partial = file.with_suffix(".partial")
    with partial.open("w", newline="", encoding="utf-8") as lines:
        writer = csv.writer(lines, lineterminator="\n")
        writer.writerow(columns)
        writer.writerows([row[name] for name in columns] for row in kept)
        writer.writerows(rows)
    os.replace(partial, file)


def _save(experiment: Experiment, model: Any, checkpoint: Path) -> None:
    """Keep the model, and what else a leg begins with; the checkpoint comes last."""
    replay = _replay(checkpoint, model)
    if experiment.algorithm == "dqn":
        model.save_replay_buffer(partial := replay.with_suffix(".partial.pkl"))
        os.replace(partial, replay)
    partial = checkpoint.with_name("partial.zip")
    model.save(partial)
    os.replace(partial, checkpoint)
    for other in checkpoint.parent.glob("replay-*.pkl"):
        if other != replay:
            other.unlink()


def _replay(checkpoint: Path, model: Any) -> Path:
    """Return the file of the replay buffer that belongs to a model."""
    return checkpoint.with_name(f"replay-{int(model.num_timesteps)}.pkl")


def _finish(experiment: Experiment, seed: int, model: Any, folder: Path) -> None:
    about = {
        "polygym": __version__,
        "experiment": experiment.document(),
        "seed": seed,
        "steps": int(model.num_timesteps),
        "machine": fingerprint().key,
        "processor": fingerprint().processor,
    }
    write_atomically(folder / "model.json", json.dumps(about, indent=2).encode())
    partial = folder / "partial.zip"
    model.save(partial)
    os.replace(partial, folder / "model.zip")


def _mean(rows: Sequence[Sequence[Any]]) -> str:
    place = EPISODES.index("reward") if rows and len(rows[0]) == len(EPISODES) else 3
    return f"{np.mean([row[place] for row in rows]):.3f}" if rows else "-"
