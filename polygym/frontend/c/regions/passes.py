"""The passes of the C front end, in their order, and the variants in which they run: two tables.

A file becomes a region in plain C, pass by pass, and the region becomes a Scop::

    parse  canonicalize  counted_loops  struct_calls  complex_numbers  pointer_arguments
           pointer_induction
           struct_members  desugar  induction  trip_counts  inner_subscripts  delinearize
           infer_extents
                                                                              |  translation

A pass rewrites the region of a :class:`RegionState`, and its function, in C. ``polygym show PROGRAM
--after PASS`` prints what it leaves. Where the region is refused in the end, the variants that
apply to it are tried, each from the beginning; the refusal of the default one is reported.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

from pycparser import c_ast
from pycparser.c_generator import CGenerator

from polygym.errors import InputError, SourceError
from polygym.frontend.c.desugar.canonical_expressions import with_canonical_expressions
from polygym.frontend.c.desugar.complex_numbers import with_pairs_of_reals
from polygym.frontend.c.desugar.counted_loops import with_counted_loops
from polygym.frontend.c.desugar.gnu_expressions import resolve_gnu_expressions
from polygym.frontend.c.desugar.normal_form import desugar_region
from polygym.frontend.c.desugar.struct_calls import with_struct_calls
from polygym.frontend.c.desugar.struct_members import MemberOrigin, with_member_arrays
from polygym.frontend.c.loops.induction import with_induction_polynomials
from polygym.frontend.c.loops.trip_counts import with_trip_counts
from polygym.frontend.c.memory.allocated_sizes import filled_elements
from polygym.frontend.c.memory.delinearization import (
    with_delinearized_arrays,
    with_delinearized_subscripts,
)
from polygym.frontend.c.memory.pointer_arguments import (
    PointerArguments,
    with_pointer_arguments,
)
from polygym.frontend.c.memory.pointer_induction import with_pointer_induction
from polygym.frontend.c.memory.unsigned_rows import refuse_wide_arrays, with_size_limits
from polygym.frontend.c.memory.unsized_arrays import (
    declare_new_names,
    parse_expression,
    with_inferred_sizes,
)
from polygym.frontend.c.scop.structure_views import with_structure_views
from polygym.frontend.c.scop.translation import Translation
from polygym.frontend.c.sema.assumptions import value_assumptions
from polygym.frontend.c.source import parser
from polygym.frontend.c.source.locations import SourceMap
from polygym.frontend.c.source.region_selection import ArraySizes, RegionSelection
from polygym.frontend.c.source.syntax import names_in
from polygym.frontend.c.source.unreadable import refuse_unreadable
from polygym.ir.scop import Scop


@dataclass(frozen=True, slots=True)
class Variant:
    """A row of the table of variants: options of the passes, and the regions that they are for."""

    name: str
    summary: str
    applies: Callable[[RegionState], bool]
    follow_induction: bool = True
    in_row_ranges: bool = False
    delinearize_pointers: bool = False
    under_row_conditions: bool = False


DEFAULT_VARIANT = Variant(
    "default", "Follow induction variables; keep affine loops", lambda _: True
)

VARIANTS = (
    Variant(
        "row_ranges",
        "Split affine loops through several rows by rows",
        lambda state: state.has_row_ranges,
        in_row_ranges=True,
    ),
    Variant(
        "pointer_rows",
        "Divide the offsets of pointers by the constant sizes of rows",
        lambda state: bool(state.pointer_indices),
        delinearize_pointers=True,
    ),
    Variant(
        "row_conditions",
        "Take rows of flat arrays to be long enough, where sizes may make them so",
        lambda state: state.has_short_rows,
        under_row_conditions=True,
    ),
    Variant(
        "no_induction",
        "Leave induction variables as they are",
        lambda state: state.has_induction,
        follow_induction=False,
    ),
)


@dataclass(slots=True, eq=False)
class RegionState:
    """A region on its way through the passes.

    ``sizes`` are those given for arrays that are declared without them; ``pointer_indices`` the
    integers that stand for pointers, ``pointer_arguments`` the arguments that do; ``members`` the
    members of structures that are arrays; ``induction_region`` is the region that the pass
    ``induction`` left; ``inferred`` has arrays of which so many sizes are those that the region
    uses. ``make_tree`` makes the syntax tree, where it is not that of the whole text.
    """

    source: SourceMap
    file: str
    selection: RegionSelection
    given_sizes: ArraySizes
    make_tree: Callable[[], Any] | None = None
    variant: Variant = DEFAULT_VARIANT
    tree: Any = None
    region: parser.ScopRegion = field(init=False)
    sizes: ArraySizes = field(init=False)
    pointer_indices: frozenset[str] = frozenset()
    induction_region: parser.ScopRegion | None = None
    pointer_arguments: PointerArguments = field(default_factory=PointerArguments)
    members: Mapping[str, MemberOrigin] = field(default_factory=dict)
    has_induction: bool = False
    has_row_ranges: bool = False
    has_short_rows: bool = False
    unsigned_rows: frozenset[str] = frozenset()
    inferred: Mapping[str, int] = field(default_factory=dict)

    def run(self, variant: Variant, last: RegionPass | None = None) -> None:
        """Run the passes of a variant on the file, up to the last one or all of them.

        Where no later pass makes anything of induction polynomials, they are left out.
        """
        self.variant, self.sizes = variant, self.given_sizes
        for row in PASSES:
            row.run(self)
            if row is last:
                return
            is_unused = self.has_induction and self.region is self.induction_region
            if row.name == "delinearize" and variant.follow_induction and is_unused:
                return self.run(replace(variant, follow_induction=False), last)

    def translation(self, region: parser.ScopRegion) -> Translation:
        """Return the translation of a region of the file."""
        return Translation(self.source, self.tree, region, self.file)

    def scop(self, variant: Variant) -> Scop:
        """Return the Scop of a variant."""
        self.run(variant)
        return self.translated(self.translation(self.region))

    def translated(self, translation: Translation) -> Scop:
        """Return the Scop of a translation, its structures with the layout that the file gives."""
        scop = translation.run()
        refuse_wide_arrays(scop, self.unsigned_rows, self.region, self.source)
        return with_structure_views(scop, self.members)

    def first_scop(self) -> Scop:
        """Return the Scop of the first variant that is not refused."""
        try:
            return self.scop(DEFAULT_VARIANT)
        except SourceError as error:
            for variant in [variant for variant in VARIANTS if variant.applies(self)]:
                with suppress(SourceError):
                    return self.scop(variant)
            self.variant = DEFAULT_VARIANT
            raise error

    def text_after(self, last: RegionPass) -> str:
        """Return the C text that a pass leaves, in the variant that is not refused.

        It has the region's function, the functions that this one names, and all declarations.
        """
        with suppress(InputError):
            self.first_scop()
        self.run(self.variant, last)
        mine = self.region.function
        used = names_in(mine)
        shown = [
            node
            for node in self.tree.ext
            # The first row of a preprocessed text has the types of system headers.
            if not (node.coord and node.coord.line == 1)
            and (not isinstance(node, c_ast.FuncDef) or node is mine or node.decl.name in used)
        ]
        code = CGenerator(reduce_parentheses=True).visit(c_ast.FileAST(shown)).rstrip()
        return f"/* {self.region.name} after {last.name}: {last.summary} */\n{code}\n"


@dataclass(frozen=True, slots=True)
class RegionPass:
    """A row of the table: its name, one line on what it does, and the function."""

    name: str
    summary: str
    run: Callable[[RegionState], None]


def _parse(state: RegionState) -> None:
    make_tree = state.make_tree
    state.tree = parser.parse_cached(state.source) if make_tree is None else make_tree()
    resolve_gnu_expressions(state.tree, state.source)
    regions = parser.find_regions(state.tree, state.source)
    region = parser.choose_region(regions, state.selection.region_name, state.file)
    refuse_unreadable(state.tree, region.function, region.items, state.source)
    declare_new_names(state.tree, region, state.sizes)
    stated = value_assumptions(state.selection.parameter_values, region.begin)
    state.region = parser.with_statements(region, [*stated, *region.items])


def _rewriting(
    rewrite: Callable[[Any, parser.ScopRegion, SourceMap], parser.ScopRegion],
) -> Callable[[RegionState], None]:
    """Return the function of a pass that only rewrites the region."""

    def run(state: RegionState) -> None:
        state.region = rewrite(state.tree, state.region, state.source)

    return run


def _pointer_arguments(state: RegionState) -> None:
    state.region, state.pointer_arguments = with_pointer_arguments(
        state.tree, state.region, state.source, state.selection.aliases
    )


def _pointer_induction(state: RegionState) -> None:
    state.region, state.pointer_indices = with_pointer_induction(
        state.tree, state.region, state.source
    )


def _struct_members(state: RegionState) -> None:
    state.region, state.members = with_member_arrays(state.tree, state.region, state.source)


def _desugar(state: RegionState) -> None:
    given = {
        name: [parse_expression(size, state.region.begin) for size in sizes]
        for name, sizes in state.sizes.items()
    }
    state.region = desugar_region(state.tree, state.region, state.source, given)


def _induction(state: RegionState) -> None:
    if state.variant.follow_induction:
        before = state.region
        state.region = with_induction_polynomials(state.tree, before, state.source)
        state.has_induction, state.induction_region = state.region is not before, state.region


def _trip_counts(state: RegionState) -> None:
    state.region, state.has_row_ranges = with_trip_counts(
        state.tree, state.region, state.source, in_row_ranges=state.variant.in_row_ranges
    )


def _inner_subscripts(state: RegionState) -> None:
    pointers = state.pointer_indices if state.variant.delinearize_pointers else frozenset()
    state.region = with_delinearized_subscripts(state.tree, state.region, state.source, pointers)


def _delinearize(state: RegionState) -> None:
    result = with_delinearized_arrays(
        state.tree,
        state.region,
        state.source,
        state.sizes,
        state.translation,
        under_conditions=state.variant.under_row_conditions,
    )
    state.region, state.sizes = result.region, result.sizes
    state.has_short_rows = result.has_short_rows
    state.unsigned_rows = frozenset(result.unsigned_strides)
    if state.unsigned_rows:
        strides = frozenset().union(*result.unsigned_strides.values())
        state.region = with_size_limits(state.region, strides)


def _infer_extents(state: RegionState) -> None:
    filled = filled_elements(state.tree, state.region, state.source)
    allocated = {**filled, **state.pointer_arguments.sizes}
    translate = partial(state.translation, state.region)
    state.inferred = with_inferred_sizes(state.region, translate, state.sizes, allocated)


PASSES = (
    RegionPass(
        "parse", "Parses the file, chooses a region, states the values that are given", _parse
    ),
    RegionPass(
        "canonicalize",
        "Replaces sizeof by numbers, bit operators on truth values by && and ||",
        _rewriting(with_canonical_expressions),
    ),
    RegionPass(
        "counted_loops",
        "Writes while loops that count as for loops",
        _rewriting(with_counted_loops),
    ),
    RegionPass(
        "struct_calls",
        "Puts calls that take structures in place",
        _rewriting(with_struct_calls),
    ),
    RegionPass(
        "complex_numbers",
        "Writes complex numbers as pairs of reals",
        _rewriting(with_pairs_of_reals),
    ),
    RegionPass(
        "pointer_arguments",
        "Makes pointers that the region does not set arguments of the function",
        _pointer_arguments,
    ),
    RegionPass(
        "pointer_induction",
        "Replaces pointers that step through one array by subscripts",
        _pointer_induction,
    ),
    RegionPass(
        "struct_members",
        "Replaces members of structures by arrays of their own",
        _struct_members,
    ),
    RegionPass(
        "desugar", "Takes statements apart, inlines calls, normalizes loop headers", _desugar
    ),
    RegionPass(
        "induction", "Replaces induction variables by polynomials of loop counters", _induction
    ),
    RegionPass("trip_counts", "Lets loops over products count their iterations", _trip_counts),
    RegionPass(
        "inner_subscripts", "Divides subscripts that go on in later rows", _inner_subscripts
    ),
    RegionPass(
        "delinearize",
        "Declares flat arrays as arrays of rows: A[i * m + j] is A[i][j]",
        _delinearize,
    ),
    RegionPass(
        "infer_extents", "Gives arrays without sizes those that the region needs", _infer_extents
    ),
)
