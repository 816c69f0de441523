"""The process that decides where a program is cut and where it keeps its values.

It comes before all others, since it decides of which program there are schedules. One question
comes after the other, each with a few answers:

    cuts    which of the cuts that the dependences suggest is made; asked again after each cut,
            of those that are left
    webs    what becomes of the values of an array that belong together, web after web:
            rename, expand along the loops that it may free, along all around it, or all values
            (``storage_variants``)

The first answer to each is *keep*: no (further) cut, the array as the source has it.
:data:`USE_DEFAULT_FOR_ALL` keeps everything else. An agent that keeps everything has the program as
it was written, and the episode goes on as if nothing had been asked.

The mask leaves out what takes more memory than the limit, with what was chosen before, and what
cannot be proved to be right together with that. So every answer that it allows leaves a program
that computes the same bit for bit.

Example, symm: nothing suggests a cut; of ``temp2``, which stands in the way of i and j, the answer
``expand:i,j`` takes n·m elements, and 6 of 14 dependences are left.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TypeAlias

from polygym.errors import InputError, LimitError
from polygym.ir.scop import Scop
from polygym.lru_cache import LruCache
from polygym.mapping.sizes import Sizes
from polygym.mdp.mapping_decisions import ANSWERS, MOST_VALUES, USE_DEFAULT, USE_DEFAULT_FOR_ALL
from polygym.poly.isl_budget import attempt_bounded, bounded_operations
from polygym.poly.transform.splitting.apply import apply_splitting
from polygym.poly.transform.splitting.conditions import NO_SPLITTING, Splitting
from polygym.poly.transform.splitting.suggestions import candidate_splittings
from polygym.poly.transform.storage.memory_cost import new_array_bytes
from polygym.poly.transform.storage.plan import StorageEntry, StoragePlan, plan_of
from polygym.poly.transform.storage.variants import WebVariants, apply_if_provable, storage_variants

MOST_CUTS = 2
"""So many cuts are made at most."""

MOST_PIECES = 16
"""A program that is cut has so many statements at most, or as many as it had before."""

MOST_WEBS = 16
"""So many webs are asked about, the first ones; the others stay."""

_ISL_OPERATIONS = 400_000

StorageAnswer: TypeAlias = Splitting | StorageEntry


@dataclass(frozen=True, eq=False)
class StorageOptions:
    """What there is to decide of one program at sizes, within so many bytes; worked out once."""

    scop: Scop
    sizes: Sizes
    limit: int
    _split_scops: LruCache[Splitting, Scop | None] = field(
        default_factory=lambda: LruCache(64), init=False, repr=False
    )

    @cached_property
    def suggestions(self) -> tuple[Splitting, ...]:
        """The cuts that the dependences suggest; none where that takes isl too long."""
        try:
            with attempt_bounded(_ISL_OPERATIONS), bounded_operations("looking for cuts"):
                return candidate_splittings(self.scop, ranges=False)
        except (InputError, LimitError):
            return ()

    @property
    def has_sizes(self) -> bool:
        """Whether it is known what anything takes; without that nothing is offered."""
        return {parameter.name for parameter in self.scop.parameters} <= set(self.sizes)

    def split_scop(self, cuts: Splitting) -> Scop | None:
        """Return the program that is cut; None where there would be too many pieces."""

        def find() -> Scop | None:
            try:
                with attempt_bounded(_ISL_OPERATIONS), bounded_operations("cutting a program"):
                    scop = apply_splitting(self.scop, cuts)
            except (InputError, LimitError):
                return None
            most = max(MOST_PIECES, len(self.scop.statements))
            return scop if len(scop.statements) <= most else None

        return self._split_scops.get(cuts, find)

    def extended_splittings(self, cuts: Splitting) -> tuple[Splitting, ...]:
        """Return what may become of cuts with one suggestion more."""
        joined = dict.fromkeys(_joined_splitting(cuts, further) for further in self.suggestions)
        scops = {joint: self.split_scop(joint) for joint in joined if joint != cuts}
        return tuple(joint for joint, scop in scops.items() if scop is not None)[:MOST_VALUES]

    def storage_offers(self, cuts: Splitting) -> tuple[WebVariants, ...]:
        """Return what is offered of the webs of a program that is cut."""
        pieces = self.split_scop(cuts)
        if pieces is None or not self.has_sizes:
            return ()
        try:
            return storage_variants(pieces)[:MOST_WEBS]
        except LimitError:
            return ()

    def bytes_of(self, cuts: Splitting, plan: StoragePlan) -> int | None:
        """Return what a plan takes; None where it is not proved to be right."""
        pieces = self.split_scop(cuts)
        program = None if pieces is None else apply_if_provable(pieces, plan)
        return None if program is None else new_array_bytes(program, self.sizes)


def _joined_splitting(first: Splitting, second: Splitting) -> Splitting:
    for name, cuts in second.statements:
        first = first.with_first_conditions(name, cuts)
    return first


@dataclass(frozen=True)
class StorageState:
    """What has been decided: the cuts so far, and what becomes of the first webs (None: it stays).

    With ``is_splitting_done`` no further cut is asked for.
    """

    options: StorageOptions
    splitting: Splitting = NO_SPLITTING
    split_count: int = 0
    is_splitting_done: bool = False
    entries: tuple[StorageEntry | None, ...] = ()

    @cached_property
    def offer(self) -> WebVariants | None:
        """The web at hand; None where cuts are asked for, or nothing is."""
        webs, place = self.webs, len(self.entries)
        return webs[place] if self.is_about_webs and place < len(webs) else None

    @property
    def is_about_webs(self) -> bool:
        """Whether there is no further cut to be made."""
        is_done = self.is_splitting_done or self.split_count >= MOST_CUTS
        return is_done or not self._remaining_splittings

    @cached_property
    def _remaining_splittings(self) -> tuple[Splitting, ...]:
        return self.options.extended_splittings(self.splitting)

    @property
    def webs(self) -> tuple[WebVariants, ...]:
        """The webs of the program as it is cut."""
        return self.options.storage_offers(self.splitting)

    @property
    def is_over(self) -> bool:
        """Whether nothing is left to be asked."""
        return self.is_about_webs and len(self.entries) >= len(self.webs)

    @property
    def storage(self) -> StoragePlan:
        """The plan so far."""
        entries = [entry for entry in self.entries if entry is not None]
        return plan_of(entries, has_contraction=bool(entries))

    @property
    def is_unchanged(self) -> bool:
        """Whether the program is as it was written."""
        return self.splitting == NO_SPLITTING and not any(self.entries)

    @property
    def questions_left(self) -> int:
        """How many questions are left at most, the one at hand included."""
        if self.is_about_webs:
            return max(0, len(self.webs) - len(self.entries))
        return MOST_CUTS - self.split_count + MOST_WEBS

    @cached_property
    def values(self) -> tuple[StorageAnswer, ...]:
        """What may be answered to the question at hand, beside keeping."""
        if not self.is_about_webs:
            return self._remaining_splittings
        return () if self.offer is None else self.offer.entries

    @cached_property
    def bytes(self) -> tuple[int | None, ...]:
        """What all new arrays take with each value; None where it is not proved to be right."""
        return tuple(self._bytes(value) for value in self.values)

    def _bytes(self, value: StorageAnswer) -> int | None:
        match value:
            case Splitting():
                return 0
            case StorageEntry():
                return self.options.bytes_of(self.splitting, self._with(value).storage)

    def mask(self) -> tuple[bool, ...]:
        """Return which answers are allowed."""
        if self.is_over:
            return (False,) * ANSWERS
        fits = [taken is not None and taken <= self.options.limit for taken in self.bytes]
        return (True, True, *fits, *(False,) * (MOST_VALUES - len(fits)))

    def after(self, answer: int) -> StorageState:
        """Return the state after an answer: its number, which :meth:`mask` allows."""
        if answer == USE_DEFAULT_FOR_ALL:
            whole = replace(self, is_splitting_done=True)
            rest = (None,) * (len(whole.webs) - len(whole.entries))
            return replace(whole, entries=(*whole.entries, *rest))
        if answer == USE_DEFAULT:
            return self._with(None) if self.is_about_webs else replace(self, is_splitting_done=True)
        value = self.values[answer - USE_DEFAULT_FOR_ALL - 1]
        match value:
            case Splitting():
                return replace(self, splitting=value, split_count=self.split_count + 1)
            case StorageEntry():
                return self._with(value)

    def _with(self, entry: StorageEntry | None) -> StorageState:
        return replace(self, is_splitting_done=True, entries=(*self.entries, entry))
