"""Preprocessing: macros and includes resolved by pcpp, with every token's origin kept.

The first step of the front end: text in, :class:`~polygym.frontend.c.source.locations.SourceMap`
out. Comments are blanked before pcpp sees the text, pragmas other than ``scop`` and ``endscop`` are
dropped, GNU annotations too. pcpp's own messages, which it prints, become exceptions here; work is
bounded in bytes read and tokens produced, because a few lines of macros can expand into more than
the memory.
"""

from __future__ import annotations

import re
import stat
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from functools import cache
from io import StringIO
from pathlib import Path
from typing import Any, TypeAlias

from pcpp.parser import Action, OutputDirective
from pcpp.preprocessor import Preprocessor

from polygym.errors import InputError, LimitError, PolygymError, SourceError, SourceLocation
from polygym.frontend.c.source.compile_flags import NO_FLAGS, CompileFlags
from polygym.frontend.c.source.compiler_output import has_line_markers, read_compiler_output
from polygym.frontend.c.source.condition_value import ConditionEvaluator
from polygym.frontend.c.source.cpp import read_cpp
from polygym.frontend.c.source.cpp.literals import plain_literals
from polygym.frontend.c.source.cpp.names import C_HEADERS, CPP_HEADERS
from polygym.frontend.c.source.cpp.signs import CPP_SUFFIXES
from polygym.frontend.c.source.header_types import header_typedefs
from polygym.frontend.c.source.locations import SourceMap
from polygym.frontend.c.source.predefined_macros import predefined_macros
from polygym.frontend.c.source.readable_files import may_read
from polygym.frontend.c.tokens import standard_headers
from polygym.frontend.c.tokens.annotations import (
    AUTO_TYPE,
    PRAGMAS,
    TYPEOF,
    hidden_words,
    pure_functions,
    without_annotations,
)
from polygym.frontend.c.tokens.origins import (
    RawToken,
    SourceToken,
    TokenOrigin,
    blank_comments,
)

_MAX_BYTES = 1 << 20
_MAX_OUTPUT_BYTES = 1 << 23  # of a compiler's preprocessor, with all system headers
_MAX_TOKENS = 200_000
_MAX_EXPANSION = 1_000_000
_MAX_INCLUDES = 200

_COMMAND_LINE = "<command line>"  # the name of what includes the files that are read before

# The beginning of a number at the end of a row, and what may go on with it.
_NUMBER = re.compile(r"(?:^|[^\w.])\.?[0-9][\w.]*$")
_REST = re.compile(r"[\w.]")

_HAS_INCLUDE = re.compile(r'__has_include(?:_next)?\s*\(\s*([<"])([^>"\n]*)[>"]\s*\)')

# Macros that pcpp itself expands.
_COUNTED = ("__LINE__", "__COUNTER__")

# Questions to the compiler: nothing beyond plain C is promised.
_FEATURE_TESTS = tuple(
    f"__has_{word}(x) 0"
    for word in "attribute builtin feature extension c_attribute embed include".split()
)

# Other files that were looked for, and what was in them; None where nothing was.
IncludedContents: TypeAlias = tuple[tuple[str, bytes | None], ...]

# Python's line separators that are mere white space in C; str.splitlines must not see them.
_ODD_SPACES = str.maketrans({c: " " for c in "\v\f\x1c\x1d\x1e\x85\u2028\u2029"})


def decode(data: bytes, file: str) -> str:
    """Return the text of a file, or refuse what cannot be C: too long, or a NUL inside.

    A text that is not UTF-8 is Latin-1: compilers take the bytes of comments and of strings as
    they are.
    """
    if len(data) > _MAX_OUTPUT_BYTES:
        raise LimitError(f"{file}: {len(data)} bytes; at most {_MAX_OUTPUT_BYTES} are read")
    return normalize_newlines(data.decode(_encoding(data)), file)


def encode_as(text: str, file: str | Path) -> bytes:
    """Return the bytes of a text in the encoding of a file, from which most of it is."""
    return text.encode(_encoding(Path(file).read_bytes()).removesuffix("-sig"), "backslashreplace")


def _encoding(data: bytes) -> str:
    """Return the encoding of a file."""
    try:
        data.decode("utf-8")
    except UnicodeDecodeError:
        return "latin-1"
    return "utf-8-sig"


def normalize_newlines(text: str, file: str) -> str:
    """Return the text with line feeds as its only line ends; refuse a NUL."""
    text = text.replace("\r\n", "\n").replace("\r", "\n").translate(_ODD_SPACES)
    if (offset := text.find("\0")) >= 0:
        line = text.count("\n", 0, offset) + 1
        raise SourceError(
            SourceLocation(file, line, offset - text.rfind("\n", 0, offset)),
            "not a text: there is a NUL character",
        )
    return text


def preprocess(
    text: str, file: str, flags: CompileFlags = NO_FLAGS
) -> tuple[SourceMap, IncludedContents]:
    """Preprocess a C text, and return the contents of the other files that were looked for.

    ``file`` names the text in messages and is where its includes are sought, and then in the
    folders of the ``flags``.
    """
    engine, stream = _preprocessed(text, file, flags)
    return _write(stream, engine), tuple(engine.consulted.items())


def file_content(path: str) -> bytes | None:
    """Return what is in a file, None if it is none, or cannot or must not be read."""
    if not may_read(path):
        return None
    try:
        return Path(path).read_bytes() if stat.S_ISREG(Path(path).stat().st_mode) else None
    except OSError:
        return None


def _preprocessed(
    text: str, file: str, flags: CompileFlags
) -> tuple[_BoundedPreprocessor, list[RawToken]]:
    """Return the engine that has read a text, and what came out of it."""
    for directory in flags.include_directories:
        if not Path(directory).is_dir():  # without it the text might mean something else
            raise InputError(f"{file}: expected the folder of headers {directory}, found none")
    text = normalize_newlines(text, file)
    engine = _BoundedPreprocessor(file, text, list(flags.include_directories))
    if has_line_markers(text):
        text = read_compiler_output(text)
        _check_length(file, len("".join(text.split())))
    else:
        _check_length(file, len(text))
    try:
        for definition in flags.definitions:
            engine.define(definition)
        stream: list[RawToken] = []
        for path in flags.included_files:
            engine.parse(f'#include "{path}"\n', _COMMAND_LINE)
            stream += engine.stream()
        engine.begins_main_file = True
        engine.parse(text, file)
        stream += engine.stream()
    except PolygymError:
        raise
    except RecursionError as error:
        raise SourceError(engine.location(), "macros or includes nest too deeply") from error
    except Exception as error:
        # pcpp meets a malformed directive with whatever exception its code happens to run into.
        raise SourceError(engine.location(), "this preprocessor directive is malformed") from error
    return engine, stream


def _check_length(file: str, length: int) -> None:
    if length > _MAX_BYTES:
        raise LimitError(f"{file}: {length} bytes; at most {_MAX_BYTES} are read")


def included_files(text: str, file: str, flags: CompileFlags = NO_FLAGS) -> tuple[str, ...]:
    """Return which files of the user's a C text includes, directly or by way of others.

    Paths are absolute, each is there once. Conditions are respected: what is not read is left out.

    Raises:
        SourceError: one is missing, or a directive is malformed.
        LimitError: there are too many, or they are too long.
    """
    return tuple(dict.fromkeys(_preprocessed(text, file, flags)[0].opened))


class _BoundedPreprocessor(Preprocessor):  # type: ignore[misc]
    """pcpp, with origins on its tokens, bounded, and silent."""

    def __init__(self, file: str, text: str, include_directories: list[str]) -> None:
        """Prepare for one main file."""
        super().__init__()
        self.main_file = file
        self.files: dict[str, list[str]] = {file: text.split("\n")}
        self.budget = _MAX_EXPANSION
        self.includes = 0
        self.opened: list[str] = []
        self.consulted: dict[str, bytes | None] = {}
        self.system_headers: set[str] = set()
        self.cpp_headers: set[str] = set()  # as a C++ file names them
        self._include_directories = include_directories
        self._names: dict[str, str] = {}
        self.begins_main_file = False  # whether the next file is the main one
        self.is_cpp = Path(file).suffix in CPP_SUFFIXES
        self.evaluator = ConditionEvaluator(self.is_cpp)
        self._last_column: dict[tuple[str, int], int] = {}
        self.lastdirective: Any = None
        self.macros.update(_predefined(self.is_cpp))
        for directory in include_directories:
            self.add_path(directory)

    def location(self) -> SourceLocation:
        """Return the place of the directive that was read last."""
        position = getattr(self.lastdirective, "position", None)
        if position is None:
            return SourceLocation(self.main_file, 1, 1, self.files[self.main_file][0])
        return self._location(TokenOrigin(*position))

    def _location(self, origin: TokenOrigin) -> SourceLocation:
        return SourceMap((), "", self.files).location_of_origin(origin)

    # What pcpp calls.

    def group_lines(self, text: str, source: str) -> Iterator[list[Any]]:
        """Cut a file into lines of tokens, and write on each token where it stands."""
        name = source
        if self.begins_main_file:
            name = self._names[source] = self.main_file
            self.begins_main_file = False
        elif source != _COMMAND_LINE:
            name = self._names.setdefault(source, source)
        self.files.setdefault(name, text.split("\n"))
        if self.is_cpp:
            text = plain_literals(text)
        text = _HAS_INCLUDE.sub(self._has_include, blank_comments(text))
        # pcpp takes white space off the line ends before it counts offsets.
        starts = [0]
        for whole in text.splitlines():
            starts.append(starts[-1] + len(whole.rstrip()) + 1)
        for line_tokens in super().group_lines(text, source):
            for token in line_tokens:
                line = bisect_right(starts, token.lexpos)
                token.position = (name, line, token.lexpos - starts[line - 1] + 1)
            yield line_tokens

    def _has_include(self, match: re.Match[str]) -> str:
        """Return 1 or 0 for ``__has_include(…)`` in a condition, and spaces up to its length."""
        path = match[2]
        folders = [*self._include_directories]
        if match[1] == '"':
            folders.insert(0, str(Path(self.main_file).parent))
        is_known = match[1] == "<" and standard_headers.is_standard_header(path)
        for folder in folders:
            where = str(Path(folder) / path)
            self.consulted[where] = file_content(where)
            is_known |= self.consulted[where] is not None
        return str(int(is_known)).ljust(len(match[0]))

    def define(self, tokens: Any) -> None:
        """Define a macro; its body is marked, because its place is not where it is used."""
        if isinstance(tokens, str):
            tokens = self.tokenize(tokens)
            for token in tokens:
                token.position = ("", 1, token.lexpos + 1)
        for token in tokens:
            token.in_macro = True
        super().define(tokens)

    def expand_macros(self, tokens: list[Any], expanding_from: Sequence[str] = ()) -> list[Any]:
        """Expand macros, within the budget of tokens."""
        macros = self.macros
        if not any(token.value in macros or token.value in _COUNTED for token in tokens):
            return tokens  # most runs of tokens between two directives have none
        expanded: list[Any] = super().expand_macros(tokens, list(expanding_from))
        self.budget -= len(expanded)
        if self.budget < 0:
            raise LimitError(
                f"{self.location()}: macros expand to more than {_MAX_EXPANSION} tokens"
            )
        return expanded

    def on_error(self, file: str, line: int, message: str) -> None:
        """Refuse what pcpp would print."""
        name = self._names.get(file, self.main_file)
        message = message.replace("\\n", "").rstrip()  # it quotes lines with their ends
        raise SourceError(self._location(TokenOrigin(name, max(line, 1), 1)), message)

    def on_file_open(self, is_system_include: bool, path: str) -> StringIO:
        """Open an included file; headers in ``<>`` only from directories that were given."""
        if is_system_include and not self._include_directories:
            raise OSError(path)
        self.includes += 1
        if self.includes > _MAX_INCLUDES:
            raise LimitError(f"{self.location()}: more than {_MAX_INCLUDES} files are included")
        data = self.consulted[path] = file_content(path)
        if data is None:
            raise OSError(path)
        self.opened.append(path)
        text = decode(data, path)
        _check_length(path, len(text))
        return StringIO(text)

    def on_include_not_found(
        self, is_malformed: bool, is_system_include: bool, directory: str, path: str
    ) -> None:
        """Take a system header as read; refuse a user's own file that is not there."""
        if is_malformed:
            raise SourceError(self.location(), f"malformed #include: {path}")
        if not is_system_include:
            where = directory or "the current directory"
            raise SourceError(self.location(), f'included file "{path}" is not in {where}')
        if self.is_cpp:
            self.cpp_headers.add(path)
            path = C_HEADERS.get(path, path)
        if path not in self.cpp_headers & CPP_HEADERS:
            self.system_headers.add(path)
        for macro in standard_headers.HEADER_MACROS.get(path, ()):
            if re.split(r"[ (]", macro)[0] not in self.macros:
                self.define(macro)
        raise OutputDirective(Action.IgnoreAndRemove)

    def on_directive_unknown(
        self, directive: Any, tokens: list[Any], passing: bool, preceding: list[Any]
    ) -> bool | None:
        """Pass pragmas on, honour ``#error``, ignore ``#warning``, ``#line`` and ``#ident``."""
        self.lastdirective = directive
        match directive.value:
            case "pragma":
                return None
            case "warning" | "line" | "ident":
                return True
            case "error":
                text = "".join(token.value for token in tokens)
                raise SourceError(self.location(), f"#error {text}".rstrip())
            case _:
                raise SourceError(
                    self.location(), f"unknown preprocessor directive #{directive.value}"
                )

    # What comes out.

    def stream(self) -> Iterator[RawToken]:
        """Yield each token's text, origin and literal position; white space has an empty text."""
        pragma: list[Any] = []
        fresh = True
        while (token := self.token()) is not None:
            if pragma:
                if token.value != "\n":
                    pragma.append(token)
                    continue
                words = "".join(part.value for part in pragma).replace("#", "").split()
                if words[1:] in PRAGMAS:
                    yield f"#{' '.join(words)}", self._origin(pragma[0]), None
                pragma = []
            if token.type in self.t_WS:
                fresh = fresh or "\n" in token.value
                continue
            if token.value == "#" and fresh:
                pragma = [token]
                continue
            fresh = False
            yield token.value, self._origin(token), getattr(token, "position", None)

    def _origin(self, token: Any) -> TokenOrigin:
        """Return where a token stands; for a macro's body, where the outermost macro is called."""
        position = getattr(token, "position", None)
        calls = getattr(token, "expanded_from", [])
        if position is not None and not getattr(token, "in_macro", False):
            self._last_column[position[:2]] = position[2]
            return TokenOrigin(*position)
        name = self._names.get(getattr(token, "source", ""), self.main_file)
        line = max(int(token.lineno), 1)
        lines = self.files[name]
        text = lines[line - 1] if line <= len(lines) else ""
        column = 0
        if calls:
            column = text.find(calls[-1], max(self._last_column.get((name, line), 1) - 1, 0)) + 1
            column = column or text.find(calls[-1]) + 1
        return TokenOrigin(name, line, column or len(text) - len(text.lstrip()) + 1, in_macro=True)


@cache
def _predefined(is_cpp: bool) -> dict[str, Any]:
    """Return the macros that stand before every text, of C or of C++, as pcpp keeps them."""
    engine = Preprocessor()
    for macro in (*predefined_macros(is_cpp=is_cpp), *_FEATURE_TESTS):
        tokens = engine.tokenize(macro)
        for token in tokens:
            token.position, token.in_macro = ("", 1, token.lexpos + 1), True
        engine.define(tokens)
    return {name: macro for name, macro in engine.macros.items() if not name.endswith("_PCPP__")}


def _write(stream: list[RawToken], engine: _BoundedPreprocessor) -> SourceMap:
    """Lay the tokens out in rows; a row continues while tokens stand side by side in one file.

    pcpp cuts ``1.e-3`` into four tokens; laid side by side again they are one number for the
    parser. Tokens that only meet by expansion (``-X`` where X is ``-1``) must not be glued, so they
    go into rows of their own.
    """
    headers = engine.system_headers
    more = header_typedefs(headers)
    has_types = headers or engine.is_cpp
    rows = [f"{standard_headers.TYPEDEFS} {more}".rstrip() if has_types else ""]
    tokens: list[SourceToken] = []
    expected: tuple[str, int, int] | None = None
    before: tuple[str, int, int] | None = None
    switches: list[tuple[int, bool]] = []
    problems: dict[int, tuple[str, str]] = {}
    plain: Sequence[RawToken] = list(without_annotations(stream))
    cpp = read_cpp(plain, engine.cpp_headers) if engine.is_cpp else None
    plain = plain if cpp is None else cpp.tokens
    rows[0] += _open_types({piece[0] for piece in plain})
    refused = {} if cpp is None else {p.origin: (p.message, p.hint) for p in reversed(cpp.problems)}
    for text, origin, position in plain:
        if origin in refused:
            problems[len(tokens)] = refused[origin]
        if text.startswith("#pragma STDC"):
            switches.append((len(tokens), not text.endswith("OFF")))
            continue
        is_beside = position is not None and position == expected
        is_pasted = origin.in_macro or (position is not None and position == before)
        if is_beside or (is_pasted and _continues_number(rows[-1], text)):
            column = len(rows[-1]) + 1
            rows[-1] += text
        else:
            column = 1
            rows.append(text)
        tokens.append(SourceToken(text, len(rows), column, origin))
        if len(tokens) > _MAX_TOKENS:
            raise LimitError(f"{engine.main_file}: more than {_MAX_TOKENS} tokens")
        before = position
        expected = position and (position[0], position[1], position[2] + len(text))
    source_map = SourceMap(tuple(tokens), "\n".join(rows) + "\n", engine.files, tuple(switches))
    source_map.pure = pure_functions([text for text, _, _ in stream])
    source_map.is_generic = "tgmath.h" in engine.system_headers or cpp is not None
    source_map.cpp, source_map.problems = cpp, problems
    source_map.hidden_words = hidden_words([text for text, _, _ in stream])
    source_map.has_unknown_headers = not engine.system_headers <= standard_headers.STANDARD_HEADERS
    return source_map


def _open_types(words: set[str]) -> str:
    """Return declarations of the types that stand for those of expressions."""
    used = [name for name in (TYPEOF, AUTO_TYPE) if name in words]
    return "".join(f" typedef struct {standard_headers.OPAQUE}{n} {n};" for n in used)


def _continues_number(row: str, text: str) -> bool:
    """Whether a token is the rest of a number: ``1.5 ## f`` leaves 1, ., 5 and f."""
    return _REST.match(text) is not None and _NUMBER.search(row) is not None
