"""The searches that are compared: each makes a term of a program, all with the same code motion."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from functools import cache
from hashlib import sha256
from pathlib import Path
from typing import Any

from polygym.rewrite.term import Term
from polygym.search.planning import PlanningLimits, explore
from polygym.terms.cost import StaticCost
from polygym.terms.fusion_value import Normalizer, ReuseValue
from polygym.terms.language.program import TermProgram
from polygym.terms.learning.numpy_network import NetworkValue
from polygym.terms.learning.weights import ValueWeights
from polygym.terms.library import programs
from polygym.terms.rules.rule_table import rules_named
from polygym.terms.saturation import inline_lets
from polygym.terms.whole_programs.code_motion import bind_invariants
from polygym.terms.whole_programs.program_checks import seems_equal
from polygym.terms.whole_programs.program_saturation import ProgramLimits, saturate_loops
from polygym.terms.whole_programs.program_system import system_named

HORIZON, BATCH = 10, 16
FILES = ("linear-algebra", "gemm", "convolution-train", "convolution", "twenty")
Method = Callable[[TermProgram, int], Term]


def _directed(program: TermProgram, states: int) -> Term:
    return Normalizer(rules_named("all"))(program.body)[0]


def _expecting(program: TermProgram, states: int) -> Term:
    rules = rules_named("all")
    system = system_named("terms", "all")
    plan = PlanningLimits(30, states, BATCH)
    seen, _ = explore("astar", system, program.body, plan, ReuseValue(rules=rules))
    return seen.states[seen.best]


def _searching(name: str) -> Method:
    def work(program: TermProgram, states: int) -> Term:
        plan = PlanningLimits(HORIZON, states, BATCH)
        seen, _ = explore(name, _system(), inline_lets(program.body), plan)
        return seen.states[seen.best]

    return work


@cache
def _system() -> Any:
    return system_named("programs", "all")


def _saturating(program: TermProgram, states: int) -> Term:
    return saturate_loops(program, limits=ProgramLimits(nodes=4000, seconds=30.0)).term


METHODS: dict[str, Method] = {
    "motion": lambda program, states: program.body,
    "directed": _directed,
    "expecting": _expecting,
    "greedy": _searching("greedy"),
    "beam": _searching("beam"),
    "mcts": _searching("mcts"),
    "saturation": _saturating,
}


def learned(weights: Path) -> Method:
    """Return A* with a network."""
    network = ValueWeights.load(weights).network

    def work(program: TermProgram, states: int) -> Term:
        plan = PlanningLimits(HORIZON, states, BATCH)
        value = NetworkValue(network)
        seen, _ = explore("astar", _system(), inline_lets(program.body), plan, value)
        return seen.states[seen.best]

    return work


def comparison(
    rows: Sequence[dict[str, Any]], names: Sequence[str], states: int, folder: Path | None
) -> Iterator[dict[str, Any]]:
    """Yield the rows that are not there."""
    methods = {name: METHODS[name] for name in names if name in METHODS}
    for path in sorted(folder.glob("seed-*/model.zip")) if folder else ():
        digest = sha256(path.read_bytes()).hexdigest()[:8]  # others are rows of their own
        methods[f"learned {path.parent.name} {digest}"] = learned(path)
    done = {(row["program"], row["method"], row["states"]) for row in rows}
    cost = StaticCost()
    for file in FILES:
        for program in programs(file):
            for name, work in methods.items():
                if (program.name, name, states) in done:
                    continue
                began = time.process_time()
                body = bind_invariants(work(program, states))
                yield {
                    "file": file, "program": program.name, "method": name, "states": states,
                    "first": cost(program.body), "cost": min(cost(body), cost(program.body)),
                    "seconds": round(time.process_time() - began, 2),
                    "differs": not seems_equal(program, body),
                }  # fmt: skip
