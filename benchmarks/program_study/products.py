"""Which optimisations of a matrix product saturation reaches, without sketches.

The product of two matrices of 16 by 16 is saturated until a goal is in the class of the program, or
the e-graph is full. Goals are whole terms: orders of the loops, sums in blocks, rows in blocks. A
guide orders the matches of an iteration: none, the terms of fewest nodes first, or those first of
which the network of a training expects most.
"""

from __future__ import annotations

import time
import tracemalloc
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from polygym.rewrite.term import Term
from polygym.terms.language.nodes import term_facts
from polygym.terms.language.parser import parse_program
from polygym.terms.learning.numpy_network import NetworkValue
from polygym.terms.learning.weights import ValueWeights
from polygym.terms.rules.rule_table import rules_named
from polygym.terms.whole_programs.one_way import split_rules
from polygym.terms.whole_programs.program_saturation import Guide, ProgramEGraph, ProgramLimits

SIZE, BLOCK = 16, 4
_PARAMETERS = f"((a : Vec {SIZE} (Vec {SIZE} Float)) (b : Vec {SIZE} (Vec {SIZE} Float)))"
_ELEMENT = "(mul (index j (index i a)) (index k (index j b)))"
_BLOCKED = _ELEMENT.replace(" j ", " (add (mul 4 p) q) ").replace(
    "(index j", "(index (add (mul 4 p) q)"
)
_SUM_OF_BLOCKS = f"(sumbuild 4 (lam p (sumbuild 4 (lam q {_BLOCKED}))))"
_ROWS = "(index (sub i (mul 4 (div i 4))) (index (div i 4) (build 4 (lam s (build 4 (lam t %s))))))"


def _rows(body: str) -> str:
    return _ROWS % body.replace("(index i a)", "(index (add (mul 4 s) t) a)")


GOALS = {
    "permutation i j k": f"(build 16 (lam i (sumbuild 16 (lam j (build 16 (lam k {_ELEMENT}))))))",
    "permutation j i k": f"(sumbuild 16 (lam j (build 16 (lam i (build 16 (lam k {_ELEMENT}))))))",
    "blocks of the sum": f"(build 16 (lam i (build 16 (lam k {_SUM_OF_BLOCKS}))))",
    "blocks of the sum outermost": "(sumbuild 4 (lam p (build 16 (lam i (build 16 (lam k "
    f"(sumbuild 4 (lam q {_BLOCKED}))))))))",
    "blocks of rows": "(build 16 (lam i "
    + _rows(f"(build 16 (lam k (sumbuild 16 (lam j {_ELEMENT}))))")
    + "))",
    "blocks of rows and of the sum": "(build 16 (lam i "
    + _rows(f"(build 16 (lam k {_SUM_OF_BLOCKS}))")
    + "))",
    "blocks of rows, the sum's blocks around": "(build 16 (lam i "
    + _rows("(sumbuild 4 (lam p (build 16 (lam k (sumbuild 4 (lam q " + _BLOCKED + ")))) ))")
    + "))",
}
_COLUMNS = (
    "(index (sub k (mul 4 (div k 4))) (index (div k 4) (build 4 (lam g (build 4 (lam h %s))))))"
)
_TILED = _COLUMNS % _SUM_OF_BLOCKS.replace("(index k ", "(index (add (mul 4 g) h) ")
GOALS["blocks of rows, of columns and of the sum"] = (
    "(build 16 (lam i " + _rows(f"(build 16 (lam k {_TILED}))") + "))"
)
_NODES, _SECONDS, _ITERATIONS = 8_000, 60.0, 10


def _product(body: str) -> Term:
    return parse_program(f"(def mm (Vec 16 (Vec 16 Float)) {_PARAMETERS} {body})").body


def _guides(weights: Path | None) -> dict[str, Guide | None]:
    guides: dict[str, Guide | None] = {
        "none": None,
        "small": lambda example: float(term_facts(example).nodes),
    }
    if weights is not None:
        value = NetworkValue(ValueWeights.load(weights).network)
        known: dict[Term, float] = {}

        def expects(example: Term) -> float:
            if example not in known:
                known[example] = -float(np.max(value([example], 10)))
            return known[example]

        guides["learned"] = expects
    return guides


def product_study(weights: Path | None = None) -> Iterator[dict[str, Any]]:
    """Yield a row for every goal and guide."""
    start = _product(f"(build 16 (lam i (build 16 (lam k (sumbuild 16 (lam j {_ELEMENT}))))))")
    both, _ = split_rules(rules_named("all"))
    limits = ProgramLimits(nodes=_NODES, seconds=_SECONDS, blocks=(BLOCK,))
    for guide_name, guide in _guides(weights).items():
        waiting = {name: _product(text) for name, text in GOALS.items()}
        tracemalloc.start()
        began = time.perf_counter()
        grown = ProgramEGraph.of([start], both, limits)
        for iteration in range(1, _ITERATIONS + 1):
            goes_on = grown.iterate(iteration, began + _SECONDS, guide)
            graph = grown.graph
            for name in [*waiting]:
                at = graph.lookup(waiting[name])
                if at is not None and graph.find(at) == graph.find(grown.root):
                    del waiting[name]
                    yield _row(name, guide_name, iteration, began, graph.node_count, True)
            if not goes_on or not waiting:
                break
        for name in waiting:
            yield _row(name, guide_name, iteration, began, grown.graph.node_count, False)
        tracemalloc.stop()


def _row(
    goal: str, guide: str, iteration: int, began: float, nodes: int, is_reached: bool
) -> dict[str, Any]:
    return {
        "goal": goal, "guide": guide, "reached": is_reached, "iterations": iteration,
        "seconds": round(time.perf_counter() - began, 2), "nodes": nodes,
        "megabytes": round(tracemalloc.get_traced_memory()[1] / 1e6, 1),
    }  # fmt: skip
