"""Terms as text: s-expressions, ``(f ?x (g 1 same))``; errors say where.

A word in parentheses is a head with children, a word alone a leaf; ``()`` is none. Numbers are
numbers: ``1`` an int, ``1.0`` and ``1e-5`` floats. ``;`` begins a comment that ends with the line.
Words with spaces, parentheses or quotes in them, or that look like numbers, stand in double quotes.

    >>> term_text(parse_term("(matmul none ?x (transpose ?y 1-0)) ; a product"))
    '(matmul none ?x (transpose ?y 1-0))'
"""

import json
import math
import re
from collections.abc import Iterator
from dataclasses import dataclass

from polygym.errors import SourceError, SourceLocation
from polygym.rewrite.term import Head, Term, postorder, term

_TOKEN = re.compile(r"""[ \t\r\f\v]+|;[^\n]*|\n|[()]|"(?:[^"\\\n]|\\.)*"|[^\s()";]+|.""")
_INTEGER = re.compile(r"[+-]?\d+")
_REAL = re.compile(r"[+-]?(\d+\.\d*|\.\d+|\d+(?=[eE]))([eE][+-]?\d+)?")
_NON_FINITE = re.compile(r"[+-]?inf|nan")


@dataclass(frozen=True, slots=True)
class TermToken:
    """A word or a parenthesis, and where it stands."""

    text: str
    line: int
    column: int


def tokenize(text: str, file: str = "<text>") -> Iterator[TermToken]:
    """Yield what a text consists of, without spaces and comments."""
    line, start = 1, 0
    for match in _TOKEN.finditer(text):
        word = match.group()
        if word == "\n":
            line, start = line + 1, match.end()
        elif word == '"':
            place = _place(text, file, line, match.start() - start + 1)
            raise SourceError(place, "expected the end of a quoted word, found the end of the line")
        elif not (word.isspace() or word.startswith(";")):
            yield TermToken(word, line, match.start() - start + 1)


class TermReader:
    """Takes a text apart, token by token; what is expected and is not there is an error."""

    def __init__(self, text: str, file: str = "<text>") -> None:
        """Begin with the first token."""
        self._text, self._file = text, file
        self._tokens = list(tokenize(text, file))
        self._next = 0

    def peek(self, ahead: int = 0) -> str:
        """Return the text of a token to come, "" at the end."""
        place = self._next + ahead
        return self._tokens[place].text if place < len(self._tokens) else ""

    def take(self, expected: str = "") -> str:
        """Return the next token, which must be a certain one if that is said.

        Raises:
            SourceError: it is not.
        """
        result = self.peek()
        if not result or (expected and result != expected):
            wanted = repr(expected) if expected else "a word"
            raise self.error(f"expected {wanted}, found {repr(result) if result else 'the end'}")
        self._next += 1
        return result

    def error(self, message: str, back: int = 0) -> SourceError:
        """Return an error at the next token, or at one that was taken already."""
        if not self._tokens:
            return SourceError(_place(self._text, self._file, 1, 1), message)
        place = min(self._next - back, len(self._tokens) - 1)
        token = self._tokens[max(place, 0)]
        column = token.column + (len(token.text) if self._next - back > place else 0)
        return SourceError(_place(self._text, self._file, token.line, column), message)

    def line(self) -> int:
        """Return the line of the next token, 0 at the end."""
        return self._tokens[self._next].line if self._next < len(self._tokens) else 0

    def expression(self) -> Term:
        """Return the next term; depth is limited by memory alone."""
        open_ones: list[tuple[Head, list[Term]]] = []
        while True:
            word = self.take()
            if word == "(":
                head = self.take()
                if head in ("(", ")"):
                    raise self.error(f"expected a word after '(', found {head!r}", back=1)
                open_ones.append((self._head(head), []))
                continue
            if word == ")":
                if not open_ones:
                    raise self.error("expected a word or '(', found ')'", back=1)
                head_of, children = open_ones.pop()
                made = term(head_of, *children)
            else:
                made = term(self._head(word))
            if not open_ones:
                return made
            open_ones[-1][1].append(made)

    def _head(self, word: str) -> Head:
        try:
            return _head(word)
        except ValueError:
            # An escape that JSON does not have, or more digits than Python reads.
            shown = word if len(word) <= 40 else f"{word[:40]}…"
            raise self.error(f"expected a word or a number, found {shown}", back=1) from None


def parse_term(text: str, file: str = "<text>") -> Term:
    """Return the one term of a text.

    Raises:
        SourceError: it is none; says where.
    """
    reader = TermReader(text, file)
    result = reader.expression()
    if reader.peek():
        raise reader.error(f"expected the end after the term, found {reader.peek()!r}")
    return result


def term_text(root: Term) -> str:
    """Return the text of a term; what is shared is written as often as it is used."""
    made: dict[Term, str] = {}
    for node in postorder([root]):
        head = _head_text(node.head)
        inner = " ".join([head, *(made[child] for child in node.children)])
        made[node] = f"({inner})" if node.children else head
    return made[root]


def is_integer(text: str) -> bool:
    """Whether a word is an integer."""
    return bool(_INTEGER.fullmatch(text))


def is_decimal(text: str) -> bool:
    """Whether a word is a number with a point or an exponent; inf and nan are none.

    >>> [is_decimal(word) for word in ("1.0", "1e-5", ".5", "1", "inf")]
    [True, True, True, False, False]
    """
    return bool(_REAL.fullmatch(text))


def _head(word: str) -> Head:
    if word.startswith('"'):
        return str(json.loads(word))
    if is_integer(word):
        return int(word)
    if is_decimal(word) or _NON_FINITE.fullmatch(word):
        return float(word)
    return word


def _head_text(head: Head) -> str:
    if isinstance(head, str):
        is_plain = bool(re.fullmatch(r'[^\s()";]+', head)) and isinstance(_head(head), str)
        return head if is_plain else json.dumps(head, ensure_ascii=False)
    if isinstance(head, float) and math.isfinite(head):
        return repr(head)
    return str(head)


def _place(text: str, file: str, line: int, column: int) -> SourceLocation:
    lines = text.split("\n")
    return SourceLocation(file, line, column, lines[line - 1] if line <= len(lines) else "")
