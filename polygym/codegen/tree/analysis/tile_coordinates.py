"""The numbers of the tiles of a band, as isl's sets: which have instances, and how to tell some.

Example: of ``{ S[i, j] : 0 <= j <= i < 64 }`` in tiles of 32 by 32 the numbers (⌊i/32⌋, ⌊j/32⌋) are
(0, 0), (1, 0) and (1, 1). Those of (1, 0) alone are told from the others by a - b - 1 >= 0.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import islpy as isl

from polygym.codegen.tree.ir import Band, FlooredRow, Inequality, TilePredicate
from polygym.ir.scop import Scop
from polygym.mapping.sizes import Sizes, at_sizes, row_at_sizes
from polygym.mapping.tuning_parameters import TUNING
from polygym.poly.isl_values import coefficients, constant_term
from polygym.poly.schedule import ScheduleRow


@dataclass(frozen=True)
class TileCoordinates:
    """The numbers of tiles of a band, as isl's maps and sets, at known sizes."""

    scop: Scop
    band: Band
    terms: tuple[FlooredRow, ...]
    parameters: tuple[str, ...]
    sizes: Sizes

    @property
    def space(self) -> isl.Space:
        """The space of the numbers."""
        return isl.Set(f"{{ [{', '.join(f't{k}' for k in range(len(self.terms)))}] }}").space

    def tiles_of(self, name: str) -> isl.Set:
        """Return the tiles with an instance of a statement, or a few more."""
        points = at_sizes(isl.Set(self.scop.statement(name).domain), self.sizes)
        return self.tiles_of_points(name, points)

    def tiles_of_points(self, name: str, points: isl.Set) -> isl.Set:
        """Return the tiles with some instances of a statement, or a few more."""
        return without_existentials(points.reset_tuple_id().apply(self._coordinates_of(name)))

    def is_empty_where(self, name: str, conditions: tuple[tuple[Inequality, ...], ...]) -> bool:
        """Whether no instance of a statement is in the tiles of some conditions."""
        points = at_sizes(isl.Set(self.scop.statement(name).domain), self.sizes).reset_tuple_id()
        there = isl.Set(self.condition_text(conditions)).apply(self._coordinates_of(name).reverse())
        return bool(points.is_disjoint(there))

    def _coordinates_of(self, name: str) -> isl.Map:
        """Return the map from the instances of a statement to the numbers of their tiles."""
        own = [f"i{k}" for k in range(self.scop.statement(name).depth)]
        texts = self.coordinate_texts(self.band.statements.index(name), own)
        return isl.Map(f"{{ [{', '.join(own)}] -> [{texts}] }}")

    def condition_text(self, conditions: tuple[tuple[Inequality, ...], ...]) -> str:
        """Return the tiles of some conditions as isl's text."""
        names = {part: f"t{place}" for place, part in enumerate(self.terms)}
        result = TilePredicate(self.terms, conditions).text(names.__getitem__)
        return f"{{ [{', '.join(names.values())}] : {result} }}"

    def coordinate_texts(self, place: int, iterators: list[str]) -> str:
        """Return the numbers of the tiles of a statement's instances."""
        rows = [(part.rows[place], part.size) for part in self.terms]
        return floor_texts(rows, iterators, self.parameters, self.sizes)


def floor_texts(
    rows: Iterable[tuple[ScheduleRow, int]],
    iterators: Sequence[str],
    parameters: tuple[str, ...],
    sizes: Sizes | None,
) -> str:
    """Return ⌊row / size⌋ of each as isl's text, at known sizes."""
    known = ((row_at_sizes(row, parameters, sizes), size) for row, size in rows)
    return ", ".join(f"floor(({row.text(iterators, parameters)})/{size})" for row, size in known)


def without_existentials(tiles: isl.Set) -> isl.Set:
    """Return a set without variables of its own, as large or larger."""
    return tiles.remove_divs().coalesce()


def separating_conditions(
    free: isl.Set, inside: dict[str, isl.Set]
) -> tuple[tuple[Inequality, ...], ...] | None:
    """Return what tells free tiles from the others with instances; None where that is much."""
    every = isl.Set.empty(free.get_space())
    for tiles in inside.values():
        every = every.union(tiles)
    free = free.gist(every.simple_hull()).coalesce()
    if free.n_basic_set() > TUNING.max_tile_conditions:
        return None
    result = []
    for piece in free.get_basic_sets():
        every_one: list[Inequality] = []
        for constraint in piece.get_constraints():
            factors = coefficients(constraint, isl.dim_type.set)
            every_one.append((factors, constant_term(constraint)))
            if constraint.is_equality():
                every_one.append((tuple(-factor for factor in factors), -constant_term(constraint)))
        result.append(tuple(every_one))
    return tuple(result) if all(result) else None
