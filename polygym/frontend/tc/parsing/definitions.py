"""Text → syntax tree, by recursive descent; a text that is none is refused at its first wrong word.

::

    text        = definition+
    definition  = "def" name "(" [parameter {"," parameter}] ")" "->" "(" [output {"," output}] ")"
                  "{" statement+ "}"
    parameter   = type ["(" [size {"," size}] ")"] name
    output      = [type ["(" [size {"," size}] ")"]] name
    size        = name | number
    statement   = name ["(" [expression {"," expression}] ")"] assign expression [equivalent]
                  ["where" where {"," where}]
                | (name | "(" name {"," name} ")") "=" definition "(" [argument {"," argument}] ")"
    argument    = name | ["-"] number
    equivalent  = "<=>" name "(" [expression {"," expression}] ")"
    assign      = "=" | ("+=" | "*=" | "min=" | "max=") ["!"]
    where       = name "in" expression ":" expression | name "=" expression | "exists" expression
                | expression
    expression  = or ["?" expression ":" expression]
    or          = and {"||" and}                        and so on, with the precedences of C
    primary     = number | name ["(" [expression {"," expression}] ")"] | "(" expression ")"
                | name "." number

What stands behind ``<=>`` computes the same as the statement, says its author; it is read, and no
more. Here ``definition`` is the name of one that stands before; a call of it becomes its statements
(:mod:`polygym.frontend.tc.parsing.inlining`). ``A.0`` is the first size that A is declared with.

Nothing separates statements: an expression ends where no operator follows, and the next word is the
name of the next statement's tensor.
"""

from collections.abc import Mapping
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import pairwise

from polygym.errors import SourceError
from polygym.frontend.tc.parsing.expressions import ExpressionParser, TcToken, TokenKind, tokenize
from polygym.frontend.tc.parsing.inlining import DefinitionCall, inline_calls
from polygym.frontend.tc.parsing.paper_forms import (
    rename_sizes,
    renamed_sizes,
    with_sizes,
    with_updated_outputs,
)
from polygym.frontend.tc.semantics.functions import function_named, name_suggestion
from polygym.frontend.tc.syntax import tree
from polygym.frontend.tc.syntax.tree import names_of_expression

_ASSIGNMENTS = {
    **{assign.value: (assign, False) for assign in tree.AssignKind},
    **{f"{assign.value}!": (assign, True) for assign in list(tree.AssignKind)[1:]},
}

# What other languages write, and is a name here, as a rule of a statement's tensor.
_FOREIGN_KEYWORDS = {
    "and": "both hold is x && y",
    "or": "one of them holds is x || y",
    "not": "the opposite is !x",
    "if": "a choice is condition ? value : other",
    "else": "a choice is condition ? value : other",
    "for": "an index runs by itself; where i in 0:N says how far",
    "return": "what is returned stands behind ->",
}


def parse_definitions(text: str, file: str = "<text>") -> tuple[tree.TcDefinition, ...]:
    """Return the definitions of a text.

    Raises:
        SourceError: it is not one; with the place, what was expected, and what was found.
    """
    words = tokenize(text, file)
    names = frozenset(name.text for word, name in pairwise(words) if word.text == "def")
    reader = _DefinitionParser(words, names=names)
    definitions: dict[str, tree.TcDefinition] = {}
    while reader.next_token.kind is not TokenKind.END:
        definition = reader.definition(definitions)
        if definition.name in definitions:
            raise SourceError(definition.location, f"{definition.name} is defined twice")
        definitions[definition.name] = definition
    if not definitions:
        place = reader.next_token.location
        place = replace(place, text=place.text or " ")  # there is a caret even if there is no line
        raise SourceError(place, "expected a definition, found an empty text")
    return tuple(definitions.values())


@dataclass
class _DefinitionParser(ExpressionParser):
    """The words of a text; ``names`` are those of its definitions.

    ``tensors`` are what the definition at hand has declared or assigned so far.
    """

    names: frozenset[str] = field(default_factory=frozenset)
    tensors: set[str] = field(default_factory=set)

    # Definitions

    def definition(self, known: Mapping[str, tree.TcDefinition]) -> tree.TcDefinition:
        """Read a definition, which may call those that are known."""
        self.expect("def", "to begin a definition")
        name = self.name("the name of the definition")
        self.expect("(", "and the parameters")
        parameters = self.sequence(self.parameter, "a parameter")
        self.expect("->", "and the outputs")
        self.expect("(", "and the outputs")
        outputs = self.sequence(self.output, "an output")
        if not outputs:
            raise SourceError(self.peek(-1).location, "expected at least one output, found none")
        self.expect("{", "and the statements")
        sizes = renamed_sizes(parameters, outputs)
        parameters = [with_sizes(parameter, sizes) for parameter in parameters]
        outputs = [with_sizes(output, sizes) for output in outputs]
        declared: list[tree.Declaration] = [*outputs, *parameters]
        self.tensor_sizes = {
            declaration.name: declaration.sizes
            for declaration in declared
            if declaration.sizes is not None
        }
        self.tensors = own = {declaration.name for declaration in declared}
        callees = {callee: definition for callee, definition in known.items() if callee not in own}
        self.definitions = set(self.names - own)
        statements: list[tree.TcStatement | DefinitionCall] = []
        while not self.is_next("}"):
            if self.next_token.kind is TokenKind.END:
                raise self.error("'}' to end the definition")
            read = self.next_statement(callees, name)
            if sizes and isinstance(read, tree.TcStatement):
                read = read.with_expressions(lambda part: rename_sizes(part, sizes))
            if isinstance(read, tree.TcStatement):
                callees.pop(read.tensor, None)
                self.definitions.discard(read.tensor)
                own.add(read.tensor)
                _check_callee(read, own, callees)
            else:
                own |= {use.name for use in read.outputs}
            statements.append(read)
        closing = self.take()
        if not statements:
            raise SourceError(closing.location, "expected at least one statement, found none")
        body = inline_calls(parameters, outputs, statements)
        return with_updated_outputs(
            tree.TcDefinition(name.text, tuple(parameters), tuple(outputs), body, name.location)
        )

    def parameter(self) -> tree.TcParameter:
        """Read ``float(M, N) A``."""
        scalar = self.type_name("a type such as float")
        sizes = self.sizes() if self.is_next("(") else ()
        name = self.name("the name of the parameter")
        return tree.TcParameter(scalar, sizes, name.text, name.location)

    def output(self) -> tree.TcOutput:
        """Read ``C`` or ``float(M, N) C``."""
        if self.next_token.text in tree.TYPE_NAMES and self.peek(1).text not in (",", ")"):
            scalar = self.type_name("a type")
            sizes = self.sizes() if self.is_next("(") else None
            name = self.name("the name of the output")
            return tree.TcOutput(scalar, sizes, name.text, name.location)
        name = self.name("the name of an output")
        return tree.TcOutput(None, None, name.text, name.location)

    def type_name(self, what: str) -> tree.ElementType:
        """Read the type of elements."""
        if self.next_token.text not in tree.TYPE_NAMES:
            known = ", ".join(tree.TYPE_NAMES)
            spelling = name_suggestion(self.next_token.text, [])
            raise self.error(what, spelling or f"the types are {known}")
        return tree.TYPE_NAMES[self.take().text]

    def sizes(self) -> tuple[tree.NameUse | tree.NumberLiteral, ...]:
        """Read ``(M, 4)``."""
        self.expect("(", "and the sizes")
        return tuple(self.sequence(self.size, "a size"))

    def size(self) -> tree.NameUse | tree.NumberLiteral:
        """Read ``M`` or ``4``."""
        if self.next_token.kind is not TokenKind.NUMBER:
            return self.name_use("a size: a name or a number")
        number = self.number()
        if not isinstance(number.value, int):
            raise SourceError(number.location, f"expected a whole size, found {number.text}")
        return number

    # Statements

    def next_statement(
        self, known: Mapping[str, tree.TcDefinition], caller: TcToken
    ) -> tree.TcStatement | DefinitionCall:
        """Read a statement of either kind; what is none may be a word of another language."""
        start = self.position
        try:
            return self.call(known, caller) or self.statement()
        except SourceError as error:
            hint = error.hint or self.foreign(start)
            raise SourceError(error.location, error.message, hint) from None

    def foreign(self, start: int) -> str:
        """Return a hint if a conversion of C, or a word of Python's, is at or before a place."""
        third, second, first = (self.tokens[max(start - back, 0)].text for back in (1, 2, 3))
        if (first, third) == ("(", ")") and second in tree.TYPE_NAMES:
            return f"a conversion is {second}(x)"
        here = self.tokens[start].text
        return _FOREIGN_KEYWORDS.get(here, "") or _FOREIGN_KEYWORDS.get(third, "")

    def call(
        self, known: Mapping[str, tree.TcDefinition], caller: TcToken
    ) -> DefinitionCall | None:
        """Read ``(C, D) = f(A, B)``, None where a statement of another kind stands."""
        several = self.is_next("(")
        is_one = self.peek(1).text == "=" and self.peek(3).text == "("
        callee = self.peek(2)
        if not several and not (is_one and callee.text in self.definitions):
            return None
        if not several and callee.text not in known and function_named(callee.text) is not None:
            return None
        result = partial(self.name_use, "a result, a name")
        outputs = self.sequence(result, "a result") if self.skip("(") else [result()]
        self.expect("=", "and a call")
        if self.next_token.text == caller.text and caller.text not in known:
            raise SourceError(
                self.next_token.location,
                f"{caller.text} calls itself: expected a definition that stands before",
            )
        if self.next_token.text not in known:
            there = ", ".join(known) or "there is none"
            raise self.error("a definition that stands before", f"those are: {there}")
        callee = self.take()
        self.expect("(", "and the arguments")
        arguments = self.sequence(self.argument, "an argument")
        return DefinitionCall(tuple(outputs), known[callee.text], tuple(arguments), callee.location)

    def argument(self) -> tree.NameUse | tree.NumberLiteral:
        """Read an argument of a call: ``A``, ``2`` or ``-2``."""
        is_negative = self.is_next("-") and self.peek(1).kind is TokenKind.NUMBER
        sign = self.take().location if is_negative else None
        if self.next_token.kind is not TokenKind.NUMBER:
            return self.name_use("an argument: a tensor or a number")
        number = self.number()
        if sign is None:
            return number
        return tree.NumberLiteral(-number.value, f"-{number.text}", sign)

    def statement(self) -> tree.TcStatement:
        """Read a statement with its ``where``."""
        tensor = self.name("a statement, such as C(i) = ..., or '}'")
        left: list[tree.Expression] = []
        if self.skip("("):
            left = self.sequence(self.subscript_on_the_left, "an index")
        if self.next_token.text not in _ASSIGNMENTS or self.next_token.kind is not TokenKind.SYMBOL:
            raise self.error(f"one of {', '.join(_ASSIGNMENTS)}")
        assign, initialises = _ASSIGNMENTS[self.take().text]
        value = self.expression()
        if self.skip("<=>"):
            self.equivalent({*self.tensors, tensor.text})
        where: list[tree.Where] = []
        if self.skip("where"):
            where.append(self.condition())
            while self.skip(","):
                where.append(self.condition())
        return tree.TcStatement(
            tensor.text, tuple(left), assign, initialises, value, tuple(where), tensor.location
        )

    def subscript_on_the_left(self) -> tree.Expression:
        """Read an index, or what is computed of some: ``i / 2``, or of tensors: ``I(n)``."""
        begins = self.next_token.kind is not TokenKind.SYMBOL or self.next_token.text in ("(", "-")
        if not begins:
            raise self.error("an index, a name")
        expression = self.expression()
        for call in names_of_expression(expression):
            if isinstance(call, tree.ElementOrCall) and call.name not in self.tensors:
                raise SourceError(
                    call.location,
                    f"expected an index, found the subscript {call.name}(...)",
                    "a subscript on the left is a sum of indices and sizes, or reads a tensor",
                )
        return expression

    def equivalent(self, tensors: AbstractSet[str]) -> None:
        """Read ``matmul(A(i, k), B(k, j))``, of which nothing is kept."""
        name = self.name("the name of what computes the same")
        if name.text in tensors:
            raise SourceError(
                name.location,
                f"{name.text} is a tensor: expected the name of a function that computes the same, "
                "behind <=>",
                "a comparison is <, <=, >, >=, == or !=",
            )
        self.expect("(", "and what it is given")
        while not self.is_next(")"):
            self.expression()
            if not self.is_next(")"):
                self.expect(",", "or ')' after an argument")
        self.take()

    def condition(self) -> tree.Where:
        """Read one entry of a ``where``."""
        if self.is_next("exists"):
            place = self.take().location
            return tree.WhereExists(self.expression(), place)
        if self.peek(1).text not in ("in", "="):
            return self.filter()
        name = self.name("an index, or exists")
        if self.skip("in"):
            lower = self.expression()
            self.expect(":", "between the ends of a range")
            return tree.WhereRange(name.text, lower, self.expression(), name.location)
        self.take()
        return tree.WhereValue(name.text, self.expression(), name.location)

    def filter(self) -> tree.WhereCondition:
        """Read a condition, such as ``i >= j``."""
        start = self.next_token
        if start.kind is TokenKind.SYMBOL and start.text not in ("(", "-", "!"):
            raise self.error("an index, a condition, or exists")
        condition = self.expression()
        if not tree.is_condition(condition):
            hint = f"a range is {start.text} in 0:..., a condition is x < y"
            raise self.error("'=' or in after a name of a where, or a condition", hint)
        return tree.WhereCondition(condition, start.location)


def _check_callee(
    statement: tree.TcStatement, own: set[str], callees: Mapping[str, tree.TcDefinition]
) -> None:
    """Refuse ``C = g(A, 2)`` where g is nothing at all: it was to be a definition."""
    value = statement.value
    is_plain = statement.assign is tree.AssignKind.SET and not statement.subscripts
    if not is_plain or not isinstance(value, tree.ElementOrCall):
        return
    is_call = all(isinstance(part, tree.NameUse | tree.NumberLiteral) for part in value.arguments)
    if is_call and value.name not in own and function_named(value.name) is None:
        raise SourceError(
            value.location,
            f"{value.name} is neither a tensor, a function nor a definition that stands before",
            name_suggestion(value.name, [*own, *callees]),
        )
