"""Integers of memory that a region does not change, as parameters that are read in front of it.

Bounds of loops, and factors in subscripts, are parameters then. So are all other reads of the same
element, and a variable that has its value already is the parameter::

    int n = g_n[0];                                      int n = g_n[0];
    for (i = 0; i < m[0]; i++)                           int m_1 = m[0];
      for (j = 0; j < n; j++)                            #pragma scop
        A[i * g_n[0] + j] = m[0] - i;                    for (i = 0; i < m_1; i++)
                                                           for (j = 0; j < n; j++)
                                                             A[i * n + j] = m_1 - i;

A variable that is computed from elements in front of the region is computed from parameters::

    int size = g_nx[0] * g_ny[0];                int g_nx_1 = g_nx[0], g_ny_2 = g_ny[0];
                                                 int size = g_nx_1 * g_ny_2;

A product that bounds loops, of elements that the region does not read otherwise, is a parameter::

    for (i = 0; i < g_nx[0] * g_ny[0]; i++)      int count_1 = g_nx[0] * g_ny[0];
                                                 for (i = 0; i < count_1; i++)

A factor of a subscript is read in front of the region only if it is an element with constant
subscripts, as a member of a structure is: ``g->n`` is ``g_n[0]``. What a condition of the region
protects, ``if (i < k) A[w[k] * m]``, stays where it is.
"""

from collections import Counter
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from typing import Any

from pycparser import c_ast

from polygym.frontend.c.desugar.single_assignment import SingleAssignments
from polygym.frontend.c.source import syntax

_CALLS_WITHOUT_EFFECTS = frozenset(
    "assert printf fprintf puts malloc calloc free sqrt fabs exp log pow __builtin_assume".split()
)
_NON_INTEGER_TYPES = frozenset({"float", "double", "void"})


class MemoryParameters:
    """The parameters of one region in plain form."""

    def __init__(
        self,
        function: Any,
        begin: Any,
        declared: Mapping[str, Any],
        fresh_name: Callable[[str], str],
        once: SingleAssignments,
    ) -> None:
        """``declared`` are the variables outside the region; ``fresh_name`` makes new names."""
        self._function, self._begin = function, begin
        self._declared, self._fresh, self._once = declared, fresh_name, once
        self._names: dict[str, str] = {}
        self._copies: dict[str, str] | None = None

    def apply(self, items: Sequence[Any], changed: Collection[str]) -> list[Any]:
        """Return the region's statements with parameters; the headers of its loops are changed."""
        multiplied = syntax.names_in(
            [product for product in syntax.walk(items, c_ast.BinaryOp) if product.op == "*"]
        )
        self._compute_from_parameters(multiplied - set(changed), changed)
        items = self._with_counts(items, changed)
        for loop in syntax.walk(items, c_ast.For):
            inside = {decl.name for decl in getattr(loop.init, "decls", None) or ()}
            inside |= {counter} if (counter := syntax.counter_of(loop)) else set()
            taken = {*changed, *inside}
            for part in ("init", "cond", "next"):
                replace = self._replacement(taken, lambda node: True)
                setattr(loop, part, syntax.copy_tree(getattr(loop, part), replace))
        factors = set(map(id, _factors_of_subscripts(items)))
        replace = self._replacement(changed, lambda node: id(node) in factors)
        items = [syntax.copy_tree(item, replace) for item in items]
        if not self._names:
            return items
        replace = self._replacement(changed, lambda node: False)
        return [syntax.copy_tree(item, replace) for item in items]

    def _replacement(
        self,
        changed: Collection[str],
        is_wanted: Callable[[Any], bool],
        *,
        uses_copies: bool = True,
    ) -> Callable[[Any], Any]:
        """Return how nodes are replaced: by parameters that there are, and wanted new ones.

        ``uses_copies`` takes variables that have the values already, wherever they are declared.
        """

        def replacement(node: Any) -> Any:
            if isinstance(node, c_ast.UnaryOp) and node.op == "&":
                return node
            base, subscripts = syntax.base_and_subscripts(node)
            if not subscripts or not isinstance(base, c_ast.ID):
                return None
            if not is_fixed(node, None, changed):
                return None
            key = _element_key(base.name, subscripts)
            if key not in self._names:
                kind = _element(self._declared.get(base.name), len(subscripts))
                if kind is None or not is_wanted(node):
                    return None
                copy = self._copy(key) if uses_copies else None
                self._names[key] = copy or self._declare(node, base.name, kind)
            return c_ast.ID(self._names[key], node.coord)

        return replacement

    def _compute_from_parameters(self, used: Collection[str], changed: Collection[str]) -> None:
        """Let declarations in front of the region be computed from parameters, in their order."""
        begin = self._begin
        for name, decl in self._declared.items():
            value = self._once.only_value(name)
            if value is None or value is not decl.init or not syntax.reads_elements(value):
                continue
            if not self._is_kept(name, value):
                continue
            base, subscripts = syntax.base_and_subscripts(value)
            if subscripts and isinstance(base, c_ast.ID):
                key = _element_key(base.name, subscripts)
                if key in self._names and self._once.has_type_of(name, base.name):
                    decl.init = c_ast.ID(self._names[key], decl.coord)
                elif name in used and self._copy(key) == name and is_fixed(value, None, changed):
                    self._names[key] = name
            elif name in used and syntax.multiplies(value):
                self._begin = decl
                replace = self._replacement(changed, lambda node: True, uses_copies=False)
                decl.init = syntax.copy_tree(value, replace)
        self._begin = begin

    def _with_counts(self, items: Sequence[Any], changed: Collection[str]) -> list[Any]:
        """Return statements with parameters for products of elements that only bound loops."""
        mentions = Counter(node.name for node in syntax.walk(items, c_ast.ID))
        conditions = [loop.cond for loop in syntax.walk(items, c_ast.For) if loop.cond is not None]
        products = [
            product
            for product in syntax.walk(conditions, c_ast.BinaryOp)
            if product.op == "*" and self._is_count(product, changed)
        ]
        inside = Counter(node.name for node in syntax.walk(products, c_ast.ID))
        chosen = {
            id(product)
            for product in products
            if all(mentions[name] == inside[name] for name in syntax.names_in(product))
        }
        names: dict[str, str] = {}

        def replacement(node: Any) -> Any:
            if id(node) not in chosen:
                return None
            key = repr(_key(node))
            if key not in names:
                names[key] = self._declare(node, "count", syntax.type_node("int", node))
            return c_ast.ID(names[key], node.coord)

        return [syntax.copy_tree(item, replacement) for item in items] if chosen else list(items)

    def _is_count(self, product: Any, changed: Collection[str]) -> bool:
        """Whether a product has two factors, elements of the type int that do not change."""
        for factor in (product.left, product.right):
            base, subscripts = syntax.base_and_subscripts(factor)
            if not subscripts or not isinstance(base, c_ast.ID):
                return False
            kind = _element(self._declared.get(base.name), len(subscripts))
            if kind is None or kind.type.names != ["int"] or not is_fixed(factor, None, changed):
                return False
            if not all(isinstance(each, c_ast.Constant) for each in subscripts):
                return False
        return True

    def _declare(self, node: Any, name: str, kind: Any) -> str:
        """Declare the variable that has a value from memory, in front of the region."""
        new = self._fresh(name)
        block = syntax.block_with(self._function.body, self._begin)
        place = next(i for i, item in enumerate(block) if item is self._begin)
        block.insert(place, syntax.declaration(new, kind, syntax.copy_tree(node), node))
        return new

    def _copy(self, key: str) -> str | None:
        """Return a variable that has the value of an element already, None if there is none."""
        if self._copies is None:
            self._copies = {}
            for name, declared in self._declared.items():
                value = self._once.only_value(name)
                base, subscripts = syntax.base_and_subscripts(value)
                if not subscripts or not isinstance(base, c_ast.ID):
                    continue
                is_same_type = self._once.has_type_of(name, base.name) and not declared.storage
                if is_same_type and self._is_kept(name, value):
                    self._copies.setdefault(_element_key(base.name, subscripts), name)
        return self._copies.get(key)

    def _is_kept(self, name: str, value: Any) -> bool:
        """Whether memory surely keeps what a variable was computed from, around the region.

        That is so if no call behind it may have effects, and nothing hands the memory on.
        """
        item = self._once.assignment(name)
        if item is None:
            return False
        block = syntax.block_with(self._function.body, item)
        behind = list(_outside(block[block.index(item) + 1 :], self._begin))
        bases = set(map(id, filter(None, map(_base_of_element, behind))))
        read = syntax.names_in(value)
        return not any(
            (isinstance(node, c_ast.ID) and node.name in read and id(node) not in bases)
            or (isinstance(node, c_ast.FuncCall) and _name_of(node) not in _CALLS_WITHOUT_EFFECTS)
            for node in behind
        )


def is_fixed(node: Any, counter: str | None, changes: Collection[str]) -> bool:
    """Whether an expression has one value for all of a loop that changes some names."""
    return syntax.names_in(node).isdisjoint({counter, *changes}) and not syntax.contains(
        node, c_ast.FuncCall
    )


def _outside(statements: Sequence[Any], begin: Any) -> Iterator[Any]:
    """Yield the nodes of statements outside of the region, which pragmas mark."""
    is_inside = False
    for statement in statements:
        if isinstance(statement, c_ast.Pragma):
            is_inside = statement is begin
        elif not is_inside:
            if syntax.contains_node(statement, begin):
                yield statement
                for _, child in statement.children():
                    items = child.block_items if isinstance(child, c_ast.Compound) else [child]
                    yield from _outside(items or [], begin)
            else:
                yield from syntax.walk(statement)


def _base_of_element(node: Any) -> Any:
    """Return the node of the name whose element a node is, None for other nodes."""
    base, subscripts = syntax.base_and_subscripts(node)
    return base if subscripts and isinstance(base, c_ast.ID) else None


def _name_of(call: Any) -> str:
    return str(getattr(call.name, "name", ""))


def _factors_of_subscripts(items: Sequence[Any]) -> Iterator[Any]:
    """Yield the elements with constant subscripts in products that subscripts have."""
    for element in syntax.walk(items, c_ast.ArrayRef):
        for product in syntax.walk(element.subscript, c_ast.BinaryOp):
            if product.op == "*":
                for node in syntax.walk(product):
                    _, subscripts = syntax.base_and_subscripts(node)
                    if subscripts and all(isinstance(each, c_ast.Constant) for each in subscripts):
                        yield node


def _element(declared: Any, subscripts: int) -> Any:
    """Return the type of an element of a declared array or pointer of integers, None if unknown."""
    kind: Any = getattr(declared, "type", None)
    for _ in range(subscripts):
        if not isinstance(kind, c_ast.PtrDecl | c_ast.ArrayDecl):
            return None
        kind = kind.type
    is_scalar = isinstance(kind, c_ast.TypeDecl) and isinstance(kind.type, c_ast.IdentifierType)
    return kind if is_scalar and not _NON_INTEGER_TYPES & set(kind.type.names) else None


def _element_key(name: str, subscripts: Sequence[Any]) -> str:
    """Return what two elements that are the same have in common."""
    return repr((name, *map(_key, subscripts)))


def _key(node: Any) -> Any:
    """Return what two equal expressions have in common."""
    own = tuple(getattr(node, name) for name in ("name", "op", "value") if hasattr(node, name))
    plain = tuple(value for value in own if isinstance(value, str))
    return type(node).__name__, plain, tuple(_key(child) for _, child in node.children())
