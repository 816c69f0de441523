"""Syntax trees of single functions, with pragmas put around a range of tokens.

A range of statements is tried as a region many times, and a pass may change the tree that it gets.
So each trial gets a tree of its own, of the function, of those that it calls, and of what is
declared around them, in which the region is marked as if the pragmas had been in the text.
"""

import pickle
from typing import Any

from pycparser import c_ast

from polygym.frontend.c.source.function_bodies import BodyReader, StatementBlock
from polygym.frontend.c.source.locations import SourceMap
from polygym.frontend.c.source.syntax import names_in, walk


class FunctionTree:
    """A function that holds no pragmas: its statements, and copies of its syntax tree."""

    def __init__(self, source: SourceMap, tree: Any, function: Any) -> None:
        """Take the function, and what it needs, from the tree of a file without pragmas."""
        self.name: str = function.decl.name
        self._source = source
        body = function.body.coord
        self.block: StatementBlock = BodyReader(source).block(
            source.token_index(body.line, body.column)
        )
        self._packed = pickle.dumps(_needed_part(tree, function), pickle.HIGHEST_PROTOCOL)
        self.functions = frozenset(
            node.decl.name for node in tree.ext if isinstance(node, c_ast.FuncDef)
        )
        nodes = walk(function.body, c_ast.Decl, c_ast.Typedef)
        self._declarations = frozenset(self._index(node) for node in nodes if node.coord)

    def is_declaration(self, first: int, last: int) -> bool:
        """Whether a range of tokens is a declaration."""
        return any(index in self._declarations for index in range(first, last + 1))

    def tree(self, first: int, last: int) -> Any:
        """Return a new tree with pragmas around the statements between two tokens."""
        tree = pickle.loads(self._packed)
        function = next(
            node
            for node in tree.ext
            if isinstance(node, c_ast.FuncDef) and node.decl.name == self.name
        )
        if not (self._mark_in_block(function, first, last) or self._wrap(function, first, last)):
            raise AssertionError("the range is none of statements of one block")
        return tree

    def _index(self, node: Any) -> int:
        return self._source.token_index(node.coord.line, node.coord.column or 1)

    def _mark_in_block(self, function: Any, first: int, last: int) -> bool:
        """Put pragmas into the block that has the statements, if one has."""
        for block in walk(function.body, c_ast.Compound, c_ast.Case, c_ast.Default):
            items = getattr(block, "block_items", None) or getattr(block, "stmts", None) or []
            inside = [
                place
                for place, item in enumerate(items)
                if item.coord is not None and first <= self._index(item) <= last
            ]
            if inside:
                begin, end = inside[0], inside[-1] + 1
                region = items[begin:end]
                items[begin:end] = _marked(region)
                return True
        return False

    def _wrap(self, function: Any, first: int, last: int) -> bool:
        """Put braces and pragmas around a body that has no braces, if the statement is one."""
        for node in walk(function.body):
            for name in ("stmt", "iftrue", "iffalse"):
                body = getattr(node, name, None)
                if body is None or isinstance(body, c_ast.Compound) or body.coord is None:
                    continue
                if first <= self._index(body) <= last:
                    setattr(node, name, c_ast.Compound(_marked([body]), body.coord))
                    return True
        return False


def _marked(region: list[Any]) -> list[Any]:
    """Return statements between pragmas, which stand where the first and the last statement do."""
    begin = c_ast.Pragma("scop", region[0].coord)
    return [begin, *region, c_ast.Pragma("endscop", region[-1].coord)]


def _needed_part(tree: Any, function: Any) -> Any:
    """Return a tree of a function, those that it names, and all declarations."""
    functions = {node.decl.name: node for node in tree.ext if isinstance(node, c_ast.FuncDef)}
    needed, waiting = {function.decl.name}, [function]
    while waiting:
        names = names_in(waiting.pop()) & set(functions)
        waiting += [functions[name] for name in names - needed]
        needed |= names
    kept = [
        node for node in tree.ext if not isinstance(node, c_ast.FuncDef) or node.decl.name in needed
    ]
    return c_ast.FileAST(kept)


def without_pragmas(tree: Any) -> Any:
    """Take the pragmas that mark regions out of a tree, and return it."""
    tree.ext = [node for node in tree.ext if not isinstance(node, c_ast.Pragma)]
    for block in walk(tree, c_ast.Compound, c_ast.Case, c_ast.Default):
        for name in ("block_items", "stmts"):
            items = getattr(block, name, None)
            if items:
                items[:] = [item for item in items if not isinstance(item, c_ast.Pragma)]
    return tree
