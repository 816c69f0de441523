"""Random programs with loops: sums, vectors, scans, triangular extents, choices, bound vectors.

Sizes n and m are 1 or more; parameters are ``a``, a Float; ``v`` and ``w``, vectors of n; ``x``, a
matrix of n by m. Every subscript is in range by construction: a counter with the size that it runs
to, or its mirror image. Functions are smooth, but for ``max`` of what is seldom equal.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from polygym.terms.language.parser import parse_program
from polygym.terms.language.program import TermProgram

PARAMETERS = "((a : Float) (v : Vec n Float) (w : Vec n Float) (x : Vec n (Vec m Float)))"
RESULTS = ("Float", "(Vec n Float)", "(Vec n (Vec m Float))", "(Tuple Float (Vec n Float))")


@dataclass
class LoopPrograms:
    """Makes texts of terms; ``counters`` are those around, by the size that they stay below."""

    rng: np.random.Generator
    counters: list[tuple[str, str]] = field(default_factory=list)
    vectors: list[tuple[str, str]] = field(default_factory=list)
    names: int = 0

    def choice(self, options: list[str]) -> str:
        """Return one of some words."""
        return options[int(self.rng.integers(len(options)))]

    def fresh(self, letter: str) -> str:
        """Return a name that is not taken."""
        self.names += 1
        return f"{letter}{self.names}"

    def within(self, name: str, size: str, depth: int) -> str:
        """Return a Float under one more counter."""
        self.counters.append((name, size))
        made = self.number(depth)
        self.counters.pop()
        return made

    def place(self, size: str) -> str:
        """Return a subscript of a vector of a size that is 1 or more."""
        fitting = [name for name, its in self.counters if its == size]
        if not fitting:
            return self.choice(["0", f"(sub {size} 1)"])
        name = self.choice(fitting)
        return self.choice([name, name, f"(sub (sub {size} 1) {name})"])

    def number(self, depth: int) -> str:
        """Return a Float."""
        if depth == 0:
            return self.leaf()
        kind = int(self.rng.integers(12))
        inner = depth - 1
        if kind < 4:
            operator = self.choice(["add", "sub", "mul", "mul", "max"])
            return f"({operator} {self.number(inner)} {self.number(inner)})"
        if kind == 4:
            return f"({self.choice(['sin', 'tanh', 'cos'])} {self.number(inner)})"
        if kind == 5:
            return f"(exp (sin {self.number(inner)}))"
        if kind == 6:
            return f"(div {self.number(inner)} (add 2.0 (mul a a)))"
        if kind == 7:
            name = self.fresh("t")
            value = self.number(inner)
            return f"(let ({name} {value}) (mul {name} (add {name} {self.number(inner)})))"
        if kind == 8:
            return self.choice_of_two(inner)
        return self.total(inner)

    def leaf(self) -> str:
        """Return a Float without operators on Floats."""
        options = ["a", f"{self.rng.uniform(-1, 1):.3f}"]
        options += [f"(index {self.place('n')} {name})" for name in ("v", "w")]
        options.append(f"(index {self.place('m')} (index {self.place('n')} x))")
        options += [f"(index {self.place(size)} {name})" for name, size in self.vectors]
        if self.counters:
            options.append(f"(mul 0.1 (to_float {self.choice([n for n, _ in self.counters])}))")
        return self.choice(options)

    def choice_of_two(self, depth: int) -> str:
        """Return an ``if`` on counters, which says what is in range, or on data."""
        fitting = [name for name, size in self.counters if size == "n"]
        if fitting and self.rng.integers(2):
            name = self.choice(fitting)
            return (
                f"(if (gt {name} 0) (mul (index (sub {name} 1) v) {self.number(depth)}) "
                f"{self.number(depth)})"
            )
        return f"(if (gt a 0.5) {self.number(depth)} {self.number(depth)})"

    def total(self, depth: int) -> str:
        """Return a sum over a loop, whose extent may depend on a counter."""
        name = self.fresh("i")
        fitting = [counter for counter, size in self.counters if size == "n"]
        if fitting and self.rng.integers(2):
            counter = self.choice(fitting)
            extent = self.choice([counter, f"(add {counter} 1)", f"(sub n {counter})"])
            return f"(sumbuild {extent} (lam {name} {self.within(name, 'n', depth)}))"
        size = self.choice(["n", "m"])
        if self.rng.integers(3) == 0:
            return f"(sum (build {size} (lam {name} {self.within(name, size, depth)})))"
        return f"(sumbuild {size} (lam {name} {self.within(name, size, depth)}))"

    def vector(self, depth: int) -> str:
        """Return a vector of n Floats."""
        kind, name = int(self.rng.integers(6)), self.fresh("i")
        if kind == 0:
            bound = self.fresh("u")
            value = self.vector(depth - 1) if depth else "v"
            self.vectors.append((bound, "n"))
            body = self.vector(max(depth - 1, 0))
            self.vectors.pop()
            return f"(let ({bound} {value}) {body})"
        if kind == 1:
            extent = self.choice([name, f"(add {name} 1)"])
            inner = self.fresh("j")
            body = self.within(inner, "n", depth)
            return f"(build n (lam {name} (sumbuild {extent} (lam {inner} {body}))))"
        if kind == 2:
            self.counters.append((name, "n"))
            place, value = self.place("n"), self.number(depth)
            self.counters.pop()
            return f"(sumbuild n (lam {name} (deltaVec n {place} {value})))"
        if kind == 3 and depth:
            return f"(add {self.vector(depth - 1)} (mul {self.number(depth - 1)} w))"
        return f"(build n (lam {name} {self.within(name, 'n', depth)}))"

    def term(self, kind: str, depth: int) -> str:
        """Return a term of one of the types of results."""
        if kind == "Float":
            return self.total(depth)
        if kind == "(Vec n Float)":
            return self.vector(depth)
        if kind == "(Tuple Float (Vec n Float))":
            return f"(tuple {self.total(depth)} {self.vector(depth)})"
        row, column = self.fresh("i"), self.fresh("i")
        self.counters.append((row, "n"))
        body = self.within(column, "m", depth)
        self.counters.pop()
        return f"(build n (lam {row} (build m (lam {column} {body}))))"


def loop_program(seed: int) -> TermProgram:
    """Return the random program of a number."""
    rng = np.random.default_rng([60, seed])
    kind = RESULTS[int(rng.integers(len(RESULTS)))]
    body = LoopPrograms(rng).term(kind, int(rng.integers(1, 4)))
    return parse_program(f"(def random{seed} {kind} {PARAMETERS} {body})")
