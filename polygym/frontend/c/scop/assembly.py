"""Assembling: from what the walk over a region collected to the finished, text-only Scop.

The last step of the front end. Only now are the parameters known, so only now are isl's objects
turned into texts, scalars that turned out to be parameters replaced in the expressions, and names
given to the statements.
"""

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import islpy as isl

from polygym.frontend.c.scop.extraction import StatementDraft, TimestampEntry
from polygym.frontend.c.scop.violations import Extents
from polygym.frontend.c.sema.accesses import (
    SourceAccess,
    access_relation,
    access_subscripts,
    iterators_to_dimensions,
)
from polygym.frontend.c.sema.bindings import Bindings, ExpressionEnvironment
from polygym.frontend.c.sema.integer_arithmetic import has_modulus
from polygym.frontend.c.sema.symbols import DeclarationScope, Symbol
from polygym.ir import expressions as ir
from polygym.ir.scop import Array, InitialValue, Parameter, Statement, StorageClass
from polygym.poly.isl_values import isl_c_text, isl_text


@dataclass(frozen=True, slots=True, eq=False)
class AssemblyInputs:
    """What the texts are made from: accesses, sizes, and the context of parameter values.

    ``value`` reads an expression of the source for its value.
    """

    bindings: Bindings
    accesses: Sequence[SourceAccess]
    sizes: Mapping[Symbol, Sequence[Any]]
    context: Any
    value: Callable[[Any, ExpressionEnvironment], ir.Expression]

    @property
    def space(self) -> Any:
        """Return the space of the parameters, in their order."""
        parameters = self.parameters()
        space = isl.Space.params_alloc(self.bindings.context, len(parameters))
        for index, parameter in enumerate(parameters):
            space = space.set_dim_name(isl.dim_type.param, index, parameter.name)
        return space

    def parameters(self) -> tuple[Parameter, ...]:
        """Return the parameters: arguments in the order of the signature, then the others."""
        if not self.bindings.parameters:
            return ()
        order = list(self.bindings.names.uses)
        arguments = [
            a for a in self.bindings.names.symbols.values() if a.scope is DeclarationScope.ARGUMENT
        ]

        def position(symbol: Symbol) -> tuple[int, int]:
            """Arguments first."""
            if symbol.scope is DeclarationScope.ARGUMENT:
                return 0, arguments.index(symbol)
            return 1, order.index(symbol) if symbol in order else len(order)

        result = sorted(self.bindings.parameters.items(), key=lambda item: position(item[0]))
        return tuple(Parameter(self.bindings.name(symbol), scalar) for symbol, scalar in result)

    def restricted(self) -> Any:
        """Return the context as a set of the parameters."""
        context = self.over_parameters(self.context)
        return context.params().align_params(self.space).coalesce().remove_redundancies()

    def over_parameters(self, thing: Any) -> Any:
        """Return a set or map over the parameters alone, other names projected out.

        Others stand only in what is stated before the region: of ``assert(n >= m)`` nothing is left
        where no statement and no size has an m, of ``assert(n == 2 * m)`` that n is even.
        """
        names = {parameter.name for parameter in self.parameters()}
        for index in reversed(range(thing.dim(isl.dim_type.param))):
            if thing.get_dim_name(isl.dim_type.param, index) not in names:
                thing = thing.project_out(isl.dim_type.param, index, 1)
        return thing

    def is_restrictive(self, condition: Any) -> bool:
        """Whether a stated condition restricts the parameters."""
        left = self.over_parameters(condition)
        return not isl.Set.universe(left.get_space()).is_subset(left)


def make_statements(
    assembly: AssemblyInputs, drafts: Sequence[StatementDraft]
) -> tuple[Statement, ...]:
    """Return the statements of the drafts."""
    bindings = assembly.bindings
    space, context = assembly.space, assembly.restricted()
    usual = assembly.over_parameters(bindings.within_typical_sizes(assembly.context)).params()
    run = context.intersect(usual.align_params(context.get_space()))
    statements = []
    for draft, name in zip(drafts, _statement_names(drafts, bindings), strict=True):
        iterators = tuple(i.name for i in draft.environment.iterators.values())
        domain = iterators_to_dimensions(draft.environment.domain, iterators)
        domain = assembly.over_parameters(domain).align_params(space)
        domain = domain.coalesce().gist_params(context).coalesce()
        if not usual.plain_is_universe():  # nothing wraps around that could only in others
            domain = domain.intersect_params(run).gist_params(run).gist_params(run).coalesce()
        domain = domain.set_tuple_name(name)
        finish = _StatementFinisher(assembly, name, draft.environment.domain, space)
        statements.append(
            Statement(
                name=name,
                iterators=iterators,
                domain=isl_text(domain),
                write=finish.access(draft.write),
                body=finish.body(draft),
                text=draft.text,
                location=draft.location,
            )
        )
    return tuple(statements)


def _statement_names(drafts: Sequence[StatementDraft], bindings: Bindings) -> list[str]:
    """Return the names of the statements, all different.

    A label names a statement that has it alone; of several, the first is ``L_0``, the next ``L_1``
    in textual order::

        L: for (i = 0; i < n; i++) {
             x[i] = 0;                         L_0
             for (j = 0; j < m; j++)
        M:     x[i] += A[i][j];                M
             y[i] = x[i];                      L_1
           }
           z = y[0];                           S3, by its place
    """
    counts = Counter(draft.label for draft in drafts)
    names = {
        draft.number: bindings.unique_name(draft.label)
        for draft in drafts
        if draft.label and counts[draft.label] == 1
    }
    place: Counter[str] = Counter()
    for draft in drafts:
        if draft.number not in names and draft.label:
            names[draft.number] = bindings.unique_name(f"{draft.label}_{place[draft.label]}")
            place[draft.label] += 1
    return [names.get(draft.number) or bindings.unique_name(f"S{draft.number}") for draft in drafts]


def make_schedule(
    parameters: Sequence[Parameter],
    statements: Sequence[Statement],
    drafts: Sequence[StatementDraft],
) -> str:
    """Return the original order as isl text, every time stamp as long as the longest."""
    length = max(len(draft.time) for draft in drafts)
    maps = []
    for statement, draft in zip(statements, drafts, strict=True):
        time = [*draft.time, *[TimestampEntry()] * (length - len(draft.time))]
        stamp = ", ".join(str(entry) for entry in time)
        maps.append(f"{statement.name}[{', '.join(statement.iterators)}] -> [{stamp}]")
    names = ", ".join(parameter.name for parameter in parameters)
    return f"[{names}] -> {{ {'; '.join(maps)} }}"


def make_arrays(
    assembly: AssemblyInputs,
    used_symbols: Sequence[Symbol],
    written: frozenset[Symbol],
    sizes: Mapping[Symbol, Extents],
    initial: Mapping[Symbol, InitialValue],
) -> tuple[Array, ...]:
    """Return the arrays and scalars that the statements touch."""
    bindings = assembly.bindings
    space, context = assembly.space, assembly.restricted()
    build = isl.AstBuild.from_context(context)
    arrays = []
    for symbol in used_symbols:
        if symbol in bindings.parameters:
            continue
        shape = bindings.shape(symbol, symbol.declaration)
        functions = [
            function.project_domain_on_params().align_params(space).gist(context).coalesce()
            for function in sizes[symbol].functions
        ]
        arrays.append(
            Array(
                name=bindings.name(symbol),
                type=shape.type,
                extents=tuple(map(isl_text, functions)),
                c_extents=tuple(isl_c_text(build.expr_from_pw_aff(f)) for f in functions),
                storage_class=_storage(symbol, bindings),
                live_out=symbol in written and _is_observable(symbol, bindings),
                initial=initial.get(symbol),
            )
        )
    return tuple(arrays)


_STORAGE = {
    DeclarationScope.FILE: StorageClass.GLOBAL,
    DeclarationScope.ARGUMENT: StorageClass.ARGUMENT,
    DeclarationScope.FUNCTION: StorageClass.LOCAL,
    DeclarationScope.REGION: StorageClass.BLOCK,
}


def _storage(symbol: Symbol, bindings: Bindings) -> StorageClass:
    """Return where a variable comes from: an argument from the caller's memory, or its value."""
    shape = bindings.shape(symbol, symbol.declaration)
    is_value = not shape.sizes and not shape.is_pointer
    if is_value and symbol.scope is DeclarationScope.ARGUMENT:
        return StorageClass.VALUE
    if symbol.scope is DeclarationScope.REGION and bindings.names.is_used_after(symbol):
        return StorageClass.LOCAL  # a region is no block: its declarations hold behind it
    return _STORAGE[symbol.scope]


def _is_observable(symbol: Symbol, bindings: Bindings) -> bool:
    """Whether code after the region can see what it wrote to a variable."""
    match _storage(symbol, bindings):
        case StorageClass.GLOBAL | StorageClass.ARGUMENT:
            return True
        case StorageClass.LOCAL:
            return bindings.names.is_static(symbol) or bindings.names.is_read_after(symbol)
        case StorageClass.VALUE:
            return bindings.names.is_used_after(symbol)
        case _:
            return False


class _StatementFinisher:
    """Puts final texts into the expressions of one statement."""

    def __init__(
        self, assembly: AssemblyInputs, statement: str, instances: Any, space: Any
    ) -> None:
        """Prepare for one statement."""
        self._instances = instances
        self._assembly = assembly
        self._statement = statement
        self._space = space
        names = {
            assembly.bindings.name(s): kind for s, kind in assembly.bindings.parameters.items()
        }
        self._parameters = {name: ir.ParameterValue(name, kind) for name, kind in names.items()}

    def body(self, draft: StatementDraft) -> ir.Expression:
        """Return what a statement stores: an update, where it may store nothing, or anywhere."""
        value = self.expression(draft.value)
        condition = None if draft.condition is None else self.expression(draft.condition)
        if self._source_access(draft.write).computed_dimensions:
            subscripts = self._subscripts(draft.write, draft.subscripts)
            return ir.Update(self.access(draft.write), condition, subscripts, value)
        if condition is None:
            return value
        assert draft.old_value is not None
        return ir.Conditional(condition, value, self.expression(draft.old_value), value.type)

    def _source_access(self, access: ir.Access) -> SourceAccess:
        return self._assembly.accesses[int(access.relation.removeprefix("#"))]

    def _subscripts(
        self, access: ir.Access, computed: Sequence[ir.Expression]
    ) -> tuple[ir.Expression, ...]:
        """Return the subscripts that are computed, those that are affine among them."""
        touch, left = self._source_access(access), iter(computed)
        result = []
        for dimension in touch.computed_dimensions:
            if touch.subscripts[dimension] is None:
                result.append(next(left))
            else:
                result.append(self._runtime_subscript(touch, dimension))
        return tuple(self.expression(subscript) for subscript in result)

    def _runtime_subscript(self, source_access: SourceAccess, dimension: int) -> ir.Expression:
        """Return the value of an affine subscript, which needs nothing but parameters."""
        bindings, known = self._assembly.bindings, len(self._assembly.accesses)
        node = access_subscripts(source_access.node, bindings)[1][dimension]
        value = self._assembly.value(node, source_access.environment)
        added = [access.symbol for access in self._assembly.accesses[known:]]
        if any(symbol not in bindings.parameters for symbol in added):
            raise bindings.source.error(
                node, "this subscript may leave its array, and is too complex to be looked at"
            )
        return value

    def access(self, access: ir.Access) -> ir.Access:
        """Replace the mark of an access by its relation."""
        touch = self._without_wraparound(self._source_access(access))
        context, sizes = self._assembly.bindings.context, self._assembly.sizes[touch.symbol]
        result = access_relation(touch, self._statement, self._instances, context, sizes)
        result = self._assembly.over_parameters(result).align_params(self._space)
        return ir.Access(access.array, isl_text(result), access.text, touch.computed_dimensions)

    def _without_wraparound(self, source_access: SourceAccess) -> SourceAccess:
        """Return an access without what wraps around for no parameters that may be given."""
        if not any(map(has_modulus, source_access.subscripts)):
            return source_access
        run = self._assembly.context
        run = run.intersect(self._assembly.bindings.within_typical_sizes(run))
        run = run.intersect(source_access.domain)
        short = [s and s.gist(run).gist(run).coalesce() for s in source_access.subscripts]
        return replace(source_access, subscripts=tuple(short))

    def expression(self, expression: ir.Expression) -> ir.Expression:
        """Return an expression with relations in its loads, and loads of parameters replaced."""
        match expression:
            case ir.Load(access=access, type=scalar):
                if access.array in self._parameters:
                    return self._parameters[access.array]
                if self._source_access(access).computed_dimensions:
                    return ir.Gather(self.access(access), self._subscripts(access, ()), scalar)
                return ir.Load(self.access(access), scalar)
            case ir.Gather(access=access, subscripts=subscripts, type=scalar):
                return ir.Gather(self.access(access), self._subscripts(access, subscripts), scalar)
            case ir.Update():
                raise AssertionError("an update is made when all else is known")
            case _:
                return ir.map_operands(expression, self.expression)
