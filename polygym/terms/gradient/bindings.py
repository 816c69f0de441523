"""A place of a program that is written: what was bound there, in its order.

While a program is written its variables have names, fresh ones, that nothing else has; when a block
is done, :meth:`Block.wrap` makes ``let``s of them. What was bound in a block or in one around it
is not bound again: the variable is taken.
"""

from __future__ import annotations

from collections.abc import Iterable

from polygym.rewrite.term import Term
from polygym.terms.language.nodes import lam, let, name_of, term_facts, variable
from polygym.terms.language.substitution import bind_names
from polygym.terms.language.types import Type


class FreshNames:
    """Names that a program does not have."""

    def __init__(self, taken: Iterable[str]) -> None:
        """Keep those that it has."""
        self._taken = set(taken)
        self._count = 0

    def fresh(self, kind: Type) -> Term:
        """Return a variable that nothing else is."""
        while True:
            self._count += 1
            name = f"g{self._count}"
            if name not in self._taken:
                return variable(name, kind)


class BindingBlock:
    """Bindings, one after the other, within those of the blocks around."""

    def __init__(self, names: FreshNames, outer: BindingBlock | None = None) -> None:
        """Begin with nothing bound."""
        self.names = names
        self._outer = outer
        self._bound: list[tuple[Term, Term]] = []
        self._known: dict[Term, Term] = {}

    def inner(self) -> BindingBlock:
        """Return a block within this one."""
        return BindingBlock(self.names, self)

    def bind(self, value: Term) -> Term:
        """Return a variable that is a value; constants and variables stand for themselves."""
        if not value.children:
            return value
        term = self.find_variable(value)
        if term is None:
            term = self.names.fresh(term_facts(value).type)
            self._bound.append((term, value))
            self._known[value] = term
        return term

    def record(self, value: Term, variable: Term) -> None:
        """Take note that a value has a variable, where it was bound in another form."""
        self._known.setdefault(value, variable)

    def find_variable(self, value: Term) -> Term | None:
        """Return the variable that a value has here, None if it has none yet."""
        block: BindingBlock | None = self
        while block is not None:
            if value in block._known:
                return block._known[value]
            block = block._outer
        return None

    def wrap(self, result: Term) -> Term:
        """Return a term with a ``let`` for everything that is bound here."""
        levels = {name_of(term): level for level, (term, _) in enumerate(self._bound)}
        made = bind_names(result, levels, len(levels))
        for level in range(len(self._bound) - 1, -1, -1):
            made = let(bind_names(self._bound[level][1], levels, level), made)
        return made

    def function(self, argument: Term, result: Term) -> Term:
        """Return the function of a variable whose value is a term within this block."""
        name = name_of(argument)
        return lam(term_facts(argument).type, bind_names(self.wrap(result), {name: 0}, 1))
