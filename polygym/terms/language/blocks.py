"""Blocks of a derivative that is written: what was bound there, in its order.

While a program is written its variables have names, fresh ones, that nothing else has; when a block
is done, :meth:`BindingBlock.wrap` makes ``let``s of them. What was bound in a block or in one
around it is not bound again: the variable is taken.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from polygym.rewrite.term import Term, term
from polygym.terms.language.chain_rules import CHAIN_RULES
from polygym.terms.language.nodes import lam, let, name_of, term_facts, variable
from polygym.terms.language.substitution import bind_names, open_binder
from polygym.terms.language.trampoline import Trampolined
from polygym.terms.language.types import FLOAT, Type


class FreshNames:
    """Names that a program does not have."""

    def __init__(self, taken: Iterable[str]) -> None:
        """Keep those that it has."""
        self._taken = set(taken)
        self._count = 0

    def reserve(self, wanted: str) -> str:
        """Return a name like the one that is wanted, which is taken from then on."""
        while wanted in self._taken:
            wanted += "_"
        self._taken.add(wanted)
        return wanted

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


def needed_value(node: Term, block: BindingBlock) -> Trampolined[Any]:
    """Return a value that is computed before; what numbers are made of is bound as well."""
    if is_component(node):
        return node
    known = block.find_variable(node)
    if known is not None:
        return known
    if node.head == "let":
        value = yield needed_value(node.children[0], block)
        result = yield needed_value(open_binder(node.children[1], value), block)
    elif node.head == "tuple" or (node.head in CHAIN_RULES and term_facts(node).type == FLOAT):
        parts = []
        for child in node.children:
            parts.append((yield needed_value(child, block)))
        result = block.bind(term(node.head, *parts))
    else:
        result = block.bind(node)
    block.record(node, result)
    return result


def is_component(node: Term) -> bool:
    """Whether a value is a variable or constant, or a part of one, which costs nothing."""
    while node.head == "select":
        node = node.children[1]
    return not node.children
