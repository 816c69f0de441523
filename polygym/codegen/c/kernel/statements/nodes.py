"""Statements of C: lines, assignments, branches, loops."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TypeAlias


@dataclass(eq=False, slots=True)
class Variable:
    """A variable: its name, and its type as it stands before the name."""

    name: str
    type: str


@dataclass(eq=False, slots=True)
class Line:
    """Lines of a statement; ``uses`` are the variables in them."""

    lines: tuple[str, ...]
    uses: frozenset[Variable] = frozenset()


@dataclass(eq=False, slots=True)
class Assignment:
    """An assignment, ``variable = text;``."""

    variable: Variable
    text: str
    uses: frozenset[Variable] = frozenset()


@dataclass(eq=False, slots=True)
class If:
    """A branch, ``if (condition) then; else otherwise``."""

    condition: str
    uses: frozenset[Variable]
    then: list[Node] = field(default_factory=list)
    otherwise: list[Node] = field(default_factory=list)


@dataclass(eq=False, slots=True)
class For:
    """A loop; the counter begins with ``first``, unless it has a value before."""

    counter: Variable | None
    first: str | None
    condition: str
    step: str
    uses: frozenset[Variable]
    body: list[Node] = field(default_factory=list)


Node: TypeAlias = Line | Assignment | If | For
