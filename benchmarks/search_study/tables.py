"""Results of searches as a table in Markdown."""

from __future__ import annotations

from itertools import pairwise
from math import inf

from search_study import contenders, curves
from search_study.journal import ComparableSearches


def searches_table(study: ComparableSearches) -> str:
    """Return a row per contender, beside random search after as many and twice as many trials."""
    runs = curves.best_so_far(study.searches)
    best = curves.best_known(runs)
    rng = runs.get("random", {})
    steps = [step for step in curves.STEPS if step <= study.trials] or [study.trials]
    heads = [f"/ random at {step}" for step in steps]
    heads += [f"{half} / random at {step}" for half, step in pairwise(steps)]
    lines = [f"| best | {' | '.join(heads)} | to 95 % | programs | searches |"]
    lines.append("|---" * (len(heads) + 4) + "|")
    for name in (contender for contender in contenders.CONTENDERS if contender in runs):
        own = runs[name]
        ratios = [curves.mean_ratio(own, step, rng, step) for step in steps]
        ratios += [curves.mean_ratio(own, half, rng, step) for half, step in pairwise(steps)]
        cells = [str(interval) if interval else "-" for interval in ratios]
        until = curves.trials_until(own, best)
        count = len({key.program for key in own})
        cells += [trials_text(until, own), str(count), str(len(own))]
        lines.append(f"| {name} | {' | '.join(cells)} |")
    return "\n".join(lines)


def trials_text(trials: float | None, runs: curves.Runs) -> str:
    """Return in words after how many trials searches are good; more than they were given, maybe."""
    if trials is None:
        return "-"
    return f"> {min(map(len, runs.values()))}" if trials == inf else f"{trials:.0f}"
