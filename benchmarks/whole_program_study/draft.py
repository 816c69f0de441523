"""A C program while it is written: what stands at file scope, in the kernel, and in ``main``.

``main`` calls the kernel for three sizes, twice each, and prints a digest of every array. Arrays
have ``n + 8`` elements, so subscripts from 0 to ``n + 7`` are theirs.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import TypeVar

import numpy as np

from whole_program_study.elements import Element

SLACK = 8  # elements behind n
LARGEST = 33  # of the sizes of main
FIXED = 48  # elements of arrays of a fixed size, rows of those in two dimensions
_T = TypeVar("_T")
_NAMES = (
    "a b c u v w x y z src dst in out buf tmp data acc grid line field now next s t "
    "S0 a_0 n_1 g_u i0"
).split()

_LOOP = re.compile(r"\s*(?:\w+:\s*)?(?:for|while|do)\b")
_PRELUDE = """#pragma STDC FP_CONTRACT OFF
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <stdint.h>
#include <stddef.h>
#include <math.h>
"""
_DIGEST = """
static unsigned long long digest;
static void feed_integer(long long value) {
  digest = (digest ^ (unsigned long long)value) * 1099511628211ull;
}
static void feed_real(double value) {
  long long bits;
  if (value != value) value = 12345;
  memcpy(&bits, &value, sizeof bits);
  feed_integer(bits);
}
"""


@dataclass(frozen=True, slots=True)
class View:
    """Memory as the kernel writes it: an element type, and the text of an element.

    ``pointer`` is an expression for the address of the first element, where there is one of one
    dimension. ``lowest`` is the least subscript.
    """

    element: Element
    at: Callable[..., str]
    rank: int = 1
    pointer: str = ""
    is_written: bool = True
    lowest: int = 0


@dataclass(slots=True)
class Draft:
    """The parts of a program, and a generator of random numbers."""

    rng: np.random.Generator
    size: str = "n"  # how the kernel writes the size
    file_scope: list[str] = field(default_factory=list)
    arguments: list[tuple[str, str]] = field(default_factory=list)
    setup: list[str] = field(default_factory=list)
    wrap: list[tuple[str, str]] = field(default_factory=list)
    teardown: list[str] = field(default_factory=list)
    begin: list[str] = field(default_factory=list)  # of a size in main
    report: list[str] = field(default_factory=list)
    views: list[View] = field(default_factory=list)
    numbers: list[str] = field(default_factory=list)  # integers of the kernel, small and positive
    habits: list[str] = field(default_factory=list)
    used: set[str] = field(default_factory=lambda: {"n", "m", "i", "j", "k", "r", "call", "size"})

    def chance(self, probability: float) -> bool:
        """Return whether something happens."""
        return bool(self.rng.random() < probability)

    def pick(self, items: Sequence[_T]) -> _T:
        """Return one of some items."""
        return items[int(self.rng.integers(len(items)))]

    def integer(self, low: int, high: int) -> int:
        """Return a number, both ends included."""
        return int(self.rng.integers(low, high + 1))

    def name(self, *wanted: str) -> str:
        """Return a new name: one of those that are wanted, or as people call things."""
        choice = self.pick(wanted or _NAMES)
        name, number = choice, 2
        while name in self.used:
            name, number = f"{choice}{number}", number + 1
        self.used.add(name)
        return name

    def array(self, element: Element, count: str = f"n + {SLACK}") -> str:
        """Return the name of a new array of main, filled and reported."""
        name = self.name("mem")
        self.begin.append(f"{element.name} *{name} = malloc(({count}) * sizeof *{name});")
        self.fill(element, lambda index: f"{name}[{index}]", count)
        return name

    def fill(self, element: Element, at: Callable[[str], str], count: str) -> None:
        """Let main fill memory, and report it in the end."""
        factor, offset = self.integer(3, 60), self.integer(0, 50)
        value = f"(q * {factor} + {offset}) % 97"
        value = f"({value}) * 0.25 - 4" if element.is_float else value
        self.begin.append(f"for (int q = 0; q < ({count}); q++) {at('q')} = {value};")
        feed = "feed_real" if element.is_float else "feed_integer"
        self.report.append(f"for (int q = 0; q < ({count}); q++) {feed}({at('q')});")
        self.report.append('printf("%llx ", digest);')

    def views_of(
        self, rank: int = 1, *, written: bool = False, wanted: Callable[[View], bool] | None = None
    ) -> list[View]:
        """Return views of a rank, those that may be written, those that are wanted."""
        return [
            view
            for view in self.views
            if view.rank == rank
            and (view.is_written or not written)
            and (wanted is None or wanted(view))
        ]

    def text(self, region: Sequence[str], *, has_pragma: bool) -> tuple[str, int]:
        """Return the program, and the line of the region's first statement."""
        head = [_PRELUDE.rstrip(), *self.file_scope, _DIGEST.strip()]
        declared = ", ".join(declaration for declaration, _ in self.arguments) or "void"
        head += [f"{self.pick(('', '', 'static '))}void kernel({declared})", "{"]
        opening = [opening for opening, _ in self.wrap]
        closing = [closing for _, closing in reversed(self.wrap)]
        before = [*self.setup, *opening, *(["#pragma scop"] if has_pragma else [])]
        after = [*(["#pragma endscop"] if has_pragma else []), *closing, *self.teardown, "}"]
        lines = "\n".join([*head, *before]).split("\n")
        call = ", ".join(value for _, value in self.arguments)
        main = [
            "int main(void)", "{",
            f"static const int sizes[] = {{5, 12, {LARGEST}}};",
            "for (int size = 0; size < 3; size++) {",
            "int n = sizes[size], m = n / 2 + 3;",
            *self.begin,
            "for (int call = 0; call < 2; call++)", f"kernel({call});",
            *self.report, 'printf("\\n");',
            "}", "return 0;", "}",
        ]  # fmt: skip
        inside = "\n".join(region).split("\n")
        loops = [place for place, line in enumerate(inside) if _LOOP.match(line)]
        place = len(lines) + (loops[0] if loops else 0) + 1
        return _indented([*lines, *inside, *after, *main]), 0 if has_pragma else place


def _indented(lines: Sequence[str]) -> str:
    """Return lines with margins by their braces."""
    result, depth = [], 0
    for line in "\n".join(lines).split("\n"):
        stripped = line.strip()
        depth -= stripped.startswith("}")
        margin = "" if stripped.startswith("#") else "  " * max(depth, 0)
        result.append(f"{margin}{stripped}")
        depth += stripped.count("{") - stripped.count("}") + stripped.startswith("}")
    return "\n".join(result) + "\n"
