"""Pointers that walk through one array: the array, and how far along it they stand.

A pointer that never points into anything else has a name for what it points to, and an integer::

    double *p = a + 1;                    long p_at = 1;
    for (…) *p++ = p[n] * q[i];    →      for (…) a[p_at++] = a[p_at + n] * A[q_row][i];

with ``double *q = A[k];``, which is ``long q_row = k, q_at = 0;``: a row stays the one that it was
when the pointer was set. An argument that is changed by sums alone starts at 0; pointers into one
array are compared by their integers. One that is stored, or compared with anything else, keeps its
name, and is refused as ever; so is one that may point into several arrays. Sums are subscripts,
``*(a + i)`` is ``a[i]``, and count in ``long`` as C's pointers do.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from pycparser import c_ast

from polygym.frontend.c.memory import points_to
from polygym.frontend.c.source.locations import SourceMap
from polygym.frontend.c.source.parser import ScopRegion
from polygym.frontend.c.source.syntax import (
    arguments_of,
    as_long,
    copy_tree,
    declaration,
    element_node,
    functions_of,
    integer_node,
    is_modification,
    is_zero,
    operands_of,
    type_node,
    walk,
    with_operands,
)


@dataclass(frozen=True, slots=True, eq=False)
class _PointerTarget:
    """Where a pointer points: an array or another pointer, subscripts of it, and the next one."""

    name: str
    row_subscripts: tuple[Any, ...]
    offset: Any


@dataclass(frozen=True, slots=True, eq=False)
class _InductionPointer:
    """A pointer: the array that it points into, and the names of the integers for it."""

    array: str
    row_names: tuple[str, ...]
    offset_name: str


def with_pointer_induction(
    tree: Any, region: ScopRegion, source: SourceMap
) -> tuple[ScopRegion, frozenset[str]]:
    """Return a region without pointers that walk, and the integers that say how far they are.

    The functions in the tree are changed, too.
    """
    marks = (region.begin, region.end)
    names: set[str] = set()
    for function in functions_of(tree).values():
        rewriter = _PointerRewriter(tree, function, marks, source)
        if rewriter.ranks:
            function.body = rewriter.rewritten()
            names |= rewriter.integers
    return region.reread(), frozenset(names)


def followed_pointers(tree: Any, region: ScopRegion, source: SourceMap) -> dict[str, str]:
    """Return the pointers of a region's function that walk, and the arrays that they point into."""
    rewriter = _PointerRewriter(tree, region.function, (region.begin, region.end), source)
    if not rewriter.ranks:
        return {}
    rewriter.rewritten()
    return rewriter.arrays


class _PointerRewriter:
    """The pointers of a function that walk, and its body without them.

    The ``marks`` of a region stay the nodes that they are.
    """

    def __init__(self, tree: Any, function: Any, marks: tuple[Any, Any], source: SourceMap) -> None:
        self._marks = marks
        self._body = function.body
        self._changes = [change for change in walk(self._body) if is_modification(change)]
        self._spelled = {token.text for token in source.tokens}
        arguments = [decl for decl in arguments_of(function) if decl.name]
        inside = [decl for decl in walk(self._body, c_ast.Decl) if decl.name]
        outside = [node for node in tree.ext if isinstance(node, c_ast.Decl) and node.name]
        names = [decl.name for decl in (*inside, *arguments)]
        hidden = {decl.name for decl in arguments}  # an argument hides a name at file scope
        both = [*names, *{decl.name for decl in outside} - hidden]
        self._once = {name for name in both if both.count(name) == 1}
        self._everything = {entry.name: entry for entry in (*outside, *arguments, *inside)}
        self.ranks = {
            name: rank
            for name, entry in self._everything.items()
            if (rank := points_to.pointer_rank(entry.type))
        }
        # One name may stand in several blocks, as long as it is that of a pointer in all of them.
        self._same: dict[str, list[Any]] = {}
        for decl in (*arguments, *inside):
            self._same.setdefault(decl.name, []).append(decl)
        self._declared = {
            name: same[0]
            for name, same in self._same.items()
            if all(not entry.storage and points_to.is_pointer_type(entry.type) for entry in same)
            and (len(same) == 1 or same[0] not in arguments)
        }
        self._arguments = {argument.name for argument in arguments}
        self._walkers: dict[str, _InductionPointer] = {}
        self._unfit: set[str] = set()
        self._longs: set[str] = set()

    @property
    def integers(self) -> set[str]:
        """The integers that say how far along pointers stand."""
        return {pointer.offset_name for pointer in self._walkers.values()}

    @property
    def arrays(self) -> dict[str, str]:
        """The arrays that pointers walk through, by the pointers' names."""
        return {name: pointer.array for name, pointer in self._walkers.items()}

    def rewritten(self) -> Any:
        """Return the body, with integers in the place of all pointers for which that is enough."""
        refused: set[str] = set()
        while True:
            self._walkers, self._unfit = {}, set()
            for name in self._declared:
                if name not in refused:
                    self._add(name)
            body = copy_tree(self._body, self._replacement)
            if not self._unfit:
                break
            refused |= self._unfit
        starts = [
            self._integer(walker.offset_name, integer_node(0, like), like)
            for name, walker in self._walkers.items()
            if name in self._arguments
            for like in [self._declared[name]]
        ]
        body.block_items = [*starts, *(body.block_items or [])]
        return body

    def _add(self, name: str) -> None:
        """Take a pointer to be one that walks, if all that it is set to is in one array."""
        targets = [self._target(target) for target in self._assigned_targets(name)]
        if name in self._arguments:
            if targets and all(target is not None and target.name == name for target in targets):
                self._walkers[name] = _InductionPointer(name, (), self._fresh_name(f"{name}_at"))
            return
        others = [target for target in targets if target is None or target.name != name]
        roots = {self._root(target) for target in others if target is not None}
        if len(roots) != 1 or None in others:
            return
        ((array, rank),) = roots
        is_followed = array in self._walkers or array not in self._declared
        if array not in self._once or (not is_followed and self._is_moved(array)):
            return
        rows = tuple(self._fresh_name(f"{name}_row{place or ''}") for place in range(rank))
        self._walkers[name] = _InductionPointer(array, rows, self._fresh_name(f"{name}_at"))

    def _is_moved(self, name: str) -> bool:
        """Whether a pointer is set, or steps, beside where it is declared."""
        own = self._declared[name].init
        return any(target is not own for target in self._assigned_targets(name)) or any(
            isinstance(unary_op, c_ast.UnaryOp) and points_to.is_name(unary_op.expr, name)
            for unary_op in self._changes
        )

    def _root(self, target: _PointerTarget) -> tuple[str, int]:
        """Return the array that a target is in, and how many rows lead to it."""
        walker = self._walkers.get(target.name)
        if walker is None:
            return target.name, len(target.row_subscripts)
        return walker.array, len(walker.row_names) + len(target.row_subscripts)

    def _assigned_targets(self, name: str) -> Iterator[Any]:
        """Yield the expressions that a pointer is set to, None for what cannot be followed."""
        for declared in self._same[name]:
            if declared.init is not None:
                yield declared.init
        for assignment in self._changes:
            match assignment:
                case c_ast.Assignment(lvalue=c_ast.ID(name=changed)) if changed == name:
                    is_sum = assignment.op in ("+=", "-=")
                    kept = assignment.lvalue if is_sum else None
                    yield assignment.rvalue if assignment.op == "=" else kept
                case c_ast.UnaryOp(expr=c_ast.ID(name=changed)) if changed == name:
                    if name in self._arguments:
                        yield assignment.expr

    def _target(self, node: Any) -> _PointerTarget | None:
        """Return where an expression points; None if that is no array here."""
        if isinstance(node, c_ast.Cast) and getattr(node.expr, "name", None) in self.ranks:
            node = points_to.first_element_address(node, self._everything[node.expr.name])
        place = None if node is None else points_to.pointer_and_offset(node, self._is_place)
        if place is None:
            return None
        base, terms = place
        is_address = isinstance(base, c_ast.UnaryOp)  # &A[i][j]
        name, rows = points_to.array_and_subscripts(base.expr if is_address else base)
        terms = [rows.pop(), *terms] if is_address else terms
        return _PointerTarget(name, tuple(rows), self._total(terms, node))

    def _is_place(self, node: Any) -> bool:
        """Whether a node is an array, a pointer, one of its rows, or the address of an element."""
        if isinstance(node, c_ast.UnaryOp) and node.op == "&":
            return bool(points_to.array_and_subscripts(node.expr)[1])
        name, subscripts = points_to.array_and_subscripts(node)
        return len(subscripts) < self.ranks.get(name, 0)

    def _replacement(self, node: Any) -> Any:
        """Return what stands for a node; None for what stays."""
        if any(node is mark for mark in self._marks):
            return node
        match node:
            case c_ast.Decl() if node.name in self._walkers:
                return self._index_assignments(node.name, node.init, node, is_new=True)
            case c_ast.Assignment(op="=") if self._names(node.lvalue):
                return self._index_assignments(node.lvalue.name, node.rvalue, node, is_new=False)
            case c_ast.Assignment() if self._names(node.lvalue):
                value = copy_tree(node.rvalue, self._replacement)
                return c_ast.Assignment(node.op, self._at(node.lvalue), value, node.coord)
            case c_ast.UnaryOp(op="++" | "--" | "p++" | "p--") if self._names(node.expr):
                return c_ast.UnaryOp(node.op, self._at(node.expr), node.coord)
            case c_ast.UnaryOp(op="*"):
                return self._element(node.expr, [integer_node(0, node)], node)
            case c_ast.ArrayRef():
                root, subscripts = points_to.pointer_and_subscripts(node)
                return self._element(root, subscripts, node)
            case c_ast.StructRef(type="->"):
                result = self._element(node.name, [integer_node(0, node)], node)
                return result and c_ast.StructRef(result, ".", copy_tree(node.field), node.coord)
            case c_ast.StructRef():
                inner = copy_tree(node.name, self._replacement)
                return c_ast.StructRef(inner, node.type, node.field, node.coord)
            case c_ast.FuncCall():
                return with_operands(node, list(map(self._operand, operands_of(node))))
            case c_ast.BinaryOp(op="<" | "<=" | ">" | ">=" | "==" | "!="):
                return self._comparison(node)
            case c_ast.ID() if node.name in self._walkers:
                self._unfit.add(node.name)
        return None

    def _comparison(self, node: Any) -> Any:
        """Return a comparison of how far two pointers stand; None for anything else."""
        left, right = self._target(node.left), self._target(node.right)
        if left is None or right is None:
            return None
        sides = (left, right)
        roots = {self._root(pointer_target) for pointer_target in sides}
        if len(roots) != 1 or any(rank for _, rank in roots):
            return None
        places = []
        for target in sides:
            walker = self._walkers.get(target.name)
            own = [] if walker is None else [self._own(walker.offset_name, node)]
            places.append(self._total([*own, copy_tree(target.offset, self._replacement)], node))
        return c_ast.BinaryOp(node.op, *places, node.coord)

    def _element(self, pointer: Any, subscripts: Sequence[Any], node: Any) -> Any:
        """Return the element at subscripts of a pointer, None for one that stays as it is."""
        step = pointer if isinstance(pointer, c_ast.UnaryOp) and is_modification(pointer) else None
        place = points_to.pointer_and_offset(pointer if step is None else step.expr, self._is_place)
        if place is None:
            return None
        base, terms = place
        name, own = points_to.array_and_subscripts(base)
        is_plain = not terms and not own
        if name not in self._walkers and (not name or is_plain or step is not None):
            return None
        mine = [copy_tree(index, self._replacement) for index in own]
        first, *rest = (copy_tree(subscript, self._replacement) for subscript in subscripts)
        terms = [copy_tree(term, self._replacement) for term in terms]
        walker = self._walkers.get(name)
        if walker is None:
            return element_node(name, [*mine, self._total([*terms, first], node), *rest], node)
        rows: list[Any] = [c_ast.ID(name, node.coord) for name in walker.row_names]
        at = self._own(walker.offset_name, node)
        if mine:
            head, *more = mine
            rows += [self._total([at, head], node), *more]
        else:
            terms = [at if step is None else c_ast.UnaryOp(step.op, at, step.coord), *terms]
        last = self._total([*terms, first], node)
        return element_node(walker.array, [*rows, last, *rest], node)

    def _operand(self, node: Any) -> Any:
        """Return an argument of a call: a pointer becomes the array and what is added to it."""
        place = points_to.pointer_and_offset(node, self._names)
        if place is None:
            return copy_tree(node, self._replacement)
        base, terms = place
        walker = self._walkers[base.name]
        terms = [copy_tree(term, self._replacement) for term in terms]
        rows = [c_ast.ID(name, node.coord) for name in walker.row_names]
        array = element_node(walker.array, rows, node)
        at = self._total([self._own(walker.offset_name, node), *terms], node)
        return c_ast.BinaryOp("+", array, at, node.coord)

    def _index_assignments(self, name: str, pointer: Any, node: Any, *, is_new: bool) -> Any:
        """Return what sets the integers of a pointer, one after the other."""
        target = self._target(pointer)
        walker = self._walkers[name]
        integers = (*walker.row_names, walker.offset_name)
        values: list[Any] = [None] * len(integers)
        if target is not None:
            other = self._walkers.get(target.name)
            own = (*target.row_subscripts, target.offset)
            values = [copy_tree(subscript, self._replacement) for subscript in own]
            if other is not None:
                values[0] = self._total([self._own(other.offset_name, node), values[0]], node)
                values = [*(self._own(row, node) for row in other.row_names), *values]
        parts = []
        for integer, value in zip(integers, values, strict=True):
            if points_to.is_name(value, integer):
                continue
            if is_new:
                parts.append(self._integer(integer, value, node))
            else:
                place = c_ast.ID(integer, node.coord)
                parts.append(c_ast.Assignment("=", place, value, node.coord))
        if len(parts) == 1:
            return parts[0]
        kind = c_ast.DeclList if is_new else c_ast.ExprList
        return kind(parts, node.coord)

    def _integer(self, name: str, value: Any, like: Any) -> Any:
        return declaration(name, type_node("long", like), value, like)

    def _total(self, terms: Sequence[Any], like: Any) -> Any:
        """Return the sum of some integers, each as wide as pointers are; one alone as it is."""
        kept = [term for term in terms if not is_zero(term)]
        if len(kept) < 2:
            return kept[0] if kept else integer_node(0, like)
        total, *others = (term if self._is_wide(term) else as_long(term) for term in kept)
        for term in others:
            total = c_ast.BinaryOp("+", total, term, like.coord)
        return total

    def _is_wide(self, node: Any) -> bool:
        """Whether a term is ``long``, or a constant, which becomes as wide as what is beside it."""
        inner = node.expr if isinstance(node, c_ast.UnaryOp) else node
        is_own = isinstance(inner, c_ast.ID) and inner.name in self._longs
        return isinstance(inner, c_ast.Constant | c_ast.Cast) or is_own

    def _own(self, name: str, like: Any) -> Any:
        self._longs.add(name)
        return c_ast.ID(name, like.coord)

    def _names(self, node: Any) -> bool:
        return isinstance(node, c_ast.ID) and node.name in self._walkers

    def _at(self, node: Any) -> Any:
        return self._own(self._walkers[node.name].offset_name, node)

    def _fresh_name(self, name: str) -> str:
        while name in self._spelled:
            name += "_"
        return name
