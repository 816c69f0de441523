"""The pictures of the study: how near the best known a search is after so many trials."""

from __future__ import annotations

from collections.abc import Mapping

from polygym.pictures import style
from polygym.pictures.charts import chart_style
from search_study.contenders import CONTENDERS, FIGURES
from search_study.curves import RunKey, Runs, band, best_known, curve

_COLORS = (chart_style.MAIN_COLOR, *chart_style.REFERENCE_COLORS)
_DASHES = ("-", *chart_style.DASHES)


def study_picture(
    figure: str, start: str, runs: Mapping[str, Runs], everyone: Mapping[str, Runs]
) -> chart_style.Picture:
    """Return a picture of some contenders; shares are of the best that ``everyone`` has found.

    Shorter searches than half of them are left out.
    """
    from matplotlib.ticker import FixedLocator, FuncFormatter, NullLocator

    known = best_known(everyone)
    runs, trials, short = long_enough(runs)
    keys = {key for own in runs.values() for key in own}
    programs, seeds, machines = ({key[place] for key in keys} for place in range(3))
    title = FIGURES[figure][0]
    entries = [
        chart_style.LegendEntry(CONTENDERS[name].description, _COLORS[place % len(_COLORS)],
                    dashes=_DASHES[place % len(_DASHES)])
        for place, name in enumerate(runs)
    ]  # fmt: skip
    width = chart_style.COLUMN_WIDTH * 1.3
    top = chart_style.legend_height(width, entries) + 0.35
    drawn, axes = chart_style.new_chart(width, 2.4 + top, left=0.62, bottom=0.62, top=top)
    numbers = range(1, trials + 1)
    lowest = 1.0
    for (name, own), entry in zip(runs.items(), entries, strict=True):
        values = curve(own, known, trials)
        low, high = band(own, known, trials)
        lowest = min(lowest, values[0])
        axes.fill_between(numbers, low, high, color=entry.color, alpha=0.13, linewidth=0)
        axes.plot(
            numbers, values, color=entry.color, linestyle=entry.dashes, linewidth=1.4, label=name
        )
    axes.set_xscale("log", base=2)
    axes.set_xlim(1, trials)
    axes.set_ylim(max(0.0, lowest - 0.05), 1.02)
    ticks = [2**k for k in range(0, 12) if 2**k <= trials]
    axes.xaxis.set_major_locator(FixedLocator(ticks))
    axes.xaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
    axes.xaxis.set_minor_locator(NullLocator())
    axes.grid(axis="y", color=style.GRID, linewidth=0.5)
    for label in (*axes.get_xticklabels(), *axes.get_yticklabels()):
        label.set_fontproperties(style.font(chart_style.TEXT))
    font = style.font(chart_style.TEXT)
    axes.set_xlabel("trials", fontproperties=font, color=style.INK)
    axes.set_ylabel("best so far, share of the best known", fontproperties=font, color=style.INK)
    note = f"{len(programs)} programs, start {start}, seeds: {len(seeds)}"
    note += " (shaded: from the least to the greatest)" if len(seeds) > 1 else ""
    note += f", {len(machines)} kinds of machines" if len(machines) > 1 else ""
    note += f", without {short} shorter searches" if short else ""
    drawn.text(0.02, 0.985, title, ha="left", va="top", color=style.INK,
               fontproperties=style.font(9, bold=True), parse_math=False)  # fmt: skip
    drawn.text(0.02, 0.015, note, ha="left", va="bottom", color=style.FAINT_INK,
               fontproperties=style.font(chart_style.SMALL_TEXT), parse_math=False)  # fmt: skip
    chart_style.legend_above(drawn, axes, entries)
    return chart_style.render_chart(drawn)


def long_enough(runs: Mapping[str, Runs]) -> tuple[dict[str, Runs], int, int]:
    """Return the searches as long as half of them at least, that length, and how many are not.

    Example: of searches of 64, 128, 128 and 256 trials the three of 128 and more stay.
    """
    lengths: dict[RunKey, int] = {}
    for own in runs.values():
        for key, run in own.items():
            lengths[key] = min(len(run), lengths.get(key, len(run)))
    trials = sorted(lengths.values())[len(lengths) // 2]
    kept = {key for key, length in lengths.items() if length >= trials}
    chosen = {name: {key: own[key] for key in own if key in kept} for name, own in runs.items()}
    return chosen, trials, len(lengths) - len(kept)
