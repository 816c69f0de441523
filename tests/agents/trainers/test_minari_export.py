"""Corpora as Minari data sets: what is read back leads to what was measured."""

from __future__ import annotations

import hashlib
import json
import os
from math import log
from pathlib import Path
from typing import Any

import gymnasium
import numpy as np
import pytest

from polygym.agents.trainers.minari_export import export_minari
from polygym.cli import dispatch
from polygym.errors import InputError
from tests.agents.trainers.test_learners import corpus

minari = pytest.importorskip("minari")


@pytest.fixture(scope="module")
def written(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("minari")
    exported = export_minari(corpus(folder / "some.sqlite"), folder / "out")
    assert exported.dataset == "polygym/some-v0"
    assert exported.episodes == 2  # of 2mm; bicg is a test kernel, mvt out of reach
    return folder / "out"


def loaded(folder: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    monkeypatch.setenv("MINARI_DATASETS_PATH", str(folder))
    return minari.load_dataset("polygym/some-v0")


def test_episodes_lead_to_what_was_measured(written: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    dataset = loaded(written, monkeypatch)
    about = [every["options"] for every in dataset.storage.get_episode_metadata([0, 1])]
    assert [every["kernel"] for every in about] == ["2mm", "2mm"]
    for episode, options in zip(dataset.iterate_episodes(), about, strict=True):
        env: Any = gymnasium.make(
            "polygym:polygym/Optimize-v0", kernel=options["kernel"], threads=options["threads"],
            parameters=options["parameters"], start="isl", reward="static",
        )  # fmt: skip
        observation, info = env.reset(seed=0)
        for step, action in enumerate(episode.actions):
            assert info["action_mask"][action]
            for name, array in observation.items():
                assert np.array_equal(episode.observations[name][step], array)
            observation, _, terminated, _, info = env.step(action)
        assert terminated
        assert info["schedule"] == options["schedule"]
        assert options["speedup"] == pytest.approx(options["baseline_seconds"] / options["seconds"])
        assert not np.any(episode.rewards[:-1])
        assert episode.rewards[-1] == pytest.approx(log(options["speedup"]))
        assert episode.terminations.tolist() == [False] * (len(episode.actions) - 1) + [True]
    assert dataset.recover_environment().unwrapped.observation_space == env.observation_space


def test_checksums_are_those_of_the_files(written: Path) -> None:
    lines = (written / "SHA256SUMS").read_text().splitlines()
    named = dict(reversed(line.split("  ")) for line in lines)
    files = {str(path.relative_to(written)) for path in written.rglob("*") if path.is_file()}
    assert set(named) == files - {"SHA256SUMS"}
    for name, digest in named.items():
        assert hashlib.sha256((written / name).read_bytes()).hexdigest() == digest
    assert "| episodes | 2 |" in (written / "README.md").read_text()


def test_the_command_writes_it_whole_or_not_at_all(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = str(corpus(tmp_path / "some.sqlite"))
    asked = ["corpus", "export", file, str(tmp_path / "out"), "--minari", "--episodes", "1"]
    assert dispatch.run([*asked, "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert (told["dataset"], told["episodes"]) == ("polygym/some-v0", 1)
    assert "MINARI_DATASETS_PATH" not in os.environ
    assert dispatch.run(asked) == 2
    assert "expected a new folder" in capsys.readouterr().err
    assert dispatch.run(["corpus", "export", file, "x", "--episodes", "1"]) == 2
    assert "--episodes: expected --minari beside it" in capsys.readouterr().err
    nothing = corpus(tmp_path / "bicg.sqlite")
    with pytest.raises(InputError, match="expected rows that an episode can reach"):
        export_minari(_only_tests(nothing), tmp_path / "none")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["bicg.sqlite", "out", "some.sqlite"]


def _only_tests(file: Path) -> Path:
    """Return the corpus without what can be learned from."""
    import sqlite3
    from contextlib import closing

    with closing(sqlite3.connect(file)) as connection, connection:
        connection.execute("delete from rows where case_number = 1")
    return file
