"""Parsing of a text that the parser refuses as a whole: what it does not take is put aside.

Three things are tried, one after the other:

1. Names that can only be types are declared (:mod:`~polygym.frontend.c.source.unknown_types`), and
   functions without a type return an int, as in C of old.
2. Each declaration at file scope and each function is parsed alone. One that is refused leaves the
   text, and a node in its place (:mod:`~polygym.frontend.c.source.unreadable`).
3. The rest is parsed as a whole. Where that fails, the first refusal stands.

A function with a marked region is never put aside: its own refusal is reported.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from pycparser import c_ast
from pycparser.c_parser import Coord

from polygym.errors import SourceError
from polygym.frontend.c.source.locations import SourceMap
from polygym.frontend.c.source.unknown_types import (
    type_declaration,
    typedef_names,
    unknown_types,
)
from polygym.frontend.c.source.unreadable import (
    ParseProblem,
    UnreadableDeclaration,
    UnreadableFunction,
)
from polygym.frontend.c.tokens.file_declarations import (
    declaration_ranges,
    declared_names,
    is_function,
    is_name,
)
from polygym.frontend.c.tokens.origins import SourceToken
from polygym.frontend.c.tokens.standard_headers import OPAQUE

ParseText = Callable[[str, int], Any]
"""Parses a text that stands so many rows further down in the preprocessed text."""

_STORAGE = frozenset({"static", "extern", "inline", "register"})
_BEHIND_NAME = frozenset({"(", ";", "=", ",", "["})


class PartRefused(Exception):
    """A text that the parser refuses: the problem, with its place in the preprocessed text."""

    def __init__(self, problem: ParseProblem, error: SourceError) -> None:
        """Keep both."""
        super().__init__(problem.message)
        self.problem, self.error = problem, error


def refuse_known(source: SourceMap, first: int, end: int) -> None:
    """Refuse a range of tokens with a construct of C++ that has no meaning in C."""
    for index in range(first, end) if source.problems else ():
        if index in source.problems:
            token, (message, hint) = source.tokens[index], source.problems[index]
            place = source.location_of_origin(token.origin)
            problem = ParseProblem(message, hint, token.row, token.column)
            raise PartRefused(problem, SourceError(place, message, hint))


@dataclass(frozen=True, slots=True)
class _Part:
    """A declaration or function that is not read: its first and last token, and why."""

    first: int
    last: int
    problem: ParseProblem


def tolerant_tree(source: SourceMap, refusal: PartRefused, parse_text: ParseText) -> Any:
    """Return the tree of a text without the parts that are not read.

    Raises:
        SourceError: Nothing else is left, or a region is in such a part.
    """
    text = _Text(source)
    if not source.problems:
        try:
            return parse_text(text.whole(), 0)
        except PartRefused:
            pass
    parts = text.unreadable_parts(parse_text)
    try:
        tree = parse_text(text.whole(parts), 0)
    except PartRefused as again:
        raise (again if source.problems else refusal).error from None
    if not parts or not tree.ext:
        raise refusal.error
    variables = {
        node.name: node
        for node in tree.ext
        if isinstance(node, c_ast.Decl) and node.name and not isinstance(node.type, c_ast.FuncDecl)
    }
    for part in parts:
        tree.ext.append(text.node(part, variables))
    return tree


class _Text:
    """The tokens of a preprocessed text, with declarations of unknown types."""

    def __init__(self, source: SourceMap) -> None:
        self._tokens: Sequence[SourceToken] = source.tokens
        self._source = source
        self._words = [token.text for token in source.tokens]
        self._rows = source.text.split("\n")
        header = self._rows[0].replace(";", " ;").replace("*", " * ").split()
        self._types = typedef_names(self._words) | typedef_names(header)
        unknown = unknown_types(self._words, self._types)
        self._rows[0] = " ".join([self._rows[0], *map(type_declaration, unknown)])
        self._types |= frozenset(unknown)
        self._ranges = declaration_ranges(self._words)
        for first, last in self._ranges:
            self._write_int(first, last)

    def _write_int(self, first: int, last: int) -> None:
        """Give a declaration without a type one, at the end of the row before."""
        index = first
        while index < last and self._words[index] in _STORAGE:
            index += 1
        following = self._words[index + 1] if index + 1 < last else ""
        token = self._tokens[index] if index < last else None
        if token is None or not is_name(token.text) or token.text in self._types:
            return
        if following in _BEHIND_NAME and token.column == 1:
            self._rows[token.row - 2] += " int"

    def whole(self, without: Sequence[_Part] = ()) -> str:
        """Return the text, with spaces instead of some parts.

        A type that such a part declares remains the name of one.
        """
        rows = list(self._rows)
        for part in without:
            first, last = self._tokens[part.first], self._tokens[part.last]
            for row in range(first.row, last.row + 1):
                line = rows[row - 1]
                start = first.column - 1 if row == first.row else 0
                # "int" at the end of a row belongs to the next one.
                end = last.column - 1 + len(last.text) if row == last.row else len(line)
                rows[row - 1] = line[:start] + " " * (end - start) + line[end:]
            words = self._words[part.first : part.last + 1]
            if "typedef" in words:
                rows[0] += "".join(
                    f" typedef struct {OPAQUE}{name} {name};" for name in declared_names(words)
                )
        return "\n".join(rows)

    def unreadable_parts(self, parse_text: ParseText) -> list[_Part]:
        """Return the parts that the parser refuses alone.

        Raises:
            SourceError: A marked region is in one of them.
        """
        parts = []
        for first, end in self._ranges:
            words = self._words[first:end]
            types = [word for word in dict.fromkeys(words) if word in self._types]
            known = " ".join(f"typedef int {name};" for name in types)
            begin, last = self._tokens[first], self._tokens[end - 1]
            rows = self._rows[begin.row - 1 : last.row]
            rows[-1] = rows[-1][: last.column - 1 + len(last.text)]
            rows[0] = " " * (begin.column - 1) + rows[0][begin.column - 1 :]
            if begin.column == 1 and self._rows[begin.row - 2].endswith(" int"):
                known += " int"
            try:
                refuse_known(self._source, first, end)
                parse_text("\n".join([known, *rows, ""]), begin.row - 2)
            except PartRefused as refused:
                if any(word.startswith("#pragma") for word in words):
                    raise refused.error from None
                parts.append(_Part(first, end - 1, refused.problem))
        return parts

    def node(self, part: _Part, variables: dict[str, Any]) -> Any:
        """Return the node of a part."""
        words = self._words[part.first : part.last + 1]
        names = sorted(declared_names(words))
        place = self._place(part.first)
        if not is_function(words) or len(names) != 1:
            return UnreadableDeclaration(names, words, part.problem, place.coord)
        mentioned = [variables[word] for word in dict.fromkeys(words) if word in variables]
        body = self._place(part.first + words.index("{"))
        node = UnreadableFunction(
            names[0], mentioned, part.problem, place, has_loops="for" in words or "while" in words
        )
        node.body.coord = body.coord
        return node

    def _place(self, index: int) -> Any:
        """Return a node at a token."""
        token = self._tokens[index]
        return c_ast.EmptyStatement(Coord("", token.row, token.column))
