"""Graphs as text: one line a node, so that what is shared is written once.

    >>> from polygym.graphs.ir.build import graph_input, matmul, relu, weight
    >>> from polygym.graphs.ir.graph import Graph
    >>> made = Graph.of("small", relu(matmul(graph_input("x", 2, 3), weight("w", 3, 4))))
    >>> print(graph_text(made), end="")
    graph small
    %0 = input x@2-3
    %1 = weight w@3-4
    %2 = matmul none %0 %1
    %3 = relu %2
    output y %3
    >>> parse_graph(graph_text(made)) == made
    True

The inputs are taken in the order of their lines. ``%`` and a word name a node, from its line on;
every other word is a literal, written as in :mod:`polygym.rewrite.s_expressions`, and ``;`` begins
a comment. A node that makes no sense is refused at its line.
"""

import json
from collections.abc import Iterator

from polygym.errors import InputError, SourceError
from polygym.graphs.ir.domain import TENSOR_DOMAIN
from polygym.graphs.ir.graph import Graph, signature_of
from polygym.graphs.operators.types import Data, TensorType
from polygym.rewrite import s_expressions
from polygym.rewrite.domain import Inadmissible
from polygym.rewrite.s_expressions import TermReader
from polygym.rewrite.term import Term, term


def graph_text(graph: Graph, shapes: bool = False) -> str:
    """Return the text of a graph; with the shape of every node as a comment, if wanted."""
    return "".join(f"{line}\n" for line in _lines(graph, shapes))


def parse_graph(text: str, file: str = "<graph>") -> Graph:
    """Return the graph of a text.

    Raises:
        SourceError: the text is none, or a node in it makes no sense; says where.
    """
    reader = TermReader(text, file)
    line = reader.line()
    reader.take("graph")
    name = _name(reader, line)
    parts = _GraphReader(reader)
    while reader.peek():
        if reader.peek().startswith("%"):
            parts.node()
        elif reader.peek() == "output":
            parts.output()
        else:
            raise reader.error(
                f"expected a node such as '%1 = relu %0', or 'output y %1', found {reader.peek()!r}"
            )
    if not parts.outputs:
        raise reader.error("expected 'output' and a name and a node, found the end")
    try:
        return Graph(name, tuple(parts.inputs), tuple(parts.outputs.items()))
    except InputError as error:
        raise reader.error(str(error)) from None


class _GraphReader:
    """What has been read of a graph so far."""

    def __init__(self, reader: TermReader) -> None:
        self._reader = reader
        self._nodes: dict[str, Term] = {}
        self._data: dict[Term, Data] = {}
        self._named: dict[str, Term] = {}
        self.inputs: list[Term] = []
        self.outputs: dict[str, Term] = {}

    def node(self) -> None:
        """Read ``%3 = matmul none %1 %2``."""
        reader = self._reader
        line, name = reader.line(), reader.take()
        if name in self._nodes:
            raise reader.error(f"expected a name that no other node has, found {name}", back=1)
        if reader.line() != line or reader.peek() != "=":
            raise _unexpected_token(reader, line, f"'=' after {name}")
        reader.take("=")
        head = self._operator(line)
        place = 1
        children: list[Term] = []
        while reader.peek() and reader.line() == line:
            children.append(self._child())
            place += 1
        made = term(head, *children)
        if not children:
            raise reader.error(f"expected what {head} takes, found nothing", back=1)
        try:
            data = TENSOR_DOMAIN.infer(head, tuple(self._data[child] for child in children))
        except Inadmissible as error:
            raise reader.error(str(error), back=place) from None
        if head in ("input", "weight"):
            self._check_name(made, place)
        self._nodes[name] = made
        self._data[made] = data

    def output(self) -> None:
        """Read ``output y %3``."""
        reader = self._reader
        line = reader.line()
        reader.take()
        name = _name(reader, line)
        if name in self.outputs:
            raise reader.error(f"expected a name that no other result has, found {name}", back=1)
        if reader.line() != line:
            raise _unexpected_token(reader, line, f"a node after {name}")
        node = self._child()
        if not isinstance(self._data[node], TensorType):
            raise reader.error(f"expected a tensor for {name}, found {self._data[node]}", back=1)
        if reader.line() == line:
            raise reader.error(f"expected the end of the line, found {reader.peek()!r}")
        self.outputs[name] = node

    def _operator(self, line: int) -> str:
        reader = self._reader
        if reader.line() != line or reader.peek() in ("(", ")"):
            raise _unexpected_token(reader, line, "an operator")
        return reader.take()

    def _child(self) -> Term:
        """Read a node that stands above, or a literal."""
        reader = self._reader
        word = reader.peek()
        if word.startswith("%"):
            reader.take()
            if word not in self._nodes:
                raise reader.error(f"expected a node that stands above, found {word}", back=1)
            return self._nodes[word]
        if word in ("(", ")"):
            raise reader.error(f"expected a node or a literal, found {word!r}")
        literal = reader.expression()
        self._data[literal] = TENSOR_DOMAIN.infer(literal.head, ())
        return literal

    def _check_name(self, node: Term, place: int) -> None:
        """Check that no other input or weight has the name of this one."""
        name = signature_of(node).name
        if name in self._named:
            raise self._reader.error(f"expected one tensor named {name}, found two", back=place)
        self._named[name] = node
        if node.head == "input":
            self.inputs.append(node)


def _lines(graph: Graph, shapes: bool) -> Iterator[str]:
    yield f"graph {_literal_text(graph.name)}"
    names: dict[Term, str] = {}
    used = [node for node in graph.nodes() if node.head != "input"]
    for input_ in (*graph.inputs, *used):
        children = " ".join(
            names.get(child) or _literal_text(child.head) for child in input_.children
        )
        names[input_] = f"%{len(names)}"
        comment = f"  ; {graph.data(input_)}" if shapes else ""
        yield f"{names[input_]} = {input_.head} {children}{comment}"
    for name, input_ in graph.outputs:
        yield f"output {_literal_text(name)} {names[input_]}"


def _literal_text(head: str | int | float) -> str:
    """Return a literal that cannot be taken for a node."""
    text = s_expressions.term_text(term(head))
    return json.dumps(head, ensure_ascii=False) if text.startswith("%") else text


def _name(reader: TermReader, line: int) -> str:
    if reader.line() != line or reader.peek() in ("(", ")"):
        raise _unexpected_token(reader, line, "a name")
    # A name is a word even where it looks like a number.
    return str(reader.expression().head) if reader.peek().startswith('"') else reader.take()


def _unexpected_token(reader: TermReader, line: int, expected: str) -> SourceError:
    """Return the error of a line that goes on otherwise, or does not go on."""
    word = reader.peek()
    if reader.line() == line:
        return reader.error(f"expected {expected}, found {word!r}")
    literal = "the end of the line" if word else "the end"
    return reader.error(f"expected {expected}, found {literal}", back=1 if word else 0)
