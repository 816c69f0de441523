"""Corpora as Minari data sets: for each measured candidate the episode that leads to it.

An episode is one of Optimize-v0 with ``start="isl"``: observations, actions and rewards, all 0 but
the last, which is the logarithm of the measured speedup. Its metadata (``options``) say which
program, sizes and threads it is about, what was measured, and on which kind of machine. Left out
are candidates that no episode reaches, cases with changed storage, and programs that do what a test
kernel does.

The folder is one for ``MINARI_DATASETS_PATH``::

    FOLDER/polygym/NAME-v0/     the data set, in Parquet files
    FOLDER/README.md            a data card: counts, license, how to load it
    FOLDER/SHA256SUMS           of all files; ``sha256sum --check SHA256SUMS`` reads it

Source of the format: https://minari.farama.org.
"""

from __future__ import annotations

import hashlib
import os
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from importlib.util import find_spec
from itertools import chain, islice
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import gymnasium
import numpy as np

from polygym.agents.policies.env_policy import inner_env
from polygym.agents.trainers.corpus_episodes import reached_rows, steps_of
from polygym.envs.base import PolygymEnv
from polygym.errors import InputError, MissingLibraryError, PolygymError
from polygym.mdp.env_ids import OPTIMIZE
from polygym.mdp.rewards import reward_of_success
from polygym.search.corpus.packing import open_packed
from polygym.search.corpus.rows import CorpusRow
from polygym.search.corpus.samples import CaseRows, case_rows, target_of, without_tests
from polygym.version import __version__

_SEED = 3_000_000
_BATCH = 64
_PATH = "MINARI_DATASETS_PATH"


@dataclass(frozen=True, slots=True)
class MinariExport:
    """What was written: the data set's name, its episodes and steps, and the rows left out."""

    dataset: str
    episodes: int
    steps: int
    left_out: int


def export_minari(
    corpus: Path,
    folder: Path,
    *,
    most: int | None = None,
    on_progress: Callable[[int, str], None] = lambda _, __: None,
) -> MinariExport:
    """Write the episodes of a corpus, at most so many, into a new folder.

    Raises:
        InputError: the folder is there, no episode leads to a row, or the corpus cannot be read.
        MissingLibraryError: Minari is missing.
    """
    for library in ("minari", "pyarrow"):
        if find_spec(library) is None:
            raise MissingLibraryError("Minari data sets", library, "agents")
    if folder.exists():
        raise InputError(f"{folder}: expected a new folder, found one that is there")
    name = f"polygym/{corpus.name.split('.')[0]}-v0"
    with open_packed(corpus) as rows, TemporaryDirectory(dir=folder.resolve().parent) as partial:
        place = Path(partial, "minari")
        place.mkdir()
        learned, _ = without_tests(case_rows(rows))
        result = _write(name, learned, rows.count(), place, most, on_progress)
        (place / "README.md").write_text(_card(corpus, result), encoding="utf-8")
        (place / "SHA256SUMS").write_text(_checksums(place), encoding="utf-8")
        place.rename(folder)
    return result


def _write(
    name: str,
    groups: list[CaseRows],
    rows: int,
    place: Path,
    most: int | None,
    on_progress: Callable[[int, str], None],
) -> MinariExport:
    """Write episodes batch by batch: one takes half a megabyte in memory."""
    import minari

    example: Any = gymnasium.make(f"polygym:{OPTIMIZE}", kernel="gemm", start="isl")
    dataset: Any = None
    batch: list[Any] = []
    episodes = steps = 0
    with _datasets_in(place), warnings.catch_warnings():
        warnings.simplefilter("ignore")  # Minari's wishes: an address, a link

        def flush() -> None:
            nonlocal dataset
            if dataset is None:
                dataset = minari.create_dataset_from_buffers(
                    name,
                    batch,
                    env=example,
                    algorithm_name="measured candidates",
                    author="polygym",
                    description="Episodes of polygym/Optimize-v0 that lead to measured candidates.",
                    data_format="parquet",
                    requirements=[f"polygym=={__version__}"],
                )
            else:
                dataset.storage.update_episodes(batch)
            batch.clear()

        for buffer in islice(chain.from_iterable(map(_episodes, groups)), most):
            batch.append(buffer)
            episodes, steps = episodes + 1, steps + len(buffer.rewards)
            if len(batch) == _BATCH:
                flush()
                on_progress(episodes, buffer.options["kernel"])
        if batch:
            flush()
    if not episodes:
        raise InputError("a data set: expected rows that an episode can reach, found none")
    return MinariExport(name, episodes, steps, rows - episodes)


def _episodes(group: CaseRows) -> Iterator[Any]:
    """Yield the episodes of a case; none where isl gives up or storage was changed."""
    case = group.visit.case
    if case.is_changed:
        return
    with TemporaryDirectory() as texts:
        try:
            env: Any = gymnasium.make(
                f"polygym:{OPTIMIZE}",
                kernel=target_of(group.visit, texts),
                parameters=dict(case.parameters),
                function=case.function or None,
                threads=group.visit.threads,
                start="isl",
                reward="log_speedup",
                disable_env_checker=True,
            )
            env.reset(seed=_SEED)
            own = inner_env(env)
            for row, actions in reached_rows(own, group):
                yield _buffer(own, group, row, actions)
        except PolygymError:
            return


def _buffer(env: PolygymEnv, group: CaseRows, row: CorpusRow, actions: tuple[int, ...]) -> Any:
    from minari.data_collector.episode_buffer import EpisodeBuffer

    steps = steps_of(env, actions)
    # The observation behind the last action is that of a state in which nothing is left to do.
    seen = [observation for observation, _, _ in steps] + [steps[-1][0]]
    count = len(actions)
    rewards = [0.0] * (count - 1)
    speedup = group.original / row.seconds
    rewards.append(reward_of_success(env.reward_kind, speedup, env.timeout_factor))
    case = group.visit.case
    return EpisodeBuffer(
        seed=_SEED,
        options={
            "kernel": case.program,
            "parameters": dict(case.parameters),
            "threads": group.visit.threads,
            "schedule": row.schedule,
            "mapping": row.mapping,
            "speedup": speedup,
            "seconds": row.seconds,
            "baseline_seconds": group.original,
            "machine": group.visit.machine,
        },
        observations={name: np.stack([every[name] for every in seen]) for name in seen[0]},
        actions=np.array(actions, np.int64),
        rewards=rewards,
        terminations=[False] * (count - 1) + [True],
        truncations=[False] * count,
    )


@contextmanager
def _datasets_in(place: Path) -> Iterator[None]:
    """Have Minari write into a folder."""
    before = os.environ.get(_PATH)
    os.environ[_PATH] = str(place)
    try:
        yield
    finally:
        if before is None:
            del os.environ[_PATH]
        else:
            os.environ[_PATH] = before


def _card(corpus: Path, written: MinariExport) -> str:
    return f"""# {written.dataset}

Episodes of `polygym/Optimize-v0` (`start="isl"`) that lead to candidates of the corpus
`{corpus.name}`, which were compiled, run, checked and timed.

| | |
|---|---|
| episodes | {written.episodes:,} |
| steps | {written.steps:,} |
| other rows of the corpus | {written.left_out:,} |
| which they are | of test kernels, failed, outliers, out of an episode's reach, or not asked for |
| reward | logarithm of the measured speedup over the original order, at the end of an episode |
| metadata of an episode | `options`: program, sizes, threads, schedule, mapping, times, machine |
| made by | polygym {__version__}: `polygym corpus export {corpus.name} FOLDER --minari` |
| license | GPL-3.0-or-later |

The last observation of an episode repeats the one before it: nothing is left to be decided.

```python
import os
os.environ["MINARI_DATASETS_PATH"] = "."  # this folder
import minari
dataset = minari.load_dataset("{written.dataset}")
episode = next(dataset.iterate_episodes())
print(episode.actions, episode.rewards[-1])
print(next(iter(dataset.storage.get_episode_metadata([0])))["options"]["kernel"])
```
"""


def _checksums(place: Path) -> str:
    files = sorted(path for path in place.rglob("*") if path.is_file())
    return "".join(
        f"{hashlib.sha256(path.read_bytes()).hexdigest()}  {path.relative_to(place)}\n"
        for path in files
    )
