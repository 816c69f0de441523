"""GNU's annotations and spellings, and those of later standards, in plain C: token by token.

Attributes, alignments and assertions of the compiler say nothing about what a program computes, or
repeat what the compiler checks; they are left out. Assembly becomes the call of a function without
a body, so that a region that has it is refused::

    static __inline__ __attribute__((const)) int f(int x)   →   static inline int f(int x)
    _Alignas(64) static double A[100];                      →   static double A[100];
    asm volatile ("rdtsc" : "=a" (t));                      →   asm_statement(&(t));
    static_assert(sizeof(int) == 4, "int");                 →

An attribute that gives a type another meaning, such as ``vector_size``, stays: it is no plain C.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from polygym.frontend.c.tokens.origins import RawToken
from polygym.frontend.c.tokens.standard_headers import (
    GNU_ANNOTATIONS,
    GNU_SPELLINGS,
    TYPE_ATTRIBUTES,
    TYPE_KEYWORDS,
)

# Pragmas that mean something here: words after "pragma".
PRAGMAS = (["scop"], ["endscop"], *(["STDC", "FP_CONTRACT", s] for s in ("ON", "OFF", "DEFAULT")))

_WORD = re.compile(r"[A-Za-z_]\w*")
_ASSEMBLY = frozenset({"asm", "__asm__", "__asm"})
_ASSEMBLY_WORDS = frozenset({"volatile", "__volatile__", "__volatile", "goto", "inline"})
_STATEMENT_ENDS = frozenset({";", "{", "}", "else"})

TYPEOF, AUTO_TYPE = "polygym_typeof", "polygym_auto"
"""Types that stand for GNU's ``__typeof__(…)`` and ``__auto_type`` until expressions are read."""

_TYPEOF_WORDS = frozenset({"typeof", "__typeof__", "__typeof"})


def pure_functions(texts: list[str]) -> frozenset[str]:
    """Return the functions that their declarations say to be pure or const by an attribute."""
    if not any(text in GNU_ANNOTATIONS for text in texts):
        return frozenset()
    result, start = set(), 0
    for end, text in enumerate(texts):
        if text not in (";", "{", "}"):
            continue
        own, is_pure, index = [], False, start
        while index < end:
            if texts[index] in GNU_ANNOTATIONS:
                behind = min(_behind_parentheses(texts, index + 1), end)
                words = {word.strip("_") for word in texts[index + 1 : behind]}
                is_pure |= bool(words & {"pure", "const"})
                index = behind
            else:
                own.append(texts[index])
                index += 1
        if is_pure and "(" in own[1:]:
            result.add(own[own.index("(", 1) - 1])
        start = end + 1
    return frozenset(result)


def hidden_words(texts: list[str]) -> frozenset[str]:
    """Return the words of assembly and of attributes, those in strings too."""
    result: set[str] = set()
    for index, text in enumerate(texts):
        if text in _ASSEMBLY or text in GNU_ANNOTATIONS:
            start = index + 1
            while texts[start : start + 1] and texts[start] in _ASSEMBLY_WORDS:
                start += 1
            inside = texts[start : _behind_parentheses(texts, start)]
            result |= {word.strip("_") for word in _WORD.findall(" ".join(inside))}
            result |= set(_WORD.findall(" ".join(inside)))
    return frozenset(result)


def _behind_parentheses(texts: Sequence[str], index: int) -> int:
    """Return the index behind the parentheses that open at a token, or behind the token alone."""
    depth = 0
    while index < len(texts):
        depth += (texts[index] == "(") - (texts[index] == ")")
        index += 1
        if depth == 0:
            break
    return index


def _is_assembly_statement(texts: Sequence[str], index: int) -> bool:
    """Whether assembly is a statement, and not the name of what is declared before it."""
    if texts[index + 1 : index + 2] and texts[index + 1] in _ASSEMBLY_WORDS:
        return True
    inside = texts[index + 1 : _behind_parentheses(texts, index + 1)]
    return texts[index - 1] in _STATEMENT_ENDS or not {":", "::"}.isdisjoint(inside)


def without_annotations(stream: Sequence[RawToken]) -> Iterator[RawToken]:
    """Yield the tokens without annotations, with GNU spellings made plain."""
    index, depth, texts = 0, 0, [piece[0] for piece in stream]
    while index < len(stream):
        text, origin, position = stream[index]
        depth += (text == "{") - (text == "}")
        if text in _ASSEMBLY and depth and _is_assembly_statement(texts, index):
            end = _end_of_assembly(texts, index)
            yield from _assembly_call(stream[index:end])
            index = end
        elif (end := _end_of_annotation(texts, index)) > index:
            index = end
        elif text in _TYPEOF_WORDS and texts[index + 1 : index + 2] == ["("]:
            end = _behind_parentheses(texts, index + 1)
            yield from _typeof(stream[index:end])
            index = end
        elif text == "_Pragma" and (words := _pragma_words(texts, index)) is not None:
            index += 4
            if words in PRAGMAS:
                yield f"#pragma {' '.join(words)}", origin, None
        else:
            index += 1
            plain = GNU_SPELLINGS.get(text)
            if plain is None:
                yield text, origin, position
            else:
                yield from ((word, origin, None) for word in plain.split())


def _typeof(tokens: Sequence[RawToken]) -> Iterator[RawToken]:
    """Yield a type of the language as it is, and what the parser reads for one of an expression."""
    inside = tokens[2:-1]
    if inside and inside[0][0] in TYPE_KEYWORDS - {"const", "volatile"}:
        yield from without_annotations(inside)
        return
    origin = tokens[0][1]
    yield "_Alignas", origin, None
    yield from without_annotations(tokens[1:])
    yield TYPEOF, origin, None


def _pragma_words(texts: Sequence[str], index: int) -> list[str] | None:
    """Return the words of ``_Pragma("…")``, None where no single string is in the parentheses."""
    inside = texts[index + 1 : index + 4]
    if len(inside) < 3 or (inside[0], inside[2]) != ("(", ")") or inside[1][0] != '"':
        return None
    return inside[1].strip('"').split()


def _end_of_annotation(texts: Sequence[str], index: int) -> int:
    """Return the index behind an annotation that says nothing; that of the token for others."""
    text, following = texts[index], texts[index + 1 : index + 2]
    if text == "[" and following == ["["]:  # of C23
        return _behind_brackets(texts, index)
    if following != ["("]:
        return index + (text in GNU_ANNOTATIONS)
    end = _behind_parentheses(texts, index + 1)
    if text in GNU_ANNOTATIONS or text == "asm":
        words = {word.strip("_") for word in texts[index + 1 : end]}
        return end if words.isdisjoint(TYPE_ATTRIBUTES) else index
    if text in ("_Alignas", "alignas"):
        return end
    if text in ("_Static_assert", "static_assert") and texts[end : end + 1] == [";"]:
        return end + 1
    return index


def _behind_brackets(texts: Sequence[str], index: int) -> int:
    """Return the index behind ``[[…]]``."""
    depth = 0
    for end in range(index, len(texts)):
        depth += (texts[end] == "[") - (texts[end] == "]")
        if depth == 0:
            return end + 1
    return index


def _end_of_assembly(texts: Sequence[str], index: int) -> int:
    """Return the index behind the parentheses of an assembly statement."""
    index += 1
    while index < len(texts) and texts[index] in _ASSEMBLY_WORDS:
        index += 1
    return _behind_parentheses(texts, index)


def _assembly_call(tokens: Sequence[RawToken]) -> Iterator[RawToken]:
    """Yield the call that stands for assembly: it is given the addresses of all outputs."""
    origin = tokens[0][1]
    yield from ((word, origin, None) for word in ("asm_statement", "("))
    texts = [text for text, _, _ in tokens]
    first = texts.index(":") if ":" in texts else len(texts)
    is_first, index = True, first + 1
    while index < len(texts) and texts[index] not in (":", "::"):
        if texts[index] == "(":
            end = _behind_parentheses(texts, index)
            if not is_first:
                yield ",", origin, None
            yield "&", origin, None
            yield from tokens[index:end]
            is_first, index = False, end
        else:
            index += 1
    yield ")", origin, None
