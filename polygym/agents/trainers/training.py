"""Training in intervals, so that what was interrupted goes on as if it had not been.

An interval is so many steps, from one checkpoint to the next. Each begins with what is in the
checkpoint and nothing else: the model is loaded from it, the environment is made anew, and all
random generators are seeded with the seed of the training and the steps that were taken so far. So
a training that was killed and goes on has the same weights in the end, bit for bit, as one that was
not; what is lost is the interval in which it was killed. PyTorch computes with one thread: networks
are small, and its other threads would wait busily beside the environments and what these measure.

A folder has for every seed::

    experiment.yaml             what is trained, as it was read
    seed-0/checkpoint.zip       the model after the last interval; replay-N.npz beside it for dqn,
                                expert iteration and knossos
    seed-0/episodes.csv         every episode: steps so far, kernel, reward, length, status
    seed-0/evaluations.csv      by interval: steps, kernel, episode, reward, status, speedup
    seed-0/model.zip            the model at the end, with model.json, which says what it is

Who does an interval, which depends on the algorithm, is a learner (:mod:`polygym.agents.trainers`).
"""

from __future__ import annotations

import json
import os
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from polygym.agents.experiments.environments import (
    make_env,
    selected_subjects,
    speedup_of,
    subject_of,
)
from polygym.agents.experiments.experiment import Experiment
from polygym.agents.experiments.reading import parse_experiment
from polygym.agents.experiments.rewrite_terms import REWRITE
from polygym.agents.experiments.train_test_leakage import (
    TEST_KERNELS_KEY,
    expect_no_held_out_programs,
    leakage_warning,
    learned_from,
)
from polygym.agents.policies.env_policy import inner_env, run_episode
from polygym.agents.policies.trained_network import TrainedPolicy
from polygym.agents.trainers import Learner, learner_of
from polygym.agents.trainers.learner_protocol import replay_file_of
from polygym.agents.trainers.tensorboard_logs import log_interval
from polygym.agents.trainers.training_tables import (
    EvaluationEpisode,
    TrainingEpisode,
    append_rows,
    read_rows,
)
from polygym.cost.models.tree_gru import use_torch_threads
from polygym.errors import InputError, PolygymError
from polygym.files import create_folder, try_lock, write_atomically
from polygym.runtime.evaluation.fingerprint import machine_fingerprint
from polygym.version import __version__

if TYPE_CHECKING:
    from polygym.search.runner.ray.episode_rewards import BlockingRewards, RayRewards

EPISODE_COLUMNS = TrainingEpisode._fields
EVALUATION_COLUMNS = EvaluationEpisode._fields

# Episodes of evaluations have seeds of their own.
_EVALUATION_SEED = 1_000_000

__all__ = [
    "EPISODE_COLUMNS",
    "EVALUATION_COLUMNS",
    "read_rows",
    "train_experiment",
    "trained_models",
]

Tell = Callable[[str], None]


def train_experiment(
    experiment: Experiment,
    folder: Path,
    tell: Tell,
    *,
    resume: bool = False,
    endings: RayRewards | None = None,
) -> None:
    """Train all seeds of an experiment one after the other; what is done already is not done again.

    ``endings`` measures how episodes end, if that is not done here.

    Raises:
        InputError: there is another training in the folder, or one that is not to go on, or a
            program is of the held-out split.
        PolygymError: somebody else trains there.
    """
    expect_no_held_out_programs(experiment)
    with _folder_lock(folder), use_torch_threads(1):
        _begin(experiment, folder, resume=resume)
        if seen := learned_from(experiment):
            print(leakage_warning(seen), file=sys.stderr, flush=True)
        for seed in experiment.seeds:
            own = folder / f"seed-{seed}"
            if (own / "model.zip").exists():
                tell(f"seed {seed}: trained already")
                continue
            model = _train_seed(experiment, seed, own, tell, endings)
            _finish(experiment, seed, model, seen, own)


def trained_models(folder: Path) -> tuple[Experiment, dict[int, Path]]:
    """Return the experiment of a folder, and the models that have been trained, by seed.

    Raises:
        InputError: there is no experiment.
    """
    experiment = _experiment(folder)
    models = {seed: folder / f"seed-{seed}" / "model.zip" for seed in experiment.seeds}
    return experiment, {seed: path for seed, path in models.items() if path.exists()}


def _experiment(folder: Path) -> Experiment:
    import yaml

    file = folder / "experiment.yaml"
    try:
        return parse_experiment(yaml.safe_load(file.read_text(encoding="utf-8")), str(file))
    except (OSError, UnicodeDecodeError, yaml.YAMLError) as error:
        raise InputError(f"{file}: expected an experiment, found: {error}") from None


@contextmanager
def _folder_lock(folder: Path) -> Iterator[None]:
    create_folder(folder)
    with (folder / "lock").open("w") as file:
        if not try_lock(file.fileno()):
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


def _train_seed(
    experiment: Experiment,
    seed: int,
    folder: Path,
    tell: Tell,
    endings: RayRewards | None,
) -> Any:
    """Return the model that has taken all steps."""
    folder.mkdir(exist_ok=True)
    checkpoint = folder / "checkpoint.zip"
    learner = learner_of(experiment, seed, checkpoint, endings)
    while (first := int(learner.model.num_timesteps)) < experiment.steps:
        began = time.monotonic()
        episodes = learner.train_interval()
        steps = int(learner.model.num_timesteps)
        append_rows(folder / "episodes.csv", EPISODE_COLUMNS, episodes, first)
        shown = _evaluate(experiment, learner.model, steps, endings)
        append_rows(folder / "evaluations.csv", EVALUATION_COLUMNS, shown, first)
        _save(learner, checkpoint)
        speed = (steps - first) / max(1e-9, time.monotonic() - began)
        log_interval(folder, steps, speed, episodes, shown, learner.metrics)
        tell(
            f"seed {seed}: {steps} of {experiment.steps} steps, {speed:.0f} a second; mean reward "
            f"of {len(episodes)} episodes {_mean(episodes)}"
            + (f", evaluated {_mean(shown)}" if shown else "")
        )
        learner = learner_of(experiment, seed, checkpoint, endings)
    return learner.model


def _remote_evaluator(endings: RayRewards | None) -> BlockingRewards | None:
    """Return what measures ends for environments that wait for them; None if they do so here."""
    if endings is None:
        return None
    from polygym.search.runner.ray.episode_rewards import BlockingRewards

    return BlockingRewards(endings)


def _evaluate(
    experiment: Experiment, model: Any, steps: int, endings: RayRewards | None
) -> list[EvaluationEpisode]:
    """Let the model play, the likeliest action each time, and return what came of it."""
    if not experiment.evaluation.kernels.strip():
        return []
    if experiment.environment == REWRITE:
        episodes: list[EvaluationEpisode] = model.evaluate()
        return episodes
    episodes = []
    subject = subject_of(experiment.environment)
    for kernel in selected_subjects(experiment.environment, experiment.evaluation.kernels):
        env, policy = make_env(experiment, kernel), TrainedPolicy(model)
        if endings is not None:
            inner_env(env).remote_evaluator = _remote_evaluator(endings)
        for number in range(experiment.evaluation.episodes):
            ending = run_episode(env, policy, seed=_EVALUATION_SEED + number)
            episodes.append(
                EvaluationEpisode(
                    steps, ending.info[subject], number, round(ending.reward, 6),
                    ending.info["status"], round(speedup_of(ending.info), 6),
                )
            )  # fmt: skip
        env.close()
    return episodes


def _save(learner: Learner, checkpoint: Path) -> None:
    """Keep the model, and what else an interval begins with; the checkpoint comes last."""
    kept = None
    if learner.replay_suffix:
        kept = replay_file_of(checkpoint, int(learner.model.num_timesteps), learner.replay_suffix)
        learner.save_replay(partial := kept.with_suffix(f".partial{learner.replay_suffix}"))
        os.replace(partial, kept)
    partial = checkpoint.with_name("partial.zip")
    learner.model.save(partial)
    os.replace(partial, checkpoint)
    for other in checkpoint.parent.glob("replay-*"):
        if other != kept:
            other.unlink()


def _finish(
    experiment: Experiment, seed: int, model: Any, seen: Sequence[str], folder: Path
) -> None:
    about = {
        "polygym": __version__,
        "experiment": experiment.document(),
        "seed": seed,
        "steps": int(model.num_timesteps),
        TEST_KERNELS_KEY: list(seen),
        "machine": machine_fingerprint().key,
        "processor": machine_fingerprint().processor,
    }
    write_atomically(folder / "model.json", json.dumps(about, indent=2).encode())
    partial = folder / "partial.zip"
    model.save(partial)
    os.replace(partial, folder / "model.zip")


def _mean(rows: Sequence[TrainingEpisode] | Sequence[EvaluationEpisode]) -> str:
    return f"{np.mean([row.reward for row in rows]):.3f}" if rows else "-"
