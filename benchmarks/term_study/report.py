"""Tables of the results of ``terms.py``, and the sizes of its searches."""

from __future__ import annotations

import statistics
from typing import Any

PAPER = ("extended",)
GRADIENTS = ("vectors", "simplification", "functions", "gradients", "binding")
SEARCHES = ("greedy", "beam", "astar")
BUDGETS = (500, 2000, 6000)
ROUNDS = 11
LONGER = 30


def costs_table(results: dict[str, Any], name: str, sets: tuple[str, ...]) -> list[str]:
    lines = ["", f"| search | {' | '.join(f'{budget} terms' for budget in BUDGETS)} | seconds |"]
    lines.append("|---" * (len(BUDGETS) + 2) + "|")
    for method in SEARCHES:
        rows = [results.get(f"{name}/{'+'.join(sets)}/{method}/{budget}") for budget in BUDGETS]
        if not all(rows):
            continue
        said = [f"{row['cost']:,.1f} ({row['steps']})" for row in rows]
        lines.append(f"| `{method}` | {' | '.join(said)} | {rows[-1]['seconds']:.1f} |")
    return lines


def report(results: dict[str, Any]) -> str:
    machine = results.get("machine", {})
    lines = [
        "# Terms",
        "",
        "What `python benchmarks/terms.py` found. " + _MACHINE.format(**machine),
    ]
    first = results.get(f"gemm/{PAPER[0]}/astar/{BUDGETS[-1]}")
    if first:
        lines += ["", "## Costs: general matrix product (Figure 6a)", ""]
        lines.append(
            f"{first['initial']:,.1f} at first. The cost of what is found, and in how many steps, "
            "by the paper's rules (`extended`), two phases of 80 steps at most:"
        )
        lines += costs_table(results, "gemm", PAPER)
        if "gemm/hand" in results:
            cost = results["gemm/hand"]["cost"]
            said = f"Written by hand, without temporary matrices: {cost:,.1f}."
            lines += ["", f"{said} What is less binds rows outside of the loops that read them."]
    lines += _convolution(results) + _exhaustive(results) + _times(results) + _compared(results)
    return "\n".join(lines) + "\n"


_MACHINE = "The machine: {processor}, {cores} cores, load {load:.2f} at the beginning."


def _convolution(results: dict[str, Any]) -> list[str]:
    first = results.get(f"conv/{PAPER[0]}/astar/{BUDGETS[-1]}")
    if not first:
        return []
    lines = ["", "## Costs: the gradient of a convolution (Figure 6b)", ""]
    lines.append(f"{first['initial']:,.1f} at first. By the paper's rules:")
    lines += costs_table(results, "conv", PAPER)
    lines += ["", f"With those for gradients (`{'`, `'.join(GRADIENTS)}`):"]
    lines += costs_table(results, "conv", GRADIENTS)
    if "conv/reference" in results:
        row = results["conv/reference"]
        lines += [
            "",
            f"Where rules with a direction are used as long as one applies: {row['cost']:,.1f}, "
            f"in {row['steps']} steps.",
        ]
    return lines


def _exhaustive(results: dict[str, Any]) -> list[str]:
    rows = {key: row for key, row in results.items() if key.startswith("exhaustive/")}
    names = list(dict.fromkeys(key.split("/")[1] for key in rows))
    if not names:
        return []
    lines = ["", "## Everything within five steps, and A*", ""]
    lines += ["| program | at first | `breadth` | `astar` |", "|---|---|---|---|"]
    for name in names:
        both = [rows.get(f"exhaustive/{name}/{method}") for method in ("breadth", "astar")]
        if all(both):
            costs = " | ".join(f"{row['cost']:,.1f}" for row in both)
            lines.append(f"| {name} | {both[0]['initial']:,.1f} | {costs} |")
    return lines


def _times(results: dict[str, Any]) -> list[str]:
    rows = {key: row for key, row in results.items() if key.startswith("times/")}
    if not rows:
        return []
    lines = ["", "## Wall time (Figure 7)", ""]
    lines.append(
        f"A program and what A* makes of it with 6,000 terms a phase, compiled alike, in turn; the "
        f"median of {ROUNDS} rounds. `rev$dense` and `rev$loss` are made by "
        "`polygym rewrite gradient`."
    )
    lines += ["", "| program | sizes | cost | at first, ms | at last, ms | times as fast |"]
    lines.append("|---|---|---|---|---|---|")
    for key, row in rows.items():
        name, said = key.split("/")[1:]
        times = [timed["seconds"] for timed in row["programs"]]
        if None in times:
            failure = "; ".join(timed["failure"] for timed in row["programs"] if timed["failure"])
            lines.append(f"| {name} | {said} | | {failure} | | |")
            continue
        both = " | ".join(f"{1e3 * time:.3f}" for time in times)
        costs = f"{row['initial']:,.0f} → {row['cost']:,.0f}"
        lines.append(f"| {name} | {said} | {costs} | {both} | {row['speedup']:.2f} |")
    return lines + _product(results)


def _product(results: dict[str, Any]) -> list[str]:
    """Return what the product alone takes, beside GEMM at the same sizes."""
    lines: list[str] = []
    load = 0.0
    for key, row in results.items():
        if not key.startswith("product/"):
            continue
        load = max(load, row["machine"]["load"])
        said = key.split("/")[1]
        sizes = dict(size.split("=") for size in said.split(","))
        alone = min(timed["seconds"] for timed in row["programs"])
        before, after = (timed["seconds"] for timed in results[f"times/gemm/{said}"]["programs"])
        rate = 2e-9 * int(sizes["n"]) * int(sizes["l"]) * int(sizes["m"]) / alone
        lines.append(
            f"| {said} | {1e3 * alone:.3f} | {rate:.1f} | {before / alone:.2f} "
            f"| {after / alone:.2f} |"
        )
    if not lines:
        return []
    return [
        "",
        "No rewriting does without GEMM's product. Of it alone, compiled likewise: how long it "
        "takes, in 10⁹ operations a second as well, and how many times that GEMM took in the table "
        f"above, at first (no rewriting can gain more) and at last. The load was {load:.1f}.",
        "",
        "| sizes | product, ms | 10⁹/s | at first | at last |",
        "|---|---|---|---|---|",
        *lines,
    ]


def _compared(results: dict[str, Any]) -> list[str]:
    rows = {key: row for key, row in results.items() if key.startswith("compared/")}
    if not rows:
        return []
    lines = ["", "## A* and equality saturation", ""]
    lines.append(
        "Rules `simple`, 10 steps and 5,000 terms for A*; the rules of arithmetic, 600 nodes and "
        "30 seconds for the e-graph. Sums of costs; on how many expressions which of the two finds "
        "less; seconds are medians, by the clock on a busy machine."
    )
    lines += ["", "| expressions | how many | at first | A* | e-graph | A* less | alike |"]
    lines[-1] += " e-graph less | A*, s | e-graph, s |"
    lines.append("|---" * 10 + "|")
    for group in ("train", "test", "bootstrap", "shape", "random"):
        mine = [row for key, row in rows.items() if key.split("/")[1].startswith(group)]
        if not mine:
            continue
        gaps = [row["astar"] - row["egraph"] for row in mine]
        counts = [sum(test(gap) for gap in gaps) for test in (_is_less, _is_equal, _is_more)]
        sums = [sum(row[name] for row in mine) for name in ("initial", "astar", "egraph")]
        times = [
            statistics.median(row[name] for row in mine)
            for name in ("astar_seconds", "egraph_seconds")
        ]
        lines.append(
            f"| {group} | {len(mine)} | {' | '.join(f'{sum_:.1f}' for sum_ in sums)} | "
            f"{' | '.join(map(str, counts))} | {' | '.join(f'{time:.2f}' for time in times)} |"
        )
    return lines + _longer(results)


def _longer(results: dict[str, Any]) -> list[str]:
    rows = {key: row for key, row in results.items() if key.startswith("longer/")}
    pairs = [(row, results[f"compared/{key.split('/')[1]}"]) for key, row in rows.items()]
    if not pairs:
        return []
    gaps = [row["astar"] - other["egraph"] for row, other in pairs]
    less, alike, more = (sum(test(gap) for gap in gaps) for test in (_is_less, _is_equal, _is_more))
    sums = [sum(row["astar"] for row, _ in pairs)]
    sums += [sum(other[name] for _, other in pairs) for name in ("astar", "egraph")]
    return [
        "",
        "Terms made at random fall to little, or to 0, in more than 10 steps. "
        f"With {LONGER} instead, and 5,000 terms as before, {len(pairs)} of `random` come to "
        f"{sums[0]:.1f} in all: {sums[1]:.1f} with 10 steps, {sums[2]:.1f} by the e-graph; A* "
        f"finds less on {less}, as much on {alike}, more on {more}.",
    ]


def _is_less(gap: float) -> bool:
    return gap < -1e-6


def _is_equal(gap: float) -> bool:
    return abs(gap) <= 1e-6


def _is_more(gap: float) -> bool:
    return gap > 1e-6
