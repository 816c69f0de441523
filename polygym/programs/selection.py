"""Selection of programs by patterns: one rule for environments and all commands.

A *selection* is a list of patterns, with commas between where it is one text:

* names of kernels, categories, and globs over them (``gemm``, ``blas``, ``*mm``, ``all``);
* comprehensions of the library and globs over them (``tc:matmul``, ``tc:conv*``), all of them
  (``comprehensions``) or those of one of its files (``pooling``); ``all`` means kernels only;
* random programs (``random:17``, ``scalars:17``) and ranges of them (``random:8-10``);
* paths of C files and of ``.tc`` files: whatever has a slash or such an ending, or is a file. They
  may be globs too, and one that has commas in its name is taken as it stands. A line may follow,
  ``my.c:12``: the region there.

A pattern behind ``!`` excludes what it names, wherever in the list it stands; a list that only
excludes begins with ``all``. It must name something, even if that is not among the rest. A path
that begins with ``!`` is written ``./!…``.
"""

import glob
import os
from collections.abc import Hashable, Iterable, Sequence
from fnmatch import fnmatchcase
from functools import cache
from pathlib import Path

import polybench
from polybench.selection import ALL, NOT, select_names
from polygym.errors import InputError
from polygym.frontend.tc import library
from polygym.programs.comprehensions import PREFIX, comprehension_hint
from polygym.programs.generate import (
    is_generated,
    is_held_out_family,
    names_of_range,
    source_of_name,
)
from polygym.programs.targets import is_path, split_line

COMPREHENSIONS = "comprehensions"
_MOST_NAMED = 3
_HELD_OUT_FOLDER = "held_out_programs"


def select_programs(
    texts: Iterable[str], default_patterns: Sequence[str] = (ALL,)
) -> tuple[str, ...]:
    """Return the names and paths for which the texts stand together, in their order, each once.

    ``default_patterns`` are the patterns for which the word ``all`` stands.

    >>> select_programs(["mvt, *mm", "!3mm"])
    ('mvt', '2mm', 'gemm', 'symm', 'trmm')

    Raises:
        InputError: a pattern names nothing, or nothing is left.
    """
    given = tuple(texts)
    patterns = [pattern for text in given for pattern in _patterns(text)]

    def expand(pattern: str) -> list[str]:
        meant = default_patterns if pattern == ALL else (pattern,)
        return [name for choice in meant for name in _expand(choice)]

    try:
        result = select_names(patterns, expand, _identity)
    except InputError as error:
        raise InputError(f"kernel: {error}") from None
    if not result:
        text = ",".join(given)
        raise InputError(
            f"kernel: expected at least one kernel or file, found {text!r}"
            + (", which excludes all that it names" if patterns else "")
        )
    return result


def category_of(name: str) -> str:
    """Return the category of a comprehension of the library, after the file in which it stands.

    >>> category_of("tc:matmul")
    'comprehensions/products'
    """
    definition = library.definition(name.removeprefix(PREFIX))
    return f"{COMPREHENSIONS}/{Path(definition.location.file).stem}"


def function_for(name: str, function: str | None) -> str | None:
    """Return the choice of a region for one of several programs: it is for those that are files.

    >>> function_for("gemm", "f x[100]"), function_for("./my.c", "f x[100]")
    (None, 'f x[100]')
    """
    return function if is_file(name) else None


def is_file(name: str) -> bool:
    """Whether a name that a pattern has led to is that of a file, and no name of polygym's own."""
    path, _ = split_line(name)
    return (is_path(path) or os.path.isfile(path)) and not is_generated(name)


def is_reserved_for_tests(name: str) -> bool:
    """Whether a program is of the held-out split, from which nothing is learned.

    Its files are those of ``benchmarks/held_out_programs``, and its random programs have names that
    begin with ``held-out:``.

    >>> is_reserved_for_tests("random:17"), is_reserved_for_tests("held-out:bands:17")
    (False, True)
    """
    return is_held_out_family(name) or (
        is_file(name) and _HELD_OUT_FOLDER in Path(split_line(name)[0]).resolve().parts
    )


def expect_files(names: Sequence[str], function: str | None) -> None:
    """Refuse the choice of a region where none of the programs is a file.

    Raises:
        InputError: there is none that it could be of.
    """
    if function is not None and not any(map(is_file, names)):
        raise InputError(
            f"--function {function}: expected a file among the programs, whose region it chooses, "
            f"found {', '.join(names[:_MOST_NAMED]) or 'none'}"
        )


def _patterns(text: str) -> list[str]:
    """Return the patterns of a text; that of a file whose name has commas is one."""
    if os.path.isfile(text.strip().removeprefix(NOT)):
        return [text.strip()]
    return [part for part in (part.strip() for part in text.split(",")) if part]


def _expand(pattern: str) -> list[str]:
    """Return what a pattern names."""
    if not pattern or pattern.startswith(NOT):
        raise InputError(
            f"expected a name, a glob, a category or a path behind {NOT}, found "
            + (repr(pattern) if pattern else "none")
        )
    if pattern.startswith(PREFIX):
        return _comprehensions(pattern)
    if is_generated(pattern):
        result = names_of_range(pattern)
        source_of_name(result[0])  # refuses what is no number
        return result
    path, line = split_line(pattern)
    if line is not None:
        return [f"{file}:{line}" for file in _expand(path)]
    if (is_path(pattern) and not _is_category(pattern)) or os.path.isfile(pattern):
        result = sorted(glob.glob(pattern)) if glob.has_magic(pattern) else [pattern]
        missing = [path for path in result if not os.path.isfile(path)]
        if missing or not result:
            raise InputError(f"expected the path of a file, found no file {pattern!r}")
        return result
    ours = _of_category(pattern)
    try:
        return [kernel.name for kernel in polybench.select((pattern,))] + ours
    except KeyError as error:
        if ours:
            return ours
        raise InputError(comprehension_hint(pattern) or str(error.args[0])) from None


def _comprehensions(pattern: str) -> list[str]:
    """Return the comprehensions that a name or a glob behind ``tc:`` names.

    >>> _comprehensions("tc:t?mm:double")
    ['tc:tbmm:double']
    """
    name, colon, scalar = pattern.removeprefix(PREFIX).partition(":")
    result = [
        definition for definition in library.definitions() if fnmatchcase(definition, name)
    ] or [name]
    for plain in result:
        library.definition(f"{plain}{colon}{scalar}")  # refuses it, and says what there is
    return [f"{PREFIX}{plain}{colon}{scalar}" for plain in result]


def _of_category(pattern: str) -> list[str]:
    """Return the comprehensions of a category, which is not a glob: ``*`` means kernels."""
    return [
        name
        for name, category in _categories().items()
        if pattern in (COMPREHENSIONS, category, category.rpartition("/")[2])
    ]


@cache
def _categories() -> dict[str, str]:
    names = [f"{PREFIX}{definition}" for definition in library.definitions()]
    return {name: category_of(name) for name in names}


def _is_category(pattern: str) -> bool:
    try:
        return bool(_of_category(pattern) or polybench.select((pattern,)))
    except KeyError:
        return False


def _identity(name: str) -> Hashable:
    """Return the same for two names of one file, or of one line of it, however it is reached."""
    path, line = split_line(name)
    return (os.path.realpath(path), line) if os.path.isfile(path) else name
