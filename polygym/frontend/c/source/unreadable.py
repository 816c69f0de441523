"""Nodes for the parts of a file that the parser does not take, and the refusal of their use.

A function that is no C as the parser knows it, or a declaration, need not matter to a region. It
stays in the tree as a node of its own: the function as one that may change every variable at file
scope that it names, so that all who ask for changes see them.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

from pycparser import c_ast

from polygym.errors import SourceError
from polygym.frontend.c.source import syntax
from polygym.frontend.c.source.locations import SourceMap

_UNKNOWN = "unreadable_statement"


@dataclass(frozen=True, slots=True)
class ParseProblem:
    """Why a part is not read, and where: a row and a column of the preprocessed text."""

    message: str
    hint: str
    row: int
    column: int


class UnreadableDeclaration(c_ast.Node):  # type: ignore[misc]
    """A declaration at file scope that is not read: the names that it may declare, and why.

    ``mentioned`` are all its words: it may take the address of what they mean.
    """

    __slots__ = ("coord", "mentioned", "names", "problem")
    attr_names: ClassVar[tuple[str, ...]] = ()

    def __init__(
        self, names: Sequence[str], mentioned: Sequence[str], problem: ParseProblem, coord: Any
    ) -> None:
        """Keep them."""
        self.names, self.mentioned = tuple(names), frozenset(mentioned)
        self.problem, self.coord = problem, coord

    def children(self) -> tuple[()]:
        """Return no nodes."""
        return ()


class UnreadableFunction(c_ast.FuncDef):  # type: ignore[misc]
    """A function that is not read: it may change the variables at file scope that it names."""

    __slots__ = ("body", "coord", "decl", "has_loops", "param_decls", "problem")
    attr_names: ClassVar[tuple[str, ...]] = ()

    def __init__(
        self, name: str, changed: Sequence[Any], problem: ParseProblem, coord: Any, has_loops: bool
    ) -> None:
        """Give it a body that changes variables, of which the declarations are given."""
        head = c_ast.FuncDecl(None, syntax.type_named(syntax.type_node("int", coord), name), coord)
        head.type.coord = head.coord = coord.coord
        declaration = c_ast.Decl(name, [], [], [], [], head, None, None, coord.coord)
        items = [item for node in changed for item in _changes(node.name, coord)]
        super().__init__(declaration, None, c_ast.Compound(items, coord.coord), coord.coord)
        self.problem, self.has_loops = problem, has_loops


def _changes(name: str, like: Any) -> Iterator[Any]:
    """Yield statements after which nothing is known of a variable."""
    address = c_ast.UnaryOp("&", c_ast.ID(name, like.coord), like.coord)
    call = c_ast.FuncCall(c_ast.ID(_UNKNOWN, like.coord), None, like.coord)
    yield c_ast.Assignment(
        "=", c_ast.ID(name, like.coord), syntax.with_operands(call, [address]), like.coord
    )


def problem_error(problem: ParseProblem, source: SourceMap) -> SourceError:
    """Return the refusal of what is not read."""
    place = source.location_at(problem.row, problem.column)
    return SourceError(place, problem.message, problem.hint)


def unread_nodes(tree: Any) -> list[Any]:
    """Return the parts of a file that are not read."""
    return [
        node for node in tree.ext if isinstance(node, UnreadableFunction | UnreadableDeclaration)
    ]


def refuse_unreadable(tree: Any, function: Any, items: Sequence[Any], source: SourceMap) -> None:
    """Refuse a region, by its function and its statements, that uses what is not read.

    Raises:
        SourceError: The reason for which that is not read.
    """
    unread = unread_nodes(tree)
    if not unread:
        return
    functions = {node.decl.name: node for node in tree.ext if isinstance(node, c_ast.FuncDef)}
    called = _reachable(items, functions)
    read = [node for node in called if not isinstance(node, UnreadableFunction)]
    names = set(_mentioned([function, *read]))
    for node in unread:
        is_used = (
            node in called if isinstance(node, UnreadableFunction) else names & set(node.names)
        )
        if is_used:
            raise problem_error(node.problem, source)


def _reachable(items: Sequence[Any], functions: dict[str, Any]) -> list[Any]:
    """Return the functions that statements name, and those that these name."""
    result: dict[str, Any] = {}
    waiting: list[Any] = list(items)
    while waiting:
        for name in syntax.names_in(waiting.pop()) & set(functions) - set(result):
            result[name] = functions[name]
            waiting.append(functions[name].body)
    return list(result.values())


def _mentioned(nodes: Sequence[Any]) -> Iterator[str]:
    """Yield all names in functions: of variables, types and structures."""
    for node in syntax.walk(list(nodes)):
        match node:
            case c_ast.ID() | c_ast.Struct() | c_ast.Union() | c_ast.Enum():
                if node.name:
                    yield node.name
            case c_ast.IdentifierType():
                yield from node.names
