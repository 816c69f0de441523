"""The domain of words: every node makes sense, no data, no conditions.

What is true of all languages can be tried with it, and it shows the least that a domain has to say.
"""

from __future__ import annotations

from polygym.rewrite.domain import Data, Inadmissible
from polygym.rewrite.term import Head

__all__ = ["TrivialDomain"]


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
