"""Rehearsal: the loops are run on small sizes, to see that they do what the tree says.

isl's AST generator decides how instances of statements interleave, and for very irregular schedules
its answer has been seen to be wrong: two statements of a band in the wrong order where their
domains meet. That is nothing to trust. So before code is made of loops, they are run here, with
every parameter small and no arrays: the sequence of instances must hold every instance of every
domain once, and their values along the tree must not fall.

The values of an instance along the tree are those of the members on its way down, tiles included,
and the number of its branch at every sequence: (⌊i/32⌋, 1, i, j). Sizes differ from each other, so
that a confusion of two of them shows, and are run twice, with larger and with smaller ones.

What this shows it shows for those sizes alone; the outputs at full size are compared as well.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, assert_never

import islpy as isl

from polygym.codegen.loops.ir import (
    Block,
    Guard,
    Index,
    IndexOperator,
    Instance,
    Loop,
    Node,
    Number,
    Operation,
    Variable,
)
from polygym.codegen.trees.tree import Band, Leaf, Part, Sequence, Tree
from polygym.errors import LimitError
from polygym.ir.scop import Scop
from polygym.poly.legality import LegalSchedule, point_of
from polygym.poly.quota import unbounded

_SIZES = (5, 3)
_MOST_INSTANCES = 20_000
_MOST_ITERATIONS = 500_000

_INFIX = {
    IndexOperator.ADD: "+",
    IndexOperator.SUBTRACT: "-",
    IndexOperator.MULTIPLY: "*",
    IndexOperator.DIVIDE_EXACT: "//",
    IndexOperator.DIVIDE_FLOOR: "//",
    IndexOperator.DIVIDE_NONNEGATIVE: "//",
    IndexOperator.REMAINDER_NONNEGATIVE: "%",
    IndexOperator.REMAINDER_ZERO_TEST: "%",
    IndexOperator.EQUAL: "==",
    IndexOperator.LESS: "<",
    IndexOperator.LESS_EQUAL: "<=",
    IndexOperator.GREATER: ">",
    IndexOperator.GREATER_EQUAL: ">=",
    IndexOperator.AND: "and",
    IndexOperator.OR: "or",
}


def rehearse(body: Node, tree: Tree, legal: LegalSchedule) -> None:
    """Refuse loops that do not run what they should.

    Raises:
        LimitError: an instance is missing, runs twice, or runs at the wrong time, or nearly all
            iterations of the loops are without any.
    """
    scop = legal.scop
    program = _Text()
    program.function(body, [parameter.name for parameter in scop.parameters])
    run = program.compiled()
    times = {
        statement.name: _time(tree, statement.name, statement.iterators, legal)
        for statement in scop.statements
    }
    for smallest in _SIZES:
        sizes = _parameters(scop, smallest)
        if sizes is None:
            continue
        with unbounded():  # so small a count needs no bound, and isl could not stop within it
            expected = _instances(scop, sizes)
        if expected is None:
            continue
        found = run(*sizes.values())
        _check(found, expected, times, tuple(sizes.values()))


def _check(
    found: list[tuple[str, tuple[int, ...]]],
    expected: set[tuple[str, tuple[int, ...]]],
    times: Mapping[str, Any],
    sizes: tuple[int, ...],
) -> None:
    if len(found) != len(expected) or set(found) != expected:
        raise LimitError(
            "isl's loops do not run every instance once; the schedule is too irregular for it"
        )
    before: tuple[int, ...] = ()
    for name, point in found:
        now = times[name](*point, *sizes)
        if now < before:
            raise LimitError(
                "isl's loops run instances in the wrong order; the schedule is too irregular for it"
            )
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
    values = point_of(
        isl.Set.from_params(wanted).move_dims(isl.dim_type.set, 0, isl.dim_type.param, 0, count)
    )
    found = dict(zip(order, values, strict=False))
    return {name: found.get(name, smallest + place) for place, name in enumerate(names)}


def _instances(scop: Scop, sizes: Mapping[str, int]) -> set[tuple[str, tuple[int, ...]]] | None:
    """Return all instances at some sizes, or None when there are too many to run here."""
    found: set[tuple[str, tuple[int, ...]]] = set()
    for statement in scop.statements:
        points = isl.Set(statement.domain)
        for name, value in sizes.items():
            place = points.find_dim_by_name(isl.dim_type.param, name)
            if place >= 0:
                points = points.fix_val(isl.dim_type.param, place, isl.Val(value))
        count = points.count_val()
        if not count.is_int() or len(found) + count.to_python() > _MOST_INSTANCES:
            return None
        depth = statement.depth

        def add(point: isl.Point, name: str = statement.name, depth: int = depth) -> None:
            values = (
                point.get_coordinate_val(isl.dim_type.set, k).to_python() for k in range(depth)
            )
            found.add((name, tuple(map(int, values))))

        points.foreach_point(add)
    return found


def _time(tree: Tree, statement: str, iterators: tuple[str, ...], legal: LegalSchedule) -> Any:
    """Return the function from an instance and the sizes to its values along the tree."""
    names = legal.schedule.parameters
    own = [f"i{place}" for place in range(len(iterators))]
    sizes = {name: f"p{place}" for place, name in enumerate(names)}

    def value(part: Part, place: int) -> str:
        row = part.rows[place]
        terms = [f"{a}*{name}" for a, name in zip(row.iterators, own, strict=True) if a]
        terms += [f"{a}*{sizes[name]}" for a, name in zip(row.parameters, names, strict=True) if a]
        total = " + ".join([*terms, str(row.constant)])
        return f"({total})" if part.size == 1 else f"({total})//{part.size}"

    entries: list[str] = []
    while not isinstance(tree, Leaf):
        match tree:
            case Band(statements, members, child):
                place = statements.index(statement)
                entries += [
                    " + ".join(value(part, place) for part in member.parts) for member in members
                ]
                tree = child
            case Sequence(branches):
                number = next(
                    k for k, branch in enumerate(branches) if statement in branch.statements
                )
                entries.append(str(number))
                tree = branches[number].child
    scop_names = [parameter.name for parameter in legal.scop.parameters]
    arguments = [*own, *(sizes.get(name, f"_{name}") for name in scop_names)]
    text = f"lambda {', '.join(arguments)}: ({''.join(f'{entry}, ' for entry in entries)})"
    return eval(text, {})


class _Counted:
    """``range``, as long as all loops together do not run too often."""

    def __init__(self) -> None:
        self.left = _MOST_ITERATIONS

    def __call__(self, lower: int, end: int, step: int) -> range:
        """Return the iterations of one loop."""
        found = range(lower, end, step)
        self.left -= len(found)
        if self.left < 0:
            raise LimitError("isl's loops run far more often than there are instances")
        return found


class _Text:
    """Loops as the text of a Python function that returns the instances in their order."""

    def __init__(self) -> None:
        self.lines: list[str] = []
        self.names: dict[str, str] = {}

    def function(self, body: Node, parameters: list[str]) -> None:
        """Write the function."""
        for name in parameters:
            self._name(name)
        self.lines.append(f"def run({', '.join(self.names.values())}):")
        self.lines += ["  found = []", "  add = found.append"]
        self._node(body, 1)
        self.lines.append("  return found")

    def compiled(self) -> Any:
        """Return the function, ready to be called."""
        space: dict[str, Any] = {"counted": _Counted()}
        exec("\n".join(self.lines), space)
        return space["run"]

    def _name(self, variable: str) -> str:
        return self.names.setdefault(variable, f"v{len(self.names)}")

    def _node(self, node: Node, depth: int) -> None:
        lead = "  " * depth
        match node:
            case Block(children):
                for child in children:
                    self._node(child, depth)
            case Loop(variable, lower, upper, step, body):
                name = self._name(variable)
                bounds = f"{self._index(lower)}, {self._index(upper)} + 1, {step}"
                self.lines.append(f"{lead}for {name} in counted({bounds}):")
                self._node(body, depth + 1)
            case Guard(condition, then, otherwise):
                self.lines.append(f"{lead}if {self._index(condition)}:")
                self._node(then, depth + 1)
                if otherwise is not None:
                    self.lines.append(f"{lead}else:")
                    self._node(otherwise, depth + 1)
            case Instance(statement, iterators):
                point = "".join(f"{self._index(index)}, " for index in iterators)
                self.lines.append(f"{lead}add(({statement!r}, ({point})))")
            case _:
                assert_never(node)

    def _index(self, index: Index) -> str:
        match index:
            case Number(value):
                return f"({value})"
            case Variable(name):
                return self._name(name)
            case Operation(operator, operands):
                parts = [self._index(operand) for operand in operands]
                match operator:
                    case IndexOperator.NEGATE:
                        return f"(-{parts[0]})"
                    case IndexOperator.MINIMUM:
                        return f"min({', '.join(parts)})"
                    case IndexOperator.MAXIMUM:
                        return f"max({', '.join(parts)})"
                    case IndexOperator.SELECT:
                        return f"({parts[1]} if {parts[0]} else {parts[2]})"
                    case _:
                        return f"({f' {_INFIX[operator]} '.join(parts)})"
            case _:
                assert_never(index)
