"""Compile flags that a C text is read with: folders of headers, macros, and files read before it.

A file is compiled with ``-I DIR``, ``-D NAME=VALUE`` and ``-include FILE``, by hand or as a
compilation database has it. The same is given beside a file here, in the text that chooses a region
(:mod:`~polygym.frontend.c.source.region_selection`), so that records, searches and replays read the
file in the same way::

    kernel -I/home/me/project/include -DN=1000 -DREAL=unsigned%20char -include=/home/me/config.h

Blanks, brackets and other signs are escaped as in addresses: %20 is a blank.
"""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from urllib.parse import quote, unquote

from polygym.errors import InputError
from polygym.pickling import pickle_by_name

_WORD = re.compile(r"-(I|D|include=)(\S+)")
_MACRO = re.compile(r"([A-Za-z_]\w*)(\([\w\s,.]*\))?(=.*)?", re.DOTALL)
_PLAIN = "/._-+=,~"


@pickle_by_name
@dataclass(frozen=True, slots=True)
class CompileFlags:
    """Folders to look for headers in, absolute, and macros as ``NAME`` or ``NAME=VALUE``.

    ``included_files`` are read before the text, as if it began by including them.
    """

    include_directories: tuple[str, ...] = ()
    macros: tuple[str, ...] = ()
    included_files: tuple[str, ...] = ()

    def __str__(self) -> str:
        """Return the text that is read again.

        >>> str(CompileFlags(("/usr/my include",), ("N=10", "T=unsigned char")))
        '-I/usr/my%20include -DN=10 -DT=unsigned%20char'
        """
        words = [f"-I{quote(path, _PLAIN)}" for path in self.include_directories]
        words += [f"-D{quote(macro, _PLAIN)}" for macro in self.macros]
        words += [f"-include={quote(path, _PLAIN)}" for path in self.included_files]
        return " ".join(words)

    @property
    def arguments(self) -> tuple[str, ...]:
        """The same as arguments of a compiler."""
        return (
            *(f"-I{path}" for path in self.include_directories),
            *(f"-D{macro}" for macro in self.macros),
            *(word for path in self.included_files for word in ("-include", path)),
        )

    @property
    def definitions(self) -> tuple[str, ...]:
        """The macros as ``#define`` has them: a name alone is 1.

        >>> CompileFlags(macros=("DEBUG", "N=10", "MAX(a,b)=a")).definitions
        ('DEBUG 1', 'N 10', 'MAX(a,b) a')
        """
        return tuple(_definition(macro) for macro in self.macros)

    def joined(self, other: "CompileFlags") -> "CompileFlags":
        """Return these flags, and others behind them; of two macros of a name the last one holds.

        >>> CompileFlags(macros=("N=1", "M")).joined(CompileFlags(macros=("N=2",))).macros
        ('M', 'N=2')
        """
        folders = dict.fromkeys((*self.include_directories, *other.include_directories))
        macros = {_macro_name(macro): macro for macro in self.macros}
        for macro in other.macros:
            macros.pop(_macro_name(macro), None)
            macros[_macro_name(macro)] = macro
        files = dict.fromkeys((*self.included_files, *other.included_files))
        return CompileFlags(tuple(folders), tuple(macros.values()), tuple(files))


NO_FLAGS = CompileFlags()


def checked_flags(
    include_directories: Iterable[str | Path] = (),
    macros: Iterable[str] = (),
    included_files: Iterable[str | Path] = (),
) -> CompileFlags:
    """Return flags that were given by hand, with absolute folders and files.

    Raises:
        InputError: A folder is none, a file is none, or a macro has no name.
    """
    folders = []
    for directory in include_directories:
        path = Path(directory).absolute()
        if not path.is_dir():
            raise InputError(f"-I {directory}: expected a folder, found none")
        folders.append(str(path))
    flags = CompileFlags(tuple(folders))
    for macro in macros:
        if not _MACRO.fullmatch(macro.strip()):
            raise InputError(f"-D {macro}: expected NAME or NAME=VALUE")
        flags = flags.joined(CompileFlags(macros=(macro.strip(),)))
    for file in included_files:
        if not Path(file).is_file():
            raise InputError(f"--include {file}: expected a file, found none")
        flags = flags.joined(CompileFlags(included_files=(str(Path(file).absolute()),)))
    return flags


def split_flags(text: str) -> tuple[CompileFlags, str]:
    """Return the flags in a text that chooses a region, and the rest of the text.

    >>> split_flags("f x[n] -DN=10 -I/usr/a%20b")
    (CompileFlags(include_directories=('/usr/a b',), macros=('N=10',), included_files=()), 'f x[n]')
    """
    flags, rest, depth = NO_FLAGS, list[str](), 0
    for word in text.split(" "):
        match = _WORD.fullmatch(word) if depth == 0 else None
        depth += word.count("[") - word.count("]")
        if match is None:
            rest.append(word)
        elif match[1] == "I":
            flags = flags.joined(CompileFlags((unquote(match[2]),)))
        elif match[1] == "include=":
            flags = flags.joined(CompileFlags(included_files=(unquote(match[2]),)))
        else:
            flags = flags.joined(CompileFlags(macros=(unquote(match[2]),)))
    return flags, " ".join(rest)


def flags_of_arguments(arguments: Sequence[str], folder: Path) -> CompileFlags:
    """Return the flags in the arguments of a compiler that runs in a folder.

    Other arguments are passed over; ``-U`` takes a macro back.

    >>> flags_of_arguments(["cc", "-Iinc", "-D", "N=4", "-DM", "-UM", "-c", "a.c"], Path("/p"))
    CompileFlags(include_directories=('/p/inc',), macros=('N=4',), included_files=())
    """
    flags, position = NO_FLAGS, 0
    arguments = [word for word in arguments if word != "-Xclang"]  # stands before each word
    while position < len(arguments):
        option, value = _option(arguments, position)
        position += 1 if option is None or value is None else 1 + (arguments[position] == option)
        match option, value:
            case (None, _) | (_, None):
                continue
            case "-D", str(macro):
                flags = flags.joined(CompileFlags(macros=(macro,)))
            case "-U", str(name):
                kept = tuple(macro for macro in flags.macros if _macro_name(macro) != name)
                flags = replace(flags, macros=kept)
            case "-include" | "--include", str(path):
                file = str((folder / path).absolute())
                flags = flags.joined(CompileFlags(included_files=(file,)))
            case _, str(path):
                flags = flags.joined(CompileFlags((str((folder / path).absolute()),)))
    return flags


_FOLDER_OPTIONS = ("-I", "-isystem", "-iquote", "-idirafter", "--include-directory")


def _option(arguments: Sequence[str], position: int) -> tuple[str | None, str | None]:
    """Return the option that an argument is, and its value, there or in the next argument."""
    argument = arguments[position]
    for option in (*_FOLDER_OPTIONS, "-include", "--include", "-D", "-U"):
        if argument == option:
            behind = arguments[position + 1 : position + 2]
            return option, behind[0] if behind else None
        if argument.startswith(option) and option != "-include":  # -include-pch is another one
            return option, argument.removeprefix(option).removeprefix("=")
    return None, None


def _macro_name(macro: str) -> str:
    match = re.match(r"\w+", macro)
    return match[0] if match else macro


def _definition(macro: str) -> str:
    name, equals, value = macro.partition("=")
    return f"{name} {value}" if equals else f"{name} 1"
