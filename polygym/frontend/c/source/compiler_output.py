"""Output of a compiler's preprocessor, ``gcc -E``: line markers, and the text of system headers.

A marker names the file that the next lines are from, and says with a 3 that it is a header of the
system::

    # 28 "/usr/include/stdio.h" 3 4
    extern int puts (const char *__s);        a system header: thousands of such lines
    # 2 "blur.c" 2
    void blur(int n, double x[n]) { … }       the user's own

Of the system's headers the declarations remain that the rest names, and those that these name: most
of the text, and nearly all of what is no plain C, is not read.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from polygym.frontend.c.tokens.file_declarations import declaration_ranges, declared_names

_MARKER = re.compile(r'^[ \t]*#[ \t]*(?:line[ \t]+)?\d+[ \t]+"(?:\\.|[^"\\\n])*"([ \t\d]*)$', re.M)
_WORD = re.compile(
    r"[A-Za-z_]\w*|\"(?:\\.|[^\"\\\n])*\"|'(?:\\.|[^'\\\n])*'|#[^\n]*|[^\s\w]|[0-9][\w.]*"
)
_NAME = re.compile(r"[A-Za-z_]\w*")


@dataclass(frozen=True, slots=True)
class _Declaration:
    """A declaration of a system header: its place in the text, and names."""

    start: int
    end: int
    declares: frozenset[str]
    names: frozenset[str]


def has_line_markers(text: str) -> bool:
    """Whether a text is the output of a preprocessor."""
    return _MARKER.search(text) is not None


def read_compiler_output(text: str) -> str:
    r"""Return a text with spaces for its markers and for unused declarations of system headers.

    >>> read_compiler_output('# 1 "a.h" 3\nint f(int);\ntypedef long T;\n# 2 "a.c"\nT x;\n')
    '\n\ntypedef long T;\n\nT x;\n'
    """
    parts = list(_parts(text))
    needed = {
        name
        for start, end, is_system in parts
        if not is_system
        for name in (m[0] for m in _NAME.finditer(text, start, end))
    }
    declarations = [
        declaration
        for start, end, is_system in parts
        if is_system
        for declaration in _declarations(text, start, end)
    ]
    unused = _unused(declarations, needed)
    markers = [match.span() for match in _MARKER.finditer(text)]
    return _blanked(text, sorted([*markers, *((d.start, d.end) for d in unused)]))


def _parts(text: str) -> Iterator[tuple[int, int, bool]]:
    """Yield where each part begins and ends, and whether it is a system header's.

    Parts of the system with only other markers between them are one.
    """
    start, is_system = 0, False
    for match in _MARKER.finditer(text):
        follows_system = "3" in match[1].split()
        if follows_system != is_system:
            yield start, match.start(), is_system
            start, is_system = match.start(), follows_system
    yield start, len(text), is_system


def _declarations(text: str, start: int, end: int) -> Iterator[_Declaration]:
    """Yield the declarations in a part of a system header; pragmas stay where they are."""
    matches = [m for m in _WORD.finditer(text, start, end) if m[0][0] != "#"]
    words = [match[0] for match in matches]
    for first, last in declaration_ranges(words):
        own = words[first:last]
        if own[-1] not in (";", "}"):
            continue  # it goes on in another part
        names = frozenset(word for word in own if _NAME.fullmatch(word))
        place = matches[first].start(), matches[last - 1].end()
        yield _Declaration(*place, declared_names(own), names)


def _unused(declarations: Sequence[_Declaration], needed: set[str]) -> list[_Declaration]:
    """Return the declarations that nothing needs."""
    left, is_changed = list(declarations), True
    while is_changed:
        unused = []
        for declaration in reversed(left):  # most name what stands before them
            if declaration.declares & needed:
                needed |= declaration.names
            else:
                unused.append(declaration)
        is_changed = len(unused) < len(left)
        left = unused[::-1]
    return left


def _blanked(text: str, spans: Sequence[tuple[int, int]]) -> str:
    """Return a text with spaces instead of some spans; lines and columns stay."""
    pieces, place = [], 0
    for start, end in spans:
        if start >= place:
            pieces += [text[place:start], re.sub(r"[^\n]", " ", text[start:end])]
            place = end
    return re.sub(r"(?m)^ +$", "", "".join([*pieces, text[place:]]))
