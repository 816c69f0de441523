"""Storage variants: the entries that a plan may have, and those that free a loop.

A web stands in the way of loops by memory, or it does not
(:mod:`polygym.poly.transform.storage.inhibitors`); those that do may get other storage: an
array of their own where their array has several webs, an element for each iteration of the loops
that they are in the way of, of all loops around them, or for each value. ::

    temp2 of symm, in the way of i and j      expand:i,j      expand
    w of two nests, in the way of i in each   rename   expand:i   expand:i,j

Nothing is offered that isl cannot prove to be right.

The choices for a program's storage are its webs, the loops that they inhibit, and prices.
"""

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from itertools import islice
from typing import Any

from polygym.errors import InputError, LimitError
from polygym.ir.scop import Scop
from polygym.poly.isl_budget import bounded_operations
from polygym.poly.transform.storage.apply import apply_plan
from polygym.poly.transform.storage.inhibitors import SourceLoop, loop_inhibitors, source_loops
from polygym.poly.transform.storage.memory_cost import thread_copy_bytes, version_bytes
from polygym.poly.transform.storage.plan import ExpansionLoop, StorageEntry, StoragePlan, plan_of
from polygym.poly.transform.storage.versions import versions_for_web
from polygym.poly.transform.storage.webs import Web, webs_of


@dataclass(frozen=True, slots=True)
class WebDescription:
    """A web, the loops around all of it, and those of them that it inhibits by memory."""

    array: str
    statements: tuple[str, ...] = ()
    is_live_in: bool = False
    is_live_out: bool = False
    enclosing_loops: tuple[str, ...] = ()
    inhibited_loops: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class WebVariants(WebDescription):
    """A web with the entries that a plan may have for it."""

    reads: int = 0
    entries: tuple[StorageEntry, ...] = ()


@dataclass(frozen=True, slots=True)
class StorageChoice:
    """An entry of a plan for a web, and its price in bytes, or the reason of a refusal."""

    entry: StorageEntry
    bytes: int | None
    refusal: str = ""


@dataclass(frozen=True, slots=True)
class WebChoices(WebDescription):
    """A web with its choices; ``refusal`` is the reason that an array has no webs."""

    choices: tuple[StorageChoice, ...] = ()
    refusal: str = ""


@lru_cache(maxsize=64)
def storage_variants(scop: Scop) -> tuple[WebVariants, ...]:
    """Return what is offered of a program's webs, in the order of its arrays.

    Raises:
        LimitError: it would take isl too long.
    """
    return tuple(_with_provable(scop, _webs_in_the_way(scop)))


def some_storage_variants(
    scop: Scop, among: Collection[str], most_proofs: int
) -> tuple[WebVariants, ...]:
    """Return the first expansion of each web of some arrays, of so many webs that are tried.

    Raises:
        LimitError: it would take isl too long.
    """
    first = (
        replace(web, entries=tuple(entry for entry in web.entries if entry.loops)[:1])
        for web in _webs_in_the_way(scop)
        if web.array in among
    )
    return tuple(_with_provable(scop, islice((web for web in first if web.entries), most_proofs)))


def _webs_in_the_way(scop: Scop) -> Iterator[WebVariants]:
    """Yield the webs that are in the way of loops by memory, with all entries, provable or not."""
    loops = source_loops(scop)
    with bounded_operations("what stands in the way of loops"):
        ways = loop_inhibitors(scop, loops)
    for array in scop.arrays:
        memory = {loop.key for loop in loops if array.name in ways.loops[loop.key][1]}
        if not memory:
            continue
        try:
            with bounded_operations(f"what becomes of {array.name}"):
                webs = webs_of(scop, array.name)
        except (InputError, LimitError):  # computed subscripts, or too irregular
            continue
        for web in webs:
            fields = _description(scop, web, enclosing_loops(web, loops), memory)
            live, names = fields["inhibited_loops"], fields["enclosing_loops"]
            entries = tuple(_entries(web, live, names, len(webs) > 1))
            yield WebVariants(**fields, reads=len(web.reads), entries=entries)


def _with_provable(scop: Scop, webs: Iterable[WebVariants]) -> Iterator[WebVariants]:
    """Yield webs with the entries of which isl can tell that they change no value, if any."""
    for web in webs:
        entries = tuple(
            entry
            for entry in web.entries
            if apply_if_provable(scop, plan_of([entry], has_contraction=True)) is not None
        )
        if entries:
            yield replace(web, entries=entries)


def enclosing_loops(web: Web, loops: Sequence[SourceLoop]) -> tuple[SourceLoop, ...]:
    """Return the loops around all reads and writes of a web."""
    touching = web.names | {read.statement for read in web.reads}
    return tuple(loop for loop in loops if touching <= loop.positions.keys())


def _description(
    scop: Scop, web: Web, around: Sequence[SourceLoop], memory: Collection[object]
) -> dict[str, Any]:
    """Return the fields of a web's description; ``memory`` has the keys of inhibited loops."""
    return {
        "array": web.array,
        "statements": tuple(statement.name for statement in web.writers),
        "is_live_in": web.is_live_in,
        "is_live_out": scop.array(web.array).is_observable and not web.live_out.is_empty(),
        "enclosing_loops": tuple(loop.name for loop in around),
        "inhibited_loops": tuple(loop.name for loop in around if loop.key in memory),
    }


def _entries(
    web: Web, live: tuple[str, ...], around: tuple[str, ...], is_one_of_several: bool
) -> Iterator[StorageEntry]:
    """Yield what a web may become, each different from those before."""
    wanted: list[tuple[ExpansionLoop, ...] | None] = [()] if is_one_of_several else []
    wanted += [tuple(map(ExpansionLoop, names)) for names in (live, around) if names]
    if max(statement.depth for statement in web.writers) > len(around):
        wanted.append(None)
    for alongs in dict.fromkeys(wanted):
        yield StorageEntry(web.array, alongs, web.writers[0].name)


def apply_if_provable(scop: Scop, plan: StoragePlan) -> Scop | None:
    """Return the program under a plan; None where isl cannot prove it to be right, or not soon."""
    try:
        return apply_plan(scop, plan)
    except (InputError, LimitError):
        return None


def storage_choices(scop: Scop, sizes: Mapping[str, int]) -> tuple[WebChoices, ...]:
    """Return what there is to decide about every array that a program writes."""
    loops = source_loops(scop)
    in_the_way = loop_inhibitors(scop, loops)
    written = dict.fromkeys(statement.write.array for statement in scop.statements)
    web_choices: list[WebChoices] = []
    for array in written:
        memory = {loop.key for loop in loops if array in in_the_way.loops[loop.key][1]}
        try:
            with bounded_operations(f"what becomes of {array}"):
                webs = webs_of(scop, array)
        except InputError as error:
            web_choices.append(WebChoices(array, refusal=str(error)))
            continue
        for web in webs:
            around = enclosing_loops(web, loops)
            choices = tuple(_choices(scop, web, around, sizes))
            web_choices.append(
                WebChoices(**_description(scop, web, around, memory), choices=choices)
            )
    return tuple(web_choices)


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
