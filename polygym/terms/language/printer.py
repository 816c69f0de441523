"""Terms to text, which :mod:`polygym.terms.language.parser` reads back as the same term.

What is bound is called ``t1``, ``t2``, … by ``let`` and ``i1``, ``i2``, … by ``lam``, numbered by
how many binders stand around it; names that are free in the term are left out. A term has one text.
"""

from collections.abc import Container

from polygym.errors import LimitError
from polygym.rewrite.term import Term
from polygym.terms.language import nodes
from polygym.terms.language.program import BARE_NAME, TermProgram
from polygym.terms.language.types import FLOAT

LONGEST = 1_000_000
"""How many nodes a term may have that is written out, what is shared counted each time."""


def text_of(root: Term, mark: tuple[int, ...] | None = None) -> str:
    """Return the text of a term; the node at ``mark`` stands in »…«.

    Raises:
        LimitError: there are too many nodes.
    """
    if nodes.term_facts(root).nodes > LONGEST:
        raise LimitError(f"a term's text: expected at most {LONGEST} nodes, found more")
    taken = nodes.free_variables(root)
    pieces: list[str] = []
    stack: list[tuple[Term, tuple[str, ...], tuple[int, ...] | None] | str] = [(root, (), mark)]
    while stack:
        item = stack.pop()
        if isinstance(item, str):
            pieces.append(item)
            continue
        term, names, place = item
        if place == ():
            stack.append("«")
            stack.append((term, names, None))
            pieces.append("»")
            continue
        ways = [place[1:] if place and place[0] == at else None for at in range(len(term.children))]
        if not term.children:
            pieces.append(_leaf(term, names))
        elif term.head == "let":
            name = _fresh("t", len(names), taken)
            pieces.append(f"(let ({name} ")
            stack.append(")")
            stack.append((term.children[1], (*names, name), ways[1]))
            stack.append(") ")
            stack.append((term.children[0], names, ways[0]))
        elif nodes.is_lam(term):
            name = _fresh("i", len(names), taken)
            pieces.append(f"(lam ({name} : {nodes.parameter_of(term)}) ")
            stack.append(")")
            stack.append((term.children[0], (*names, name), ways[0]))
        else:
            pieces.append(f"({term.head}")
            stack.append(")")
            for child, way in zip(reversed(term.children), reversed(ways), strict=True):
                stack.append((child, names, way))
                stack.append(" ")
    return "".join(pieces)


def text_of_program(program: TermProgram) -> str:
    """Return a program's text: a bare term if it can be read back from that, else a definition."""
    body = text_of(program.body)
    if program.name == BARE_NAME and all(kind == FLOAT for _, kind in program.parameters):
        return body
    given = " ".join(f"({name} : {kind})" for name, kind in program.parameters)
    return f"(def {program.name} {program.result} ({given})\n  {body})"


def _leaf(node: Term, names: tuple[str, ...]) -> str:
    index = nodes.index_of(node)
    if index >= 0:
        return names[-1 - index] if index < len(names) else f"%{index - len(names)}"
    if name := nodes.name_of(node):
        return name
    return repr(node.head) if isinstance(node.head, float) else str(node.head)


def _fresh(beginning: str, depth: int, taken: Container[str]) -> str:
    name = f"{beginning}{depth + 1}"
    while name in taken:
        name += "_"
    return name
