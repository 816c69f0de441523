"""The header of a user's function of C++: its declaration in its namespaces."""

import re
from collections.abc import Sequence

from polygym.errors import InputError
from polygym.export.header import comment_block
from polygym.frontend.c.source.cpp.names import LIBRARY_TYPES, QUALIFIERS, SCALAR_WORDS
from polygym.frontend.c.source.cpp.reading import CppFunction

_INCLUDE = re.compile(r"^[ \t]*#[ \t]*include[ \t]*[<\"][^\n]*$", re.MULTILINE)
_DROPPED = frozenset({"static", "inline", "constexpr", "extern", '"C"'})
_KNOWN = (
    _DROPPED
    | LIBRARY_TYPES
    | SCALAR_WORDS
    | QUALIFIERS
    | {"std", "vector", "array", "void", "restrict"}
)


def cpp_header(function: CppFunction, text: str, comment: Sequence[str]) -> str:
    """Return the header of a function of a C++ text."""
    words = [word for word in function.head.split() if word not in _DROPPED]
    words = ["__restrict__" if word == "restrict" else word for word in words]
    declaration = re.sub(r" ?(::|<|\(|\[) ?", r"\1", " ".join(words))
    declaration = re.sub(r" (,|>|\)|\])", r"\1", declaration)
    linkage = 'extern "C" ' if function.is_c else ""
    macro = f"{re.sub(r'[^A-Za-z0-9]', '_', function.name)}_HPP".upper()
    opening = [f"namespace {name} {{" for name in function.namespaces]
    lines = [
        comment_block(comment),
        f"#ifndef {macro}",
        f"#define {macro}",
        *_INCLUDE.findall(text),
        *opening,
        f"{linkage}{declaration};",
        *("}" for _ in opening),
        "#endif",
    ]
    return "\n".join(lines) + "\n"


def expect_external(function: CppFunction) -> None:
    """Refuse a function that no other file can call.

    Raises:
        InputError: it is in a namespace without a name.
    """
    if "" in function.namespaces:
        raise InputError(
            f"--kind: {function.name} is in a namespace without a name, so no other file calls it; "
            "`polygym apply` changes its own file"
        )


def has_own_types(function: CppFunction) -> bool:
    """Whether the head of a function names types that the file itself may declare."""
    head = function.head.partition("(")
    words = re.findall(r"[A-Za-z_]\w*", f"{head[0].rsplit(None, 1)[0]} {head[2]}")
    names = {
        word
        for part in re.split(r"[,()]", head[2])
        for word in re.findall(r"[A-Za-z_]\w*", part.partition("=")[0])[-1:]
    }
    return any(word not in _KNOWN | names for word in words if word != "C")
