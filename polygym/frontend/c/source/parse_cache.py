"""Cache of preprocessed texts, their trees, and the results that were computed from them.

Loading a program asks for the same file several times: for its region, for the names of all
regions, for the pointers without sizes, for the region with the initial data. Many episodes load
the same programs again and again. A text means the same as before if

* it is the same text, under the same name, with the same folders to look for includes in, and
* every other file that was looked for then is as it was: there or not there, with the same bytes.

The second is asked every time, so a header that is edited is read again. Refusals are not kept.
"""

import os
import pickle
from collections import OrderedDict
from collections.abc import Callable, Hashable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeAlias, TypeVar, cast

from polygym.frontend.c.source.locations import SourceMap
from polygym.frontend.c.source.parser import parse
from polygym.frontend.c.source.preprocessor import IncludedContents, file_content, preprocess

_Result = TypeVar("_Result")

# Of all texts together; one takes 300 bytes, a kernel of the suite has a thousand.
_MAX_TOKENS = 60_000
_MAX_RESULTS = 16  # of one text


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


_Key: TypeAlias = tuple[str, str, tuple[str, ...]]
_cached_texts: OrderedDict[_Key, _CachedText] = OrderedDict()  # the latest one is the last


def preprocess_cached(
    text: str, file: str, include_directories: Sequence[str | Path] = ()
) -> SourceMap:
    """Preprocess a C text, as :func:`~polygym.frontend.c.source.preprocessor.preprocess` does.

    What is returned is shared with others: it must not be changed.
    """
    key = (text, file, tuple(map(str, include_directories)))
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
