"""The process that decides where a program is cut and where it keeps its values.

It comes before all others, since it decides of which program there are schedules. One question
comes after the other, each with a few answers:

    cuts    which of the cuts that the dependences suggest is made; asked again after each cut,
            of those that are left
    webs    what becomes of the values of an array that belong together, web after web:
            rename, expand along the loops that it may free, along all around it, or all values
            (:mod:`polygym.compiler.storage.offers`)

The first answer to each is *keep*: no (further) cut, the array as the source has it. :data:`DONE`
keeps everything else. An agent that keeps everything has the program as it was written, and the
episode goes on as if nothing had been asked.

The mask leaves out what takes more memory than the limit, with what was chosen before, and what
cannot be proved to be right together with that. So every answer that it allows leaves a program
that computes the same bit for bit.

Example, symm: nothing suggests a cut; of ``temp2``, which stands in the way of i and j, the answer
``expand:i,j`` takes n·m elements, and 6 of 14 dependences are left.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TypeAlias

from polygym.compiler.codegen.common.sizes import Sizes
from polygym.compiler.ir.scop import Scop
from polygym.compiler.poly.isl_budget import attempt, bounded
from polygym.compiler.poly.splitting.candidates import suggested
from polygym.compiler.poly.splitting.cuts import WHOLE, Splitting
from polygym.compiler.poly.splitting.split import split
from polygym.compiler.storage.offers import Offer, homes_of, offers
from polygym.compiler.storage.plan import Entry, StoragePlan, plan_of
from polygym.compiler.storage.price import price
from polygym.episodes.decisions import ANSWERS, CHOICES, DONE, MODEL
from polygym.errors import InputError, LimitError
from polygym.lru import Memory

MOST_CUTS = 2
"""So many cuts are made at most."""

MOST_PIECES = 16
"""A program that is cut has so many statements at most, or as many as it had before."""

MOST_WEBS = 16
"""So many webs are asked about, the first ones; the others stay."""

_OPERATIONS = 400_000

Value: TypeAlias = Splitting | Entry


@dataclass(frozen=True, eq=False)
class Homes:
    """What there is to decide of one program at sizes, within so many bytes; worked out once."""

    scop: Scop
    sizes: Sizes
    limit: int
    _pieces: Memory[Splitting, Scop | None] = field(
        default_factory=lambda: Memory(64), init=False, repr=False
    )

    @cached_property
    def suggestions(self) -> tuple[Splitting, ...]:
        """The cuts that the dependences suggest; none where that takes isl too long."""
        try:
            with attempt(_OPERATIONS), bounded("looking for cuts"):
                return suggested(self.scop, ranges=False)
        except (InputError, LimitError):
            return ()

    @property
    def has_sizes(self) -> bool:
        """Whether it is known what anything takes; without that nothing is offered."""
        return {one.name for one in self.scop.parameters} <= set(self.sizes)

    def pieces(self, cuts: Splitting) -> Scop | None:
        """Return the program that is cut; None where there would be too many pieces."""

        def find() -> Scop | None:
            try:
                with attempt(_OPERATIONS), bounded("cutting a program"):
                    found = split(self.scop, cuts)
            except (InputError, LimitError):
                return None
            most = max(MOST_PIECES, len(self.scop.statements))
            return found if len(found.statements) <= most else None

        return self._pieces.get(cuts, find)

    def longer(self, cuts: Splitting) -> tuple[Splitting, ...]:
        """Return what may become of cuts with one suggestion more."""
        joined = dict.fromkeys(_joined(cuts, one) for one in self.suggestions)
        found = (one for one in joined if one != cuts and self.pieces(one) is not None)
        return tuple(found)[:CHOICES]

    def offers(self, cuts: Splitting) -> tuple[Offer, ...]:
        """Return what is offered of the webs of a program that is cut."""
        pieces = self.pieces(cuts)
        if pieces is None or not self.has_sizes:
            return ()
        try:
            return offers(pieces)[:MOST_WEBS]
        except LimitError:
            return ()

    def bytes_of(self, cuts: Splitting, plan: StoragePlan) -> int | None:
        """Return what a plan takes; None where it is not proved to be right."""
        pieces = self.pieces(cuts)
        program = None if pieces is None else homes_of(pieces, plan)
        return None if program is None else price(program, self.sizes)


def _joined(first: Splitting, second: Splitting) -> Splitting:
    for name, cuts in second.statements:
        first = first.with_first(name, cuts)
    return first


@dataclass(frozen=True)
class Storing:
    """What has been decided: the cuts so far, and what becomes of the first webs (None: it stays).

    With ``is_cut`` no further cut is asked for.
    """

    homes: Homes
    cuts: Splitting = WHOLE
    made: int = 0
    is_cut: bool = False
    entries: tuple[Entry | None, ...] = ()

    @cached_property
    def offer(self) -> Offer | None:
        """The web at hand; None where cuts are asked for, or nothing is."""
        webs, place = self.webs, len(self.entries)
        return webs[place] if self.is_about_webs and place < len(webs) else None

    @property
    def is_about_webs(self) -> bool:
        """Whether there is no further cut to be made."""
        return self.is_cut or self.made >= MOST_CUTS or not self._cuts_left

    @cached_property
    def _cuts_left(self) -> tuple[Splitting, ...]:
        return self.homes.longer(self.cuts)

    @property
    def webs(self) -> tuple[Offer, ...]:
        """The webs of the program as it is cut."""
        return self.homes.offers(self.cuts)

    @property
    def is_over(self) -> bool:
        """Whether nothing is left to be asked."""
        return self.is_about_webs and len(self.entries) >= len(self.webs)

    @property
    def plan(self) -> StoragePlan:
        """The plan so far."""
        entries = [one for one in self.entries if one is not None]
        return plan_of(entries, contracts=bool(entries))

    @property
    def changes_nothing(self) -> bool:
        """Whether the program is as it was written."""
        return self.cuts == WHOLE and not any(self.entries)

    @property
    def questions_left(self) -> int:
        """How many questions are left at most, the one at hand included."""
        if self.is_about_webs:
            return max(0, len(self.webs) - len(self.entries))
        return MOST_CUTS - self.made + MOST_WEBS

    @cached_property
    def values(self) -> tuple[Value, ...]:
        """What may be answered to the question at hand, beside keeping."""
        if not self.is_about_webs:
            return self._cuts_left
        return () if self.offer is None else self.offer.entries

    @cached_property
    def bytes(self) -> tuple[int | None, ...]:
        """What all new arrays take with each value; None where it is not proved to be right."""
        return tuple(self._bytes(value) for value in self.values)

    def _bytes(self, value: Value) -> int | None:
        match value:
            case Splitting():
                return 0
            case Entry():
                return self.homes.bytes_of(self.cuts, self._with(value).plan)

    def mask(self) -> tuple[bool, ...]:
        """Return which answers are allowed."""
        if self.is_over:
            return (False,) * ANSWERS
        fits = [taken is not None and taken <= self.homes.limit for taken in self.bytes]
        return (True, True, *fits, *(False,) * (CHOICES - len(fits)))

    def after(self, answer: int) -> Storing:
        """Return the state after an answer: its number, which :meth:`mask` allows."""
        if answer == DONE:
            whole = replace(self, is_cut=True)
            return replace(whole, entries=tuple(_padded(whole.entries, len(whole.webs))))
        if answer == MODEL:
            return self._with(None) if self.is_about_webs else replace(self, is_cut=True)
        value = self.values[answer - DONE - 1]
        match value:
            case Splitting():
                return replace(self, cuts=value, made=self.made + 1)
            case Entry():
                return self._with(value)

    def _with(self, entry: Entry | None) -> Storing:
        return replace(self, is_cut=True, entries=(*self.entries, entry))


def _padded(entries: tuple[Entry | None, ...], count: int) -> Iterator[Entry | None]:
    yield from entries
    yield from (None for _ in range(count - len(entries)))
