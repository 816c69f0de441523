"""What there is to decide about a program's storage: webs, what they are in the way of, prices."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from polygym.errors import InputError
from polygym.ir.scop import Scop
from polygym.poly.isl_budget import bounded_operations
from polygym.poly.transform.storage.inhibitors import SourceLoop, loop_inhibitors, source_loops
from polygym.poly.transform.storage.memory_cost import thread_copy_bytes, version_bytes
from polygym.poly.transform.storage.plan import ExpansionLoop, StorageEntry
from polygym.poly.transform.storage.versions import versions_for_web
from polygym.poly.transform.storage.webs import Web, webs_of


@dataclass(frozen=True, slots=True)
class StorageChoice:
    """What may become of a web: the word of a plan, and its price, or why it may not."""

    entry: StorageEntry
    bytes: int | None
    refusal: str = ""


@dataclass(frozen=True, slots=True)
class WebChoices:
    """A web, the loops around all of it, those that it is in the way of by memory, and its choices.

    ``refusal`` says why an array has no webs.
    """

    array: str
    statements: tuple[str, ...] = ()
    is_live_in: bool = False
    is_live_out: bool = False
    enclosing_loops: tuple[str, ...] = ()
    inhibited_loops: tuple[str, ...] = ()
    choices: tuple[StorageChoice, ...] = ()
    refusal: str = ""


def storage_choices(scop: Scop, sizes: Mapping[str, int]) -> tuple[WebChoices, ...]:
    """Return what there is to decide about every array that a program writes."""
    loops = source_loops(scop)
    in_the_way = loop_inhibitors(scop, loops)
    written = dict.fromkeys(statement.write.array for statement in scop.statements)
    web_choices: list[WebChoices] = []
    for array in written:
        memory = frozenset(loop.key for loop in loops if array in in_the_way.loops[loop.key][1])
        try:
            with bounded_operations(f"what becomes of {array}"):
                webs = webs_of(scop, array)
        except InputError as error:
            web_choices.append(WebChoices(array, refusal=str(error)))
            continue
        web_choices.extend(_of_web(scop, web, loops, memory, sizes) for web in webs)
    return tuple(web_choices)


def _of_web(
    scop: Scop,
    web: Web,
    loops: tuple[SourceLoop, ...],
    memory: frozenset[object],
    sizes: Mapping[str, int],
) -> WebChoices:
    touching = web.names | {read.statement for read in web.reads}
    around = tuple(loop for loop in loops if touching <= loop.positions.keys())
    return WebChoices(
        web.array,
        tuple(statement.name for statement in web.writers),
        web.is_live_in,
        scop.array(web.array).is_observable and not web.live_out.is_empty(),
        tuple(loop.name for loop in around),
        tuple(loop.name for loop in around if loop.key in memory),
        tuple(_choices(scop, web, around, sizes)),
    )


def _choices(
    scop: Scop, web: Web, around: tuple[SourceLoop, ...], sizes: Mapping[str, int]
) -> Iterator[StorageChoice]:
    """Yield renaming, then expansion along one more of the loops around the web, then along all.

    What is copied neither in nor out may be private to threads, too.
    """
    first = web.writers[0].name
    names = [loop.name for loop in around]
    deepest = max(statement.depth for statement in web.writers)
    wanted: list[tuple[ExpansionLoop, ...] | None] = [
        tuple(map(ExpansionLoop, names[:count])) for count in range(len(names) + 1)
    ]
    if deepest > len(names):
        wanted.append(None)
    for alongs in wanted:
        entry = StorageEntry(web.array, alongs, first)
        try:
            with bounded_operations(f"the price of {entry}"):
                versions = versions_for_web(scop, web, entry)
                price = version_bytes(scop.array(web.array), versions.sizes, sizes)
            yield StorageChoice(entry, price)
        except InputError as error:
            yield StorageChoice(entry, None, str(error))
    array = scop.array(web.array)
    is_copied = web.is_live_in or (array.is_observable and not web.live_out.is_empty())
    if names and not is_copied:
        entry = StorageEntry(web.array, tuple(map(ExpansionLoop, names)), first, is_privatized=True)
        yield StorageChoice(entry, thread_copy_bytes(array, sizes))
