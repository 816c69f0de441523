"""Patterns of terms, compiled: what stands at a node, and what is put there.

A pattern becomes Python source, a loop over the nodes with its head; inside, a comparison for each
of its nodes. A match is a tuple: the node, then what the variables are, in the order in which they
first appear.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, TypeAlias

from polygym.rewrite.term import Head, Term, is_variable, postorder, term, variable_names

__all__ = ["OperatorKey", "TermPattern", "operator_key", "target_builder"]

OperatorKey: TypeAlias = tuple[type, Head, int]


def operator_key(one: Term) -> OperatorKey:
    """Return what nodes have to have in common for a pattern: the head and how many children."""
    return (one.head.__class__, one.head, len(one.children))


class TermPattern:
    """A pattern, compiled.

    >>> from polygym.rewrite.s_expressions import parse_term, text_of
    >>> finder = Finder(parse_term("(f ?x (g ?x))"))
    >>> one, other = parse_term("(f a (g a))"), parse_term("(f a (g b))")
    >>> [text_of(part) for part in finder.matches([one, other])[0]]
    ['(f a (g a))', 'a']
    """

    def __init__(self, source: Term) -> None:
        """Compile a pattern."""
        self.operator = operator_key(source)
        self._names: dict[str, Any] = {}
        self._bound: dict[str, str] = {}
        lines = ["def search(nodes, append):", "    for root in nodes:"]
        lines += ["        " + line for line in self._checks(source)]
        values = "".join(f"{self._bound[name]}, " for name in variable_names([source]))
        lines.append(f"        append((root, {values}))")
        exec(compile("\n".join(lines) + "\n", f"<pattern {source.head}>", "exec"), self._names)
        self._search: Callable[[Iterable[Term], Any], None] = self._names["search"]

    def matches(self, nodes: Iterable[Term]) -> list[tuple[Term, ...]]:
        """Return the matches at nodes that have the pattern's operator."""
        terms: list[tuple[Term, ...]] = []
        self._search(nodes, terms.append)
        return terms

    def _checks(self, source: Term) -> list[str]:
        lines: list[str] = []
        todo = [(source, "root")]
        count = 0
        while todo:
            one, name = todo.pop(0)
            if one.children:
                children = [f"part{count + at}" for at in range(len(one.children))]
                count += len(children)
                lines.append(f"{', '.join(children)}, = {name}.children")
            else:
                children = []
            inner: list[tuple[Term, str]] = []
            for child, part in zip(one.children, children, strict=True):
                if is_variable(child):
                    known = self._bound.setdefault(str(child.head), part)
                    if known != part:
                        lines.append(f"if {part} is not {known}: continue")
                elif not variable_names([child]):
                    constant = f"constant{len(self._names)}"
                    self._names[constant] = child
                    lines.append(f"if {part} is not {constant}: continue")
                else:
                    lines.append(
                        f"if {part}.head != {child.head!r} or "
                        f"len({part}.children) != {len(child.children)}: continue"
                    )
                    if not isinstance(child.head, str):
                        lines.append(
                            f"if {part}.head.__class__ is not {type(child.head).__name__}: continue"
                        )
                    inner.append((child, part))
            todo += inner
        return lines


def target_builder(
    target: Term, names: tuple[str, ...], computed: tuple[Term, ...]
) -> Callable[[tuple[Term, ...], list[Term]], Term]:
    """Return a function that makes a target of what variables and computed literals are.

    >>> from polygym.rewrite.s_expressions import parse_term, text_of
    >>> build = builder_of(parse_term("(f ?y (g ?x))"), ("?x", "?y"), ())
    >>> text_of(build((term("a"), term("b")), []))
    '(f b (g a))'
    """
    known: dict[str, Any] = {"term": term}
    made: dict[Term, str] = {}
    lines = ["def build(values, literals):"]
    for one in postorder([target]):
        if is_variable(one):
            made[one] = f"values[{names.index(str(one.head))}]"
        elif one in computed:
            made[one] = f"literals[{computed.index(one)}]"
        elif not variable_names([one]):
            made[one] = f"constant{len(known)}"
            known[made[one]] = one
        else:
            made[one] = f"made{len(made)}"
            children = "".join(f", {made[child]}" for child in one.children)
            lines.append(f"    {made[one]} = term({one.head!r}{children})")
    lines.append(f"    return {made[target]}")
    exec(compile("\n".join(lines) + "\n", f"<target {target.head}>", "exec"), known)
    build: Callable[[tuple[Term, ...], list[Term]], Term] = known["build"]
    return build
