"""Films of episodes: a frame for every step, the same episode as evaluated, whole or not there."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image

from polygym.agents.evaluation import episode_film, videos
from polygym.agents.evaluation.results import read_results
from polygym.agents.evaluation.videos import write_video
from polygym.agents.trainers.training import train_experiment
from polygym.cli import dispatch
from polygym.errors import InputError, PolygymError
from polygym.mdp.env_ids import CONSTRUCT, ENVIRONMENT_IDS, EXPLORE, OPTIMIZE
from polygym.pictures.scenes import canvas
from tests.agents.small_experiments import small

GIVEN = ["mvt", "--set", "dataset=mini"]


def frames(count: int, *, alike: bool = False) -> list[videos.Frame]:
    arrays = [np.full((64, 96, 3), 255, np.uint8) for _ in range(count)]
    for number, frame in enumerate(arrays):
        frame[:, : 0 if alike else 8 * (number + 1)] = (200, 30, 60)
    return arrays


def durations(path: Path) -> list[int]:
    with Image.open(path) as film:
        result = []
        for number in range(getattr(film, "n_frames", 1)):
            film.seek(number)
            result.append(int(film.info["duration"]))
    return result


def left_behind(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


@pytest.fixture
def small_pictures(monkeypatch: pytest.MonkeyPatch) -> None:
    """Draw nothing: for episodes of many steps of which the pictures do not matter."""
    monkeypatch.setattr(canvas, "render", lambda scene: np.full((32, 480, 3), 255, np.uint8))


# Films


def test_a_gif_has_every_frame_and_holds_the_last(tmp_path: Path) -> None:
    assert write_video(tmp_path / "x.gif", frames(4), 5) == 4
    assert durations(tmp_path / "x.gif") == [200, 200, 200, 3000]
    with Image.open(tmp_path / "x.gif") as film:
        for number, wanted in enumerate(frames(4)):
            film.seek(number)
            assert np.abs(np.asarray(film.convert("RGB")).astype(int) - wanted).max() < 16


def test_a_gif_shows_what_is_alike_as_long_as_what_is_not(tmp_path: Path) -> None:
    write_video(tmp_path / "x.gif", frames(4, alike=True), 5)
    assert sum(durations(tmp_path / "x.gif")) == 3600


def test_pictures_are_those_frames(tmp_path: Path) -> None:
    (tmp_path / "x").mkdir()
    assert write_video(tmp_path / "x", frames(3), 5) == 3
    assert left_behind(tmp_path / "x") == [f"frame-000{number}.png" for number in range(3)]
    for number, wanted in enumerate(frames(3)):
        with Image.open(tmp_path / "x" / f"frame-000{number}.png") as image_file:
            assert np.array_equal(np.asarray(image_file), wanted)
    assert left_behind(tmp_path) == ["x"]


@pytest.mark.nightly
def test_an_mp4_holds_the_last_frame(tmp_path: Path) -> None:
    library = pytest.importorskip("imageio_ffmpeg")
    assert write_video(tmp_path / "x.mp4", frames(4), 5) == 4
    count, seconds = library.count_frames_and_secs(str(tmp_path / "x.mp4"))
    assert count == 3 + 15
    assert seconds == pytest.approx(3.6, abs=0.05)
    shown = library.read_frames(str(tmp_path / "x.mp4"))
    assert next(shown)["size"] == (96, 64)
    first = np.frombuffer(next(shown), np.uint8).reshape(64, 96, 3)
    assert np.abs(first.astype(int) - frames(1)[0]).mean() < 10
    shown.close()


@pytest.mark.parametrize("name", ["x.gif", "x.mp4", "x"])
@pytest.mark.parametrize("error", [KeyboardInterrupt, PolygymError, OSError])
def test_nothing_is_left_of_half_a_film(
    name: str, error: type[BaseException], tmp_path: Path
) -> None:
    if "." in name:
        (tmp_path / name).write_text("as it was")

    def broken() -> Iterator[videos.Frame]:
        yield from frames(2)
        raise error("no more")

    expected = InputError if error is OSError else error
    with pytest.raises(expected, match="no more"):
        write_video(tmp_path / name, broken(), 5)
    if "." in name:
        assert (tmp_path / name).read_text() == "as it was"
    assert left_behind(tmp_path) == ([name] if "." in name else [])


def test_a_film_of_which_frames_are_missing_is_not_kept(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    library = pytest.importorskip("imageio_ffmpeg")
    monkeypatch.setattr(library, "count_frames_and_secs", lambda path: (7, 1.0))
    with pytest.raises(PolygymError, match="expected 17 frames, found 7"):
        write_video(tmp_path / "x.mp4", frames(3), 5)
    assert left_behind(tmp_path) == []


def test_a_library_that_is_missing_is_said(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Any
) -> None:
    monkeypatch.setitem(sys.modules, "imageio_ffmpeg", None)
    assert dispatch.run(["film", "earliest", *GIVEN, "--out", str(tmp_path / "x.mp4")]) == 2
    assert "pip install 'polygym[agents]'" in capsys.readouterr().err


# Episodes


@pytest.mark.nightly
@pytest.mark.parametrize("name", ENVIRONMENT_IDS)
@pytest.mark.usefixtures("small_pictures")
def test_a_film_has_a_frame_for_every_step_of_the_evaluated_episode(
    name: str, tmp_path: Path, capsys: Any
) -> None:
    agent = ["uniform", "--environment", name, "--set", "dataset=mini"]
    given = [*agent, "--set", "start=isl"] if name == OPTIMIZE else agent
    assert dispatch.run(["film", *given, "mvt", "--out", str(tmp_path / "x")]) == 0
    printed = capsys.readouterr().out
    results = tmp_path / "x.jsonl"
    assert dispatch.run(["evaluate", *given, "--programs", "mvt", "--out", str(results)]) == 0
    (result_line,) = read_results(results)
    steps = len(left_behind(tmp_path / "x")) - 1
    assert f"reward    {result_line.reward:.3f} in {steps} steps\n" in printed
    assert f"status    {result_line.status}\n" in printed
    assert f"schedule  {result_line.record['schedule']}\n" in printed
    assert ("mapping" in printed) == (name == OPTIMIZE)
    if name not in (CONSTRUCT, EXPLORE):  # in these a rule of the environment acts too
        assert steps == len(result_line.record["actions"])


@pytest.mark.nightly
def test_all_frames_of_an_episode_are_different_and_say_what_they_are(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    texts = []
    drawn = episode_film.with_caption

    def keep(picture: videos.Frame, text: str) -> videos.Frame:
        texts.append(text)
        return drawn(picture, text)

    monkeypatch.setattr(episode_film, "with_caption", keep)
    out = tmp_path / "x.gif"
    given = ["earliest", *GIVEN, "--environment", EXPLORE]
    assert dispatch.run(["film", *given, "--out", str(out)]) == 0
    assert texts[0] == "earliest on mvt, step 0: reward 0.000"
    assert texts[-1].endswith(", not measured")
    assert len(texts) == len(set(texts)) > 5
    assert durations(out) == [250] * (len(texts) - 1) + [3000]


@pytest.mark.usefixtures("small_pictures")
def test_dice_and_frames_a_second_are_those_that_are_asked_for(tmp_path: Path, capsys: Any) -> None:
    said = []
    for number, seed in enumerate(("0", "1", "2", "0")):
        out = tmp_path / f"{number}.gif"
        given = ["uniform", *GIVEN, "--seed", seed, "--fps", "20"]
        assert dispatch.run(["film", *given, "--out", str(out)]) == 0
        said.append(capsys.readouterr().out.partition("film ")[0])
        assert set(durations(out)) == {50, 3000}
    assert said[0] == said[3]
    assert len(set(said)) > 1


@pytest.mark.nightly
@pytest.mark.usefixtures("small_pictures")
def test_a_training_acts_with_a_seed_that_it_has(tmp_path: Path, capsys: Any) -> None:
    run = tmp_path / "run"
    train_experiment(small(steps=64, evaluation=None, seeds=[5]), run, lambda text: None)
    for given in ([], ["--seed", "5"]):
        out = tmp_path / f"x{len(given)}.gif"
        assert dispatch.run(["film", str(run), "mvt", *given, "--out", str(out)]) == 0
        assert len(durations(out)) > 2
    assert dispatch.run(["film", str(run), "mvt", "--seed", "4", "--out", "y.gif"]) == 2
    assert "--seed: expected one that" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("given", "said"),
    [
        (["--out", "x.avi"], "ends in .gif or .mp4, or in nothing for a folder, found .avi"),
        (["--out", "none/x.gif"], "expected a folder to write to"),
        (["--out", "full"], "expected an empty folder or nothing"),
        (["--out", "file"], "expected an empty folder or nothing"),
        (["--out", "folder.gif"], "expected a file or nothing, found a folder"),
        (["nothing"], "nothing"),
        (["mvt,gemm"], "PROGRAM: expected one program, found mvt, gemm"),
        (["--fps", "0"], "--fps: expected 0.1 to 50, found 0.0"),
        (["--fps", "nan"], "--fps: expected 0.1 to 50, found nan"),
        (["--seed", "-1"], "'--seed': expected a whole number from 0 on"),
        (["--set", "reward=fast"], "reward: expected one of"),
        (["--set", "rewards=static"], "--set: unknown: 'rewards'"),
        (["--set", "start=isl"], "--set: unknown: 'start'"),
        (["--set", "kernel=mvt"], "--set: the argument kernel is not for this"),
        (["--set", "render_mode=ansi"], "--set: the argument render_mode is not for this"),
    ],
)
def test_what_cannot_be_shown(
    given: list[str], said: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Any
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("full").mkdir()
    Path("full", "something").write_text("here")
    Path("folder.gif").mkdir()
    Path("file").write_text("here")
    before = left_behind(tmp_path)
    program, options = ("mvt", given) if given[0].startswith("--") else (given[0], given[1:])
    assert dispatch.run(["film", "earliest", program, *GIVEN[1:], "--out", "x.gif", *options]) == 2
    *_, line = capsys.readouterr().err.splitlines()
    assert line.lower().startswith("error: ")
    assert said in line
    assert left_behind(tmp_path) == before


def test_nobody_is_no_agent(tmp_path: Path, capsys: Any) -> None:
    assert dispatch.run(["film", "nobody", *GIVEN, "--out", str(tmp_path / "x.gif")]) == 2
    (line,) = capsys.readouterr().err.splitlines()
    assert "an agent: expected the folder of a training" in line


@pytest.mark.usefixtures("small_pictures")
def test_control_c_ends_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Any) -> None:
    def stop(picture: videos.Frame, text: str) -> videos.Frame:
        if "step 2" in text:
            raise KeyboardInterrupt
        return picture

    monkeypatch.setattr(episode_film, "with_caption", stop)
    assert dispatch.run(["film", "earliest", *GIVEN, "--out", str(tmp_path / "x.gif")]) == 130
    assert "interrupted" in capsys.readouterr().err
    assert left_behind(tmp_path) == []
