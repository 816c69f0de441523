"""What there is to decide about a program's storage: webs, what they are in the way of, prices."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from polygym.compiler.ir.scop import Scop
from polygym.compiler.poly.isl_budget import bounded
from polygym.compiler.storage.obstacles import SourceLoop, obstacles, source_loops
from polygym.compiler.storage.plan import Along, Entry
from polygym.compiler.storage.price import bytes_of_copies, bytes_of_versions
from polygym.compiler.storage.versions import versions_of
from polygym.compiler.storage.webs import Web, webs_of
from polygym.errors import InputError


@dataclass(frozen=True, slots=True)
class Choice:
    """What may become of a web: the word of a plan, and its price, or why it may not."""

    entry: Entry
    bytes: int | None
    refusal: str = ""


@dataclass(frozen=True, slots=True)
class WebChoices:
    """A web, the loops around all of it, those that it is in the way of by memory, and its choices.

    ``refusal`` says why an array has no webs.
    """

    array: str
    statements: tuple[str, ...] = ()
    is_read_before: bool = False
    is_seen_after: bool = False
    around: tuple[str, ...] = ()
    in_the_way: tuple[str, ...] = ()
    choices: tuple[Choice, ...] = ()
    refusal: str = ""


def storage_choices(scop: Scop, sizes: Mapping[str, int]) -> tuple[WebChoices, ...]:
    """Return what there is to decide about every array that a program writes."""
    loops = source_loops(scop)
    in_the_way = obstacles(scop, loops)
    written = dict.fromkeys(one.write.array for one in scop.statements)
    found: list[WebChoices] = []
    for array in written:
        memory = frozenset(loop.key for loop in loops if array in in_the_way.loops[loop.key][1])
        try:
            with bounded(f"what becomes of {array}"):
                webs = webs_of(scop, array)
        except InputError as error:
            found.append(WebChoices(array, refusal=str(error)))
            continue
        found.extend(_of_web(scop, web, loops, memory, sizes) for web in webs)
    return tuple(found)


def _of_web(
    scop: Scop,
    web: Web,
    loops: tuple[SourceLoop, ...],
    memory: frozenset[object],
    sizes: Mapping[str, int],
) -> WebChoices:
    touching = web.names | {read.statement for read in web.reads}
    around = tuple(loop for loop in loops if touching <= loop.places.keys())
    return WebChoices(
        web.array,
        tuple(one.name for one in web.writers),
        web.is_read_before,
        scop.array(web.array).is_seen_after and not web.last.is_empty(),
        tuple(loop.name for loop in around),
        tuple(loop.name for loop in around if loop.key in memory),
        tuple(_choices(scop, web, around, sizes)),
    )


def _choices(
    scop: Scop, web: Web, around: tuple[SourceLoop, ...], sizes: Mapping[str, int]
) -> Iterator[Choice]:
    """Yield renaming, then expansion along one more of the loops around the web, then along all.

    What is copied neither in nor out may be private to threads, too.
    """
    first = web.writers[0].name
    names = [loop.name for loop in around]
    deepest = max(one.depth for one in web.writers)
    wanted: list[tuple[Along, ...] | None] = [
        tuple(map(Along, names[:count])) for count in range(len(names) + 1)
    ]
    if deepest > len(names):
        wanted.append(None)
    for alongs in wanted:
        entry = Entry(web.array, alongs, first)
        try:
            with bounded(f"the price of {entry}"):
                versions = versions_of(scop, web, entry)
                price = bytes_of_versions(scop.array(web.array), versions.sizes, sizes)
            yield Choice(entry, price)
        except InputError as error:
            yield Choice(entry, None, str(error))
    array = scop.array(web.array)
    is_copied = web.is_read_before or (array.is_seen_after and not web.last.is_empty())
    if names and not is_copied:
        entry = Entry(web.array, tuple(map(Along, names)), first, is_private=True)
        yield Choice(entry, bytes_of_copies(array, sizes))
