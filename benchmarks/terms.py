"""Figures 6 and 7 of the Knossos paper, and A* beside equality saturation: benchmarks/TERMS.md.

    python benchmarks/terms.py                        # all that benchmarks/terms.json lacks
    python benchmarks/terms.py --only gemm compared   # some parts of it
    python benchmarks/terms.py --again                # everything anew

What was found is kept one by one, so that a run that was interrupted goes on where it was. Costs
and terms are the same on every machine, seconds want a quiet one. About 20 minutes on two cores.
"""

from __future__ import annotations

import argparse
import json
import statistics
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np

from polygym.files import write_atomically
from polygym.measure.worker.timing import this_machine
from polygym.rewrite.term import Term, term
from polygym.search.planning import Plan
from polygym.terms import StaticCost, optimized, parse_program, text_of
from polygym.terms.code.record import measured
from polygym.terms.derivation import Derivation
from polygym.terms.directed import Directed
from polygym.terms.language.nodes import variable
from polygym.terms.language.program import Program
from polygym.terms.language.types import FLOAT
from polygym.terms.library import combinations, expressions, programs
from polygym.terms.rules.sets import joined, rules_named
from polygym.terms.saturation import saturated

HERE = Path(__file__).parent
PAPER = ("extended",)
GRADIENTS = ("vectors", "simplification", "functions", "gradients", "binding")
SEARCHES = ("greedy", "beam", "astar")
BUDGETS = (500, 2000, 6000)
ROUNDS = 11
LONGER = 30

# By hand: the product without temporary matrices.
GEMM = """(def gemm (Vec n (Vec l Float))
  ((var0 : (Tuple Float (Vec n (Vec m Float)) (Vec m (Vec l Float)) Float (Vec n (Vec l Float)))))
  (build n (lam i (build l (lam j
    (add (mul (select 0 var0) (sumbuild m (lam k
           (mul (index k (index i (select 1 var0))) (index j (index k (select 2 var0)))))))
         (mul (select 3 var0) (index j (index i (select 4 var0))))))))))"""

# The product alone: what is left of GEMM whatever is rewritten.
PRODUCT = """(def product (Vec n (Vec l Float))
  ((a : (Vec n (Vec m Float))) (b : (Vec m (Vec l Float))))
  (build n (lam i (build l (lam j
    (sumbuild m (lam k (mul (index k (index i a)) (index j (index k b))))))))))"""

SIZES = {
    "gemm": (
        {"n": 500, "l": 500, "m": 4},
        {"n": 500, "l": 500, "m": 16},
        {"n": 300, "l": 300, "m": 300},
    ),
    "rev$conv1d": ({"k": 4, "l": 4, "kn": 4, "n": 32}, {"k": 8, "l": 4, "kn": 5, "n": 64}),
    "rev$dense": ({"o": 10, "k": 8, "n": 64},),
    "rev$loss": ({"k": 4, "l": 3, "kn": 3, "n": 32, "o": 10},),
}


def searched(program: Program, sets: tuple[str, ...], method: str, budget: int, phases: int = 2):
    """Search, in phases that begin where the one before has ended."""
    rules = joined(rules_named(name) for name in sets)
    start = time.monotonic()
    plan = Plan(horizon=80, states=budget)
    found = optimized(program, [rules] * phases, method, plan)
    return found, time.monotonic() - start


def cost_part(
    name: str, program: Program, sets: tuple[str, ...], methods: tuple[str, ...] = SEARCHES
) -> Iterator[tuple[str, Any]]:
    """Yield what is to be found of the costs of a program: Figure 6."""
    for method in methods:
        for budget in BUDGETS:
            yield (
                f"{name}/{'+'.join(sets)}/{method}/{budget}",
                lambda method=method, budget=budget: cost_row(program, sets, method, budget),
            )


def cost_row(program: Program, sets: tuple[str, ...], method: str, budget: int) -> dict[str, Any]:
    found, seconds = searched(program, sets, method, budget)
    return {
        "initial": found.costs[0],
        "cost": found.costs[-1],
        "highest": max(found.costs),
        "steps": len(found.steps),
        "seconds": seconds,
        "term": text_of(found.terms[-1]),
    }


def reference(program: Program) -> dict[str, Any]:
    """Return what all rules with a direction lead to, wherever they apply."""
    rules = joined(rules_named(name) for name in GRADIENTS)
    made, steps = Directed(rules)(program.body)
    cost = StaticCost()
    return {"initial": cost(program.body), "cost": cost(made), "steps": steps}


def product_row(sizes: dict[str, int]) -> dict[str, Any]:
    """Return the wall time of a product of matrices alone."""
    product = parse_program(PRODUCT)
    _, row = measured(product, product, sizes, ROUNDS)
    return row


def time_row(program: Program, sizes: dict[str, int], budget: int) -> dict[str, Any]:
    """Return the wall times of a program and of what A* made of it: Figure 7."""
    found: Derivation = searched(program, GRADIENTS, "astar", budget)[0]
    _, row = measured(program, found.result, sizes, ROUNDS)
    return {"cost": found.costs[-1], "initial": found.costs[0], **row}


def arithmetic() -> list[tuple[str, Program]]:
    """Return the paper's expressions, and 200 others: half of its shapes, half random."""
    named = [
        (f"{name} {number}", one)
        for name in ("train", "test", "bootstrap")
        for number, one in enumerate(expressions(name))
    ]
    known = {one.body for _, one in named}
    others = [one for one in combinations() if one.body not in known]
    dice = np.random.default_rng(0)
    chosen = sorted(dice.choice(len(others), 100, replace=False))
    named += [(f"shape {number}", others[int(number)]) for number in chosen]
    for number in range(100):
        text = text_of(random_arithmetic(np.random.default_rng([1, number]), 4))
        named.append((f"random {number}", parse_program(text)))
    return named


def random_arithmetic(dice: np.random.Generator, depth: int) -> Term:
    """Return a random term in which some parts stand several times."""
    made: list[Term] = [variable("x", FLOAT), variable("y", FLOAT), term(2.0), term(1.0)]
    for _ in range(2 * depth):
        operator = ("add", "sub", "mul", "div")[int(dice.integers(4))]
        one, other = (made[-1 - int(dice.integers(min(len(made), 5)))] for _ in range(2))
        made.append(term(operator, one, other))
    return made[-1]


def longer_row(program: Program) -> dict[str, Any]:
    """Return what A* finds with as many terms, and steps enough for terms that fall to little."""
    start = time.process_time()
    found = optimized(program, (), "astar", Plan(horizon=LONGER, states=5000))
    return {"astar": found.costs[-1], "seconds": time.process_time() - start}


def compared_row(program: Program) -> dict[str, Any]:
    start = time.monotonic()
    found = optimized(program, (), "astar", Plan(horizon=10, states=5000))
    middle = time.monotonic()
    other = saturated(program.body)
    return {
        "initial": found.costs[0],
        "astar": found.costs[-1],
        "astar_seconds": middle - start,
        "egraph": other.cost,
        "egraph_seconds": time.monotonic() - middle,
        "is_complete": other.is_complete,
    }


def exhaustive_row(program: Program, method: str) -> dict[str, Any]:
    rules = joined(rules_named(name) for name in ("vectors", "simplification", "binding"))
    found = optimized(program, [rules], method, Plan(horizon=5, states=20_000))
    return {"initial": found.costs[0], "cost": found.costs[-1]}


def tasks(part: str) -> Iterator[tuple[str, Callable[[], dict[str, Any]]]]:
    (gemm,), (conv,) = programs("gemm"), programs("convolution")
    made = {one.name: one for one in programs("gradients")}
    match part:
        case "gemm":
            yield from cost_part("gemm", gemm, PAPER)
            yield "gemm/hand", lambda: {"cost": StaticCost()(parse_program(GEMM).body)}
        case "convolution":
            yield from cost_part("conv", conv, PAPER, ("greedy", "astar"))
            yield from cost_part("conv", conv, GRADIENTS, ("greedy", "astar"))
            yield "conv/reference", lambda: reference(conv)
        case "exhaustive":
            for one in programs("linear-algebra"):
                for method in ("breadth", "astar"):
                    key = f"exhaustive/{one.name}/{method}"
                    yield key, lambda one=one, method=method: exhaustive_row(one, method)
        case "times":
            timed = [gemm, conv, made["rev$dense"], made["rev$loss"]]
            for one in timed:
                for sizes in SIZES[one.name]:
                    said = ",".join(f"{name}={size}" for name, size in sizes.items())
                    yield (
                        f"times/{one.name}/{said}",
                        lambda one=one, sizes=sizes: time_row(one, sizes, 6000),
                    )
        case "product":
            for sizes in SIZES["gemm"]:
                said = ",".join(f"{name}={size}" for name, size in sizes.items())
                yield f"product/{said}", lambda sizes=sizes: product_row(sizes)
        case "longer":
            for name, one in arithmetic():
                if name.startswith("random"):
                    yield f"longer/{name}", lambda one=one: longer_row(one)
        case _:
            for name, one in arithmetic():
                yield f"compared/{name}", lambda one=one: compared_row(one)


PARTS = ("gemm", "convolution", "exhaustive", "times", "product", "compared", "longer")


def costs_table(found: dict[str, Any], name: str, sets: tuple[str, ...]) -> list[str]:
    lines = ["", f"| search | {' | '.join(f'{budget} terms' for budget in BUDGETS)} | seconds |"]
    lines.append("|---" * (len(BUDGETS) + 2) + "|")
    for method in SEARCHES:
        rows = [found.get(f"{name}/{'+'.join(sets)}/{method}/{budget}") for budget in BUDGETS]
        if not all(rows):
            continue
        said = [f"{row['cost']:,.1f} ({row['steps']})" for row in rows]
        lines.append(f"| `{method}` | {' | '.join(said)} | {rows[-1]['seconds']:.1f} |")
    return lines


def report(found: dict[str, Any]) -> str:
    machine = found.get("machine", {})
    lines = [
        "# Terms",
        "",
        "What `python benchmarks/terms.py` found. " + _MACHINE.format(**machine),
    ]
    first = found.get(f"gemm/{PAPER[0]}/astar/{BUDGETS[-1]}")
    if first:
        lines += ["", "## Costs: general matrix product (Figure 6a)", ""]
        lines.append(
            f"{first['initial']:,.1f} at first. The cost of what is found, and in how many steps, "
            "by the paper's rules (`extended`), two phases of 80 steps at most:"
        )
        lines += costs_table(found, "gemm", PAPER)
        if "gemm/hand" in found:
            cost = found["gemm/hand"]["cost"]
            said = f"Written by hand, without temporary matrices: {cost:,.1f}."
            lines += ["", f"{said} What is less binds rows outside of the loops that read them."]
    lines += _convolution(found) + _exhaustive(found) + _times(found) + _compared(found)
    return "\n".join(lines) + "\n"


_MACHINE = "The machine: {processor}, {cores} cores, load {load:.2f} at the beginning."


def _convolution(found: dict[str, Any]) -> list[str]:
    first = found.get(f"conv/{PAPER[0]}/astar/{BUDGETS[-1]}")
    if not first:
        return []
    lines = ["", "## Costs: the gradient of a convolution (Figure 6b)", ""]
    lines.append(f"{first['initial']:,.1f} at first. By the paper's rules:")
    lines += costs_table(found, "conv", PAPER)
    lines += ["", f"With those for gradients (`{'`, `'.join(GRADIENTS)}`):"]
    lines += costs_table(found, "conv", GRADIENTS)
    if "conv/reference" in found:
        row = found["conv/reference"]
        lines += [
            "",
            f"Where rules with a direction are used as long as one applies: {row['cost']:,.1f}, "
            f"in {row['steps']} steps.",
        ]
    return lines


def _exhaustive(found: dict[str, Any]) -> list[str]:
    rows = {key: row for key, row in found.items() if key.startswith("exhaustive/")}
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


def _times(found: dict[str, Any]) -> list[str]:
    rows = {key: row for key, row in found.items() if key.startswith("times/")}
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
        times = [one["seconds"] for one in row["programs"]]
        if None in times:
            trouble = "; ".join(one["trouble"] for one in row["programs"] if one["trouble"])
            lines.append(f"| {name} | {said} | | {trouble} | | |")
            continue
        both = " | ".join(f"{1e3 * one:.3f}" for one in times)
        costs = f"{row['initial']:,.0f} → {row['cost']:,.0f}"
        lines.append(f"| {name} | {said} | {costs} | {both} | {row['speedup']:.2f} |")
    return lines + _product(found)


def _product(found: dict[str, Any]) -> list[str]:
    """Return what the product alone takes, beside GEMM at the same sizes."""
    lines: list[str] = []
    load = 0.0
    for key, row in found.items():
        if not key.startswith("product/"):
            continue
        load = max(load, row["machine"]["load"])
        said = key.split("/")[1]
        sizes = dict(one.split("=") for one in said.split(","))
        alone = min(one["seconds"] for one in row["programs"])
        before, after = (one["seconds"] for one in found[f"times/gemm/{said}"]["programs"])
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


def _compared(found: dict[str, Any]) -> list[str]:
    rows = {key: row for key, row in found.items() if key.startswith("compared/")}
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
        counts = [sum(test(gap) for gap in gaps) for test in (_less, _alike, _more)]
        sums = [sum(row[name] for row in mine) for name in ("initial", "astar", "egraph")]
        times = [
            statistics.median(row[name] for row in mine)
            for name in ("astar_seconds", "egraph_seconds")
        ]
        lines.append(
            f"| {group} | {len(mine)} | {' | '.join(f'{one:.1f}' for one in sums)} | "
            f"{' | '.join(map(str, counts))} | {' | '.join(f'{one:.2f}' for one in times)} |"
        )
    return lines + _longer(found)


def _longer(found: dict[str, Any]) -> list[str]:
    rows = {key: row for key, row in found.items() if key.startswith("longer/")}
    pairs = [(row, found[f"compared/{key.split('/')[1]}"]) for key, row in rows.items()]
    if not pairs:
        return []
    gaps = [row["astar"] - other["egraph"] for row, other in pairs]
    less, alike, more = (sum(test(gap) for gap in gaps) for test in (_less, _alike, _more))
    sums = [sum(row["astar"] for row, _ in pairs)]
    sums += [sum(other[name] for _, other in pairs) for name in ("astar", "egraph")]
    return [
        "",
        "Terms made by dice fall to little, or to 0, in more than 10 steps. "
        f"With {LONGER} instead, and 5,000 terms as before, {len(pairs)} of `random` come to "
        f"{sums[0]:.1f} in all: {sums[1]:.1f} with 10 steps, {sums[2]:.1f} by the e-graph; A* "
        f"finds less on {less}, as much on {alike}, more on {more}.",
    ]


def _less(gap: float) -> bool:
    return gap < -1e-6


def _alike(gap: float) -> bool:
    return abs(gap) <= 1e-6


def _more(gap: float) -> bool:
    return gap > 1e-6


def main() -> None:
    parser = argparse.ArgumentParser(description="Figures 6 and 7, and A* beside saturation.")
    parser.add_argument("--only", nargs="*", choices=PARTS, default=PARTS)
    parser.add_argument("--again", action="store_true", help="find everything anew")
    parser.add_argument("--out", type=Path, default=HERE, help="the folder to write to")
    asked = parser.parse_args()
    kept, shown = asked.out / "terms.json", asked.out / "TERMS.md"
    found: dict[str, Any] = {}
    if kept.exists() and not asked.again:
        found = json.loads(kept.read_text())
    now = this_machine()
    if asked.again or "machine" not in found:
        found["machine"] = {
            "processor": now.processor,
            "cores": now.cores,
            "load": now.load_average,
        }
    for part in asked.only:
        for key, work in tasks(part):
            if key in found:
                continue
            found[key] = work()
            said = {name: one for name, one in found[key].items() if isinstance(one, float)}
            print(key, said, flush=True)
            write_atomically(kept, (json.dumps(found, indent=1) + "\n").encode())
            write_atomically(shown, report(found).encode())
    write_atomically(shown, report(found).encode())


if __name__ == "__main__":
    main()
