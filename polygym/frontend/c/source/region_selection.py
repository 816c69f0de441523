"""Sizes of bare pointers that are given beside a file: ``A=100x200``, as ``A[100][200]``.

``double *x`` says nothing of its size, and where subscripts are computed, no use of it does. What
the file does not say stands beside it then, in the text that chooses a region: a name, and behind
it the arrays in brackets, with C's expressions of the function's arguments as sizes::

    spmv x[m] value[4 * n]       the region of spmv, whose x and value are as large as that
    x[m]                         the one region of a file

Values of parameters may stand there, too, ``blocked s=4``: then the region is read for those alone;
two pointers that are the same, ``f p=g->u``;
a library that has functions without a body, ``f +/usr/lib/libmine.so#DIGEST``; compile flags,
``f -I/home/me/include -DN=100`` (:mod:`~polygym.frontend.c.source.compile_flags`); and where a
region is that has no pragmas, ``f @12:3-20:5`` (:mod:`~polygym.frontend.c.source.region_mark`).
So the sizes go wherever the choice of a region goes: into records, searches and replays.
"""

import hashlib
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TypeAlias

from polygym.errors import InputError
from polygym.frontend.c.source.compile_flags import NO_FLAGS, CompileFlags, split_flags
from polygym.frontend.c.source.region_mark import LineMark, RegionMark, parse_mark
from polygym.pickling import pickle_by_name

ArraySizes: TypeAlias = Mapping[str, tuple[str, ...]]

_BRACKETED = re.compile(r"([A-Za-z_]\w*)\s*((?:\[[^\[\]]+\]\s*)+)")
_NAMED = re.compile(r"\s*([A-Za-z_]\w*)\s*=(.+)", re.DOTALL)
_VALUE = re.compile(r"([A-Za-z_]\w*)=(-?\d+)")
_POINTER = r"[A-Za-z_]\w*(?:(?:->|\.)[A-Za-z_]\w*)*"
_ALIAS = re.compile(rf"({_POINTER})=({_POINTER})")
_LIBRARY = re.compile(r"(?:^|\s)\+(\S+)")
_DIGEST = re.compile(r"[0-9a-f]{64}")
_WORD = re.compile(r"\S+")
_MARK = re.compile(r"(?:^|\s)(@\S+)")
# What may stand in a size: names, numbers, + - * / % ( ), and ?: with comparisons.
_SIZE = re.compile(r"[\w\s+\-*/%()?:<>=!&|]+")
# The x between two sizes: behind a number or a parenthesis, or with blanks around it.
_TIMES = re.compile(r"(?:(?<=\))|(?<![A-Za-z_0-9])(\d+))\s*x\s*(?=[\w(])|\s+x\s+")


@pickle_by_name
@dataclass(frozen=True, slots=True)
class RegionSelection:
    """A region by its name, None where a file has one, and what is given beside it.

    That are sizes of arrays, ``parameter_values`` of parameters, the ``library`` that has
    functions which the file only declares: its path and its digest, the ``flags`` that the file is
    read with, the ``mark`` of a region without pragmas, and ``aliases``, pairs of pointers that are
    the same.
    """

    region_name: str | None = None
    array_sizes: tuple[tuple[str, tuple[str, ...]], ...] = field(default=())
    parameter_values: tuple[tuple[str, int], ...] = field(default=())
    library: tuple[str, str] | None = None
    flags: CompileFlags = NO_FLAGS
    mark: RegionMark | LineMark | None = None
    aliases: tuple[tuple[str, str], ...] = field(default=())

    def __str__(self) -> str:
        """Return the text that is read again.

        >>> str(RegionSelection("f", (("A", ("100", "n + 1")), ("x", ("n",))), (("s", 4),)))
        'f A[100][n + 1] x[n] s=4'
        """
        arrays = [name + "".join(f"[{size}]" for size in sizes) for name, sizes in self.array_sizes]
        values = [f"{name}={value}" for name, value in self.parameter_values]
        values += [f"{first}={second}" for first, second in self.aliases]
        linked = [] if self.library is None else [f"+{'#'.join(self.library)}"]
        named = [] if self.region_name is None else [self.region_name]
        marked = [] if self.mark is None else [str(self.mark)]
        flags = [] if self.flags == NO_FLAGS else [str(self.flags)]
        return " ".join([*named, *arrays, *values, *linked, *flags, *marked])


def parse_extent(text: str) -> tuple[str, tuple[str, ...]]:
    """Return an array and its sizes, written in either way.

    >>> parse_extent("A=100x200"), parse_extent("A[100][n + 1]"), parse_extent("A = n x m")
    (('A', ('100', '200')), ('A', ('100', 'n + 1')), ('A', ('n', 'm')))

    Raises:
        InputError: it is no name with sizes.
    """
    if bracketed := _BRACKETED.fullmatch(text.strip()):
        name, sizes = bracketed[1], re.findall(r"\[([^\[\]]+)\]", bracketed[2])
    elif named := _NAMED.fullmatch(text):
        name, sizes = named[1], _factors(named[2])
    else:
        raise _malformed_extent(text)
    result = tuple(" ".join(size.split()) for size in sizes)
    if not all(size and _SIZE.fullmatch(size) for size in result):
        raise _malformed_extent(text)
    return name, result


def parse_alias(text: str) -> tuple[str, str]:
    """Return two pointers that are the same.

    >>> parse_alias("p = g->u")
    ('p', 'g->u')

    Raises:
        InputError: it is no pair of names or members.
    """
    pair = _ALIAS.fullmatch("".join(text.split()))
    if pair is None:
        raise InputError(f"expected two pointers, such as p=q or p=g->u, found {text!r}")
    return pair[1], pair[2]


def _factors(text: str) -> list[str]:
    """Return the parts of ``100xnx2``: an x belongs to no name where a number stands before it."""
    parts, rest = [], text
    while match := _TIMES.search(rest):
        parts.append(rest[: match.start()] + (match[1] or ""))
        rest = rest[match.end() :]
    return [*parts, rest]


def _malformed_extent(text: str) -> InputError:
    return InputError(
        f"expected an array and its sizes, such as A=100x200, 'A=n x m' or A[n][m], found {text!r}"
    )


def parse_selection(text: str | None) -> RegionSelection:
    """Return what a text chooses: a region, and sizes.

    >>> parse_selection("f:2 A[100][n + 1] s=4")  # doctest: +NORMALIZE_WHITESPACE
    RegionSelection(region_name='f:2', array_sizes=(('A', ('100', 'n + 1')),),
    parameter_values=(('s', 4),), library=None, flags=CompileFlags(include_directories=(),
    macros=(), included_files=()), mark=None, aliases=())
    """
    if text is None or not any(sign in text for sign in ("[", "=", "+", "@", "-I", "-D")):
        return RegionSelection(text)
    flags, text = split_flags(text)
    marks = [parse_mark(match[1]) for match in _MARK.finditer(text)]
    text = _MARK.sub(" ", text)
    linked = [match[1] for match in _LIBRARY.finditer(text)]
    text = _LIBRARY.sub(" ", text)
    arrays = [parse_extent(match[0]) for match in _BRACKETED.finditer(text)]
    words = _WORD.findall(_BRACKETED.sub(" ", text))
    values = [(entry[1], int(entry[2])) for word in words if (entry := _VALUE.fullmatch(word))]
    aliases = [(pair[1], pair[2]) for word in words if (pair := _ALIAS.fullmatch(word))]
    names = [word for word in words if not (_VALUE.fullmatch(word) or _ALIAS.fullmatch(word))]
    if len(names) > 1 or len(dict(values)) < len(values) or max(len(linked), len(marks)) > 1:
        raise InputError(
            "expected the name of a region, arrays with their sizes, parameters with their "
            f"values, a library, flags and a place, found {text!r}"
        )
    chosen = checked_selection(names[0] if names else None, arrays)
    library = library_with_digest(linked[0]) if linked else None
    mark = marks[0] if marks else None
    return replace(
        chosen,
        parameter_values=tuple(values),
        library=library,
        flags=flags,
        mark=mark,
        aliases=tuple(aliases),
    )


def library_with_digest(path: str) -> tuple[str, str]:
    """Return the path of a library and its digest, which may stand behind the path.

    Raises:
        InputError: there is no such file, or blanks are in its path.
    """
    path, _, digest = path.partition("#")
    where = str(Path(path).absolute())
    is_odd = any(letter.isspace() or letter == "#" for letter in where)
    if is_odd or (digest and not _DIGEST.fullmatch(digest)):
        raise InputError(f"{where}: expected the path of a library without blanks and #")
    if digest:
        return where, digest
    try:
        return where, hashlib.sha256(Path(where).read_bytes()).hexdigest()
    except OSError as error:
        raise InputError(f"{where}: expected a library: {error}") from error


def checked_selection(
    function: str | None, arrays: Sequence[tuple[str, tuple[str, ...]]]
) -> RegionSelection:
    """Return a selection; no array may have two sizes."""
    names = [name for name, _ in arrays]
    for name in names:
        if names.count(name) > 1:
            raise InputError(f"expected the sizes of every array once, found {name} twice")
    return RegionSelection(function, tuple(arrays))


def with_extents(
    function: str | None,
    texts: Sequence[str],
    library: str | None = None,
    flags: CompileFlags = NO_FLAGS,
    line: int | None = None,
    aliases: Sequence[str] = (),
) -> str | None:
    """Return the text that chooses a region with sizes beside those that it has already.

    ``library`` is the path of one that has functions which the file only declares, ``flags`` are
    those that the file is read with, ``line`` is one that the region is at, ``aliases`` are pairs
    of pointers that are the same.

    >>> with_extents("f", ["A=2x3"]), with_extents(None, [])
    ('f A[2][3]', None)
    """
    if not (texts or aliases) and library is None and flags == NO_FLAGS and line is None:
        return function
    given = parse_selection(function)
    chosen = checked_selection(given.region_name, [*given.array_sizes, *map(parse_extent, texts)])
    linked = given.library if library is None else library_with_digest(library)
    chosen = replace(given, array_sizes=chosen.array_sizes, library=linked)
    mark = chosen.mark if line is None else LineMark(line)
    pairs = (*given.aliases, *map(parse_alias, aliases))
    chosen = replace(chosen, aliases=tuple(dict.fromkeys(pairs)))
    return str(replace(chosen, flags=given.flags.joined(flags), mark=mark))
