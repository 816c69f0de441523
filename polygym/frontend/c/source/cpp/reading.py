"""Translation of the tokens of a C++ file into tokens of C, declaration by declaration.

Functions whose arguments are numbers, pointers, references, vectors and arrays of the library
become functions of C with the same loops. Each token keeps the place of the one that it is from, so
a refusal names the line and the column of the C++ file::

    namespace n { void scale(const int &m, std::vector<double> &x) { … x.size() … } }
    →             void scale(const int *m, double *x, unsigned long x__size) { … x__size … }

Classes with functions, templates, and functions with constructs that have no meaning in C are
not read; the reason stands beside them.
"""

from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

from polygym.frontend.c.source.cpp import names
from polygym.frontend.c.source.cpp.bodies import BodyRewriter
from polygym.frontend.c.source.cpp.context import CppContext, FunctionNames
from polygym.frontend.c.source.cpp.effects import functions_with_effects
from polygym.frontend.c.source.cpp.file_scope import (
    CppDeclaration,
    DeclarationKind,
    cpp_declarations,
)
from polygym.frontend.c.source.cpp.heads import FunctionHead, by_value_body, function_head
from polygym.frontend.c.source.cpp.structures import structure_tokens
from polygym.frontend.c.source.cpp.tokens import CppProblem, Tokens, joined_scopes, words_like
from polygym.frontend.c.tokens.file_declarations import declared_names
from polygym.frontend.c.tokens.origins import RawToken
from polygym.pickling import pickle_by_name

_DATA = frozenset({DeclarationKind.OTHER, DeclarationKind.STRUCTURE})
_VARIABLES = frozenset({"const", "constexpr", "inline", "static", "extern", "thread_local"})


@dataclass(frozen=True, slots=True)
class CppFunction:
    """A function of the file: its namespaces, and the C++ texts of names that it has in C."""

    name: str
    namespaces: tuple[str, ...]
    is_c: bool
    head: str
    spellings: Mapping[str, str]


@pickle_by_name
@dataclass(frozen=True, slots=True)
class CppText:
    """A C++ file in C: its tokens, what is not read of it, and what names stand for.

    ``ambiguous`` are functions of numbers that are called without ``std::``, where headers decide
    whether they depend on the types of what they are given.
    """

    tokens: tuple[RawToken, ...]
    problems: tuple[CppProblem, ...]
    reasons: Mapping[str, str]
    functions: Mapping[str, CppFunction]
    ambiguous: frozenset[str]


def read_cpp(stream: Sequence[RawToken], headers: Collection[str]) -> CppText:
    """Return the tokens of a C++ file, which includes some headers, in C."""
    tokens = Tokens(joined_scopes(stream))
    return _FileReader(tokens, cpp_declarations(tokens), "math.h" in headers).text()


class _FileReader:
    """Reads one file."""

    def __init__(self, tokens: Tokens, declarations: list[CppDeclaration], has_math: bool) -> None:
        self._tokens, self._declarations = tokens, declarations
        namespaces = {name for declared in declarations for name in declared.namespaces if name}
        texts = tokens.texts
        uses_std = any(texts[k : k + 3] == ["using", "namespace", "std"] for k in range(len(texts)))
        self._context = CppContext(tokens, frozenset(namespaces), uses_std)
        self._declares_math = has_math or uses_std
        self._functions: dict[str, CppFunction] = {}
        self._out: list[RawToken] = []

    def text(self) -> CppText:
        """Return the file in C."""
        self._note_names()
        for declared in self._declarations:
            self._out += self._declaration(declared)
        context = self._context
        return CppText(
            tuple(self._out),
            tuple(context.problems),
            dict(context.reasons),
            self._functions,
            self._ambiguous(),
        )

    def _ambiguous(self) -> frozenset[str]:
        """Return the functions of numbers of which headers say what they are."""
        if self._declares_math:
            return frozenset()
        texts = self._tokens.texts
        declared = {
            texts[k + 3]
            for k in range(len(texts) - 3)
            if texts[k : k + 3] == ["using", "std", "::"]
        }
        own = self._context.functions | declared
        return frozenset(self._context.unqualified & (names.MATH_FUNCTIONS | {"abs"}) - own)

    def _note_names(self) -> None:
        """Note types of numbers, functions with several definitions, and those with references."""
        context, own = self._context, self._declarations
        for declared in own:
            texts = self._tokens.texts[declared.first : declared.last]
            if texts[0] == "typedef" and "(" not in texts and "{" not in texts:
                if all(context.is_scalar(word) or word in _VARIABLES for word in texts[1:-2]):
                    context.scalars.add(texts[-2])
            elif declared.kind is DeclarationKind.USING:
                context.using(declared.first, declared.last)
        heads: dict[str, set[tuple[tuple[str, ...], tuple[str, ...]]]] = {}
        counted: Counter[str] = Counter()
        for declared in own:
            if declared.kind in (DeclarationKind.FUNCTION, DeclarationKind.PROTOTYPE):
                context.functions.add(declared.name)
                head = self._head(declared)
                heads.setdefault(declared.name, set()).add((declared.namespaces, head.types))
                context.reference_arguments[declared.name] = head.by_reference
                counted[declared.name] += declared.kind is DeclarationKind.FUNCTION
        templates = {d.name for d in own if d.kind is DeclarationKind.TEMPLATE}
        context.overloaded |= {name for name, kinds in heads.items() if len(kinds) > 1}
        context.overloaded |= {name for name, count in counted.items() if count > 1}
        context.overloaded |= templates & set(heads)
        context.with_effects = functions_with_effects(context, own)
        self._refuse_equal_names()

    def _refuse_equal_names(self) -> None:
        """Refuse variables and types at file scope that namespaces keep apart."""
        places: dict[str, CppDeclaration] = {}
        for declared in self._declarations:
            words = self._tokens.texts[declared.first : declared.last]
            is_alias = declared.kind is DeclarationKind.USING and words[2:3] == ["="]
            if not is_alias and declared.kind not in _DATA:
                continue
            for name in declared_names(words) if "extern" not in words else ():
                other = places.setdefault(name, declared)
                if other.namespaces != declared.namespaces:
                    for each in (other, declared):
                        place = each.first if each.name_index < 0 else each.name_index
                        self._context.refuse(place, f"{name} is declared in several namespaces")

    def _head(self, declared: CppDeclaration) -> FunctionHead:
        return function_head(self._context, declared, values=by_value_body(self._tokens, declared))

    def _declaration(self, declared: CppDeclaration) -> list[RawToken]:
        """Return a declaration in C."""
        match declared.kind:
            case DeclarationKind.USING:
                return self._context.using(declared.first, declared.last)
            case DeclarationKind.TEMPLATE:
                self._context.explain(declared.name, f"{declared.name} is a template")
                return self._unread(
                    declared.name or "template", declared.name_index, declared.first,
                    declared.last, "templates are not supported", names.TEMPLATE_HINT,
                )  # fmt: skip
            case DeclarationKind.MEMBER:
                scope = self._tokens.text(declared.name_index - 2)
                name = f"{scope}__{declared.name}" if scope.isidentifier() else "operator"
                return self._unread(
                    name, declared.name_index, declared.body, declared.last,
                    "member functions are not supported", names.CLASS_HINT,
                )  # fmt: skip
            case DeclarationKind.STRUCTURE:
                return self._structure(declared)
            case DeclarationKind.FUNCTION | DeclarationKind.PROTOTYPE:
                return self._function(declared)
            case DeclarationKind.OTHER:
                return self._other(declared)

    def _structure(self, declared: CppDeclaration) -> list[RawToken]:
        result, functions = structure_tokens(self._context, declared)
        for function in functions:
            if function.last - function.first > 1:
                result += self._unread(
                    f"{declared.name}__{function.name}", function.name_index, function.first,
                    function.last, "member functions are not supported", names.CLASS_HINT,
                )  # fmt: skip
        return result

    def _unread(
        self, name: str, place: int, first: int, last: int, message: str, hint: str
    ) -> list[RawToken]:
        """Return a function that is not read, with some tokens as its body; none without loops."""
        body = self._tokens.stream[first:last]
        if first < 0 or not any(token[0] in ("for", "while", "do") for token in body):
            return []
        like = self._tokens.stream[place if place >= 0 else first]
        self._context.problems.append(CppProblem(like[1], message, hint))
        return [
            *words_like(f"void {name} ( void ) {{", like),
            *body,
            *words_like("}", self._tokens.stream[last - 1]),
        ]

    def _function(self, declared: CppDeclaration) -> list[RawToken]:
        """Return a function or its declaration."""
        head = self._head(declared)
        for place, message in head.problems:
            self._context.refuse(place, message)
        name = declared.name
        if declared.kind is DeclarationKind.PROTOTYPE:
            if name in self._context.overloaded or head.problems:
                return []
            return head.tokens(name, FunctionNames(), declaration=True)
        number = 1
        while name in self._functions:
            number += 1
            name = f"{declared.name}__{number}"
        own = head.function_names(self._tokens.texts[declared.body : declared.last])
        # The braces open and close the scope of the arguments.
        body = BodyRewriter(self._context, own).rewritten(declared.body, declared.last)
        shown = " ".join(self._tokens.texts[declared.first : declared.closing + 1])
        self._functions[name] = CppFunction(
            name, declared.namespaces, declared.is_c, shown, dict(own.spellings)
        )
        return [*head.tokens(name, own, declaration=False), *body]

    def _other(self, declared: CppDeclaration) -> list[RawToken]:
        """Return another declaration: a variable, a typedef, a pragma."""
        first, last = declared.first, declared.last
        texts = self._tokens.texts
        if texts[first : first + 2] == ["extern", '"C"']:
            return [
                self._tokens.stream[first],
                *BodyRewriter(self._context, FunctionNames()).declared(first + 2, last),
            ]
        index = first
        while index < last and texts[index] in _VARIABLES:
            index += 1
        words = set(texts[first:index])
        rest = BodyRewriter(self._context, FunctionNames()).declared(index, last)
        if index == first:
            return rest
        is_constant = bool(words & {"const", "constexpr"})
        until = next((k for k in range(index, last) if texts[k] in ("=", ";", "{")), last)
        is_pointer = "*" in texts[index:until] and "constexpr" not in words
        prefix: list[str] = [word for word in ("extern", "static") if word in words]
        if is_constant and not prefix and not is_pointer:
            prefix = ["static"]
        prefix += ["const"] * is_constant
        return [*words_like(" ".join(prefix), self._tokens.stream[first]), *rest]
