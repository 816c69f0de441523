"""Random programs that set pointers, run here: what is said of two pointers holds in every run."""

from __future__ import annotations

import random
from dataclasses import dataclass, field

import pytest

from polygym.errors import SourceError
from polygym.frontend.c.memory.pointer_arguments import with_pointer_arguments
from polygym.frontend.c.source import syntax
from polygym.frontend.c.source.parser import find_regions, parse_cached, preprocess_cached

_NAMES = ("p", "q", "h", "g->u", "g->v")
_SOURCES = (*_NAMES, *_NAMES, "a", "b")
_VALUES = range(7)


class _Break(Exception):
    pass


class _Continue(Exception):
    pass


@dataclass
class _Writer:
    """Writes a random program in C, and the same one in Python."""

    rng: random.Random
    lines: list[str] = field(default_factory=list)
    code: list[str] = field(default_factory=list)
    loops: int = 0
    has_region: bool = False

    def block(self, indent: int, depth: int, *, holds_region: bool) -> None:
        place = self.rng.randrange(1, 4) if holds_region else None
        self._code(indent, "pass")
        for number in range(self.rng.randrange(2, 5)):
            if number == place:
                self._region(indent)
            self._statement(indent, depth)
        if holds_region and not self.has_region:
            self._region(indent)

    def _code(self, indent: int, text: str) -> None:
        self.code.append("    " * indent + text)

    def _region(self, indent: int) -> None:
        if self.has_region:
            return
        self.has_region = True
        self.lines += ["#pragma scop", "for (int i = 1; i < m; i++) p[i] = q[i - 1];"]
        self.lines += ["#pragma endscop"]
        self._code(indent, "seen.append((s['p'], s['q']))")

    def _condition(self) -> tuple[str, str]:
        counters = [f"t{k}" for k in range(self.loops)]
        name = self.rng.choice(["n", "n", *counters])
        bound = self.rng.randrange(6)
        own = name if name == "n" else f"s['{name}']"
        return f"{name} > {bound}", f"{own if name != 'n' else 'n'} > {bound}"

    def _assignment(self, indent: int) -> None:
        target, source = self.rng.choice(_NAMES), self.rng.choice(_SOURCES)
        if self.rng.random() < 0.25:
            other, (c, python) = self.rng.choice(_SOURCES), self._condition()
            self.lines.append(f"{target} = {c} ? {source} : {other};")
            self._code(indent, f"s['{target}'] = s['{source}'] if {python} else s['{other}']")
            return
        self.lines.append(f"{target} = {source};")
        self._code(indent, f"s['{target}'] = s['{source}']")

    def _swap(self, indent: int) -> None:
        first, second = self.rng.sample(_NAMES, 2)
        self.lines.append(f"k = {first}; {first} = {second}; {second} = k;")
        self._code(indent, f"s['{first}'], s['{second}'] = s['{second}'], s['{first}']")
        self._code(indent, f"s['k'] = s['{second}']")

    def _statement(self, indent: int, depth: int) -> None:
        kind = self.rng.random()
        if kind < 0.35 or depth == 0:
            self._assignment(indent)
        elif kind < 0.55:
            self._swap(indent)
        elif kind < 0.65 and self.loops:
            c, python = self._condition()
            word = self.rng.choice(["break", "continue"])
            self.lines.append(f"if ({c}) {word};")
            self._code(indent, f"if {python}: raise _{word.title()}")
        elif kind < 0.85:
            c, python = self._condition()
            self.lines.append(f"if ({c}) {{")
            self._code(indent, f"if {python}:")
            self.block(indent + 1, depth - 1, holds_region=False)
            self.lines.append("} else {")
            self._code(indent, "else:")
            self.block(indent + 1, depth - 1, holds_region=False)
            self.lines.append("}")
        else:
            self.loop(indent, depth, holds_region=not self.has_region and self.rng.random() < 0.7)

    def loop(self, indent: int, depth: int, *, holds_region: bool) -> None:
        name = f"t{self.loops}"
        self.loops += 1
        self.lines.append(f"for (int {name} = 0; {name} < 5; {name}++) {{")
        self._code(indent, "try:")
        self._code(indent + 1, f"for s['{name}'] in range(5):")
        self._code(indent + 2, "try:")
        self.block(indent + 3, depth - 1, holds_region=holds_region)
        self._code(indent + 2, "except _Continue: pass")
        self._code(indent, "except _Break: pass")
        self.lines.append("}")
        self.loops -= 1


def _program(seed: int) -> tuple[str, str]:
    writer = _Writer(random.Random(seed))
    writer.block(1, 3, holds_region=False)
    if not writer.has_region:
        writer._region(1)
    body = "\n".join(writer.lines)
    text = (
        "struct g { double *u, *v; };\n"
        "void f(struct g *g, int n, int m, double *a, double *b) {\n"
        f"double *p = a, *q = b, *h = a, *k;\n{body}\n}}\n"
    )
    return text, "def run(n, s, seen):\n" + "\n".join(writer.code)


def _arrays(text: str) -> int | None:
    """Return how many arrays p and q are, None where they are refused."""
    source = preprocess_cached(text, "f.c")
    tree = parse_cached(source)
    (region,) = find_regions(tree, source)
    try:
        region, _ = with_pointer_arguments(tree, region, source)
    except SourceError:
        return None
    return len(syntax.names_in(list(region.items)) - {"i", "m"})


def _check(seed: int) -> int | None:
    text, code = _program(seed)
    arrays = _arrays(text)
    if arrays is None:
        return None
    space: dict = {"_Break": _Break, "_Continue": _Continue}
    exec(code, space)
    for n in _VALUES:
        seen: list = []
        start = {"a": 1, "b": 2, "g->u": 3, "g->v": 4, "p": 1, "q": 2, "h": 1, "k": 0}
        space["run"](n, dict(start), seen)
        for p, q in seen:
            assert (p == q) == (arrays == 1), f"{text}\nn = {n}: {arrays} arrays, {p} and {q}"
    return arrays


@pytest.mark.parametrize("first", range(0, 400, 100))
def test_what_is_said_of_two_pointers_holds_in_every_run(first: int) -> None:
    results = [_check(seed) for seed in range(first, first + 100)]
    assert results.count(1) > 3
    assert results.count(2) > 3
    assert results.count(None) > 10
