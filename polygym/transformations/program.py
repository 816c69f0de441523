"""Facts about a program, found once for all states: its versions, and the price of storage.

A *version* is the program with its statements divided and its arrays stored as a state has them.
Example: the version of ``w=expand:i`` has the array ``w_1`` and fewer dependences.
"""

from __future__ import annotations

from collections.abc import Callable
from collections.abc import Mapping as Dictionary
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, TypeVar

from polygym.errors import InputError, LimitError
from polygym.ir.scop import Scop
from polygym.lru_cache import LruCache
from polygym.poly.scheduling.baselines import original_schedule
from polygym.poly.transform.splitting.apply import apply_splitting
from polygym.poly.transform.splitting.conditions import NO_SPLITTING, Splitting
from polygym.poly.transform.storage.apply import apply_plan
from polygym.poly.transform.storage.memory_cost import DEFAULT_MEMORY_LIMIT, new_array_bytes
from polygym.poly.transform.storage.plan import (
    SOURCE_STORAGE,
    StorageEntry,
    StoragePlan,
    plan_of,
)
from polygym.transformations.edge_rows import EdgeRows
from polygym.transformations.iteration_blocks import BlockLegality
from polygym.transformations.legality import LegalityTables, legality_tables
from polygym.transformations.loop_tree import loop_tree_of
from polygym.transformations.program_trees import with_copies
from polygym.transformations.steps import Step
from polygym.transformations.tree_steps import UnavailableStepError

T = TypeVar("T")


class ProgramVersion:
    """A program at one state of its storage; its tables are computed when they are needed."""

    def __init__(self, scop: Scop) -> None:
        self.scop = scop
        self.edge_rows = EdgeRows(scop)

    @cached_property
    def tables(self) -> LegalityTables:
        """The generators of its dependences."""
        return legality_tables(self.scop)

    @cached_property
    def blocks(self) -> BlockLegality:
        """The pairs of its dependences in blocks of iterations."""
        return BlockLegality(self.tables)


@dataclass(frozen=True, eq=False)
class ProgramFacts:
    """A program with its sizes, and what is computed once for all its states.

    New arrays may take ``memory_limit`` bytes.
    """

    scop: Scop
    sizes: Dictionary[str, int] = field(default_factory=dict)
    memory_limit: int = DEFAULT_MEMORY_LIMIT
    _versions: LruCache[tuple[Splitting, StoragePlan], ProgramVersion] = field(
        default_factory=lambda: LruCache(64), init=False, repr=False
    )

    _memo: LruCache[object, Any] = field(
        default_factory=lambda: LruCache(256), init=False, repr=False
    )

    def memo(self, key: object, find: Callable[[], T]) -> T:
        """Return an answer about the program, which is found once."""
        answer: T = self._memo.get(key, find)
        return answer

    def version(
        self, splitting: Splitting = NO_SPLITTING, storage: StoragePlan = SOURCE_STORAGE
    ) -> ProgramVersion:
        """Return the program with divided statements and other storage.

        Raises:
            InputError: it does not fit the program, or is not proved to be right.
            LimitError: it would take too long to find out.
        """

        def make() -> ProgramVersion:
            scop = apply_splitting(self.scop, splitting)
            if not storage.is_source:
                scop = apply_plan(scop, replace(storage, has_contraction=False))
            return ProgramVersion(scop)

        return self._versions.get((splitting, replace(storage, has_contraction=False)), make)

    def bytes_of(self, entry: StorageEntry, splitting: Splitting = NO_SPLITTING) -> int:
        """Return the bytes of the new arrays of one entry, which is proved to be right.

        A private array may need an element for each iteration after all, if the schedule uses its
        values in several, so it has the price of an expanded one.

        Raises:
            InputError: it is not.
            LimitError: it would take too long to find out.
        """
        # What holds of an array holds as long as no statement that touches it is divided.
        if entry.array not in self.touched_arrays(splitting):
            splitting = NO_SPLITTING

        def find() -> int | InputError | LimitError:
            try:
                source = self.version(splitting).scop
                scop = apply_plan(source, plan_of([replace(entry, is_privatized=False)]))
                with_copies(loop_tree_of(original_schedule(source)), scop, source)
            except (InputError, LimitError) as error:
                return error
            return self._bytes(scop)

        result = self.memo(("bytes", splitting, entry), find)
        if isinstance(result, int):
            return result
        raise result

    def touched_arrays(self, splitting: Splitting) -> frozenset[str]:
        """Return the arrays that divided statements read or write."""
        statements = (self.scop.statement(name) for name, _ in splitting.statements)
        return frozenset(
            access.array
            for statement in statements
            for access in (statement.write, *statement.reads)
        )

    def _bytes(self, scop: Scop) -> int:
        known = {parameter.name for parameter in scop.parameters} <= set(self.sizes)
        return new_array_bytes(scop, self.sizes) or 0 if known else 0

    def memory_error(self, step: Step, taken: int) -> UnavailableStepError:
        """Return the error of a step that takes too much memory."""
        return UnavailableStepError(
            f"{step}: expected at most {self.memory_limit:,} bytes of new arrays, found {taken:,}"
        )
