"""Statements of functions as ranges of tokens: where each begins and ends, and what is inside.

pycparser's nodes know where they begin, roughly, and not where they end. A region is put into the
user's text, so both ends have to be right::

    void f(int n) { int i; for (i = 0; i < n; i++) { x[i] = 0; } done: return; }
                    |----| |-----------------------------------| |-----------|
                     plain          loop, with a block               exit

The tokens are those after preprocessing; pragmas that mark regions are no statements.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from enum import Enum

from polygym.errors import InputError, SourceError
from polygym.frontend.c.source.enclosing_functions import CompletedText
from polygym.frontend.c.source.locations import SourceMap
from polygym.frontend.c.source.region_mark import RegionMark, insert_pragmas

_CLOSING = {"(": ")", "{": "}", "[": "]"}
_LOOPS = frozenset({"for", "while", "do"})
_EXITS = frozenset({"return", "goto", "break", "continue", "asm"})


class StatementKind(Enum):
    """The kinds of statements that matter to the search for regions."""

    LOOP = "loop"
    BRANCH = "branch"
    BLOCK = "block"
    EXIT = "exit"  # a jump, a return, or a case of a switch: it stands in no region
    PLAIN = "plain"


@dataclass(frozen=True, slots=True)
class StatementBlock:
    """The body of a statement: its statements, and whether braces are around them."""

    statements: tuple["TokenStatement", ...]
    has_braces: bool


@dataclass(frozen=True, slots=True)
class TokenStatement:
    """A statement: the indices of its first and its last token, and the blocks inside."""

    kind: StatementKind
    first: int
    last: int
    blocks: tuple[StatementBlock, ...] = ()

    @property
    def has_loops(self) -> bool:
        """Whether it is a loop or has one inside."""
        return self.kind is StatementKind.LOOP or any(
            statement.has_loops for block in self.blocks for statement in block.statements
        )

    def loops(self) -> Iterator["TokenStatement"]:
        """Yield the outermost loops: itself, or those inside."""
        if self.kind is StatementKind.LOOP:
            yield self
            return
        for block in self.blocks:
            for statement in block.statements:
                yield from statement.loops()


class BodyReader:
    """The statements of a function's body, read from tokens that the parser has taken for C."""

    def __init__(self, source: SourceMap) -> None:
        """Keep the tokens, and where their brackets close."""
        self._texts = [token.text for token in source.tokens]
        self._closing = matching_brackets(self._texts)

    def block(self, opening: int) -> StatementBlock:
        """Return the block whose brace opens at a token."""
        statements: list[TokenStatement] = []
        index, end = opening + 1, self._closing[opening]
        while index < end:
            if self._texts[index].startswith("#"):
                index += 1
                continue
            statement = self._statement(index)
            statements.append(statement)
            index = statement.last + 1
        return StatementBlock(tuple(statements), True)

    def _statement(self, index: int) -> TokenStatement:
        """Return the statement that begins at a token."""
        word = self._texts[index]
        following = self._texts[index + 1] if index + 1 < len(self._texts) else ""
        if word == "{":
            block = self.block(index)
            return TokenStatement(StatementKind.BLOCK, index, self._closing[index], (block,))
        if word in ("for", "while", "switch"):
            body = self._body(self._closing[index + 1] + 1)
            kind = StatementKind.LOOP if word in _LOOPS else StatementKind.BRANCH
            return TokenStatement(kind, index, body.last, (self._as_block(body),))
        if word == "do":
            body = self._body(index + 1)
            last = self._closing[body.last + 2] + 1  # } while ( … ) ;
            return TokenStatement(StatementKind.LOOP, index, last, (self._as_block(body),))
        if word == "if":
            return self._branch(index)
        if word in ("case", "default"):
            return TokenStatement(StatementKind.EXIT, index, self._end_of_label(index))
        if following == ":" and word.isidentifier():
            inner = self._body(index + 2)
            return TokenStatement(inner.kind, index, inner.last, inner.blocks)
        kind = StatementKind.EXIT if word in _EXITS else StatementKind.PLAIN
        return TokenStatement(kind, index, self._end_of_plain(index))

    def _body(self, index: int) -> TokenStatement:
        """Return the statement at a token, pragmas before it passed over."""
        while self._texts[index].startswith("#"):
            index += 1
        return self._statement(index)

    def _branch(self, index: int) -> TokenStatement:
        then = self._body(self._closing[index + 1] + 1)
        blocks, last = [self._as_block(then)], then.last
        if last + 1 < len(self._texts) and self._texts[last + 1] == "else":
            other = self._body(last + 2)
            blocks.append(self._as_block(other))
            last = other.last
        return TokenStatement(StatementKind.BRANCH, index, last, tuple(blocks))

    def _as_block(self, body: TokenStatement) -> StatementBlock:
        if body.kind is StatementKind.BLOCK and self._texts[body.first] == "{":
            return body.blocks[0]
        return StatementBlock((body,), False)

    def _end_of_label(self, index: int) -> int:
        depth = 0
        while self._texts[index] != ":" or depth:
            depth += (self._texts[index] == "?") - (self._texts[index] == ":")
            index += 1
        return index

    def _end_of_plain(self, index: int) -> int:
        while self._texts[index] != ";":
            index = self._closing.get(index, index) + 1
        return index


def matching_brackets(texts: Sequence[str]) -> dict[int, int]:
    """Return for the token of every opening bracket that of the closing one.

    >>> matching_brackets(["f", "(", "a", "[", "0", "]", ")"])
    {3: 5, 1: 6}
    """
    result: dict[int, int] = {}
    opened: list[int] = []
    for index, text in enumerate(texts):
        if text in _CLOSING:
            opened.append(index)
        elif opened and text == _CLOSING[texts[opened[-1]]]:
            result[opened.pop()] = index
    return result


def insert_at_mark(source: SourceMap, text: str, file: str, mark: RegionMark) -> CompletedText:
    """Return a text with pragmas around a marked region, those of the same function taken out.

    Raises:
        InputError: No statement begins or ends there any more.
    """
    origins = [token.origin for token in source.tokens]
    places = [(o.line, o.column) if o.file == file else None for o in origins]
    start = next((index for index, place in enumerate(places) if place == mark.first), None)
    if start is None:
        raise InputError(
            f"{file}: expected a statement at line {mark.first[0]}, column {mark.first[1]}, found "
            "none: the file or its flags have changed"
        )
    brackets = matching_brackets([token.text for token in source.tokens])
    around = [(opens, end) for opens, end in brackets.items() if opens < start < end]
    bodies = [pair for pair in around if source.tokens[pair[0]].text == "{"]
    if not bodies:
        raise SourceError(
            source.location_of_origin(origins[start]), "expected a region in a function"
        )
    outer = min(bodies)
    lines = [places[index] for index in outer]
    first, last = (place[0] if place else mark.first[0] for place in lines)
    return insert_pragmas(text, mark, (min(first, mark.first[0]), max(last, mark.last[0])))
