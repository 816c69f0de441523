r"""Watch a trained agent, or a rule, on a kernel: one episode as a film.

    python -m agents.enjoy runs/mvt --kernel mvt --out mvt.gif
    python -m agents.enjoy earliest --kernel gemm --environment polygym/Schedule-v0 --out gemm.mp4
    python -m agents.enjoy uniform --kernel mvt --seed 7 --set start=isl \
        --environment polygym/Optimize-v0 --out frames

An agent is named as for `python -m agents.evaluate`, of whose episodes this is the first. FILE ends
in .gif or .mp4, or in nothing: then it is a folder of pictures. There is a frame for the beginning
and one for every step, and the last one is held. At the end the reward, the status and the schedule
are printed.
"""

import sys
from argparse import Namespace
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from agents.command_line import exit_code, parser_of
from agents.evaluation.agent_sources import (
    FIRST_SEED,
    LookaheadOptions,
    add_arguments,
    policy_of_agent,
    with_environment_arguments,
)
from agents.evaluation.videos import LEAST_FPS, MOST_FPS, Frame, expect_video_path, write_video
from agents.experiments.environments import make_env
from agents.experiments.splits import selected_kernels
from agents.policies.env_policy import EnvPolicy, EpisodeSummary, run_steps
from polygym.errors import InputError

_CAPTION = 32  # pixels; with them a frame's height is one that any encoder takes


class EpisodeFrames:
    """The frames of an episode, which is played as they are asked for, and how it ended."""

    def __init__(self, env: Any, policy: EnvPolicy, agent: str) -> None:
        self._env, self._policy, self._who = env, policy, agent
        self.ending: EpisodeSummary | None = None

    def __iter__(self) -> Iterator[Frame]:
        """Play the episode; yield what it looks like at its begin and after every step."""
        for summary in run_steps(self._env, self._policy, seed=FIRST_SEED):
            self.ending = summary
            yield with_caption(self._env.render(), f"{self._who} {_state_text(summary)}")


def with_caption(picture: Frame, text: str) -> Frame:
    """Return a picture with a line of text below it."""
    from PIL import Image, ImageDraw, ImageFont

    from polygym.pictures import style

    height, width, _ = picture.shape
    sheet = Image.new("RGB", (width, height + _CAPTION), style.BAND)
    sheet.paste(Image.fromarray(picture), (0, 0))
    letters = ImageFont.truetype(str(style.font(style.NORMAL).get_file()), 13)
    place = (12, height + _CAPTION // 2)
    ImageDraw.Draw(sheet).text(place, style.drawable_text(text), style.INK, letters, anchor="lm")
    return np.asarray(sheet)


def _state_text(summary: EpisodeSummary) -> str:
    """Return in a few words how far an episode is, and at its end what came of it."""
    words = f"on {summary.info['kernel']}, step {summary.steps}: reward {summary.reward:.3f}"
    if "status" not in summary.info:
        return words
    speedup = summary.info["speedup"]
    return f"{words}, {summary.info['status']}" + (f", {speedup:.2f}x" if speedup else "")


def episode_report(ending: EpisodeSummary) -> str:
    """Return what came of an episode: reward, status, schedule, and what else there is to say."""
    info = ending.info
    lines = [
        f"reward    {ending.reward:.3f} in {ending.steps} steps",
        f"status    {info['status']}",
    ]
    if info["speedup"]:
        lines.append(f"speedup   {info['speedup']:.3f}x")
    if info["error_details"]:
        lines.append(f"error     {info['error_details']}")
    if "mapping" in info:
        lines.append(f"mapping   {info['mapping']}")
    return "\n".join([*lines, f"schedule  {info['schedule'] or '-'}"])


def main(arguments: list[str] | None = None) -> int:
    """Make a film; return 0, 1 if it was ended, or 2 for what cannot be done."""
    parser = parser_of("enjoy", __doc__)
    add_arguments(parser)
    parser.add_argument("--kernel", required=True, metavar="PROGRAM", help="a kernel or C file")
    parser.add_argument(
        "--seed", type=int, metavar="N",
        help="random seed of a rule, or seed of a training; default: its first",
    )  # fmt: skip
    parser.add_argument("--out", type=Path, required=True, metavar="FILE", help="the film")
    parser.add_argument("--fps", type=float, metavar="N", help="frames a second; default: 4")
    options = parser.parse_args(arguments)
    return exit_code(lambda: _enjoy(options), "ended; no film was written")


def _enjoy(options: Namespace) -> None:
    kernels = selected_kernels(options.kernel)
    if len(kernels) != 1:
        raise InputError(f"--kernel: expected one kernel, found {', '.join(kernels)}")
    if options.fps is not None and not LEAST_FPS <= options.fps <= MOST_FPS:
        raise InputError(f"--fps: expected {LEAST_FPS} to {MOST_FPS:.0f}, found {options.fps}")
    expect_video_path(options.out)
    experiment, policy = policy_of_agent(
        options.agent, options.environment, options.seed, LookaheadOptions.from_options(options)
    )
    experiment = with_environment_arguments(experiment, options.overrides, render_mode="rgb_array")
    env = make_env(experiment, kernels[0])
    episode = EpisodeFrames(env, policy, Path(options.agent).name)
    count = write_video(options.out, episode, options.fps or env.metadata["render_fps"])
    env.close()
    assert episode.ending is not None
    print(episode_report(episode.ending))
    print(f"film      {options.out}, {count} frames")


if __name__ == "__main__":
    sys.exit(main())
