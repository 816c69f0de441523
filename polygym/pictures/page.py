"""A sheet with a title, and a page of text on it: what all pictures of episodes are drawn on.

Every sheet has a figure of its own: no window, no current figure, no setting of matplotlib is
touched, and the same values give the same pixels.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from polygym.pictures import style
from polygym.pictures.text_columns import TextColumn, draw_text_columns

if TYPE_CHECKING:
    from matplotlib.figure import Figure

WIDTH, HEIGHT = 960, 640
TITLE = 0.055
"""The height of a title, as a part of the whole."""

_DOTS_PER_INCH = 100
_MAX_TITLE_LENGTH = 90


def new_page(title: str) -> Figure:
    """Return a figure that belongs to nobody else, with nothing on it but a title."""
    from matplotlib.figure import Figure

    figure = Figure(
        figsize=(WIDTH / _DOTS_PER_INCH, HEIGHT / _DOTS_PER_INCH),
        dpi=_DOTS_PER_INCH,
        facecolor=style.BACKGROUND,
    )
    figure.set_layout_engine("none")
    axes = figure.add_axes((0.0, 1 - TITLE, 1.0, TITLE))
    _, height = style.use_pixel_coordinates(axes)
    text = style.drawable_text(title, _MAX_TITLE_LENGTH)
    style.write(axes, (12, height / 2), text, size=style.LARGE, bold=True)
    return figure


def pixels(figure: Figure) -> NDArray[np.uint8]:
    """Return a figure as an array of height × width × 3 bytes: red, green, blue."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg

    canvas = FigureCanvasAgg(figure)
    canvas.draw()
    return np.asarray(canvas.buffer_rgba())[:, :, :3].copy()


def text_page(title: str, columns: Sequence[TextColumn]) -> NDArray[np.uint8]:
    """Return a picture of columns of text, where there is nothing to be drawn."""
    figure = new_page(title)
    draw_text_columns(figure.add_axes((0.0, 0.0, 1.0, 1 - TITLE)), columns)
    return pixels(figure)
