"""Style of all pictures: colours, lengths and letters.

Nothing here depends on what a user's matplotlib is configured to do: colours and sizes are always
given, and the letters are the fonts that matplotlib brings along, by their files. So a picture has
the same pixels on every machine with the same matplotlib.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.font_manager import FontProperties
    from matplotlib.transforms import Transform

BACKGROUND = "#ffffff"
INK = "#1f2933"
FAINT_INK = "#6b7785"
GRID = "#d5dae1"
BAND = "#f1f4f8"

# One for every statement that is shown: distinct in hue and in brightness.
STATEMENTS = ("#1f6fb4", "#d9572b", "#2c9a63", "#8e5bb5", "#b8860b", "#c23b78")

RAY = "#8fa9c4"
VERTEX = "#33475c"
CURRENT = "#f08c00"
POINT = "#c2185b"
ARROW = "#5b6774"
HIGHLIGHT = "#e63946"

SMALL, NORMAL, LARGE = 7.5, 8.5, 11.0


@cache
def _font_file(bold: bool) -> Path:
    import matplotlib

    name = "DejaVuSans-Bold.ttf" if bold else "DejaVuSans.ttf"
    return Path(matplotlib.get_data_path()) / "fonts" / "ttf" / name


def font(size: float, *, bold: bool = False) -> FontProperties:
    """Return letters of a size in points."""
    from matplotlib.font_manager import FontProperties

    weight = "bold" if bold else "normal"  # for SVG, in which texts name their font
    return FontProperties(fname=_font_file(bold), size=size, weight=weight)


@cache
def _known_characters() -> frozenset[int]:
    from matplotlib.ft2font import FT2Font

    return frozenset(FT2Font(str(_font_file(False))).get_charmap())


def drawable_text(text: str, limit: int = 120) -> str:
    r"""Return a text as one line of characters that can be drawn, shortened to a limit.

    What the font does not have becomes a question mark: drawing it would be an empty box and a
    warning.

    >>> drawable_text("a\n  b"), drawable_text("abcdef", 4)
    ('a b', 'abc…')
    """
    line = " ".join(text.split())
    known = _known_characters()
    shown = "".join(
        character if character.isprintable() and ord(character) in known else "?"
        for character in line
    )
    return shown if len(shown) <= limit else shown[: limit - 1] + "…"


def write(
    axes: Axes,
    place: tuple[float, float],
    text: str,
    *,
    size: float = NORMAL,
    color: str = INK,
    bold: bool = False,
    align: tuple[str, str] = ("left", "center"),
    transform: Transform | None = None,
    rotation: float = 0,
) -> None:
    """Write one line into axes; ``align`` is horizontal and vertical.

    Dollar signs are letters (C names may have them), not the beginning of a formula.
    """
    extra: dict[str, Any] = {} if transform is None else {"transform": transform}
    axes.text(
        *place,
        drawable_text(text),
        fontproperties=font(size, bold=bold),
        color=color,
        ha=align[0],
        va=align[1],
        rotation=rotation,
        rotation_mode="anchor",
        parse_math=False,
        usetex=False,
        **extra,
    )


def draw_line(
    axes: Axes,
    xs: Sequence[float],
    ys: Sequence[float],
    order: int,
    color: str,
    width: float,
    marker: str = "None",
) -> None:
    """Draw one polyline with everything that a configuration could change given."""
    axes.plot(
        xs,
        ys,
        color=color,
        linewidth=width,
        linestyle="-",
        marker=marker,
        markersize=width + 2,
        markeredgewidth=0,
        solid_joinstyle="round",
        solid_capstyle="round",
        zorder=order,
    )


def use_pixel_coordinates(axes: Axes) -> tuple[float, float]:
    """Make axes a blank sheet whose coordinates are pixels from the lower left; return its size."""
    box = axes.get_window_extent()
    width, height = float(box.width), float(box.height)
    axes.set_axis_off()
    axes.set_aspect("auto")
    axes.set_autoscale_on(False)
    axes.set_xlim(0, width)
    axes.set_ylim(0, height)
    return width, height
