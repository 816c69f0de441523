"""Figures 6 and 7 of the Knossos paper, and A* beside equality saturation.

    python benchmarks/terms.py                        # all that benchmarks/terms.json lacks
    python benchmarks/terms.py --only gemm compared   # some parts of it
    python benchmarks/terms.py --again                # everything anew

What was found is kept one by one, so that a run that was interrupted goes on where it was. Costs
and terms are the same on every machine, seconds want a quiet one. About 20 minutes on two cores.
The tables are printed, for a page under docs/results; progress goes to the standard error.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
from term_study.report import BUDGETS, GRADIENTS, LONGER, PAPER, ROUNDS, SEARCHES, report

from polygym.files import write_atomically
from polygym.rewrite.term import Term, term
from polygym.runtime.worker.timing import describe_host
from polygym.search.planning import PlanningLimits
from polygym.terms import StaticCost, optimize_term, parse_program, text_of
from polygym.terms.code.timing_record import measure_pair
from polygym.terms.derivation import Derivation
from polygym.terms.fusion_value import Normalizer
from polygym.terms.language.nodes import variable
from polygym.terms.language.program import TermProgram
from polygym.terms.language.types import FLOAT
from polygym.terms.library import combinations, expressions, programs
from polygym.terms.rules.rule_table import merge_rules, rules_named
from polygym.terms.saturation import saturate_term

HERE = Path(__file__).parent

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


def run_search(
    program: TermProgram, sets: tuple[str, ...], method: str, budget: int, phases: int = 2
):
    """Search, in phases that begin where the one before has ended."""
    rules = merge_rules(rules_named(name) for name in sets)
    start = time.monotonic()
    plan = PlanningLimits(horizon=80, max_states=budget)
    derivation = optimize_term(program, [rules] * phases, method, plan)
    return derivation, time.monotonic() - start


def cost_part(
    name: str, program: TermProgram, sets: tuple[str, ...], methods: tuple[str, ...] = SEARCHES
) -> Iterator[tuple[str, Any]]:
    """Yield what is to be found of the costs of a program: Figure 6."""
    for method in methods:
        for budget in BUDGETS:
            yield (
                f"{name}/{'+'.join(sets)}/{method}/{budget}",
                lambda method=method, budget=budget: cost_row(program, sets, method, budget),
            )


def cost_row(
    program: TermProgram, sets: tuple[str, ...], method: str, budget: int
) -> dict[str, Any]:
    derivation, seconds = run_search(program, sets, method, budget)
    return {
        "initial": derivation.costs[0],
        "cost": derivation.costs[-1],
        "highest": max(derivation.costs),
        "steps": len(derivation.steps),
        "seconds": seconds,
        "term": text_of(derivation.terms[-1]),
    }


def reference(program: TermProgram) -> dict[str, Any]:
    """Return what all rules with a direction lead to, wherever they apply."""
    rules = merge_rules(rules_named(name) for name in GRADIENTS)
    made, steps = Normalizer(rules)(program.body)
    cost = StaticCost()
    return {"initial": cost(program.body), "cost": cost(made), "steps": steps}


def product_row(sizes: dict[str, int]) -> dict[str, Any]:
    """Return the wall time of a product of matrices alone."""
    product = parse_program(PRODUCT)
    _, row = measure_pair(product, product, sizes, ROUNDS)
    return row


def time_row(program: TermProgram, sizes: dict[str, int], budget: int) -> dict[str, Any]:
    """Return the wall times of a program and of what A* made of it: Figure 7."""
    derivation: Derivation = run_search(program, GRADIENTS, "astar", budget)[0]
    _, row = measure_pair(program, derivation.result, sizes, ROUNDS)
    return {"cost": derivation.costs[-1], "initial": derivation.costs[0], **row}


def arithmetic() -> list[tuple[str, TermProgram]]:
    """Return the paper's expressions, and 200 others: half of its shapes, half random."""
    named = [
        (f"{name} {number}", program)
        for name in ("train", "test", "bootstrap")
        for number, program in enumerate(expressions(name))
    ]
    known = {expression.body for _, expression in named}
    others = [program for program in combinations() if program.body not in known]
    rng = np.random.default_rng(0)
    chosen = sorted(rng.choice(len(others), 100, replace=False))
    named += [(f"shape {number}", others[int(number)]) for number in chosen]
    for number in range(100):
        text = text_of(random_arithmetic(np.random.default_rng([1, number]), 4))
        named.append((f"random {number}", parse_program(text)))
    return named


def random_arithmetic(rng: np.random.Generator, depth: int) -> Term:
    """Return a random term in which some parts stand several times."""
    made: list[Term] = [variable("x", FLOAT), variable("y", FLOAT), term(2.0), term(1.0)]
    for _ in range(2 * depth):
        operator = ("add", "sub", "mul", "div")[int(rng.integers(4))]
        first, other = (made[-1 - int(rng.integers(min(len(made), 5)))] for _ in range(2))
        made.append(term(operator, first, other))
    return made[-1]


def extended_row(program: TermProgram) -> dict[str, Any]:
    """Return what A* finds with as many terms, and steps enough for terms that fall to little."""
    start = time.process_time()
    derivation = optimize_term(
        program, (), "astar", PlanningLimits(horizon=LONGER, max_states=5000)
    )
    return {"astar": derivation.costs[-1], "seconds": time.process_time() - start}


def compared_row(program: TermProgram) -> dict[str, Any]:
    start = time.monotonic()
    derivation = optimize_term(program, (), "astar", PlanningLimits(horizon=10, max_states=5000))
    middle = time.monotonic()
    other = saturate_term(program.body)
    return {
        "initial": derivation.costs[0],
        "astar": derivation.costs[-1],
        "astar_seconds": middle - start,
        "egraph": other.cost,
        "egraph_seconds": time.monotonic() - middle,
        "is_complete": other.is_complete,
    }


def exhaustive_row(program: TermProgram, method: str) -> dict[str, Any]:
    rules = merge_rules(rules_named(name) for name in ("vectors", "simplification", "binding"))
    derivation = optimize_term(
        program, [rules], method, PlanningLimits(horizon=5, max_states=20_000)
    )
    return {"initial": derivation.costs[0], "cost": derivation.costs[-1]}


def part_tasks(part: str) -> Iterator[tuple[str, Callable[[], dict[str, Any]]]]:
    (gemm,), (conv,) = programs("gemm"), programs("convolution")
    made = {program.name: program for program in programs("gradients")}
    match part:
        case "gemm":
            yield from cost_part("gemm", gemm, PAPER)
            yield "gemm/hand", lambda: {"cost": StaticCost()(parse_program(GEMM).body)}
        case "convolution":
            yield from cost_part("conv", conv, PAPER, ("greedy", "astar"))
            yield from cost_part("conv", conv, GRADIENTS, ("greedy", "astar"))
            yield "conv/reference", lambda: reference(conv)
        case "exhaustive":
            for term_program in programs("linear-algebra"):
                for method in ("breadth", "astar"):
                    key = f"exhaustive/{term_program.name}/{method}"
                    yield (
                        key,
                        lambda target=term_program, method=method: exhaustive_row(target, method),
                    )
        case "times":
            timed = [gemm, conv, made["rev$dense"], made["rev$loss"]]
            for term_program in timed:
                for sizes in SIZES[term_program.name]:
                    said = ",".join(f"{name}={size}" for name, size in sizes.items())
                    yield (
                        f"times/{term_program.name}/{said}",
                        lambda target=term_program, sizes=sizes: time_row(target, sizes, 6000),
                    )
        case "product":
            for sizes in SIZES["gemm"]:
                said = ",".join(f"{name}={size}" for name, size in sizes.items())
                yield f"product/{said}", lambda sizes=sizes: product_row(sizes)
        case "longer":
            for name, term_program in arithmetic():
                if name.startswith("random"):
                    yield f"longer/{name}", lambda target=term_program: extended_row(target)
        case _:
            for name, term_program in arithmetic():
                yield f"compared/{name}", lambda target=term_program: compared_row(target)


PARTS = ("gemm", "convolution", "exhaustive", "times", "product", "compared", "longer")


def main() -> None:
    parser = argparse.ArgumentParser(description="Figures 6 and 7, and A* beside saturation.")
    parser.add_argument("--only", nargs="*", choices=PARTS, default=PARTS)
    parser.add_argument("--again", action="store_true", help="find everything anew")
    parser.add_argument("--out", type=Path, default=HERE, help="the folder to write to")
    asked = parser.parse_args()
    kept = asked.out / "terms.json"
    results: dict[str, Any] = {}
    if kept.exists() and not asked.again:
        results = json.loads(kept.read_text())
    now = describe_host()
    if asked.again or "machine" not in results:
        results["machine"] = {
            "processor": now.processor,
            "cores": now.cores,
            "load": now.load_average,
        }
    for part in asked.only:
        for key, work in part_tasks(part):
            if key in results:
                continue
            results[key] = work()
            said = {name: value for name, value in results[key].items() if isinstance(value, float)}
            print(key, said, file=sys.stderr, flush=True)
            write_atomically(kept, (json.dumps(results, indent=1) + "\n").encode())
    print(report(results), end="")


if __name__ == "__main__":
    main()
