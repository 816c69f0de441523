"""The pass: every statement of a region that has complex numbers, as statements of reals.

::

    double complex t = a[i] * b[i];       double t_re = product_re(a[i][0], a[i][1], …);
    s += t;                          →    double t_im = product_im(a[i][0], a[i][1], …);
                                          s[0] = s[0] + t_re; s[1] = s[1] + t_im;

Both parts are computed before the first one is stored, unless the target is not read. Variables
that the region declares are two variables; all others are arrays of pairs, as they lie in memory.
"""

from collections.abc import Iterator, Mapping
from itertools import count
from typing import Any

from pycparser import c_ast
from pycparser.c_parser import CParser

from polygym.frontend.c.desugar.complex_numbers.arithmetic import ComplexReader, Pair
from polygym.frontend.c.desugar.complex_numbers.declarations import (
    ComplexVariable,
    complex_variable,
    declarations_of,
    with_pairs,
)
from polygym.frontend.c.desugar.complex_numbers.multiplication import product_functions
from polygym.frontend.c.sema.expression_types import ExpressionTypes
from polygym.frontend.c.source import syntax
from polygym.frontend.c.source.locations import SourceMap
from polygym.frontend.c.source.parser import ScopRegion, with_statements

_COMPOUND = {f"{op}=": op for op in "+-*/"}


def with_pairs_of_reals(tree: Any, region: ScopRegion, source: SourceMap) -> ScopRegion:
    """Return a region without complex numbers; declarations in the tree and function change."""
    if not any(token.text == "_Complex" for token in source.tokens):
        return region
    return _Rewriter(tree, region, source).rewritten()


class _Rewriter:
    """Rewrites one region."""

    def __init__(self, tree: Any, region: ScopRegion, source: SourceMap) -> None:
        self._tree, self._region, self._source = tree, region, source
        typedefs = syntax.typedefs_of(tree)
        every = list(declarations_of(tree, region.function))
        inside = {id(node) for item in region.items for node in syntax.walk(item, c_ast.Decl)}
        variables: dict[str, ComplexVariable] = {}
        scalars: dict[str, ComplexVariable] = {}
        self._outside: list[tuple[Any, ComplexVariable]] = []
        plain = {node.name for node in every if complex_variable(node, typedefs) is None}
        for node in every:
            variable = complex_variable(node, typedefs)
            if variable is None:
                continue
            is_own = id(node) in inside and not variable.rank
            same = (scalars if is_own else variables).setdefault(node.name, variable)
            if node.name in plain or same != variable:
                message = f"{node.name} is complex, and declared with another type elsewhere"
                raise source.error(node, message)
            if not is_own:
                self._outside.append((node, variable))
        for name in set(scalars) & set(variables):
            raise source.error(region.begin, f"{name} is declared inside and outside of the region")
        taken = {token.text for token in source.tokens}
        names = (f"polygym_z{number}" for number in count())
        self._names = (name for name in names if f"{name}_re" not in taken)
        self._clashes = {f"{name}{part}" for name in scalars for part in ("_re", "_im")} & taken
        self._reader = ComplexReader(
            source, variables, scalars, ExpressionTypes.of(tree, every, source), self._new_name
        )

    def _new_name(self) -> str:
        return next(self._names)

    def rewritten(self) -> ScopRegion:
        """Return the region in reals."""
        for name in sorted(self._clashes):
            raise self._source.error(
                self._region.begin,
                f"expected a name that is not used beside a complex one, found {name}",
            )
        used = syntax.names_in(list(self._region.items))
        items = [part for item in self._region.items for part in self._statement(item)]
        for node, variable in self._outside:
            if node.init is not None and not isinstance(node.type, c_ast.PtrDecl):
                keeps = "static" in node.storage or "const" in node.quals
                node.init = self._refuse_initial(node) if keeps and node.name in used else None
            with_pairs(node, variable)
        functions = [
            node
            for kind in sorted(self._reader.kinds)
            for node in CParser().parse(product_functions(kind), "").ext
        ]
        for node in syntax.walk(functions):
            node.coord = self._region.begin.coord
        place = self._tree.ext.index(self._region.function)
        self._tree.ext[place:place] = functions
        return with_statements(self._region, items)

    def _refuse_initial(self, node: Any) -> Any:
        """Refuse a variable whose initial value the region may see."""
        raise self._source.error(node, f"the initial value of {node.name} is complex")

    def _statement(self, node: Any) -> Iterator[Any]:
        """Yield the statements in the place of one."""
        reader = self._reader
        match node:
            case c_ast.Compound():
                items = [p for item in node.block_items or () for p in self._statement(item)]
                yield c_ast.Compound(items, node.coord)
            case c_ast.If():
                before, condition = self._value(reader.as_truth(node.cond))
                yield from before
                yes, no = (self._body(part) for part in (node.iftrue, node.iffalse))
                yield c_ast.If(condition, yes, no, node.coord)
            case c_ast.For() | c_ast.While() | c_ast.DoWhile() | c_ast.Switch():
                self._refuse_in_head(node)
                yield self._with_body(node)
            case c_ast.Label() | c_ast.Case() | c_ast.Default() if self._has_complex(node):
                raise self._source.error(node, "a label of a complex statement is not supported")
            case c_ast.Decl() if node.name in reader.scalars:
                yield from self._declared(node, reader.scalars[node.name])
            case c_ast.Decl() if node.name in reader.variables:
                if node.init is not None:
                    raise self._source.error(node, f"the initial values of {node.name} are complex")
                with_pairs(node, reader.variables[node.name])
                self._outside = [pair for pair in self._outside if pair[0] is not node]
                yield node
            case c_ast.Assignment() if reader.is_complex(node.lvalue):
                yield from self._assigned(node)
            case _ if not self._has_complex(node):
                yield node
            case c_ast.Decl():
                before, node.init = self._value(reader.as_number(node.init, node.type))
                yield from [*before, node]
            case c_ast.Assignment():
                if reader.is_complex(node.rvalue):
                    node.op, node.rvalue = "=", self._stored(node)
                value = reader.as_number(node.rvalue, reader.types.type_of(node.lvalue))
                before, node.rvalue = self._value(value)
                inner, node.lvalue = self._value(node.lvalue)
                before += inner
                yield from self._in_block(before, [node]) if before else [node]
            case _:
                raise self._source.error(node, "complex numbers are not supported here")

    def _has_complex(self, node: Any) -> bool:
        """Whether a complex number stands anywhere in a statement."""
        return self._reader.mentions_complex(node)

    def _refuse_in_head(self, loop: Any) -> None:
        """Refuse a loop whose bounds are complex."""
        heads = [getattr(loop, name, None) for name in ("init", "cond", "next")]
        for head in heads:
            if head is not None and self._has_complex(head):
                raise self._source.error(head, "a complex number is not supported in a loop's head")

    def _with_body(self, node: Any) -> Any:
        node.stmt = self._body(node.stmt)
        return node

    def _body(self, node: Any) -> Any:
        if node is None:
            return None
        parts = list(self._statement(node))
        return parts[0] if len(parts) == 1 else c_ast.Compound(parts, node.coord)

    def _value(self, node: Any) -> tuple[list[Any], Any]:
        """Return a real expression without complex numbers, and the statements before it."""
        if node is None or not self._has_complex(node):
            return [], node
        reader = self._reader
        text = reader.pair(node).real if reader.is_complex(node) else reader.real(node)
        before, reader.before = reader.before, []
        return self._parsed(before, node), self._parsed([f"polygym = {text};"], node)[0].rvalue

    def _declared(self, node: Any, variable: ComplexVariable) -> Iterator[Any]:
        """Yield the two variables that a complex one of the region is."""
        reader = self._reader
        if node.init is None:
            yield from self._parsed(
                [f"{variable.kind} {node.name}{p};" for p in ("_re", "_im")], node
            )
            return
        value = reader.converted(reader.pair(node.init), variable.kind)
        before, reader.before = reader.before, []
        yield from self._parsed([*before, *value.declared_as(node.name)], node)

    def _assigned(self, node: Any) -> Iterator[Any]:
        """Yield the assignments to both parts of a complex variable."""
        reader = self._reader
        target = reader.element(node.lvalue)
        value = reader.converted(reader.pair(self._stored(node)), target.kind)
        before, reader.before = reader.before, []
        lines = [f"{target.real} = {value.real};", f"{target.imaginary} = {value.imaginary};"]
        if self._reads_real_part(target, value):
            name = self._new_name()
            before += value.declared_as(name)
            lines = [f"{target.real} = {name}_re;", f"{target.imaginary} = {name}_im;"]
        parsed = self._parsed([*before, *lines], node)
        yield from self._in_block([], parsed) if before else parsed

    def _stored(self, node: Any) -> Any:
        """Return the value that an assignment stores: of ``z += e`` it is ``z + e``."""
        if node.op == "=":
            return node.rvalue
        operator = _COMPOUND.get(node.op)
        if operator is None:
            raise self._source.error(node, f"{node.op} of complex numbers is not supported")
        return c_ast.BinaryOp(operator, node.lvalue, node.rvalue, node.coord)

    def _reads_real_part(self, target: Pair, value: Pair) -> bool:
        """Whether the imaginary part may read what the real part stores."""
        base = target.real.split("[")[0]
        tokens = CParser().parse(f"double polygym = {value.imaginary};", "").ext[0].init
        for part in syntax.walk(tokens, c_ast.ID):
            if part.name == base:
                return not self._is_own_imaginary(target, tokens, base)
        return False

    def _is_own_imaginary(self, target: Pair, tokens: Any, base: str) -> bool:
        """Whether all elements of the target's array that are read are imaginary parts."""
        reads = [
            part
            for part in syntax.walk(tokens, c_ast.ArrayRef)
            if syntax.base_and_subscripts(part)[0].name == base
            and isinstance(part.subscript, c_ast.Constant)
        ]
        names = sum(part.name == base for part in syntax.walk(tokens, c_ast.ID))
        whole = [part for part in reads if part.subscript.value == "1"]
        return bool(len(whole) == names)

    def _in_block(self, before: list[Any], items: list[Any]) -> list[Any]:
        like = items[0]
        return [c_ast.Compound([*before, *items], like.coord)]

    def _parsed(self, lines: list[str], like: Any) -> list[Any]:
        """Return statements from their texts, all at the place of a node."""
        if not lines:
            return []
        names: Mapping[str, Any] = self._reader.typedefs
        known = "".join(f"typedef int {name};" for name in names)
        tree = CParser().parse(f"{known} void polygym(void) {{ {' '.join(lines)} }}", "")
        items = tree.ext[-1].body.block_items
        for node in syntax.walk(list(items)):
            node.coord = like.coord
        return list(items)
