"""Frames of one episode, with captions, and a report of how it ended.

``polygym film`` writes them as a film.
"""

from collections.abc import Iterator
from typing import Any

import numpy as np

from polygym.agents.evaluation.agent_sources import (
    FIRST_SEED,
)
from polygym.agents.evaluation.videos import (
    Frame,
)
from polygym.agents.policies.env_policy import EnvPolicy, EpisodeSummary, run_steps
from polygym.ratios import ratio_text

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
    return f"{words}, {summary.info['status']}" + (f", {ratio_text(speedup)}" if speedup else "")


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
