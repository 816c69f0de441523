"""Files without a function around a region, completed: the text as if it had been written in full.

Every region that stands in no function gets one, named after the file. It is read twice for that:
first to see which names nothing declares and what they are used as
(:mod:`~polygym.compiler.frontend.c.undeclared`), then, with endless arrays, to see which elements
are touched (:mod:`~polygym.compiler.frontend.c.reach`). Where an access needs
more than that, such as ``n <= 100``, an assertion states it. What comes out is C that any compiler
takes, and is read like any other.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from polygym.compiler.frontend.c.bare import Frame, brought_back, completed, frames
from polygym.compiler.frontend.c.extents import Selection
from polygym.compiler.frontend.c.parse import Region, find_regions, parse
from polygym.compiler.frontend.c.places import SourceMap
from polygym.compiler.frontend.c.plain import plain
from polygym.compiler.frontend.c.preprocess import normalise, preprocess
from polygym.compiler.frontend.c.reach import sizes_by_use
from polygym.compiler.frontend.c.remembered import once, read
from polygym.compiler.frontend.c.symbols import resolve
from polygym.compiler.frontend.c.translation import Translation
from polygym.compiler.frontend.c.undeclared import (
    Unknown,
    function_text,
    outside_text,
    unknown_names,
)
from polygym.errors import InputError, SourceError

_ANY = Selection()
_NAME = re.compile(r"[A-Za-z_]\w*")
_ADVICE = re.compile(r"(assert\(.*\);) before the region states it")


@dataclass(frozen=True, slots=True)
class Whole:
    """A complete file: its text, and its tokens with the user's own places.

    ``sized`` are the arrays that were declared with sizes that were given.
    """

    text: str
    source: SourceMap
    sized: frozenset[str] = frozenset()


def completed_source(
    text: str,
    file: str,
    include_directories: Sequence[str | Path] = (),
    chosen: Selection = _ANY,
) -> Whole:
    """Return a text with a function around every region; one that has them is left as it is.

    ``chosen`` may have sizes of arrays that nothing declares.
    """
    source = read(text, file, include_directories)
    found = once(source, frames, lambda: frames(source, file))
    if not found:
        return Whole(text, source)
    text = normalise(text, file)

    def completed() -> Whole:
        """Complete it."""
        return _Completion(text, file, include_directories, found, chosen).whole()

    try:
        return once(source, (completed_source, chosen), completed)
    except RecursionError as error:
        raise SourceError(source.place_at(1, 1), "the program nests too deeply") from error


class _Completion:
    """A text with regions outside of functions, on its way to a complete one."""

    def __init__(
        self,
        text: str,
        file: str,
        include_directories: Sequence[str | Path],
        found: tuple[Frame, ...],
        chosen: Selection,
    ) -> None:
        self._text, self._file, self._frames = text, file, found
        self._library = chosen.library
        self._given, self._sized = dict(chosen.sizes), frozenset[str]()
        self._include_directories = include_directories

    def whole(self) -> Whole:
        """Complete the text."""
        heads = [f"void {frame.name}(void) {{" for frame in self._frames]
        source = self._source(heads).source
        tree = parse(source)
        regions = {region.function.decl.name: region for region in find_regions(tree, source)}
        known: set[str] = set()
        for place, frame in enumerate(self._frames):
            region = plain(tree, regions[frame.name], source)
            names = resolve(tree, region)
            items = region.function.body.block_items or ()
            unknown = tuple(
                one for one in unknown_names(items, names, source) if one.name not in known
            )
            outside = outside_text(unknown)
            known |= {line.split()[1].rstrip(";") for line in outside}
            heads[place] = self._head(place, heads, unknown, outside)
            heads[place] = self._with_assertion(place, heads)
        return replace(self._source(heads), sized=self._sized)

    def _with_assertion(self, place: int, heads: Sequence[str]) -> str:
        """Return what opens a function, and states what its accesses need if it can be told."""
        try:
            self._translation(place, heads).run()
        except SourceError as error:
            if found := _ADVICE.search(error.hint):
                return f"#include <assert.h>\n{heads[place]}\n  {found[1]}"
        except InputError:
            pass  # whoever reads the file meets it again
        return heads[place]

    def _translation(self, place: int, heads: Sequence[str]) -> Translation:
        """Return the translation of one of the functions."""
        source = self._source(heads).source
        tree = parse(source)
        name = self._frames[place].name
        region: Region = next(
            one for one in find_regions(tree, source) if one.function.decl.name == name
        )
        return Translation(source, tree, plain(tree, region, source), self._file)

    def _head(
        self, place: int, heads: Sequence[str], unknown: tuple[Unknown, ...], outside: list[str]
    ) -> str:
        """Return what opens one function: its declarations, with sizes for all its arrays."""
        name = self._frames[place].name
        endless = "\n".join([*outside, *function_text(name, unknown, {}, ())])
        sizes: dict[str, tuple[str, ...]] = {}
        more: list[str] = []
        if any(one.rank for one in unknown):
            translation = self._translation(place, [*heads[:place], endless, *heads[place + 1 :]])
            touches = translation.touched()
            names = translation.bindings
            parameters = {names.name(one): one.name for one in names.parameters}
            names_of = [one.name for one in unknown]
            for one in unknown:
                if one.name in self._given:
                    sizes[one.name] = self._sizes_given(one)
                    more += self._new_names(sizes[one.name], translation, [*names_of, *more])
                    continue
                found = sizes_by_use(touches, one.name, one.rank, parameters, translation.context)
                named = [
                    size or f"size_{one.name}" + (f"_{dimension}" if one.rank > 1 else "")
                    for dimension, size in enumerate(found)
                ]
                more += [new for new, size in zip(named, found, strict=True) if size is None]
                sizes[one.name] = tuple(named)
        return "\n".join([*outside, *function_text(name, unknown, sizes, more)])

    def _sizes_given(self, one: Unknown) -> tuple[str, ...]:
        """Return the sizes that are given for an array."""
        sizes = self._given[one.name]
        if len(sizes) != one.rank:
            raise InputError(
                f"the sizes of {one.name} are given: expected {one.rank}, found {len(sizes)}"
            )
        self._sized |= {one.name}
        return sizes

    def _new_names(
        self, sizes: Sequence[str], translation: Translation, known: Sequence[str]
    ) -> list[str]:
        """Return the names in sizes that nothing has declared: they are arguments."""
        found = dict.fromkeys(word for size in sizes for word in _NAME.findall(size))
        declared = {symbol.name for symbol in translation.names.uses} | set(known)
        return [
            one for one in found if one not in declared and not re.search(rf"\b{one}\b", self._text)
        ]

    def _source(self, heads: Sequence[str]) -> Whole:
        """Return the text with these heads of functions."""
        whole = completed(self._text, list(zip(self._frames, heads, strict=True)))
        source = preprocess(whole.text, self._file, self._include_directories)
        source.library = self._library
        return Whole(whole.text, brought_back(source, whole, self._text, self._file))
