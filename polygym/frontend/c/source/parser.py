"""Parsing: preprocessed text to a syntax tree, and the regions marked in it.

The second step of the front end. pycparser parses; what it says about a syntax error is brought
back to the user's own line. A region is what stands between ``#pragma scop`` and
``#pragma endscop`` in one block of a function's body; it is named after the function, or
``name:1``, ``name:2``, … where one function holds several.

Cache of preprocessed texts, their trees, and the results that were computed from them.

Loading a program asks for the same file several times: for its region, for the names of all
regions, for the pointers without sizes, for the region with the initial data. Many episodes load
the same programs again and again. A text means the same as before if

* it is the same text, under the same name, with the same flags, and
* every other file that was looked for then is as it was: there or not there, with the same bytes.

The second is asked every time, so a header that is edited is read again. Refusals are not kept.
"""

from __future__ import annotations

import os
import pickle
import re
from collections import OrderedDict
from collections.abc import Callable, Hashable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, TypeAlias, TypeVar, cast

from pycparser import c_ast
from pycparser.c_lexer import CLexer
from pycparser.c_parser import CParser

from polygym.errors import InputError, SourceError
from polygym.frontend.c.source.compile_flags import NO_FLAGS, CompileFlags
from polygym.frontend.c.source.cpp.signs import is_cpp
from polygym.frontend.c.source.initializers import normalize_initializers
from polygym.frontend.c.source.locations import SourceMap
from polygym.frontend.c.source.preprocessor import IncludedContents, file_content, preprocess
from polygym.frontend.c.source.scoped_types import separate_local_types
from polygym.frontend.c.source.syntax import block_with, walk
from polygym.frontend.c.source.tolerant_parsing import PartRefused, refuse_known, tolerant_tree
from polygym.frontend.c.source.unreadable import ParseProblem
from polygym.frontend.c.source.unwritten_statics import mark_unwritten_statics

_Result = TypeVar("_Result")

# Of all texts together; one takes 300 bytes, a kernel of the suite has a thousand.
_MAX_TOKENS = 60_000
_MAX_RESULTS = 16  # of one text


CPP_HINT = "C++ is read in files that end in .cc, .cpp or .cxx: rename the file"


@dataclass(frozen=True, slots=True)
class _CachedText:
    """A text as it was read, in which folder, and with what in the other files."""

    source: SourceMap
    included: IncludedContents
    folder: str

    @property
    def is_current(self) -> bool:
        """Whether all other files are as they were."""
        if not self.included:
            return True
        return os.getcwd() == self.folder and all(
            file_content(path) == content for path, content in self.included
        )


_Key: TypeAlias = tuple[str, str, CompileFlags]
_cached_texts: OrderedDict[_Key, _CachedText] = OrderedDict()  # the latest one is the last


def preprocess_cached(text: str, file: str, flags: CompileFlags = NO_FLAGS) -> SourceMap:
    """Preprocess a C text, as :func:`~polygym.frontend.c.source.preprocessor.preprocess` does.

    What is returned is shared with others: it must not be changed.
    """
    key = (text, file, flags)
    known = _cached_texts.pop(key, None)
    if known is None or not known.is_current:
        source, consulted = preprocess(*key)
        known = _CachedText(source, consulted, os.getcwd() if consulted else "")
    _cached_texts[key] = known
    while sum(len(text.source.tokens) for text in list(_cached_texts.values())) > _MAX_TOKENS:
        with suppress(KeyError):  # another thread was faster
            _cached_texts.popitem(last=False)
    return known.source


def parse_cached(source: SourceMap) -> Any:
    """Return the syntax tree of a text; it is the caller's own, who may change it."""
    packed = source.known.get(parse_cached)
    if packed is not None:
        return pickle.loads(cast(bytes, packed))
    tree = parse(source)
    try:
        source.known[parse_cached] = pickle.dumps(tree, pickle.HIGHEST_PROTOCOL)
    except RecursionError:
        pass  # it nests so deeply that it has to be parsed each time
    return tree


def cached_result(source: SourceMap, key: Hashable, compute: Callable[[], _Result]) -> _Result:
    """Return what is known of a text by a key, or compute and remember it: a value, immutable."""
    if key in source.known:
        return cast(_Result, source.known[key])
    result = compute()
    if len(source.known) >= _MAX_RESULTS:
        source.known.clear()
    source.known[key] = result
    return result


_POSITION = re.compile(r"^[^:]*:(\d+):(\d+):?\s*(.*)$", re.DOTALL)

# Words of GNU C and of later C that the parser does not know, and what to write instead. They are
# looked for in so many tokens before the place where it gave up.
_UNSUPPORTED_TOKENS = {
    **dict.fromkeys(("typeof", "__typeof__", "__typeof", "__auto_type"), "write the type"),
    **dict.fromkeys(("__int128", "__int128_t", "__uint128_t"), "integers have 64 bits at most"),
    **dict.fromkeys(("asm", "__attribute__", "__builtin_va_arg"), "leave it out of the file"),
    "_Generic": "write the expression that it chooses",
}
_NEAR = 8

# What the parser says of declarations of old, for which C took int.
_MISSING_TYPE = "write the type; C took int where none was written"
_OLD_DECLARATIONS = {
    "Missing type in declaration": "a declaration without a type is not supported",
    "Invalid function definition": "a function that is defined so, or without a type, is refused",
}


@dataclass(frozen=True, slots=True, eq=False)
class ScopRegion:
    """A marked region: its name, its function, the statements inside, and the two pragmas."""

    name: str
    function: Any
    items: tuple[Any, ...]
    begin: Any
    end: Any

    def reread(self) -> ScopRegion:
        """Return the region with the statements that its function has between the pragmas now."""
        block = block_with(self.function.body, self.begin)
        items = block[block.index(self.begin) + 1 : block.index(self.end)]
        return ScopRegion(self.name, self.function, tuple(items), self.begin, self.end)


class _PositionLexer(CLexer):  # type: ignore[misc]
    """pycparser's lexer, which remembers where it read its last token."""

    row = 1
    column = 1

    def token(self) -> Any:
        """Return the next token."""
        token = super().token()
        if token is not None:
            self.row, self.column = token.lineno, getattr(token, "column", 1)
        return token


def parse(source: SourceMap) -> Any:
    """Return pycparser's tree of a whole file; what it does not take there, is put aside."""
    if not source.tokens:
        raise SourceError(source.location(None), "the file holds no C code")

    def parse_text(text: str, rows: int) -> Any:
        """Return the tree of a part of the file, so many rows further down there."""
        return _parse_text(source, text, rows)

    try:
        refuse_known(source, 0, len(source.tokens))
        tree = parse_text(source.text, 0)
    except PartRefused as refused:
        tree = tolerant_tree(source, refused, parse_text)
    spelled = [token.text for token in source.tokens]
    separate_local_types(tree, spelled, is_cpp=source.cpp is not None)
    mark_unwritten_statics(tree, source)
    return tree


def _parse_text(source: SourceMap, text: str, rows: int) -> Any:
    """Return the tree of a text that stands so many rows further down in the preprocessed text.

    Raises:
        PartRefused: It is no C as the parser knows it.
    """
    parser = CParser(lexer=_PositionLexer)
    try:
        tree = _with_prototype_parameters(parser.parse(text, ""), source)
        normalize_initializers(tree)
        return tree
    except SourceError as error:
        raise PartRefused(ParseProblem(error.message, error.hint, 1, 1), error) from error
    except RecursionError as error:
        raise SourceError(source.location_at(1, 1), "the program nests too deeply") from error
    except Exception as error:
        # Besides its ParseError, pycparser meets some malformed texts with an AssertionError or
        # AttributeError; all of them mean that this is not C as it knows it.
        raise _syntax_error(source, str(error), parser.clex, rows) from error


def _with_prototype_parameters(tree: Any, source: SourceMap) -> Any:
    """Return a tree with the arguments of old function definitions where they stand today.

    ``void f(n, x) int n; double x[n]; { … }`` declares them behind the parentheses.
    """
    for node in tree.ext:
        arguments = getattr(getattr(getattr(node, "decl", None), "type", None), "args", None)
        if arguments is None or not any(isinstance(param, c_ast.ID) for param in arguments.params):
            continue
        declared = {decl.name: decl for decl in node.param_decls or ()}
        for name in set(declared) - {param.name for param in arguments.params}:
            raise source.error(declared[name], f"{node.decl.name} has no argument {name}")
        for param in arguments.params:
            if param.name not in declared:
                message = (
                    f"the argument {param.name} of {node.decl.name} is declared without a type"
                )
                raise source.error(param, message, _MISSING_TYPE)
        arguments.params = [declared[param.name] for param in arguments.params]
        node.param_decls = None
    return tree


def _syntax_error(source: SourceMap, text: str, lexer: _PositionLexer, rows: int) -> PartRefused:
    """Bring a parser's message, ``:row:column: before: x``, back to the user's file.

    Some messages have no position (``: Invalid expression``); the parser had just looked at the
    last token then.
    """
    match = _POSITION.match(text)
    if match is None:
        row, column, detail = lexer.row, lexer.column, text.strip(": ").lower()
    else:
        row, column, detail = int(match[1]), int(match[2]), match[3].strip()
    at_end = "end of input" in text.lower()
    row = source.tokens[-1].row if at_end and not rows else row + rows
    message, hint, index = _explanation(source, source.token_index(row, column), detail, at_end)
    token = source.tokens[index]
    place = source.location_of_origin(token.origin)
    if at_end and not rows:
        place = source.location(None)
    problem = ParseProblem(message, hint, token.row, token.column)
    return PartRefused(problem, SourceError(place, message, hint))


def _explanation(source: SourceMap, here: int, detail: str, at_end: bool) -> tuple[str, str, int]:
    """Return a message and a hint for what the parser says at a token, and the token to blame."""
    if at_end:
        return "syntax error at the end of the file", "", here
    for index in range(here, max(here - _NEAR, 0) - 1, -1):
        word = source.tokens[index].text
        if word in _UNSUPPORTED_TOKENS:
            return f"{word} is not supported", _UNSUPPORTED_TOKENS[word], index
    if source.cpp is None and is_cpp(source.tokens[: here + _NEAR]):
        return "expected C, found C++", CPP_HINT, here
    if detail in _OLD_DECLARATIONS:
        return _OLD_DECLARATIONS[detail], _MISSING_TYPE, here
    if detail.startswith("before:"):
        return f"syntax error before '{detail[7:].strip()}'", "", here
    return (f"syntax error: {detail}" if detail else "syntax error"), "", here


def find_regions(tree: Any, source: SourceMap) -> tuple[ScopRegion, ...]:
    """Return the regions of a file in textual order; refuse pragmas that do not pair up."""
    regions: list[ScopRegion] = []
    for node in tree.ext:
        if isinstance(node, c_ast.Pragma):
            raise source.error(node, f"'#pragma {node.string}' outside a function")
        if isinstance(node, c_ast.FuncDef) and not isinstance(node.decl.type, c_ast.FuncDecl):
            raise source.error(node.decl, f"{node.decl.name} is declared as no function is")
        if isinstance(node, c_ast.FuncDef):
            own_regions = sorted(_regions_in(node, source), key=lambda parts: parts[2].coord.line)
            for number, region in enumerate(own_regions, start=1):
                name = node.decl.name if len(own_regions) == 1 else f"{node.decl.name}:{number}"
                regions.append(ScopRegion(name, *region))
    return tuple(regions)


def _regions_in(
    function: Any, source: SourceMap
) -> Iterator[tuple[Any, tuple[Any, ...], Any, Any]]:
    """Yield (function, items, begin, end) for every region in a function's blocks."""
    blocks = [function.body]
    while blocks:
        block = blocks.pop(0)
        items = list(getattr(block, "block_items", None) or ())
        items += list(getattr(block, "stmts", None) or ())
        begin: tuple[int, Any] | None = None
        for index, item in enumerate(items):
            if not isinstance(item, c_ast.Pragma):
                for inner in walk(item, c_ast.Pragma) if begin is not None else ():
                    raise source.error(
                        inner, f"'#pragma {inner.string}' inside a region's inner block"
                    )
                continue
            if item.string == "scop":
                if begin is not None:
                    raise source.error(
                        item, "a '#pragma scop' inside a region that is open already"
                    )
                begin = (index, item)
                continue
            if begin is None:
                raise source.error(item, "'#pragma endscop' without a '#pragma scop' in its block")
            yield function, tuple(items[begin[0] + 1 : index]), begin[1], item
            begin = None
        if begin is not None:
            raise source.error(
                begin[1],
                "no '#pragma endscop' in the block of this '#pragma scop'",
                "write '#pragma endscop' after the last loop, in the same block",
            )
        blocks = [part for item in items for part in _inner_blocks(item)] + blocks


def _inner_blocks(node: Any) -> Iterator[Any]:
    """Yield the outermost blocks below a statement that is a block or holds some."""
    if isinstance(node, (c_ast.Compound, c_ast.Case, c_ast.Default)):
        yield node
        return
    for _, child in node.children():
        yield from _inner_blocks(child)


def choose_region(regions: Sequence[ScopRegion], function: str | None, file: str) -> ScopRegion:
    """Return the region that is meant; several without a name are refused with the list of them.

    ``init_gemm`` next to ``kernel_gemm`` or ``gemm`` holds that kernel's initial data: it is only
    chosen by name.
    """
    if not regions:
        raise InputError(
            f"{file}: expected a marked region inside a function, found none: write "
            "'#pragma scop' before the loops and '#pragma endscop' after them"
        )
    names = [region.name for region in regions]
    listed = ", ".join(names)
    if function is not None:
        exact = [region for region in regions if region.name == function]
        if exact:
            return exact[0]
        if any(region.function.decl.name == function for region in regions):
            raise InputError(
                f"{file}: {function} holds several regions; choose one of {listed} "
                "(--function NAME; from Python, function=NAME)"
            )
        called = function or "by an empty name"
        raise InputError(f"{file}: no region is called {called}; there are: {listed}")
    holders = {region.function.decl.name for region in regions}
    candidates = [r for r in regions if not _is_initializer(r.function.decl.name, holders)]
    if len(candidates) == 1:
        return candidates[0]
    raise InputError(
        f"{file}: there are several regions; choose one of: {listed} (--function NAME; from "
        "Python, function=NAME)"
    )


def with_statements(region: ScopRegion, items: Sequence[Any]) -> ScopRegion:
    """Return a region with other statements, which its function gets, too."""
    block = block_with(region.function.body, region.begin)
    first, last = block.index(region.begin), block.index(region.end)
    block[first + 1 : last] = items
    return ScopRegion(region.name, region.function, tuple(items), region.begin, region.end)


def _is_initializer(name: str, region_functions: set[str]) -> bool:
    """Whether a function is the initial-data function of another one in the file."""
    kernel = name.removeprefix("init_")
    return name != kernel and bool({kernel, f"kernel_{kernel}"} & region_functions)
