"""Scene of a program: statement instances as dots, dependences as arrows.

A *view* maps every instance to a place with at most three integer coordinates:

* the original view takes the (first three) loop iterators of the statement;
* the time view takes the (first three) dimensions of a schedule, those left out in which all
  statements have the same constant.

Places and pairs of places are images under the view, computed and enumerated by isl. Where a view
forgets coordinates (a fourth loop) several instances are one dot. Sizes are small: parameter values
are chosen by :mod:`polygym.pictures.scenes.plot_sizes`, and at most six statements are shown.

Example, y = Ax with n = 2 in the original view: the dots S[0], S[1], T[0, 0] … T[1, 1], and the
arrows S[i] → T[i, 0] and T[i, 0] → T[i, 1]; S[i] → T[i, 1] follows from these.

Transitive reduction: pairs of an order that do not follow from the others.

Dependences are transitive in effect: if a stays before b and b before c, then a stays before c,
whether or not the pair (a, c) is a dependence itself. A picture with all pairs hides its structure,
so the arrows are the *transitive reduction*: the fewest pairs with the same consequences. For
pairs without cycles it is unique, and it consists of the pairs (u, v) for which no other way leads
from u to v.

Example: 0 → 1, 1 → 2, 0 → 2 is drawn as 0 → 1 → 2.
"""

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import TypeAlias

import islpy as isl

from polygym.errors import InputError
from polygym.ir.scop import Scop, Statement
from polygym.mapping.sizes import at_sizes
from polygym.pictures.scenes.plot_sizes import ParameterSizes, choose_sizes, narrow_domains
from polygym.poly.dependences import dependences
from polygym.poly.isl_budget import bounded_operations
from polygym.poly.isl_values import coordinates, count_points
from polygym.poly.schedule import Schedule, ScheduleRow, parameter_names
from polygym.poly.scheduling.baselines import original_schedule

Pair: TypeAlias = tuple[int, int]


def reduce_pairs(pairs: Iterable[Pair]) -> tuple[Pair, ...]:
    """Return the pairs that do not follow from the others, sorted.

    A pair (u, v) with u < v goes forward; only forward pairs follow from others, and only from
    forward ones, since these have no cycles. (Pairs that go backward appear where several instances
    are drawn as one dot.)

    From the last number to the first, ``reached[u]`` becomes the set of what u leads to, as the
    bits of an integer. The successors of u are met in ascending order, so all that can stand
    between u and v has been met before v: v is superfluous if it has been reached by then.

    >>> reduce_pairs([(0, 2), (0, 1), (1, 2)])
    ((0, 1), (1, 2))
    """
    successors: dict[int, set[int]] = {}
    kept: list[Pair] = []
    for u, v in pairs:
        if u < v:
            successors.setdefault(u, set()).add(v)
        elif v < u:
            kept.append((u, v))
    reached: dict[int, int] = {}
    for u in sorted(successors, reverse=True):
        seen = 0
        for v in sorted(successors[u]):
            if not seen >> v & 1:
                kept.append((u, v))
            seen |= reached.get(v, 0) | 1 << v
        reached[u] = seen
    return tuple(sorted(set(kept)))


MAX_AXES = 3
MAX_STATEMENTS = 6
MAX_DOTS = 400
MAX_ARROWS = 600

# Pairs that are looked at before the superfluous ones are left out.
_MAX_PAIRS = 20_000

GridPoint: TypeAlias = tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Dot:
    """The instances of one statement at one place; ``statement`` counts the statements shown."""

    statement: int
    point: GridPoint


@dataclass(frozen=True, slots=True)
class VisibleInstances:
    """Everything that a picture of a program shows.

    ``axes`` names the coordinates, and ``extent`` says of how many they are the first, if there are
    more; a statement in fewer loops has shorter places. ``dots`` are in the order in which they
    run; ``arrows`` are pairs of positions in ``dots``, without those that follow from others;
    ``by_dependence`` has the same for single dependences, by their position in
    ``dependences(scop)``. ``notes`` say what is left out.
    """

    axes: tuple[str, ...]
    extent: str
    statements: tuple[Statement, ...]
    dots: tuple[Dot, ...]
    arrows: tuple[Pair, ...]
    by_dependence: tuple[tuple[int, tuple[Pair, ...]], ...]
    sizes: ParameterSizes
    notes: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class _InstanceView:
    """The isl text of one map for every statement shown, and when a dot runs."""

    axes: tuple[str, ...]
    extent: str
    maps: tuple[str, ...]
    run_order: Callable[[Dot], Sequence[int]]


def visible_instances(
    scop: Scop,
    parameters: Mapping[str, int] | None = None,
    schedule: Schedule | None = None,
    wanted: Collection[str] = (),
) -> VisibleInstances:
    """Return what to show of a program: in a schedule's time, or without one in its own loops.

    ``parameters`` gives every parameter a value; without it small ones are chosen. Statements that
    are ``wanted`` by name are shown before deeper ones. Programs that would need too much work are
    refused with a :class:`polygym.errors.LimitError`.
    """
    given = None if parameters is None else _given_sizes(scop, parameters)
    return _visible_instances(scop, given, schedule, shown_statements(scop, wanted))


def _given_sizes(scop: Scop, parameters: Mapping[str, int]) -> ParameterSizes:
    """Return the values of the program's parameters in their order; others may be given too."""
    names = parameter_names(scop)
    missing = [name for name in names if name not in parameters]
    if missing:
        raise InputError(
            f"a picture of {scop.name}: expected a value for every parameter, found none for "
            f"{', '.join(missing)}"
        )
    return tuple((name, parameters[name]) for name in names)


@lru_cache(maxsize=64)
def _visible_instances(
    scop: Scop,
    given: ParameterSizes | None,
    schedule: Schedule | None,
    shown: tuple[Statement, ...],
) -> VisibleInstances:
    with bounded_operations("enumerating the instances of a program"):
        sizes = choose_sizes(scop, shown) if given is None else given
        values = dict(sizes)
        notes = [*_notes(scop, shown)]
        if schedule is None:
            view = _original_view(scop, shown, values)
        else:
            view = _time_view(scop, shown, schedule, values)
        domains = [at_sizes(isl.Set(statement.domain), values) for statement in shown]
        maps = [at_sizes(isl.Map(text), values) for text in view.maps]
        narrowed = narrow_domains(domains, maps, MAX_DOTS)
        if any(not a.is_equal(b) for a, b in zip(domains, narrowed, strict=True)):
            notes.append("only the first instances")
        dots = _dots(narrowed, maps, view)
        result, some_missing = _pairs(scop, shown, narrowed, maps, dots, values)
        arrows = reduce_pairs(pair for pairs in result.values() for pair in pairs)
        if some_missing or len(arrows) > MAX_ARROWS:
            notes.append("not all arrows")
    return VisibleInstances(
        view.axes,
        view.extent,
        shown,
        dots,
        arrows[:MAX_ARROWS],
        tuple((index, reduce_pairs(pairs)[:MAX_ARROWS]) for index, pairs in result.items()),
        sizes,
        tuple(notes),
    )


def shown_statements(scop: Scop, wanted: Collection[str] = ()) -> tuple[Statement, ...]:
    """Return the statements that a picture has room for, in the order of the text.

    They are the deepest ones, after those that are wanted by name.
    """

    def rank(place: int) -> tuple[bool, int]:
        return scop.statements[place].name not in wanted, -scop.statements[place].depth

    chosen = sorted(range(len(scop.statements)), key=rank)[:MAX_STATEMENTS]
    return tuple(scop.statements[place] for place in sorted(chosen))


def _notes(scop: Scop, shown: tuple[Statement, ...]) -> list[str]:
    """Say which statements are left out."""
    notes = []
    if len(shown) < len(scop.statements):
        notes.append(f"{len(shown)} of {len(scop.statements)} statements")
    return notes


def _original_view(
    scop: Scop, shown: tuple[Statement, ...], values: Mapping[str, int]
) -> _InstanceView:
    """Return the view by iterators; equal numbers of loops share an axis, whatever their names."""
    deepest = max((visible.depth for visible in shown), default=0)
    count = min(MAX_AXES, deepest)
    axes = []
    for axis in range(count):
        axes.append(", ".join(dict.fromkeys(o.iterators[axis] for o in shown if o.depth > axis)))
    maps = []
    for statement in shown:
        letters = _dimension_names(statement)
        kept = ", ".join(letters[:count])
        maps.append(f"{{ {statement.name}[{', '.join(letters)}] -> [{kept}] }}")
    rows = [original_schedule(scop).rows(visible.name) for visible in shown]
    names = parameter_names(scop)

    def moment(dot: Dot) -> Sequence[int]:
        return [_value(row, dot.point, names, values) for row in rows[dot.statement]]

    return _InstanceView(tuple(axes), _extent(count, deepest, "loops"), tuple(maps), moment)


def _extent(count: int, total: int, what: str) -> str:
    """Say how many coordinates are shown, if not all of them are."""
    return "" if count == total else f"first {count} of {total} {what}"


def _value(
    row: ScheduleRow, place: GridPoint, names: Sequence[str], values: Mapping[str, int]
) -> int:
    """Return a row's value at a place; coordinates that the view forgets count as 0."""
    total = row.constant
    total += sum(a * x for a, x in zip(row.iterators, place, strict=False))
    return total + sum(b * values[name] for b, name in zip(row.parameters, names, strict=True))


def _time_view(
    scop: Scop, shown: tuple[Statement, ...], schedule: Schedule, values: Mapping[str, int]
) -> _InstanceView:
    """Return the view by the first dimensions of a schedule that tell instances apart."""
    rows = [schedule.rows(visible.name) for visible in shown]
    telling = [
        dimension
        for dimension in range(schedule.dimensions)
        if any(any(part[dimension].iterators) for part in rows)
        or len({(part[dimension].parameters, part[dimension].constant) for part in rows}) > 1
    ]
    count = len(telling)
    telling = telling[:MAX_AXES]
    head = f"[{', '.join(schedule.parameters)}] -> " if schedule.parameters else ""
    maps = []
    for statement, part in zip(shown, rows, strict=True):
        letters = _dimension_names(statement)
        forms = ", ".join(part[k].text(letters, schedule.parameters) for k in telling)
        maps.append(f"{head}{{ {statement.name}[{', '.join(letters)}] -> [{forms}] }}")
    return _InstanceView(
        tuple(f"time {dimension + 1}" for dimension in telling),
        _extent(len(telling), count, "dimensions"),
        tuple(maps),
        lambda dot: dot.point,
    )


def _dimension_names(statement: Statement) -> list[str]:
    """Return names for a statement's dimensions that are no words of isl's."""
    return [f"x_{axis}" for axis in range(statement.depth)]


def _dots(
    domains: Sequence[isl.Set], maps: Sequence[isl.Map], view: _InstanceView
) -> tuple[Dot, ...]:
    """Return all dots in the order in which they run; at one time, in the order of the text."""
    dots = [
        Dot(number, place)
        for number, (domain, places) in enumerate(zip(domains, maps, strict=True))
        for place in _points(domain.apply(places))
    ]
    return tuple(sorted(dots, key=lambda dot: (*view.run_order(dot), dot.statement, dot.point)))


def _pairs(
    scop: Scop,
    shown: tuple[Statement, ...],
    domains: Sequence[isl.Set],
    maps: Sequence[isl.Map],
    dots: tuple[Dot, ...],
    values: Mapping[str, int],
) -> tuple[dict[int, list[Pair]], bool]:
    """Return the pairs of different dots by dependence, and whether some are missing."""
    number = {statement.name: position for position, statement in enumerate(shown)}
    position = {dot: place for place, dot in enumerate(dots)}
    pairs: dict[int, list[Pair]] = {}
    room = _MAX_PAIRS
    for index, dependence in enumerate(dependences(scop)):
        if dependence.source not in number or dependence.sink not in number:
            continue
        source, sink = number[dependence.source], number[dependence.sink]
        relation = at_sizes(isl.Map(dependence.relation), values)
        relation = relation.intersect_domain(domains[source]).intersect_range(domains[sink])
        both = relation.apply_domain(maps[source]).apply_range(maps[sink])
        room -= count_points(both.wrap())
        if room < 0:
            return pairs, True
        split = both.dim(isl.dim_type.in_)
        ends = (
            (position[Dot(source, point[:split])], position[Dot(sink, point[split:])])
            for point in _points(both.wrap().flatten())
        )
        pairs[index] = [(before, after) for before, after in ends if before != after]
    return pairs, False


def _points(places: isl.Set) -> list[GridPoint]:
    """Return the points of a finite set without parameters, sorted."""
    grid_points: list[GridPoint] = []

    def note(point: isl.Point) -> None:
        grid_points.append(coordinates(point))

    places.foreach_point(note)
    return sorted(grid_points)
