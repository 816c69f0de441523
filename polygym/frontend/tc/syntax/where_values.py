"""Names for values: ``where x = expression``, put in the place of their names.

A value may use the names above it: in ``where x = A(i), y = x * x`` the name y stands for
``A(i) * A(i)``. Every use is a copy. So in ``y0 = x + x, y1 = y0 + y0, ...`` each value is twice as
large as the one before; how large is counted before anything is copied, and too much refused.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from polygym.errors import SourceError, SourceLocation
from polygym.frontend.tc.syntax import tree

# A statement of so many parts is lowered in about a second.
_MOST_NODES = 5_000


def substitute_values(
    expression: tree.Expression, values: Mapping[str, tree.Expression]
) -> tree.Expression:
    """Return an expression with values in the place of names."""
    if isinstance(expression, tree.NameUse):
        return values.get(expression.name, expression)
    return tree.with_operands(expression, lambda part: substitute_values(part, values))


@dataclass(slots=True)
class ValueBindings:
    """The values of a statement by their names, and of how many parts each of them consists.

    ``undefined_yet`` are those that have not been read yet, in their order.
    """

    undefined_yet: list[tree.WhereValue]
    substituted: dict[str, tree.Expression] = field(default_factory=dict)
    _parts: dict[str, int] = field(default_factory=dict)

    @staticmethod
    def of(entries: Sequence[object], known: Mapping[str, tree.Expression]) -> ValueBindings:
        """Return what is known before the first entry of a ``where``."""
        return ValueBindings(
            [entry for entry in entries if isinstance(entry, tree.WhereValue)], dict(known)
        )

    def add(self, entry: tree.WhereValue) -> None:
        """Note the next value.

        Raises:
            SourceError: it uses itself or one below, or is too large.
        """
        self._check_order(entry)
        parts = self._node_count(entry.value, entry.location, entry.name)
        self.substituted[entry.name] = substitute_values(entry.value, self.substituted)
        self._parts[entry.name] = parts
        self.undefined_yet.remove(entry)

    def substitute(self, expression: tree.Expression, place: SourceLocation) -> tree.Expression:
        """Return an expression of the statement with values in the place of their names.

        Raises:
            SourceError: it uses one that stands below, or is too large.
        """
        self._check_known(expression)
        self._node_count(expression, place, "the statement")
        return substitute_values(expression, self.substituted)

    def _node_count(self, expression: tree.Expression, place: SourceLocation, what: str) -> int:
        """Return the number of parts once values are put in; refuse too many."""
        used = [
            part.name if isinstance(part, tree.NameUse) else ""
            for part in tree.parts_of(expression)
        ]
        count = sum(self._parts.get(name, 1) for name in used)
        has_values = not self._parts.keys().isdisjoint(used)
        if has_values and count > _MOST_NODES:
            raise SourceError(
                place,
                f"{what} is too large: of {count:,} parts with values in the place of their names, "
                f"where {_MOST_NODES:,} are possible",
                "assign a part of it to a tensor of its own",
            )
        return count

    def _check_order(self, entry: tree.WhereValue) -> None:
        """Refuse a value that needs itself, or one below."""
        used = {use.name: use for use in _names(entry.value)}
        if entry.name in used:
            raise SourceError(used[entry.name].location, f"{entry.name} stands in its own value")
        below = {entry.name: entry.value for entry in self.undefined_yet}
        for name in used:
            if name in below and entry.name in _names_needed(name, below):
                raise SourceError(
                    used[name].location, f"{entry.name} and {name} are values of each other"
                )
        self._check_known(entry.value)

    def _check_known(self, expression: tree.Expression) -> None:
        """Refuse the name of a value that stands below."""
        below = {entry.name for entry in self.undefined_yet}
        for use in _names(expression):
            if use.name in below:
                raise SourceError(
                    use.location,
                    f"{use.name} has its value only below",
                    f"put {use.name} = ... before it: each value may use those above",
                )


def _names(expression: tree.Expression) -> list[tree.NameUse]:
    """Return the names without subscripts, from left to right."""
    return [part for part in tree.parts_of(expression) if isinstance(part, tree.NameUse)]


def _names_needed(name: str, values: Mapping[str, tree.Expression]) -> set[str]:
    """Return the names on which a value depends, directly or through others."""
    result, left = set[str](), [name]
    while left:
        value = values.get(left.pop())
        used = set() if value is None else {use.name for use in _names(value)}
        left += used - result
        result |= used
    return result
