"""Storage plans as values with a text: the storage of each array.

A program's text says where each value lives: a scalar ``w`` that every iteration fills again is one
element of memory, and two iterations that run together would need two. A storage plan gives
some arrays other storage; the text lists what differs from the source's::

    keep                      every array as the source has it
    w=expand                  an element for every value that is written to w (single assignment)
    w=expand:i                an element for every iteration of the loops called i
    y=expand:t%2              two versions of y, which the iterations of t use in turn
    w=private:i               an element for every iteration, and one copy for each thread
    w=rename                  the parts of the program that share no value of w get one each
    S3:w=expand:i,j           the same for the group of w's values that statement S3 writes, alone
    w=expand contract         and what the schedule leaves unused is given up again
    p=dead                    p is not read after the region
    w=copy                    elements of w that are read and then overwritten are read from a copy
    S3:w=copy                 the same for what statement S3 reads, alone
    overlap:32                passes over rows become passes over strips of 32, edges run twice

``contract`` is said once and holds for all that is expanded: when the schedule is known, elements
that are never alive at the same time share memory, as far as no loop loses anything by it.

``private`` is for schedules what ``expand`` is: values of different iterations of the loops are
never in each other's way. In the code a thread has memory for one iteration at a time of the loops
that it runs, wherever no other iteration needs what is in it; otherwise the array is as with
``expand`` (:mod:`polygym.codegen.transforms.privatization`).

``dead`` is said of arguments and globals whose last values are of no use: they are compared with
nothing, and live in an array of the program's own, which may be contracted, unless another word
says more of them.

``copy`` changes no write of the array: what several iterations of a loop read, and what is
overwritten before the loops around it go on, is copied before it is read
(:mod:`polygym.poly.transform.storage.read_copies`).

``overlap`` comes first: the others may speak of its loop, ``tile``
(:mod:`polygym.poly.transform.storage.overlapped_tiles`).

Words stand apart by spaces; of two for one array (and statement) the later one counts. Every plan
keeps the results bit for bit, or is refused: :mod:`polygym.poly.transform.storage.copy_statements`
proves it.
"""

import re
from collections.abc import Iterable
from dataclasses import dataclass

from polygym.errors import InputError
from polygym.pickling import pickle_by_name

_MOST_VERSIONS = 1 << 20
_LONGEST_TEXT = 100_000
_OVERLAP = re.compile("overlap:([1-9][0-9]{0,5})")


@pickle_by_name
@dataclass(frozen=True, slots=True)
class ExpansionLoop:
    """A loop along which an array is expanded, by its counter's name in the source.

    With a ``window`` its iterations use so many versions in turn; 0 is a version for each.
    """

    loop: str
    window: int = 0

    def __str__(self) -> str:
        """Return the text."""
        return f"{self.loop}%{self.window}" if self.window else self.loop


@pickle_by_name
@dataclass(frozen=True, slots=True)
class StorageEntry:
    """What becomes of an array, or of those of its values that are with one statement's.

    ``loops`` are those along which it is expanded, outermost first: none to give every group of
    values an array of its own and no more; None for all loops around what writes it. If it
    ``is_privatized`` each thread has it once, where that is enough.
    """

    array: str
    loops: tuple[ExpansionLoop, ...] | None = None
    statement: str = ""
    is_privatized: bool = False

    def __str__(self) -> str:
        """Return the word of a plan."""
        where = f"{self.statement}:{self.array}" if self.statement else self.array
        kind = "private" if self.is_privatized else "expand"
        if self.loops is None:
            return f"{where}={kind}"
        if not self.loops:
            return f"{where}=rename"
        return f"{where}={kind}:{','.join(map(str, self.loops))}"


@pickle_by_name
@dataclass(frozen=True, slots=True, order=True)
class ReadCopy:
    """An array whose overwritten elements are read from copies, by one statement or by all."""

    array: str
    statement: str = ""

    def __str__(self) -> str:
        """Return the word of a plan."""
        return f"{self.statement}:{self.array}=copy" if self.statement else f"{self.array}=copy"


@pickle_by_name
@dataclass(frozen=True, slots=True)
class StoragePlan:
    """What becomes of a program's arrays; those that no entry names are as the source has them.

    ``dead`` names arrays, in order, whose last values are not read. ``copies`` names those that
    are read from copies, in order. ``overlapped_tile`` is the size of overlapped tiles, 0 for none.
    (:class:`polygym.ir.scop.StorageClass` says where one array comes from.)
    """

    entries: tuple[StorageEntry, ...] = ()
    has_contraction: bool = False
    dead: tuple[str, ...] = ()
    copies: tuple[ReadCopy, ...] = ()
    overlapped_tile: int = 0

    def __post_init__(self) -> None:
        """Refuse entries that have no meaning, or do not stand in their order."""
        if list(self.dead) != sorted(set(self.dead)):
            raise InputError(
                f"storage: expected dead arrays in order, once each, found {', '.join(self.dead)}"
            )
        if list(self.copies) != sorted(set(self.copies)):
            raise InputError(
                "storage: expected copies in the order of arrays and statements, one each, found "
                f"{' '.join(map(str, self.copies))}"
            )
        keys = [(entry.array, entry.statement) for entry in self.entries]
        if keys != sorted(set(keys)):
            raise InputError(
                "storage: expected entries in the order of arrays and statements, one each, found "
                f"{' '.join(map(str, self.entries))}"
            )
        for entry in self.entries:
            if entry.is_privatized and (
                entry.loops == () or any(a.window for a in entry.loops or ())
            ):
                raise InputError(
                    "storage: expected loops whose iterations each have an element, as in "
                    f"{entry.array}=private:i,j, found {entry}"
                )
            for along in entry.loops or ():
                if not 0 <= along.window <= _MOST_VERSIONS:
                    raise InputError(
                        f"storage: expected a window of 1 to {_MOST_VERSIONS:,}, found {along}"
                    )

    @property
    def is_source(self) -> bool:
        """Whether nothing is changed."""
        changes = self.entries or self.dead or self.copies or self.overlapped_tile
        return not changes

    @property
    def has_privatization(self) -> bool:
        """Whether something is to be private to threads."""
        return any(entry.is_privatized for entry in self.entries)

    def entry_for(self, array: str, statements: frozenset[str]) -> StorageEntry | None:
        """Return the entry for the values of an array that these statements write, or None.

        What is said of a statement counts before what is said of the array.
        """
        own = [entry for entry in self.entries if entry.array == array]
        for entry in own:
            if entry.statement in statements:
                return entry
        usual = StorageEntry(array, ()) if array in self.dead else None
        return next((entry for entry in own if not entry.statement), usual)

    def __str__(self) -> str:
        """Return the text; :func:`parse_storage` reads it back to an equal value."""
        words = [f"overlap:{self.overlapped_tile}"] if self.overlapped_tile else []
        words += [*map(str, self.entries), *map(str, self.copies)]
        words += [f"{array}=dead" for array in self.dead]
        words += ["contract"] if self.has_contraction else []
        return " ".join(words) or "keep"


SOURCE_STORAGE = StoragePlan()
"""Every array as the source has it."""


def plan_of(
    entries: Iterable[StorageEntry],
    *,
    has_contraction: bool = False,
    dead: Iterable[str] = (),
    copies: Iterable[ReadCopy] = (),
    overlapped_tile: int = 0,
) -> StoragePlan:
    """Return a plan with these entries, of which the last one for an array counts."""
    storage_entries = {(entry.array, entry.statement): entry for entry in entries}
    return StoragePlan(
        tuple(storage_entries[key] for key in sorted(storage_entries)),
        has_contraction,
        tuple(sorted(dead)),
        tuple(sorted(copies)),
        overlapped_tile,
    )


def parse_storage(text: str) -> StoragePlan:
    """Return the plan of a text.

    >>> str(parse_storage("w=expand:i S3:w=rename y=expand:t%2"))
    'w=expand:i S3:w=rename y=expand:t%2'

    Raises:
        InputError: a word is not supported.
    """
    if len(text) > _LONGEST_TEXT:
        raise InputError(f"storage: expected at most {_LONGEST_TEXT:,} characters")
    entries: list[StorageEntry] = []
    contracts, dead, copies, tile = False, set[str](), set[ReadCopy](), 0
    for word in text.split():
        if word == "keep":
            entries.clear()
            dead.clear()
            copies.clear()
            tile = 0
        elif word == "contract":
            contracts = True
        elif (overlap := _OVERLAP.fullmatch(word)) is not None:
            tile = int(overlap[1])
        elif word.endswith("=dead") and word.removesuffix("=dead").isidentifier():
            dead.add(word.removesuffix("=dead"))
        elif word.endswith("=copy"):
            copies.add(_parse_copy(word))
        else:
            entries.append(_parse_entry(word))
    return plan_of(
        tuple(entries),
        has_contraction=contracts and bool(entries or dead or copies),
        dead=dead,
        copies=copies,
        overlapped_tile=tile,
    )


def _parse_copy(word: str) -> ReadCopy:
    statement, array = _parse_place(word)
    return ReadCopy(array, statement)


def _parse_place(word: str) -> tuple[str, str]:
    """Return the statement, "" for all, and the array that a word speaks of."""
    where, equals, _ = word.partition("=")
    statement, _, array = where.rpartition(":")
    is_named = array.isidentifier() and (":" not in where or statement.isidentifier())
    if not equals or not is_named:
        raise InputError(
            "storage: expected keep, contract, or words such as w=rename, w=expand, w=expand:i,j, "
            "y=expand:t%2, S3:w=expand, w=private:i, w=copy, p=dead, found "
            f"{word[:100]!r}"
        )
    return statement, array


def _parse_entry(word: str) -> StorageEntry:
    statement, array = _parse_place(word)
    where, _, choice = word.partition("=")
    if choice == "rename":
        return StorageEntry(array, (), statement)
    kind, colon, loops = choice.partition(":")
    if kind not in ("expand", "private"):
        raise InputError(
            "storage: expected one of rename, expand, expand:i,j, private, private:i,j, copy"
            f"{'' if statement else ', dead'} for {where}, found {choice[:100]!r}"
        )
    alongs = tuple(_parse_loop(part, where) for part in loops.split(",")) if colon else None
    return StorageEntry(array, alongs, statement, kind == "private")


def _parse_loop(part: str, where: str) -> ExpansionLoop:
    loop, percent, window = part.partition("%")
    is_number = window.isascii() and window.isdigit() and 0 < int(window[:9]) and len(window) < 9
    if not loop.isidentifier() or (percent and not is_number):
        raise InputError(
            f"storage: expected the name of a loop, or i%2 for two versions along i, for {where}, "
            f"found {part[:100]!r}"
        )
    return ExpansionLoop(loop, int(window) if percent else 0)
