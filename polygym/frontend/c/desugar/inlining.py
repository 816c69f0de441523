"""Calls of the user's own functions in a region: their bodies, put in where they are called.

A function whose body is one expression needs nothing here
(:mod:`polygym.frontend.c.sema.declarations` reads the expression in place of the call), and
one that returns in the branches of ``if`` is made into such a one: ``if (c) return a; return b;``
is ``return c ? (T)a : (T)b;``, T its type. Any other becomes a block. Arguments are variables of
the block, the names of the function get a number, arrays are the caller's own::

    void add(int n, double *to, double *from) {      { int n_1 = m;
      for (int i = 0; i < n; i++)               →      for (int i_1 = 0; i_1 < n_1; i_1++)
        to[i] += from[i];                                A[k][i_1] += x[i_1]; }
    }                          … add(m, A[k], x);

A value that is returned is assigned to a variable first. Where it is used in a larger expression,
the function must change nothing but its own variables: C leaves open when it is called.
"""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial
from typing import Any

from pycparser import c_ast

from polygym.errors import LimitError
from polygym.frontend.c.desugar.actual_arguments import (
    ActualArgument,
    array_and_offset,
    declared_sizes,
    element_type_key,
    renaming,
    returned_expression,
)
from polygym.frontend.c.desugar.jumps import assignment_of_return, ends_in_return, without_jumps
from polygym.frontend.c.desugar.switches import with_branches_for_jumps
from polygym.frontend.c.sema.functions import argument_count_message
from polygym.frontend.c.source import syntax
from polygym.frontend.c.source.locations import SourceMap

# A call that says, for the reader of expressions, that two sizes must be equal.
SAME_SIZE_CHECK = "__polygym_same_size"

_MAX_CALLS = 2000
_MAX_CALL_DEPTH = 50


class CallInliner:
    """Puts the bodies of a file's functions in the place of calls."""

    def __init__(self, tree: Any, source: SourceMap, used_names: set[str]) -> None:
        """Keep the functions of the file; ``used_names`` are all names that stand in it."""
        self._source = source
        self._spelled = used_names
        self._functions = syntax.functions_of(tree)
        self._typedefs = syntax.typedefs_of(tree)
        self._global = {
            node.name: node for node in tree.ext if isinstance(node, c_ast.Decl) and node.name
        }
        self._file = tree.ext
        self._constants: dict[int, str] = {}
        self._count = 0
        self._stack: list[str] = []
        self._single: dict[str, Any] = {}
        for name, function in self._functions.items():
            expression = returned_expression(
                syntax.statements_of(function.body), function.decl.type.type
            )
            if expression is not None:
                self._single[name] = expression
                last = c_ast.Return(expression, function.body.coord)
                function.body = c_ast.Compound([last], function.body.coord)

    def fresh_name(self, name: str) -> str:
        """Return a name like another one that stands nowhere in the file."""
        self._count += 1
        if self._count > _MAX_CALLS:
            raise LimitError(f"more than {_MAX_CALLS} names are needed to put calls in place")
        while (result := f"{name}_{self._count}") in self._spelled:
            self._count += 1
        self._spelled.add(result)
        return result

    def is_call(self, node: Any) -> bool:
        """Whether a node calls a function that has to be put in place as a block."""
        return (
            isinstance(node, c_ast.FuncCall)
            and isinstance(node.name, c_ast.ID)
            and node.name.name in self._functions
            and node.name.name not in self._single
        )

    def seen_with(self, scope: Mapping[str, Any]) -> Mapping[str, Any]:
        """Return the declarations at file scope, and those that hide them."""
        return {**self._global, **scope}

    def is_known(self, call: Any) -> bool:
        """Whether a node calls a function of the file."""
        return getattr(call.name, "name", None) in self._functions

    def is_pure(self, call: Any) -> bool:
        """Whether a node calls a function that only computes a value, without further calls."""
        expression = self._single.get(getattr(call.name, "name", ""))
        return expression is not None and not syntax.acts(expression)

    @contextmanager
    def recursion_guard(self, call: Any) -> Iterator[None]:
        """Refuse, while the body of a function is read, further calls of the same one."""
        name = call.name.name
        if name in self._stack or len(self._stack) >= _MAX_CALL_DEPTH:
            raise self._source.error(call, f"{name} calls itself")
        self._stack.append(name)
        yield
        self._stack.pop()

    def inlined_expression(self, call: Any, declared: Mapping[str, Any]) -> Any:
        """Return what stands for the call of a function that is one expression.

        That is the call itself, unless the function has an array or pointer argument.
        """
        name = getattr(call.name, "name", None)
        if name not in self._single or name in self._stack:
            return call
        function = self._functions[name]
        arguments, operands = self._arguments(call)
        if all(self._is_scalar(argument) for argument in arguments):
            return call
        values: dict[str, Any] = {}
        arrays: dict[str, ActualArgument] = {}
        for argument, operand in zip(arguments, operands, strict=True):
            kind = self.resolved(argument.type)
            if isinstance(kind, c_ast.TypeDecl):
                is_scalar = self._is_scalar(argument)
                value = syntax.cast_node(operand, argument.type, call) if is_scalar else operand
                values[argument.name] = value
                continue
            if self._is_structure(self.resolved(getattr(kind, "type", None))):
                values[argument.name] = operand
                continue
            given, _ = self._actual_argument(operand, call, argument.name, is_kept=True)
            arrays[argument.name] = given
            checks = self._same_shape(argument, operand, given, {}, declared, call)
            if next(checks, None) is not None:
                raise self._source.error(
                    operand, f"the argument {argument.name} has more than one dimension"
                )
        self._refuse_captures(call, function, dict.fromkeys(values, ""), arrays, declared)
        body = syntax.copy_tree(self._single[name], renaming({}, arrays, values))
        return syntax.cast_node(body, function.decl.type.type, call)

    def _is_scalar(self, argument: Any) -> bool:
        """Whether an argument is no array, pointer or structure."""
        kind = self.resolved(argument.type)
        return isinstance(kind, c_ast.TypeDecl) and not self._is_structure(kind)

    def _is_structure(self, kind: Any) -> bool:
        """Whether a type is that of a structure."""
        is_plain = isinstance(kind, c_ast.TypeDecl)
        return is_plain and isinstance(kind.type, c_ast.Struct | c_ast.Union)

    def _arguments(self, call: Any) -> tuple[list[Any], list[Any]]:
        """Return the arguments that a function declares, and those that a call has."""
        name = call.name.name
        arguments, operands = syntax.arguments_of(self._functions[name]), syntax.operands_of(call)
        if len(arguments) != len(operands):
            raise self._source.error(
                call, argument_count_message(name, len(arguments), len(operands))
            )
        return arguments, operands

    def inlined_block(self, call: Any, result: str | None, declared: Mapping[str, Any]) -> Any:
        """Return the block that a call stands for, which assigns its value to ``result``.

        ``declared`` are the declarations that are seen where the call stands.
        """
        function = self._functions[call.name.name]
        self._count += 1  # nothing ends if functions without names call each other
        if self._count > _MAX_CALLS:
            raise LimitError(f"more than {_MAX_CALLS} calls and names are put in place")
        arguments, operands = self._arguments(call)
        return self._inlined(call, function, arguments, operands, result, declared)

    def has_side_effects(self, call: Any, visited: tuple[str, ...] = ()) -> bool:
        """Whether a function changes anything but its own variables; ``visited`` are looked at."""
        function, visited = self._functions[call.name.name], (*visited, call.name.name)
        own = syntax.declared_names(function)
        for decl in syntax.walk(function.decl, c_ast.Decl):
            if not isinstance(decl.type, c_ast.TypeDecl):
                own.discard(decl.name)
        for base in syntax.modified_roots(function.body):
            if not isinstance(base, c_ast.ID) or base.name not in own:
                return True
        return any(
            self.has_side_effects(inner, visited)
            for inner in filter(self.is_call, syntax.walk(function.body))
            if inner.name.name not in visited
        )

    def changed_names(self, call: Any) -> set[str] | None:
        """Return the names of what a call may change around it; None where a further call may."""
        function = self._functions[call.name.name]
        if any(map(self.is_call, syntax.walk(function.body))):
            return None
        arguments, operands = self._arguments(call)
        given = {
            argument.name: syntax.names_in(operand)
            for argument, operand in zip(arguments, operands, strict=True)
        }
        own = syntax.declared_names(function.body)
        changed: set[str] = set()
        for base in syntax.modified_roots(function.body):
            if not isinstance(base, c_ast.ID):
                return None
            if base.name in given:
                changed |= given[base.name]
            elif base.name not in own:
                changed.add(base.name)
            elif not isinstance(self._declared_in(function, base.name), c_ast.TypeDecl):
                return None  # through a pointer of its own
        return changed

    def _declared_in(self, function: Any, name: str) -> Any:
        """Return the type of a function's local variable; None where it has several."""
        kinds = [decl.type for decl in syntax.walk(function.body, c_ast.Decl) if decl.name == name]
        return self.resolved(kinds[0]) if len(kinds) == 1 else None

    def result_type(self, call: Any) -> Any:
        """Return the type of what a function returns, None if it returns nothing."""
        kind = self._functions[call.name.name].decl.type.type
        if isinstance(kind, c_ast.TypeDecl) and getattr(kind.type, "names", None) == ["void"]:
            return None
        return kind

    def _inlined(
        self,
        call: Any,
        function: Any,
        arguments: Sequence[Any],
        operands: Sequence[Any],
        result: str | None,
        declared: Mapping[str, Any],
    ) -> Any:
        """Return the block of a call whose number of arguments is right."""
        own: dict[str, str] = {}
        arrays: dict[str, ActualArgument] = {}
        items: list[Any] = []
        checks: list[tuple[Any, Any, ActualArgument]] = []
        for argument, operand in zip(arguments, operands, strict=True):
            if isinstance(self.resolved(argument.type), c_ast.TypeDecl):
                own[argument.name] = self.fresh_name(argument.name)
                items.append(syntax.declaration(own[argument.name], argument.type, operand, call))
            else:
                arrays[argument.name], bound = self._actual_argument(operand, call, argument.name)
                items += bound
                checks.append((argument, operand, arrays[argument.name]))
        for node in syntax.walk(function.body, c_ast.Decl):
            if node.name and node.name not in own:
                if "static" not in node.storage:
                    own[node.name] = self.fresh_name(node.name)
                elif syntax.is_static_constant(node):
                    own[node.name] = self._file_scope_name(node, function)
                else:
                    raise self._source.error(
                        call, f"{function.decl.name} has static variables, which keep their values"
                    )
                arrays.pop(node.name, None)
        self._refuse_captures(call, function, own, arrays, declared)
        for argument, operand, actual in checks:
            items += self._same_shape(argument, operand, actual, own, declared, call)
        items += self._body(function, own, arrays, result, call)
        return c_ast.Compound(items, call.coord)

    def _file_scope_name(self, node: Any, function: Any) -> str:
        """Return under which name a static constant of a function stands before it."""
        if id(node) not in self._constants:
            name = self.fresh_name(node.name)
            self._global[name] = syntax.renamed_declaration(node, name)
            self._file.insert(self._file.index(function), self._global[name])
            self._constants[id(node)] = name
        return self._constants[id(node)]

    def resolved(self, kind: Any) -> Any:
        """Return a type through typedefs."""
        while (
            isinstance(kind, c_ast.TypeDecl)
            and isinstance(kind.type, c_ast.IdentifierType)
            and len(kind.type.names) == 1
            and kind.type.names[0] in self._typedefs
        ):
            kind = self._typedefs[kind.type.names[0]]
        return kind

    def _actual_argument(
        self, operand: Any, call: Any, name: str, *, is_kept: bool = False
    ) -> tuple[ActualArgument, list[Any]]:
        """Return what an array argument is given, and declarations of the subscripts in it.

        Subscripts that are kept stay as they are.
        """
        offset: Any = None
        is_address = False
        node = operand
        while isinstance(node, c_ast.Cast) and isinstance(node.expr, c_ast.ID):
            raise self._source.error(node, "aliasing through casts is refused")
        if isinstance(node, c_ast.BinaryOp) and (pair := array_and_offset(node)) is not None:
            node, offset = pair
        elif isinstance(node, c_ast.UnaryOp) and node.op == "&":
            node, is_address = node.expr, True
        base, subscripts = syntax.base_and_subscripts(node)
        if not isinstance(base, c_ast.ID) or (isinstance(node, c_ast.UnaryOp) and not is_address):
            raise self._source.error(
                operand, f"the argument {name} is no array whose elements can be told"
            )
        if is_address and subscripts:
            offset = subscripts.pop()
        items: list[Any] = []

        def bound(subscript: Any) -> Any:
            """Give a subscript a variable, for what it consists of may change."""
            if isinstance(subscript, c_ast.Constant) or is_kept:
                return subscript
            new = self.fresh_name("at")
            kind = syntax.type_node("long", call)
            items.append(syntax.declaration(new, kind, subscript, subscript))
            return c_ast.ID(new, subscript.coord)

        before = tuple(bound(subscript) for subscript in subscripts)
        if offset is not None:
            offset = bound(offset)
        return ActualArgument(base.name, before, offset, is_address and offset is None), items

    def _refuse_captures(
        self,
        call: Any,
        function: Any,
        own: Mapping[str, str],
        arrays: Mapping[str, ActualArgument],
        declared: Mapping[str, Any],
    ) -> None:
        """Refuse a function that uses a global name which means something else where it is called.

        A declaration that is seen there and stands at file scope is not among ``declared``.
        """
        fields = {id(node.field) for node in syntax.walk(function.body, c_ast.StructRef)}
        for node in syntax.walk(function.body, c_ast.ID):
            name = node.name
            if id(node) in fields or name in own or name in arrays or name not in declared:
                continue
            raise self._source.error(
                call,
                f"{function.decl.name} uses the global {name}, and here {name} is another variable",
                "give one of them another name",
            )

    def _same_shape(
        self,
        argument: Any,
        operand: Any,
        actual: ActualArgument,
        own: Mapping[str, str],
        declared: Mapping[str, Any],
        call: Any,
    ) -> Iterator[Any]:
        """Yield checks that an array argument's inner sizes are those of the array it is given."""
        if actual.is_scalar:
            return
        formal = self.resolved(argument.type)
        given = declared.get(actual.name, self._global.get(actual.name))
        wanted = declared_sizes(formal, self.resolved)
        place = call if given is None else operand
        check = c_ast.FuncCall(c_ast.ID(SAME_SIZE_CHECK, place.coord), None, place.coord)
        if given is None:
            if len(wanted) > 1:
                yield syntax.with_operands(check, [c_ast.ID(actual.name, call.coord)])
            return
        given_sizes = declared_sizes(self.resolved(given.type), self.resolved)
        given_sizes = given_sizes[len(actual.leading_subscripts) :]
        if len(given_sizes) != len(wanted) and not (len(wanted) == 1 and not given_sizes):
            raise self._source.error(
                operand,
                f"the argument {argument.name} has {len(wanted)} dimensions and is given "
                f"{len(given_sizes)} of {actual.name}",
            )
        if element_type_key(formal) != element_type_key(self.resolved(given.type)):
            raise self._source.error(
                operand,
                f"the argument {argument.name} has another type than {actual.name}: one element "
                "would have two types",
            )
        for one, other in zip(wanted[1:], given_sizes[1:], strict=True):
            if one is None and other is None:
                continue  # pointers to rows
            if one is None or other is None:
                raise self._source.error(
                    operand, f"the argument {argument.name} has a dimension of unknown size"
                )
            sizes = [syntax.copy_tree(one, renaming(own, {})), syntax.copy_tree(other)]
            yield syntax.with_operands(check, [*sizes, c_ast.ID(actual.name)])

    def _body(
        self,
        function: Any,
        own: Mapping[str, str],
        arrays: Mapping[str, ActualArgument],
        result: str | None,
        call: Any,
    ) -> list[Any]:
        """Return the statements of a function with other names, its last return an assignment."""
        body = syntax.statements_of(syntax.copy_tree(function.body, _nothing_for_constant))
        body = with_branches_for_jumps(body, self._source)
        if ends_in_return(body) or result is None:
            body = without_jumps(body, partial(assignment_of_return, result))
            result = result if body and isinstance(body[-1], c_ast.Return) else None
        items: list[Any] = syntax.copy_tree(body, renaming(own, arrays))
        last = items[-1] if items and isinstance(items[-1], c_ast.Return) else None
        if last is not None:
            items = items[:-1]
            if last.expr is not None and result is not None:
                target = c_ast.ID(result, last.coord)
                items.append(c_ast.Assignment("=", target, last.expr, last.coord))
        elif result is not None:
            raise self._source.error(
                call, f"{function.decl.name} does not end with a return of its value"
            )
        for node in syntax.walk(items, c_ast.Return):
            raise self._source.error(
                node,
                "return is only understood at the end of a function that is called in the region",
                "assign the value to a variable, and return that at the end",
            )
        return items


def _nothing_for_constant(node: Any) -> Any:
    """Return an empty statement for a static constant, None for other nodes."""
    return c_ast.EmptyStatement(node.coord) if syntax.is_static_constant(node) else None
