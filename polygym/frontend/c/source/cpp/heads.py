"""Heads of functions in C: references as pointers, vectors as pointers and numbers.

::

    double f(const double &x, std::vector<int> &v, int (&a)[4], int n = 3)
    double f(const double *x, int *v, unsigned long v__size, int a[4], int n)

A reference to a constant that a function only computes a value from is the value itself.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import pairwise

from polygym.frontend.c.source.cpp.context import CppContext, FunctionNames
from polygym.frontend.c.source.cpp.file_scope import CppDeclaration
from polygym.frontend.c.source.cpp.names import QUALIFIERS, SCALAR_WORDS
from polygym.frontend.c.source.cpp.tokens import Tokens, called_names, is_word, words_like
from polygym.frontend.c.source.cpp.types import TypeName
from polygym.frontend.c.tokens.origins import RawToken
from polygym.frontend.c.tokens.standard_headers import STATEMENT_KEYWORDS

_DROPPED = frozenset({"constexpr", "virtual", "explicit", "friend", "noexcept"})
_UNCHANGING = frozenset("data size empty at front back begin end cbegin cend".split())


@dataclass(frozen=True, slots=True)
class FunctionParameter:
    """An argument: its tokens in C, its name, and what it stands for."""

    tokens: tuple[RawToken, ...]
    name: str
    is_reference: bool = False
    is_vector: bool = False
    is_array: bool = False
    by_value: bool = False


@dataclass(slots=True)
class FunctionHead:
    """The head of a function: what it returns, its arguments, and what has no meaning in C."""

    result: list[RawToken]
    name: RawToken
    parameters: list[FunctionParameter]
    types: tuple[str, ...]
    closing: RawToken
    problems: list[tuple[int, str]] = field(default_factory=list)

    @property
    def by_reference(self) -> tuple[bool, ...]:
        """Whether each argument is an address in C."""
        return tuple(parameter.is_reference for parameter in self.parameters)

    def function_names(self, body: Sequence[str]) -> FunctionNames:
        """Return the names of the arguments that stand for something else."""
        changed = {
            body[k]
            for k in range(1, len(body) - 2)
            if (body[k + 1] == "." and body[k + 2] not in _UNCHANGING)
            or (body[k - 1] in ("(", ",") and body[k + 1] in (",", ")"))
        }
        swapped = "swap" in body
        result = FunctionNames()
        for parameter in self.parameters:
            if parameter.is_reference:
                result.references.add(parameter.name)
                result.spellings[parameter.name] = f"(&{parameter.name})"
            elif parameter.is_vector:
                result.add_vector(parameter.name)
            elif parameter.is_array:
                result.containers.add(parameter.name)
                result.spellings[parameter.name] = f"({parameter.name}.data())"
        result.resized, result.knows_sizes = frozenset(changed), not swapped
        result.declared = frozenset(
            [parameter.name for parameter in self.parameters]
            + [
                word
                for before, word in pairwise(body)
                if before in ("*", "&", "&&", ",", ">")
                or (is_word(before) and before not in STATEMENT_KEYWORDS)
            ]
        )
        return result

    def tokens(self, name: str, own: FunctionNames, *, declaration: bool) -> list[RawToken]:
        """Return the head in C."""
        result = [
            *self.result,
            (name, self.name[1], self.name[2] if name == self.name[0] else None),
        ]
        result += words_like("(", self.name)
        for place, parameter in enumerate(self.parameters):
            if place:
                result += words_like(",", self.name)
            result += parameter.tokens
            if parameter.name in own.sizes:
                result += words_like(f", unsigned long {parameter.name}__size", self.name)
        if not self.parameters:
            result += words_like("void", self.name)
        result.append(self.closing)
        return result + (words_like(";", self.name) if declaration else [])


def by_value_body(tokens: Tokens, declared: CppDeclaration) -> bool:
    """Whether a function only computes a value: ``{ return …; }`` without an assignment."""
    if declared.body < 0 or tokens.text(declared.body + 1) != "return":
        return False
    inside = tokens.texts[declared.body + 1 : declared.last - 1]
    changes = {"++", "--", "["} | {word for word in inside if word.endswith("=")}
    changes -= {"==", "!=", "<=", ">="}
    calls = called_names(inside) - {"return"}
    return inside.count(";") == 1 and changes.isdisjoint(inside) and not calls


def function_head(context: CppContext, declared: CppDeclaration, *, values: bool) -> FunctionHead:
    """Return the head of a function; with ``values`` constant references are values."""
    tokens = context.tokens
    problems: list[tuple[int, str]] = []
    result = _result(context, declared, problems)
    parameters = []
    for first, last in tokens.parts(declared.opening + 1, declared.closing):
        if tokens.texts[first:last] != ["void"]:
            parameters.append(_parameter(context, first, last, values, problems))
    types = tuple(
        _type_text(p, tokens) for p in tokens.parts(declared.opening + 1, declared.closing)
    )
    return FunctionHead(
        result,
        tokens.stream[declared.name_index],
        parameters,
        types,
        tokens.stream[declared.closing],
        problems,
    )


def _result(
    context: CppContext, declared: CppDeclaration, problems: list[tuple[int, str]]
) -> list[RawToken]:
    """Return what a function returns, with the words before it."""
    tokens = context.tokens
    first, last = declared.first, declared.name_index
    texts = tokens.texts
    while last > first and texts[last - 1] == "::":
        last -= 2
    prefix = []
    while first < last and (texts[first] in _DROPPED or texts[first] in _KEPT | {'"C"'}):
        prefix += [tokens.stream[first]] * (texts[first] in _KEPT)
        first += 1
    behind = declared.last if declared.body < 0 else declared.body
    trailing = next((k for k in range(declared.closing, behind) if texts[k] == "->"), None)
    if texts[first:last] == ["auto"] and trailing is not None:
        first, last = trailing + 1, behind - (declared.body < 0)
    elif "auto" in texts[first:last]:
        problems.append((first, "the type of what the function returns is not written"))
    if "&" in texts[first:last]:
        problems.append((first, "a function that returns a reference is not supported"))
    if "=" in texts[declared.closing : behind]:
        problems.append((declared.closing, "this function is not supported"))
    return [*prefix, *context.types.translated(first, last)]


_KEPT = frozenset({"static", "inline", "extern"})


def _parameter(
    context: CppContext,
    first: int,
    last: int,
    values: bool,
    problems: list[tuple[int, str]],
) -> FunctionParameter:
    """Return an argument in C."""
    tokens = context.tokens
    texts = tokens.texts
    last = next((k for k in range(first, last) if texts[k] == "="), last)
    index = first
    while index < last and texts[index] in QUALIFIERS:
        index += 1
    name = context.types.name_at(index, last) if texts[index] not in SCALAR_WORDS else None
    marks = texts[index if name is None else name.last : last]
    if "&&" in marks:
        problems.append((first, "a reference to a value that goes away is not supported"))
    if name is not None and (name.is_vector or name.is_array):
        return _container(context, first, last, name, problems)
    declared = next((k for k in range(last - 1, first, -1) if is_word(texts[k])), -1)
    if "&" not in marks:
        own = texts[declared] if declared > 0 else ""
        return FunctionParameter(tuple(context.types.translated(first, last)), own)
    mark = first + texts[first:last].index("&")
    if texts[mark - 1] == "(" and texts[mark + 2 : mark + 3] == [")"]:
        kind = [
            *context.types.translated(first, mark - 1),
            tokens.stream[mark + 1],
            *context.types.translated(mark + 3, last),
        ]
        return FunctionParameter(tuple(kind), texts[mark + 1])
    own = texts[mark + 1] if mark + 1 < last else ""
    kind = context.types.translated(first, mark)
    is_value = values and "const" in texts[first:mark]
    if is_value and all(t[0] == "const" or context.is_scalar(t[0]) for t in kind):
        kind += context.types.translated(mark + 1, last)
        return FunctionParameter(tuple(kind), own, by_value=True)
    star = words_like("*", tokens.stream[mark])
    return FunctionParameter(
        (*kind, *star, *tokens.stream[mark + 1 : last]), own, is_reference=True
    )


def _container(
    context: CppContext,
    first: int,
    last: int,
    kind: TypeName,
    problems: list[tuple[int, str]],
) -> FunctionParameter:
    """Return a vector or an array as a pointer or an array."""
    tokens = context.tokens
    texts = tokens.texts
    is_constant = "const" in texts[first : kind.first] or "const" in texts[kind.last : last]
    marks = [k for k in range(kind.last, last) if texts[k] in ("&", "*")]
    own = texts[last - 1] if is_word(texts[last - 1]) and last > kind.last else ""
    if not is_constant and not marks:
        problems.append((first, "a copy of a container as an argument is not supported"))
    if len(marks) > 1 or any(texts[k] == "*" for k in marks):
        problems.append((first, "a pointer to a container is not supported"))
    like = tokens.stream[first]
    parts = [*words_like("const" if is_constant else "", like), *kind.element]
    name = [tokens.stream[last - 1]] if own else []
    if kind.is_vector:
        parts += [*words_like("*", like), *name]
    else:
        parts += [*name, *words_like("[", like), *kind.count, *words_like("]", like)]
    return FunctionParameter(tuple(parts), own, is_vector=kind.is_vector, is_array=kind.is_array)


def _type_text(part: tuple[int, int], tokens: Tokens) -> str:
    """Return the type of an argument as a text, without its name and its default."""
    words = tokens.texts[part[0] : part[1]]
    if "=" in words:
        words = words[: words.index("=")]
    if len(words) > 1 and is_word(words[-1]) and words[-1] not in SCALAR_WORDS:
        if words[-2] not in ("::", "const"):
            words = words[:-1]
    return " ".join(word for word in words if word not in ("void", "std", "::"))
