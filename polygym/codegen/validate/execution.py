"""Loops are run before code is made of them, to see that they do what the tree says.

isl's AST generator decides how instances of statements interleave, and for very irregular schedules
its answer has been seen to be wrong: two statements of a band in the wrong order where their
domains meet. That is nothing to trust. So loops are run here, without any arrays: the sequence of
instances must hold every instance of every domain once, and their values along the tree must not
fall.

Loops for all sizes run at small ones, which differ from each other, so that a confusion of two of
them shows; twice, with larger and with smaller ones. Loops for given sizes run at those: all of
them where that is little, else a sample. Of every loop then run the first iteration, the last one,
those around the values where isl's pieces meet, and some between; what runs must be of the domains,
once, and in order. That nothing is missing is not to be seen so; some instances are therefore
looked for (``check_coverage``).

What this shows it shows for what was run; the outputs at full size are compared as well.
"""

from collections.abc import Callable
from contextlib import suppress

import islpy as isl

from polygym.codegen.common.bounding_boxes import BoundingBox, IteratorValues
from polygym.codegen.loopir.ir import Node
from polygym.codegen.tree.ir import Tree
from polygym.codegen.validate.coverage import check_coverage, probe_instances
from polygym.codegen.validate.interpreter import InstancePoint, make_runner, make_sampler
from polygym.codegen.validate.order import (
    WRONG_INSTANCES,
    WRONG_ORDER,
    WrongLoopsError,
    timestamps_along,
)
from polygym.errors import LimitError
from polygym.ir.scop import Scop
from polygym.lru_cache import LruCache
from polygym.mapping.sizes import Sizes, known_sizes
from polygym.mapping.tuning_parameters import TUNING
from polygym.poly.isl_budget import bounded_operations
from polygym.poly.legality import LegalSchedule, sample_point

# All instances of the statements that were checked last: one program is compiled again and again.
_instances = LruCache[tuple[str, tuple[tuple[str, int], ...]], frozenset[IteratorValues]](16)


def check_by_execution(
    body: Node, tree: Tree, legal: LegalSchedule, sizes: Sizes | None = None
) -> None:
    """Refuse loops that do not run what they should.

    Raises:
        WrongLoopsError: an instance is missing, runs twice, or runs at the wrong time, or nearly
            all iterations of the loops are without any.
    """
    scop = legal.scop
    sizes = known_sizes(scop, sizes)
    run = make_runner(body, [parameter.name for parameter in scop.parameters])
    chosen = (
        [sizes]
        if sizes is not None
        else [_parameters(scop, least) for least in TUNING.smallest_sizes]
    )
    for values in chosen:
        if values is None:
            continue
        boxes = [BoundingBox.of(statement, values) for statement in scop.statements]
        if sum(box.count for box in boxes) <= TUNING.max_checked_instances:
            _check_all(run, tree, legal, boxes, values)
        elif sizes is not None:
            _check_sample(body, tree, legal, boxes, values)


def prepare_probes(scop: Scop, sizes: Sizes | None) -> None:
    """Look for instances that checks at these sizes will ask about.

    It is remembered, and done before anything else, so that the effort for loops does not depend on
    which of them are made first.
    """
    sizes = known_sizes(scop, sizes)
    if sizes is None:
        return
    with suppress(LimitError), bounded_operations("looking at the corners of domains"):
        boxes = [BoundingBox.of(statement, sizes) for statement in scop.statements]
        if sum(box.count for box in boxes) > TUNING.max_checked_instances:
            for statement in scop.statements:
                probe_instances(statement.domain, tuple(sizes.items()))


def _check_all(
    run: Callable[..., list[InstancePoint]],
    tree: Tree,
    legal: LegalSchedule,
    boxes: list[BoundingBox],
    sizes: Sizes,
) -> None:
    """Check all that loops run."""
    instance_points = run(*sizes.values())
    ran: dict[str, list[IteratorValues]] = {box.statement: [] for box in boxes}
    for name, point in instance_points:
        ran[name].append(point)
    for box in boxes:
        points = ran[box.statement]
        expected = _instances_of(box, legal.scop.statement(box.statement).domain, sizes)
        if len(points) != len(expected) or expected != set(points):
            raise WrongLoopsError(WRONG_INSTANCES)
    _check_order(instance_points, tree, legal, sizes)


def _instances_of(box: BoundingBox, domain: str, sizes: Sizes) -> frozenset[IteratorValues]:
    """Return all instances of a statement, whose box this is."""
    return _instances.get((domain, tuple(sizes.items())), lambda: frozenset(box.points()))


def _check_sample(
    body: Node, tree: Tree, legal: LegalSchedule, boxes: list[BoundingBox], sizes: Sizes
) -> None:
    """Check part of what loops for given sizes run."""
    sampled, to_the_end = make_sampler(body, tuple(sizes))(*sizes.values())
    points = [point for point, _, _ in sampled]
    contains = {box.statement: box.contains for box in boxes}
    if len(set(points)) != len(points) or not all(contains[name](point) for name, point in points):
        raise WrongLoopsError(WRONG_INSTANCES)
    _check_order(points, tree, legal, sizes)
    seen = {name for name, _ in points}
    if to_the_end and any(box.statement not in seen and not box.is_empty for box in boxes):
        raise WrongLoopsError(WRONG_INSTANCES)  # nothing of it runs at the ends of any loop
    check_coverage(body, tree, legal, sampled, contains, sizes)


def _check_order(
    executed: list[InstancePoint], tree: Tree, legal: LegalSchedule, sizes: Sizes
) -> None:
    times = {
        statement.name: timestamps_along(tree, legal, statement.name)
        for statement in legal.scop.statements
    }
    values = tuple(sizes.values())
    before: tuple[int, ...] = ()
    for name, point in executed:
        now = times[name](*point, *values)
        if now < before:
            raise WrongLoopsError(WRONG_ORDER)
        before = now


def _parameters(scop: Scop, smallest: int) -> dict[str, int] | None:
    """Return sizes from ``smallest`` on, all different if the context allows it."""
    names = [parameter.name for parameter in scop.parameters]
    context = isl.Set(scop.context)
    wanted = context
    for offset, name in enumerate(names):
        place = wanted.find_dim_by_name(isl.dim_type.param, name)
        if place < 0:
            continue
        fixed = wanted.fix_val(isl.dim_type.param, place, isl.Val(smallest + offset))
        if fixed.is_empty():
            fixed = wanted.lower_bound_val(isl.dim_type.param, place, isl.Val(smallest))
        if not fixed.is_empty():
            wanted = fixed
    if wanted.is_empty():
        return None
    count = wanted.dim(isl.dim_type.param)
    order = [wanted.get_dim_name(isl.dim_type.param, place) for place in range(count)]
    values = sample_point(
        isl.Set.from_params(wanted).move_dims(isl.dim_type.set, 0, isl.dim_type.param, 0, count)
    )
    result = dict(zip(order, values, strict=False))
    return {name: result.get(name, smallest + place) for place, name in enumerate(names)}
