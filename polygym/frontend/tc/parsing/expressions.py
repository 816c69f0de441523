"""Words → expressions, by recursive descent; the grammar is that of ``parse``.

A level of precedence is a function of itself: what it reads are operands of the next tighter level
with operators of its own between them.

The words of a tensor comprehension: names, numbers, operators, each with its place.

Comments run from ``#`` to the end of the line. A number is what C takes for one: ``1``, ``0.5``,
``1e-3``, ``2.f``; its suffix is part of it. Whole numbers are decimal and signed: C's ``0x7f``,
``0777`` and ``3u`` are refused. A name may begin with digits, as ``2LUT`` does, if it is no number.
``+=!`` is one word, ``min=`` and ``max=`` too (with no space before the ``=``), so that ``min``
alone stays a function.
"""

import math
import re
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from enum import Enum
from typing import TypeVar

from polygym.errors import SourceError, SourceLocation
from polygym.frontend.tc.semantics.functions import function_named
from polygym.frontend.tc.syntax import tree


class TokenKind(Enum):
    """What a word is."""

    NAME = "a name"
    NUMBER = "a number"
    SYMBOL = "a symbol"
    END = "the end of the text"


_Item = TypeVar("_Item")


@dataclass(frozen=True, slots=True)
class TcToken:
    """A word and where it stands."""

    kind: TokenKind
    text: str
    location: SourceLocation


_TOKEN_PATTERN = re.compile(
    r"""
    (?P<skip>    [ \t\r\f\v\n]+ | \#[^\n]* )
  | (?P<REDUCE>  (?: min | max ) =!? (?!=) )
  | (?P<NUMBER>  (?: [0-9]+ (?: \.[0-9]* )? | \.[0-9]+ ) (?: [eE][+-]?[0-9]+ )? [fFlL]?
                 (?! [A-Za-z0-9_] ) )
  | (?P<NAME>    [0-9]* [A-Za-z_] [A-Za-z0-9_]* )
  | (?P<SYMBOL>  \+=!? | \*=!? | -> | <=> | == | != | <= | >= | && | \|\|
               | [-+*/%<>=!?:.,(){}] )
    """,
    re.VERBOSE,
)

# What C, or Python, takes for a whole number, and the language does not.
_C_NUMBER_PATTERN = re.compile(
    r"0[xX][0-9a-fA-F]+|0[bB][01]+|0[oO]?[0-9]+|[0-9]+(?=[uU]|[lL][lLuU])"
)
_HINTS = {
    "[": "subscripts and sizes stand in parentheses: A(i, j)",
    ";": "nothing stands between statements",
    "^": "a power is pow(x, y)",
    "&": "both hold is x && y",
    "|": "one of them holds is x || y",
}
_SUFFIX = re.compile(r"[uUlL]{0,3}")
_LONGEST_SHOWN = 30


def tokenize(text: str, file: str) -> tuple[TcToken, ...]:
    """Return the words of a text, and the end, behind the last one; a byte order mark is none.

    Raises:
        SourceError: a character begins no word, or a word is a number of another language.
    """
    text = text.removeprefix("\ufeff")
    lines = [line.removesuffix("\r") for line in text.split("\n")]
    tc_tokens: list[TcToken] = []
    position, line, start = 0, 1, 0

    def place(at: int) -> SourceLocation:
        return SourceLocation(file, line, at - start + 1, lines[line - 1])

    while position < len(text):
        match = _TOKEN_PATTERN.match(text, position)
        if match is None:
            raise SourceError(
                place(position),
                f"expected a name, a number or an operator, found {text[position]!r}",
                _HINTS.get(text[position], ""),
            )
        word = match.group()
        if match.lastgroup == "skip":
            for offset, character in enumerate(word):
                if character == "\n":
                    line, start = line + 1, position + offset + 1
        else:
            _check_number(word, place(position))
            kind = "SYMBOL" if match.lastgroup == "REDUCE" else str(match.lastgroup)
            tc_tokens.append(TcToken(TokenKind[kind], word, place(position)))
        position = match.end()
    last = tc_tokens[-1].location if tc_tokens else place(position)
    behind = replace(last, column=last.column + len(tc_tokens[-1].text)) if tc_tokens else last
    return (*tc_tokens, TcToken(TokenKind.END, "", behind))


def _check_number(word: str, place: SourceLocation) -> None:
    """Refuse ``0x7f``, ``0777``, ``3u`` and the like, which would be names, or mean another value.

    >>> _check_number("0x7fu", SourceLocation("a.tc", 1, 1))
    Traceback (most recent call last):
        ...
    polygym.errors.SourceError: a.tc:1:1: error: expected a decimal number, found 0x7fu
        hint: say 127, or uint32(127) for that type
    """
    match = _C_NUMBER_PATTERN.match(word)
    if match is None or not _SUFFIX.fullmatch(word, match.end()):
        return
    digits, suffix = match.group(), word[match.end() :].lower()
    raise SourceError(
        place, f"expected a decimal number, found {word}", _number_hint(digits, suffix)
    )


def _number_hint(digits: str, suffix: str) -> str:
    """Return the hint of how the language has a number of C."""
    if len(digits) > _LONGEST_SHOWN:
        return ""
    is_octal = digits.isdigit() and digits.startswith("0")
    decimal = digits.lstrip("0") or "0"
    if not is_octal:
        decimal = str(int(digits, 0))
    elif set(digits) <= set("01234567") and (octal := str(int(digits, 8))) != decimal:
        decimal += f", or {octal} if it was to be octal"
    if not suffix:
        return f"say {decimal}"
    type_name = ("u" if "u" in suffix else "") + ("int64" if "l" in suffix else "int32")
    return f"say {decimal}, or {type_name}({decimal}) for that type"


# No word may be called so; "in" may, since it is one only behind the name of a range.
_KEYWORDS = frozenset({"def", "where", "exists"})

# What other languages write with two words that cannot stand side by side here.
_PAIR_HINTS = {
    "**": "a power is pow(x, y)",
    "//": "a comment begins with #, a quotient is x / y",
    "/*": "a comment begins with #",
    "-=": "to subtract is to add what is negated: C(i) += -(...)",
    "/=": "a quotient is assigned: C(i) = C(i) / (...)",
    "++": "to count is to add: C(i) += 1",
}


@dataclass
class TokenStream:
    """The words, and how far they have been read."""

    tokens: tuple[TcToken, ...]
    position: int = 0

    @property
    def next_token(self) -> TcToken:
        """The next word."""
        return self.tokens[self.position]

    def peek(self, count: int) -> TcToken:
        """Return a later word, the end if there are not so many."""
        return self.tokens[min(self.position + count, len(self.tokens) - 1)]

    def take(self) -> TcToken:
        """Return the next word and go on."""
        word = self.next_token
        if word.kind is not TokenKind.END:
            self.position += 1
        return word

    def error(self, expected: str, hint: str = "") -> SourceError:
        """Return the refusal of the next word."""
        word = self.next_token
        result = TokenKind.END.value if word.kind is TokenKind.END else repr(word.text)
        here = "".join(token.text for token in (word, self.peek(1)))
        before = "".join(token.text for token in self.tokens[max(self.position - 1, 0) :][:2])
        hint = hint or _PAIR_HINTS.get(before, "") or _PAIR_HINTS.get(here, "")
        return SourceError(word.location, f"expected {expected}, found {result}", hint)

    def is_next(self, text: str) -> bool:
        """Whether the next word is a certain one."""
        return self.next_token.text == text and self.next_token.kind is not TokenKind.END

    def skip(self, text: str) -> bool:
        """Go on if the next word is a certain one; say whether it was."""
        if self.is_next(text):
            self.take()
            return True
        return False

    def expect(self, text: str, context: str) -> TcToken:
        """Take a certain word."""
        if not self.is_next(text):
            raise self.error(f"{text!r} {context}")
        return self.take()

    def name(self, what: str) -> TcToken:
        """Take a name that is no keyword."""
        if self.next_token.kind is not TokenKind.NAME or self.next_token.text in _KEYWORDS:
            raise self.error(what)
        return self.take()

    def name_use(self, what: str) -> tree.NameUse:
        """Take a name without subscripts."""
        word = self.name(what)
        return tree.NameUse(word.text, word.location)

    def sequence(self, read: Callable[[], _Item], what: str) -> list[_Item]:
        """Read items with commas between them, up to the closing parenthesis, and take that."""
        items: list[_Item] = []
        while not self.is_next(")"):
            if items:
                self.expect(",", f"or ')' after {what}")
            items.append(read())
        self.take()
        return items


_DIMENSION = re.compile(r"\.[0-9]{1,9}")

# Each level of parentheses costs several of Python's frames.
_MOST_DEPTH = 60
_LONGEST_NUMBER = 30


@dataclass
class ExpressionParser(TokenStream):
    """The words, and what the definition at hand says of names.

    ``tensor_sizes`` are the sizes with which it declares tensors, ``definitions`` the names that
    mean other definitions.
    """

    depth: int = 0
    tensor_sizes: dict[str, tuple[tree.NameUse | tree.NumberLiteral, ...]] = field(
        default_factory=dict
    )
    definitions: set[str] = field(default_factory=set)

    def expression(self) -> tree.Expression:
        """Read an expression, with ``?:`` the loosest."""
        self.depth += 1
        if self.depth > _MOST_DEPTH:
            raise self.error("an expression that is not so deeply nested")
        condition = self.infix(0)
        if self.is_next("?"):
            place = self.take().location
            then = self.expression()
            self.expect(":", "and the other value")
            otherwise = self.expression()
            condition = tree.ConditionalExpression(condition, then, otherwise, place)
        self.depth -= 1
        return condition

    def infix(self, level: int) -> tree.Expression:
        """Read operators of one precedence and tighter ones."""
        if level == len(tree.PRECEDENCE):
            return self.prefix()
        left, row = self.infix(level + 1), tree.PRECEDENCE[level]
        while self.next_token.kind is TokenKind.SYMBOL and self.next_token.text in row:
            word = self.take()
            operator, right = tree.InfixOperator(word.text), self.infix(level + 1)
            left = tree.InfixExpression(operator, left, right, word.location)
        return left

    def prefix(self) -> tree.Expression:
        """Read ``-x``, ``!x``, or what they stand before."""
        operators: list[tuple[tree.PrefixOperator, SourceLocation]] = []
        while self.next_token.text in ("-", "!") and self.next_token.kind is TokenKind.SYMBOL:
            if len(operators) == _MOST_DEPTH:
                raise self.error("a value after so many operators")
            word = self.take()
            operators.append((tree.PrefixOperator(word.text), word.location))
        value = self.primary()
        for operator, place in reversed(operators):
            value = tree.PrefixExpression(operator, value, place)
        return value

    def primary(self) -> tree.Expression:
        """Read a number, a name, an element, a call, a conversion, or parentheses."""
        if self.next_token.kind is TokenKind.NUMBER:
            return self.number()
        if self.skip("("):
            value = self.expression()
            self.expect(")", "to close '('")
            return value
        word = self.name("an expression")
        if _DIMENSION.fullmatch(self.next_token.text):
            return self.dimension(word)
        if word.text == "INFINITY":
            return tree.NumberLiteral(math.inf, word.text, word.location)
        if not self.is_next("("):
            return tree.NameUse(word.text, word.location)
        if word.text in self.definitions and function_named(word.text) is None:
            raise SourceError(
                word.location,
                f"{word.text} is a definition: expected a tensor or a function",
                f"a call of it is a statement of its own, without indices: C = {word.text}(...)",
            )
        self.take()
        arguments = self.sequence(self.expression, "an argument")
        if word.text in tree.TYPE_NAMES:
            if len(arguments) != 1:
                raise SourceError(
                    word.location,
                    f"{word.text}(...): expected one value to convert, found {len(arguments)}",
                )
            return tree.ConvertExpression(tree.TYPE_NAMES[word.text], arguments[0], word.location)
        return tree.ElementOrCall(word.text, tuple(arguments), word.location)

    def dimension(self, tensor: TcToken) -> tree.NameUse | tree.NumberLiteral:
        """Read the ``.0`` of ``A.0``; return the size that A is declared with."""
        if tensor.text not in self.tensor_sizes:
            raise SourceError(
                tensor.location,
                f"{tensor.text}{self.next_token.text}: expected a tensor with declared sizes, "
                f"found {tensor.text}",
                f"those are: {', '.join(self.tensor_sizes) or 'there is none'}",
            )
        sizes, number = self.tensor_sizes[tensor.text], int(self.next_token.text[1:])
        if number >= len(sizes):
            raise SourceError(
                tensor.location,
                f"{tensor.text}{self.next_token.text}: {tensor.text} has {len(sizes)} "
                "dimension(s), counted from 0",
            )
        self.take()
        return replace(sizes[number], location=tensor.location)

    def number(self) -> tree.NumberLiteral:
        """Read a literal."""
        word = self.take()
        digits = word.text.rstrip("fFlL")
        is_whole = digits.isdigit() and not word.text.lower().endswith("f")
        if is_whole and (len(digits) > _LONGEST_NUMBER or int(digits) >= 1 << 63):
            raise SourceError(word.location, "expected a number that fits 64 bits")
        value = int(digits) if is_whole else float(digits)
        return tree.NumberLiteral(value, word.text, word.location)
