"""Text to terms: names become variables by their distance, types and sizes are checked on the way.

``parse_program`` takes one ``(def NAME TYPE ((x : TYPE) …) BODY)``, or a bare term, whose free
names are Floats; ``parse_programs`` all definitions of a file, in which later ones call earlier
ones, ``(NAME a b)``: a call is the other's body with ``let`` for every parameter. In a bare term a
name in the place of a vector or truth value is an error, since it is a number there.

What is read beside the operators: ``(let (x a) (y b) e)`` and ``(let ((x a) (y b)) e)``, one after
the other; ``(lam (x : TYPE) e)``, and ``(lam i e)`` in ``build`` and ``sumbuild``; ``(get$2$3 t)``
is the second of three parts; Integers that are written where a Float is needed are Floats.
``((grad f) a b)`` and ``((jvp f) a b …)`` call the derivatives of a definition, of a function that
is written out, or of a derivative (:func:`polygym.terms.language.derivatives.derivative`).

    >>> from polygym.terms.language.printer import text_of
    >>> text_of(parse_program("(let (y (+ x 1)) (* y y))").body)
    '(let (t1 (add x 1.0)) (mul t1 t1))'
"""

from __future__ import annotations

from collections.abc import Iterable

from polygym.errors import InputError, LimitError, SourceError
from polygym.rewrite.s_expressions import is_decimal, is_integer
from polygym.rewrite.term import Term, term
from polygym.terms.language import types
from polygym.terms.language.calls import call_program, function_of_program, program_of_function
from polygym.terms.language.derivatives import DERIVATIVES, derivative
from polygym.terms.language.nodes import bound, constant, lam, let, term_facts, variable
from polygym.terms.language.operators import ALIASES, OPERATORS, IllTypedError, result_of
from polygym.terms.language.program import BARE_NAME, TermProgram, sizes_in
from polygym.terms.language.scopes import (
    SELECTION,
    NameScope,
    TypedTerm,
    as_float,
    expect_name,
    is_name,
    parse_declaration,
    parse_type,
    with_known_sizes,
    without_named_sizes,
)
from polygym.terms.language.syntax import Syntax, TermSource
from polygym.terms.language.trampoline import Trampolined, run_trampoline

_LARGEST = 2**63 - 1
_MOST = 400_000
_OVERLOADED = {"add", "sub", "mul", "div", "eq", "ne", "gt", "gte", "lt", "lte", "if"}
_OF_FLOATS = {"exp", "log", "sqrt", "sin", "cos", "tanh", "abs", "pow", "max", "min"}


def parse_programs(text: str, file: str = "<text>") -> list[TermProgram]:
    """Return the programs of a text: its definitions, or one bare term, whose name is ``it``.

    Raises:
        SourceError: the text is none; says where, what was expected, what was found.
    """
    source = TermSource(text, file)
    if not source.top:
        raise source.error(None, "expected a term or a definition, found nothing")
    definitions: dict[str, TermProgram] = {}
    for syntax in source.top:
        if syntax.first == "def":
            made = _definition(source, syntax, definitions)
            definitions[made.name] = made
        elif definitions or len(source.top) > 1:
            wrong = syntax if definitions else source.top[1]
            raise source.error(wrong, f"expected (def …), found {wrong}", _SINGLE_TERM_HINT)
        else:
            return [_bare(source, syntax)]
    return list(definitions.values())


_SINGLE_TERM_HINT = "a text is one bare term, or definitions"


def parse_program(text: str, file: str = "<text>", name: str | None = None) -> TermProgram:
    """Return the one program of a text, or the one that is named; the last without a name.

    Raises:
        SourceError: the text is none.
        InputError: there is no such definition.
    """
    programs = parse_programs(text, file)
    if name is None:
        return programs[-1]
    for program in programs:
        if program.name == name:
            return program
    known = ", ".join(program.name for program in programs)
    raise InputError(f"{file}: expected one of the definitions {known}, found {name!r}")


def _bare(source: TermSource, syntax: Syntax) -> TermProgram:
    scope = NameScope()
    read = run_trampoline(_TermParser(source, {}).term(syntax, scope))
    return TermProgram(BARE_NAME, tuple(scope.free.items()), read.type, read.term)


def _definition(source: TermSource, syntax: Syntax, known: dict[str, TermProgram]) -> TermProgram:
    parts = syntax.parts or ()
    if len(parts) != 5 or parts[3].parts is None or not is_name(parts[1].word):
        raise source.error(syntax, f"expected (def NAME TYPE ((x : TYPE) …) BODY), found {syntax}")
    name = parts[1].word
    if name in known:
        raise source.error(parts[1], f"expected one definition of {name}, found two")
    given = parts[3].parts or ()
    if given and given[0].word:  # ((x : Float)) may have lost its outer parentheses
        given = (parts[3],)
    parameters: dict[str, types.Type] = {}
    for parameter in given:
        word, kind = parse_declaration(source, parameter)
        if word in parameters:
            raise source.error(parameter, f"expected one parameter {word}, found two")
        parameters[word] = kind
    free = dict(parameters)
    for kind in parameters.values():
        for size in sizes_in(kind):
            if free.setdefault(size, types.INTEGER) != types.INTEGER:
                raise source.error(
                    parts[3], f"expected the size {size} to be an Integer, found {free[size]}"
                )
    result = parse_type(source, parts[2])
    reading = _TermParser(source, dict(known))
    read = run_trampoline(reading.term(parts[4], NameScope((), free, is_bare=False)))
    read = reading.fitted(parts[4], read, result, f"the result of {name}")
    both = types.meet_types(result, read.type)
    assert both is not None
    return TermProgram(name, tuple(parameters.items()), both, read.term)


class _TermParser:
    """Reads the terms of one text."""

    def __init__(self, source: TermSource, known: dict[str, TermProgram]) -> None:
        self._source, self._known = source, known

    def error(self, where: Syntax, message: str, hint: str = "") -> SourceError:
        return self._source.error(where, message, hint)

    def term(self, syntax: Syntax, scope: NameScope) -> Trampolined[TypedTerm]:
        """Read a term; a generator for :func:`polygym.terms.language.trampoline.run_trampoline`."""
        self._source.read += 1
        if self._source.read > _MOST:
            raise LimitError(
                f"{self._source.file}: expected at most {_MOST} nodes of terms, found more"
            )
        if syntax.parts is None:
            return self._leaf(syntax, scope)
        if not syntax.parts:
            raise self.error(syntax, "expected a term, found ()")
        head = syntax.first
        if not head:
            if syntax.parts[0].first not in (*DERIVATIVES, "lam"):
                raise self.error(syntax, f"expected an operator after '(', found {syntax.parts[0]}")
            function = yield self._function(syntax.parts[0], scope)
            called: TypedTerm = yield self._call(syntax, function, scope)
            return called
        name = ALIASES.get(head, head)
        if head == "let":
            call = self._let(syntax, scope)
        elif head == "lam":
            call = self._lam(syntax, scope, None)
        elif match := SELECTION.fullmatch(head):
            call = self._get(syntax, scope, int(match[1]) - 1, int(match[2]))
        elif name in OPERATORS:
            call = self._operation(syntax, name, scope)
        elif head in DERIVATIVES:
            call = self._derivative(syntax, scope)
        elif head in self._known:
            call = self._call(syntax, self._known[head], scope)
        else:
            hint = self._similar(head)
            raise self.error(syntax.parts[0], f"expected an operator, found {head}", hint)
        read: TypedTerm = yield call
        return read

    def _similar(self, word: str) -> str:
        from difflib import get_close_matches

        near = get_close_matches(word, [*OPERATORS, *self._known, "lam"], 3)
        return f"perhaps {', '.join(near)}" if near else "docs/guides/terms.md lists the operators"

    def _leaf(self, syntax: Syntax, scope: NameScope) -> TypedTerm:
        word = syntax.word
        if is_integer(word):
            value = int(word)
            if not -_LARGEST - 1 <= value <= _LARGEST:
                raise self.error(syntax, f"expected an Integer of 64 bits, found {word}")
            return TypedTerm(term(value), types.INTEGER, value)
        if is_decimal(word):
            real = float(word)
            if real in (float("inf"), float("-inf")):
                raise self.error(syntax, f"expected a finite number, found {word}")
            return TypedTerm(term(real), types.FLOAT)
        if word in ("True", "False"):
            made = constant(word == "True")
            return TypedTerm(made, term_facts(made).type)
        for distance, (name, kind, size) in enumerate(reversed(scope.names)):
            if name == word:
                return TypedTerm(bound(distance, kind), kind, size)
        if word in scope.size_values:
            return scope.size_values[word]
        if word in scope.free:
            kind = scope.free[word]
            return TypedTerm(variable(word, kind), kind, word if kind == types.INTEGER else None)
        if not is_name(word):
            raise self.error(syntax, f"expected a number or a name, found {word}")
        if not scope.is_bare:
            known = ", ".join(dict.fromkeys([*(name for name, *_ in scope.names), *scope.free]))
            raise self.error(syntax, f"expected one of the names {known or '(none)'}, found {word}")
        scope.free[word] = types.FLOAT
        return TypedTerm(variable(word, types.FLOAT), types.FLOAT)

    def _let(self, syntax: Syntax, scope: NameScope) -> Trampolined[TypedTerm]:
        parts = syntax.parts or ()
        if len(parts) < 3:
            raise self.error(syntax, f"expected (let (x a) b), found {syntax}")
        given: Iterable[Syntax] = parts[1:-1]
        if len(parts) == 3 and parts[1].parts and parts[1].parts[0].parts is not None:
            given = parts[1].parts
        values: list[Term] = []
        for binding in given:
            pair = binding.parts or ()
            if len(pair) != 2 or not pair[0].word:
                raise self.error(binding, f"expected (NAME TERM), found {binding}")
            expect_name(self._source, pair[0])
            read = yield self.term(pair[1], scope)
            values.append(read.term)
            scope = scope.within(pair[0].word, read.type, read.size)
        body = yield self.term(parts[-1], scope)
        made, kind, size = body.term, body.type, body.size
        for value in reversed(values):
            made = let(value, made)
        return TypedTerm(made, kind, size)

    def _lam(
        self, syntax: Syntax, scope: NameScope, wanted: types.Type | None
    ) -> Trampolined[TypedTerm]:
        parts = syntax.parts or ()
        if len(parts) != 3:
            raise self.error(syntax, f"expected (lam (x : TYPE) BODY), found {syntax}")
        if parts[1].parts is not None:
            name, written = parse_declaration(self._source, parts[1])
            kind = scope.known(written)
            if wanted is not None and types.meet_types(kind, wanted) is None:
                raise self.error(parts[1], f"expected the argument to be {wanted}, found {kind}")
        else:
            name = parts[1].word
            expect_name(self._source, parts[1])
            if wanted is None:
                raise self.error(
                    parts[1],
                    f"expected a type of {name}, found none",
                    f"write (lam ({name} : Float) …)",
                )
            kind = wanted
        body = yield self.term(parts[2], scope.within(name, kind))
        return TypedTerm(lam(kind, body.term), types.FunctionType(kind, body.type))

    def _get(
        self, syntax: Syntax, scope: NameScope, place: int, count: int
    ) -> Trampolined[TypedTerm]:
        if len(syntax.parts or ()) != 2:
            raise self.error(syntax, f"expected ({syntax.first} TUPLE), found {syntax}")
        read = yield self.term((syntax.parts or ())[1], scope)
        if not isinstance(read.type, types.TupleType) or len(read.type.parts) != count:
            raise self.error(syntax, f"expected a tuple of {count} parts, found {read.type}")
        return self._part(syntax, place, read)

    def _part(self, syntax: Syntax, place: int, read: TypedTerm) -> TypedTerm:
        kind = read.type
        if not isinstance(kind, types.TupleType):
            raise self.error(syntax, f"(select 0 t): expected a tuple, found {kind}")
        if not 0 <= place < len(kind.parts):
            raise self.error(
                syntax,
                f"(select 0 t): expected a number from 0 to {len(kind.parts) - 1}, found {place}",
            )
        return TypedTerm(term("select", term(place), read.term), kind.parts[place])

    def _operation(self, syntax: Syntax, name: str, scope: NameScope) -> Trampolined[TypedTerm]:
        parts = (syntax.parts or ())[1:]
        read: list[TypedTerm] = []
        for place, part in enumerate(parts):
            if part.first == "lam":
                wanted: types.Type | None = types.INTEGER if name in ("build", "sumbuild") else None
                if name == "apply" and place == 0 and len(parts) == 2:
                    argument = yield self.term(parts[1], scope)
                    wanted = argument.type
                read.append((yield self._lam(part, scope, wanted)))
            else:
                read.append((yield self.term(part, scope)))
        if name == "select" and len(read) == 2:
            if not isinstance(read[0].term.head, int) and isinstance(read[1].term.head, int):
                read.reverse()
            place_of = read[0].term.head
            if not isinstance(place_of, int):
                raise self.error(parts[0], f"expected the number of a part, found {parts[0]}")
            return self._part(syntax, place_of, read[1])
        if name == "sub" and len(read) == 1:
            name = "neg"
        read = self._converted(name, read)
        try:
            kind = result_of(name, tuple(part.type for part in read))
        except IllTypedError as error:
            raise self.error(syntax, str(error), _hint(read)) from None
        made = term(name, *(part.term for part in read))
        kind, size = with_known_sizes(name, read, kind)
        return TypedTerm(made, kind, size)

    def _converted(self, name: str, read: list[TypedTerm]) -> list[TypedTerm]:
        """Return arguments, with Integers that are written out as Floats beside Floats."""
        if name not in _OVERLOADED and name not in _OF_FLOATS:
            return read
        start = 1 if name == "if" else 0
        is_float = name in _OF_FLOATS or any(
            part.type == types.FLOAT
            or (name == "mul" and not isinstance(part.type, types.BaseType))
            for part in read[start:]
        )
        if not is_float:
            return read
        return [*read[:start], *(as_float(part) for part in read[start:])]

    def _call(
        self, syntax: Syntax, callee: TermProgram, scope: NameScope
    ) -> Trampolined[TypedTerm]:
        """Read the arguments of a call, each where those before it are bound."""
        parts = (syntax.parts or ())[1:]
        if len(parts) != len(callee.parameters):
            raise self.error(
                syntax,
                f"expected {_many(len(callee.parameters), 'argument')} of {callee.name}, "
                f"found {len(parts)}",
            )
        inner, values = scope, list[TypedTerm]()
        for part, (name, wanted) in zip(parts, callee.parameters, strict=True):
            read = yield self.term(part, inner)
            what = f"{name} of {callee.name}"
            values.append(self.fitted(part, read, without_named_sizes(wanted), what))
            inner = inner.within("", read.type)
        return call_program(callee, values, scope)

    def _function(self, syntax: Syntax, scope: NameScope) -> Trampolined[TermProgram]:
        """Read what is called or differentiated: a definition, a function, a derivative of one."""
        if syntax.word in self._known:
            return self._known[syntax.word]
        if syntax.first == "lam" and len(syntax.parts or ()) == 3:
            name, kind = parse_declaration(self._source, (syntax.parts or ())[1])
            body = yield self.term((syntax.parts or ())[2], scope.within(name, kind))
            return program_of_function(name, kind, body, scope)
        if syntax.first in DERIVATIVES:
            if len(syntax.parts or ()) != 2:
                raise self.error(syntax, f"expected ({syntax.first} FUNCTION), found {syntax}")
            function = yield self._function((syntax.parts or ())[1], scope)
            try:
                return derivative(syntax.first, function)
            except InputError as error:
                raise self.error(syntax, str(error)) from None
        known = ", ".join(self._known) or "(none)"
        raise self.error(
            syntax,
            f"expected a function, found {syntax}",
            f"a definition ({known}), (lam (x : TYPE) e), (grad f) or (jvp f)",
        )

    def _derivative(self, syntax: Syntax, scope: NameScope) -> Trampolined[TypedTerm]:
        """Read a derivative that is not called: a function, if it has one argument."""
        function = yield self._function(syntax, scope)
        if len(function.parameters) != 1:
            names = " ".join(name for name, _ in function.parameters)
            raise self.error(
                syntax,
                f"expected a call with {_many(len(function.parameters), 'argument')}, "
                f"found {syntax}",
                f"write ({syntax} {names})",
            )
        return function_of_program(function, scope)

    def fitted(self, where: Syntax, read: TypedTerm, wanted: types.Type, what: str) -> TypedTerm:
        """Return what was read as something of a type, or say that it is not."""
        if wanted == types.FLOAT and read.type == types.INTEGER:
            read = as_float(read)
        if types.meet_types(read.type, wanted) is None:
            raise self.error(
                where, f"expected {what} to be {wanted}, found {read.type}", _hint([read])
            )
        return read


def _hint(read: list[TypedTerm]) -> str:
    kinds = {part.type for part in read}
    return "(to_float n) is an Integer as a Float" if {types.FLOAT, types.INTEGER} <= kinds else ""


def _many(count: int, what: str) -> str:
    return f"one {what}" if count == 1 else f"{count} {what}s"
