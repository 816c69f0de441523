"""Files without a function around a region, completed: the text as if it had been written in full.

Every region that stands in no function gets one, named after the file. It is read twice for that:
first to see which names nothing declares and what they are used as
(:mod:`~polygym.frontend.c.regions.implicit_declarations`), then, with endless arrays, to see which
elements are touched (:mod:`~polygym.frontend.c.memory.unsized_arrays`). Where an access needs more
than that, such as ``n <= 100``, an assertion states it. What comes out is C that any compiler
takes, and is read like any other.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace

from polygym.errors import InputError, SourceError
from polygym.frontend.c.desugar.normal_form import desugar_region
from polygym.frontend.c.memory.unsized_arrays import check_rank, inferred_sizes
from polygym.frontend.c.regions.implicit_declarations import (
    UndeclaredName,
    file_scope_declarations,
    function_head,
    undeclared_names,
)
from polygym.frontend.c.scop.translation import Translation
from polygym.frontend.c.sema.symbols import resolve_names
from polygym.frontend.c.source.enclosing_functions import (
    BareRegion,
    bare_regions,
    complete_text,
    with_original_locations,
)
from polygym.frontend.c.source.function_bodies import insert_at_mark
from polygym.frontend.c.source.locations import SourceMap
from polygym.frontend.c.source.parser import (
    cached_result,
    choose_region,
    find_regions,
    parse,
    preprocess_cached,
)
from polygym.frontend.c.source.preprocessor import normalize_newlines, preprocess
from polygym.frontend.c.source.region_mark import RegionMark
from polygym.frontend.c.source.region_selection import RegionSelection

_ANY_REGION = RegionSelection()
_NAME = re.compile(r"[A-Za-z_]\w*")
_CONDITION_HINT = re.compile(r"(assert\(.*\);) before the region states it")


@dataclass(frozen=True, slots=True)
class CompletedFile:
    """A complete file: its text, and its tokens with the user's own places.

    ``sized_arrays`` are the arrays that were declared with sizes that were given.
    """

    text: str
    source: SourceMap
    sized_arrays: frozenset[str] = frozenset()


def completed_source(
    text: str, file: str, selection: RegionSelection = _ANY_REGION
) -> CompletedFile:
    """Return a text with a function around every region; one that has them is left as it is.

    ``selection`` may have sizes of arrays that nothing declares, flags that the text is read with,
    and the mark of a region without pragmas, which get there.
    """
    source = preprocess_cached(text, file, selection.flags)
    if isinstance(selection.mark, RegionMark):
        return _marked_source(source, text, file, selection, selection.mark)
    regions = cached_result(source, bare_regions, lambda: bare_regions(source, file))
    if not regions:
        return CompletedFile(text, source)
    text = normalize_newlines(text, file)

    def completed() -> CompletedFile:
        """Complete it."""
        return _Completion(text, file, regions, selection).completed()

    try:
        return cached_result(source, (completed_source, selection), completed)
    except RecursionError as error:
        raise SourceError(source.location_at(1, 1), "the program nests too deeply") from error


def _marked_source(
    source: SourceMap, text: str, file: str, selection: RegionSelection, mark: RegionMark
) -> CompletedFile:
    """Return a text with pragmas around the region that a selection marks."""
    text = normalize_newlines(text, file)

    def marked() -> CompletedFile:
        """Put the pragmas in."""
        whole = insert_at_mark(source, text, file, mark)
        with_pragmas, _ = preprocess(whole.text, file, selection.flags)
        return CompletedFile(whole.text, with_original_locations(with_pragmas, whole, text, file))

    return cached_result(source, (completed_source, mark), marked)


class _Completion:
    """A text with regions outside of functions, on its way to a complete one."""

    def __init__(
        self,
        text: str,
        file: str,
        bare_regions: tuple[BareRegion, ...],
        selection: RegionSelection,
    ) -> None:
        self._text, self._file, self._frames = text, file, bare_regions
        self._library = selection.library
        self._given, self._sized = dict(selection.array_sizes), frozenset[str]()
        self._flags = selection.flags

    def completed(self) -> CompletedFile:
        """Complete the text."""
        heads = [f"void {frame.name}(void) {{" for frame in self._frames]
        source = self._source(heads).source
        tree = parse(source)
        regions = {region.function.decl.name: region for region in find_regions(tree, source)}
        known: set[str] = set()
        for place, frame in enumerate(self._frames):
            region = desugar_region(tree, regions[frame.name], source)
            names = resolve_names(tree, region)
            items = region.function.body.block_items or ()
            unknown = tuple(
                name for name in undeclared_names(items, names, source) if name.name not in known
            )
            outside = file_scope_declarations(unknown)
            known |= {line.split()[1].rstrip(";") for line in outside}
            heads[place] = self._head(place, heads, unknown, outside)
            heads[place] = self._with_assertion(place, heads)
        return replace(self._source(heads), sized_arrays=self._sized)

    def _with_assertion(self, place: int, heads: Sequence[str]) -> str:
        """Return what opens a function, and states what its accesses need if it can be told."""
        try:
            self._translation(place, heads).run()
        except SourceError as error:
            if match := _CONDITION_HINT.search(error.hint):
                return f"#include <assert.h>\n{heads[place]}\n  {match[1]}"
        except InputError:
            pass  # the translation of the file meets it again
        return heads[place]

    def _translation(self, place: int, heads: Sequence[str]) -> Translation:
        """Return the translation of one of the functions."""
        source = self._source(heads).source
        tree = parse(source)
        region = choose_region(find_regions(tree, source), self._frames[place].name, self._file)
        return Translation(source, tree, desugar_region(tree, region, source), self._file)

    def _head(
        self,
        place: int,
        heads: Sequence[str],
        unknown: tuple[UndeclaredName, ...],
        outside: list[str],
    ) -> str:
        """Return what opens one function: its declarations, with sizes for all its arrays."""
        name = self._frames[place].name
        endless = "\n".join([*outside, *function_head(name, unknown, {}, ())])
        sizes: dict[str, tuple[str, ...]] = {}
        more: list[str] = []
        if any(undeclared.rank for undeclared in unknown):
            translation = self._translation(place, [*heads[:place], endless, *heads[place + 1 :]])
            accesses = translation.accesses()
            spelled = [use.name for use in unknown]
            for use in unknown:
                if use.name in self._given:
                    sizes[use.name] = self._given[use.name]
                    check_rank(use.name, sizes[use.name], use.rank)
                    self._sized |= {use.name}
                    more += self._new_names(sizes[use.name], translation, [*spelled, *more])
                    continue
                inferred = inferred_sizes(accesses, use.name, use.rank, translation)
                named = [
                    size or f"size_{use.name}" + (f"_{dimension}" if use.rank > 1 else "")
                    for dimension, size in enumerate(inferred)
                ]
                more += [new for new, size in zip(named, inferred, strict=True) if size is None]
                sizes[use.name] = tuple(named)
        return "\n".join([*outside, *function_head(name, unknown, sizes, more)])

    def _new_names(
        self, sizes: Sequence[str], translation: Translation, known: Sequence[str]
    ) -> list[str]:
        """Return the names in sizes that nothing has declared: they are arguments."""
        result = dict.fromkeys(word for size in sizes for word in _NAME.findall(size))
        declared = {symbol.name for symbol in translation.names.uses} | set(known)
        return [
            name
            for name in result
            if name not in declared and not re.search(rf"\b{name}\b", self._text)
        ]

    def _source(self, heads: Sequence[str]) -> CompletedFile:
        """Return the text with these heads of functions."""
        whole = complete_text(self._text, list(zip(self._frames, heads, strict=True)))
        source, _ = preprocess(whole.text, self._file, self._flags)
        source.library = self._library
        return CompletedFile(
            whole.text, with_original_locations(source, whole, self._text, self._file)
        )
