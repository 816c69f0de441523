"""Domain of rewriting: types of nodes, functions and conditions of a language.

The e-graph, the rewriter at a place and the tables of rules work on heads and children alone. A
*domain* tells them what a node is (its data: for tensor graphs shape and type), which nodes make
sense, and what the words of conditions mean. Data are values: they hash and compare.

The domain of words: every node makes sense, no data, no conditions.

What is true of all languages can be tried with it, and it shows the least that a domain has to say.
"""

from typing import Any, Protocol

from polygym.errors import PolygymError
from polygym.rewrite.term import Head

Data = Any


class Inadmissible(PolygymError):
    """A node makes no sense with these children: it must not be made."""


class Domain(Protocol):
    """A language: the data of nodes, and functions of data."""

    def infer(self, head: Head, children: tuple[Data, ...]) -> Data:
        """Return what a node is, given what its children are.

        Raises:
            Inadmissible: there is no such node.
        """
        ...

    def join(self, one: Data, other: Data) -> Data:
        """Return what two nodes are that are known to be equal.

        Raises:
            Inadmissible: they cannot be equal, so the rule is unsound.
        """
        ...

    def compute(self, function: str, arguments: tuple[Data, ...]) -> Head:
        """Return the literal that ``(=function arguments…)`` stands for in a target or a condition.

        Raises:
            Inadmissible: the function says nothing of such arguments.
        """
        ...

    def holds(self, condition: str, arguments: tuple[Data, ...]) -> bool:
        """Whether a condition holds."""
        ...

    def functions(self) -> dict[str, str]:
        """Return the names of functions for :meth:`compute`, and a sentence about each."""
        ...

    def conditions(self) -> dict[str, str]:
        """Return the names of conditions for :meth:`holds`, and a sentence about each."""
        ...


class TrivialDomain:
    """Says of everything that it is fine."""

    def infer(self, head: Head, children: tuple[Data, ...]) -> Data:
        """Return None: there is nothing to know."""
        return None

    def join(self, one: Data, other: Data) -> Data:
        """Return None."""
        return None

    def compute(self, function: str, arguments: tuple[Data, ...]) -> Head:
        """Refuse: there are no functions."""
        raise Inadmissible(f"={function}: expected no function, there are none")

    def holds(self, condition: str, arguments: tuple[Data, ...]) -> bool:
        """Return False: there are no conditions."""
        return False

    def functions(self) -> dict[str, str]:
        """Return none."""
        return {}

    def conditions(self) -> dict[str, str]:
        """Return none."""
        return {}
