"""Text → syntax tree, by recursive descent; a text that is none is refused at its first wrong word.

::

    text        = definition+
    definition  = "def" name "(" [parameter {"," parameter}] ")" "->" "(" [output {"," output}] ")"
                  "{" statement+ "}"
    parameter   = type ["(" [size {"," size}] ")"] name
    output      = [type ["(" [size {"," size}] ")"]] name
    size        = name | number
    statement   = name ["(" [name {"," name}] ")"] assign expression ["where" where {"," where}]
                | (name | "(" name {"," name} ")") "=" definition "(" [argument {"," argument}] ")"
    argument    = name | number
    assign      = "=" | ("+=" | "*=" | "min=" | "max=") ["!"]
    where       = name "in" expression ":" expression | name "=" expression | "exists" expression
    expression  = or ["?" expression ":" expression]
    or          = and {"||" and}                        and so on, with the precedences of C
    primary     = number | name ["(" [expression {"," expression}] ")"] | "(" expression ")"
                | name "." number

Here ``definition`` is the name of one that stands before; a call of it becomes its statements
(:mod:`polygym.tc.language.calls`). ``A.0`` is the first size that A is declared with.

Nothing separates statements: an expression ends where no operator follows, and the next word is the
name of the next statement's tensor.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from polygym.errors import Place, SourceError
from polygym.tc.language.calls import Call, inlined
from polygym.tc.language.syntax import (
    TYPE_NAMES,
    Assign,
    Choice,
    Convert,
    Definition,
    Element,
    Exists,
    Expression,
    In,
    Infix,
    Let,
    Name,
    Number,
    Operator,
    Output,
    Parameter,
    Prefix,
    Prefixed,
    Scalar,
    Statement,
    Where,
)
from polygym.tc.language.tokens import Kind, Token, tokens

# No word may be called so; "in" may, since it is one only behind the name of a range.
_KEYWORDS = frozenset({"def", "where", "exists"})

# From the loosest to the tightest; operators of one row associate to the left.
_PRECEDENCE = (
    ("||",),
    ("&&",),
    ("==", "!="),
    ("<", "<=", ">", ">="),
    ("+", "-"),
    ("*", "/", "%"),
)

_DIMENSION = re.compile(r"\.[0-9]{1,9}")

# Each level of parentheses costs several of Python's frames.
_DEEPEST = 60
_LONGEST_NUMBER = 30

_ASSIGNMENTS = {
    **{assign.value: (assign, False) for assign in Assign},
    **{f"{assign.value}!": (assign, True) for assign in Assign if assign is not Assign.SET},
}


def parse(text: str, file: str = "<text>") -> tuple[Definition, ...]:
    """Return the definitions of a text.

    Raises:
        SourceError: it is not one; with the place, what was expected, and what was found.
    """
    reader = _Reader(tokens(text, file))
    found: dict[str, Definition] = {}
    while reader.next.kind is not Kind.END:
        one = reader.definition(found)
        if one.name in found:
            raise SourceError(one.place, f"{one.name} is defined twice")
        found[one.name] = one
    if not found:
        raise SourceError(reader.next.place, "expected a definition, found an empty text")
    return tuple(found.values())


@dataclass
class _Reader:
    """The words, and how far they have been read; what the definition at hand declares."""

    words: tuple[Token, ...]
    position: int = 0
    depth: int = 0
    sizes_of: dict[str, tuple[Name | Number, ...]] = field(default_factory=dict)

    @property
    def next(self) -> Token:
        """The next word."""
        return self.words[self.position]

    def after(self, count: int) -> Token:
        """Return a later word, the end if there are not so many."""
        return self.words[min(self.position + count, len(self.words) - 1)]

    def take(self) -> Token:
        """Return the next word and go on."""
        word = self.next
        if word.kind is not Kind.END:
            self.position += 1
        return word

    def wrong(self, expected: str, hint: str = "") -> SourceError:
        """Return the refusal of the next word."""
        word = self.next
        found = Kind.END.value if word.kind is Kind.END else repr(word.text)
        return SourceError(word.place, f"expected {expected}, found {found}", hint)

    def is_next(self, text: str) -> bool:
        """Whether the next word is a certain one."""
        return self.next.text == text and self.next.kind is not Kind.END

    def skip(self, text: str) -> bool:
        """Go on if the next word is a certain one; say whether it was."""
        if self.is_next(text):
            self.take()
            return True
        return False

    def expect(self, text: str, context: str) -> Token:
        """Take a certain word."""
        if not self.is_next(text):
            raise self.wrong(f"{text!r} {context}")
        return self.take()

    def name(self, what: str) -> Token:
        """Take a name that is no keyword."""
        if self.next.kind is not Kind.NAME or self.next.text in _KEYWORDS:
            raise self.wrong(what)
        return self.take()

    # Definitions

    def definition(self, known: Mapping[str, Definition]) -> Definition:
        """Read a definition, which may call those that are known."""
        self.expect("def", "to begin a definition")
        name = self.name("the name of the definition")
        self.expect("(", "and the parameters")
        parameters: list[Parameter] = []
        while not self.is_next(")"):
            if parameters:
                self.expect(",", "or ')' after a parameter")
            parameters.append(self.parameter())
        self.take()
        self.expect("->", "and the outputs")
        self.expect("(", "and the outputs")
        outputs: list[Output] = []
        while not self.is_next(")"):
            if outputs:
                self.expect(",", "or ')' after an output")
            outputs.append(self.output())
        closing = self.take()
        if not outputs:
            raise SourceError(closing.place, "expected at least one output, found none")
        self.expect("{", "and the statements")
        self.sizes_of = {one.name: one.sizes for one in outputs if one.sizes is not None}
        self.sizes_of |= {one.name: one.sizes for one in parameters}
        own = {*(one.name for one in parameters), *(one.name for one in outputs)}
        callees = {one: found for one, found in known.items() if one not in own}
        statements: list[Statement | Call] = []
        while not self.is_next("}"):
            if self.next.kind is Kind.END:
                raise self.wrong("'}' to end the definition")
            read = self.call(callees) or self.statement()
            statements.append(read)
            if isinstance(read, Statement):
                callees.pop(read.tensor, None)
        closing = self.take()
        if not statements:
            raise SourceError(closing.place, "expected at least one statement, found none")
        body = inlined(parameters, outputs, statements)
        return Definition(name.text, tuple(parameters), tuple(outputs), body, name.place)

    def parameter(self) -> Parameter:
        """Read ``float(M, N) A``."""
        scalar = self.type_name("a type such as float")
        sizes = self.sizes() if self.is_next("(") else ()
        name = self.name("the name of the parameter")
        return Parameter(scalar, sizes, name.text, name.place)

    def output(self) -> Output:
        """Read ``C`` or ``float(M, N) C``."""
        if self.next.text in TYPE_NAMES and self.after(1).text not in (",", ")"):
            scalar = self.type_name("a type")
            sizes = self.sizes() if self.is_next("(") else None
            name = self.name("the name of the output")
            return Output(scalar, sizes, name.text, name.place)
        name = self.name("the name of an output")
        return Output(None, None, name.text, name.place)

    def type_name(self, what: str) -> Scalar:
        """Read the type of elements."""
        if self.next.text not in TYPE_NAMES:
            known = ", ".join(TYPE_NAMES)
            raise self.wrong(what, f"the types are {known}")
        return TYPE_NAMES[self.take().text]

    def sizes(self) -> tuple[Name | Number, ...]:
        """Read ``(M, 4)``."""
        self.expect("(", "and the sizes")
        found: list[Name | Number] = []
        while not self.is_next(")"):
            if found:
                self.expect(",", "or ')' after a size")
            if self.next.kind is Kind.NUMBER:
                number = self.number()
                if not isinstance(number.value, int):
                    raise SourceError(number.place, f"expected a whole size, found {number.text}")
                found.append(number)
            else:
                name = self.name("a size: a name or a number")
                found.append(Name(name.text, name.place))
        self.take()
        return tuple(found)

    # Statements

    def call(self, known: Mapping[str, Definition]) -> Call | None:
        """Read ``(C, D) = f(A, B)``, None where a statement of another kind stands."""
        several = self.is_next("(")
        is_one = self.after(1).text == "=" and self.after(2).text in known
        if not several and not (is_one and self.after(3).text == "("):
            return None
        outputs: list[Name] = []
        if self.skip("("):
            while not self.is_next(")"):
                if outputs:
                    self.expect(",", "or ')' after a result")
                word = self.name("a result, a name")
                outputs.append(Name(word.text, word.place))
            self.take()
        else:
            word = self.name("a result, a name")
            outputs.append(Name(word.text, word.place))
        self.expect("=", "and a call")
        if self.next.text not in known:
            there = ", ".join(known) or "there is none"
            raise self.wrong("a definition that stands before", f"those are: {there}")
        callee = self.take()
        self.expect("(", "and the arguments")
        arguments: list[Name | Number] = []
        while not self.is_next(")"):
            if arguments:
                self.expect(",", "or ')' after an argument")
            if self.next.kind is Kind.NUMBER:
                arguments.append(self.number())
            else:
                word = self.name("an argument: a tensor or a number")
                arguments.append(Name(word.text, word.place))
        self.take()
        return Call(tuple(outputs), known[callee.text], tuple(arguments), callee.place)

    def statement(self) -> Statement:
        """Read a statement with its ``where``."""
        tensor = self.name("a statement, such as C(i) = ..., or '}'")
        indices: list[Name] = []
        if self.skip("("):
            while not self.is_next(")"):
                if indices:
                    self.expect(",", "or ')' after an index")
                index = self.name("an index, a name")
                if self.is_next("("):
                    raise SourceError(
                        index.place,
                        f"expected an index, found the subscript {index.text}(...)",
                        "which elements are assigned must be known beforehand; only what is read "
                        "can be chosen by a tensor",
                    )
                indices.append(Name(index.text, index.place))
            self.take()
        if self.next.text not in _ASSIGNMENTS or self.next.kind is not Kind.SYMBOL:
            raise self.wrong(f"one of {', '.join(_ASSIGNMENTS)}")
        assign, initialises = _ASSIGNMENTS[self.take().text]
        value = self.expression()
        where: list[Where] = []
        if self.skip("where"):
            where.append(self.condition())
            while self.skip(","):
                where.append(self.condition())
        return Statement(
            tensor.text, tuple(indices), assign, initialises, value, tuple(where), tensor.place
        )

    def condition(self) -> Where:
        """Read one entry of a ``where``."""
        if self.is_next("exists"):
            place = self.take().place
            return Exists(self.expression(), place)
        name = self.name("an index, or exists")
        if self.skip("in"):
            lower = self.expression()
            self.expect(":", "between the ends of a range")
            return In(name.text, lower, self.expression(), name.place)
        self.expect("=", "or in after a name of a where")
        return Let(name.text, self.expression(), name.place)

    # Expressions

    def expression(self) -> Expression:
        """Read an expression, with ``?:`` the loosest."""
        self.depth += 1
        if self.depth > _DEEPEST:
            raise self.wrong("an expression that is not so deeply nested")
        condition = self.infix(0)
        if self.is_next("?"):
            place = self.take().place
            then = self.expression()
            self.expect(":", "and the other value")
            otherwise = self.expression()
            condition = Choice(condition, then, otherwise, place)
        self.depth -= 1
        return condition

    def infix(self, level: int) -> Expression:
        """Read operators of one precedence and tighter ones."""
        if level == len(_PRECEDENCE):
            return self.prefixed()
        left = self.infix(level + 1)
        while self.next.kind is Kind.SYMBOL and self.next.text in _PRECEDENCE[level]:
            word = self.take()
            left = Infix(Operator(word.text), left, self.infix(level + 1), word.place)
        return left

    def prefixed(self) -> Expression:
        """Read ``-x``, ``!x``, or what they stand before."""
        operators: list[tuple[Prefix, Place]] = []
        while self.next.text in ("-", "!") and self.next.kind is Kind.SYMBOL:
            if len(operators) == _DEEPEST:
                raise self.wrong("a value after so many operators")
            word = self.take()
            operators.append((Prefix(word.text), word.place))
        value = self.primary()
        for operator, place in reversed(operators):
            value = Prefixed(operator, value, place)
        return value

    def primary(self) -> Expression:
        """Read a number, a name, an element, a call, a conversion, or parentheses."""
        if self.next.kind is Kind.NUMBER:
            return self.number()
        if self.skip("("):
            value = self.expression()
            self.expect(")", "to close '('")
            return value
        word = self.name("an expression")
        if _DIMENSION.fullmatch(self.next.text):
            return self.dimension(word)
        if not self.is_next("("):
            return Name(word.text, word.place)
        self.take()
        arguments: list[Expression] = []
        while not self.is_next(")"):
            if arguments:
                self.expect(",", "or ')' after an argument")
            arguments.append(self.expression())
        self.take()
        if word.text in TYPE_NAMES:
            if len(arguments) != 1:
                raise SourceError(
                    word.place,
                    f"{word.text}(...): expected one value to convert, found {len(arguments)}",
                )
            return Convert(TYPE_NAMES[word.text], arguments[0], word.place)
        return Element(word.text, tuple(arguments), word.place)

    def dimension(self, tensor: Token) -> Name | Number:
        """Read the ``.0`` of ``A.0``; return the size that A is declared with."""
        if tensor.text not in self.sizes_of:
            raise SourceError(
                tensor.place,
                f"{tensor.text}{self.next.text}: expected a tensor with declared sizes, found "
                f"{tensor.text}",
                f"those are: {', '.join(self.sizes_of) or 'there is none'}",
            )
        sizes, number = self.sizes_of[tensor.text], int(self.next.text[1:])
        if number >= len(sizes):
            raise SourceError(
                tensor.place,
                f"{tensor.text}{self.next.text}: {tensor.text} has {len(sizes)} dimension(s), "
                "counted from 0",
            )
        self.take()
        return replace(sizes[number], place=tensor.place)

    def number(self) -> Number:
        """Read a literal."""
        word = self.take()
        digits = word.text.rstrip("fFlL")
        is_whole = digits.isdigit() and not word.text.lower().endswith("f")
        if is_whole and (len(digits) > _LONGEST_NUMBER or int(digits) >= 1 << 63):
            raise SourceError(word.place, "expected a number that fits 64 bits")
        return Number(int(digits) if is_whole else float(digits), word.text, word.place)
