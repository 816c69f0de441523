"""Meanings of names inside the region: a loop's value, a parameter, a constant, a variable.

C knows only variables; the polyhedral model needs to know which of them are symbolic constants.
:class:`Bindings` decides that, name by name, while the region is read:

* the counter of a surrounding loop is an *iterator*;
* an ``int`` or ``long`` that is initialised by an affine expression and never assigned again is an
  *alias* of that expression (``int m = n / 2;``), an enumerator a *constant*;
* an integer variable whose value is known where it is read stands for that value
  (:mod:`polygym.frontend.c.scop.value_tracking`);
* any other ``int`` or ``long`` from outside the region that the region never assigns can be a
  *parameter*, and becomes one when a bound, a subscript, a condition or a size mentions it;
* all else is a variable in memory, an array or a scalar.

Every symbol also gets a name of its own for the isl texts, where C's scopes do not exist.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, TypeAlias

import islpy as isl
from pycparser import c_ast

from polygym.errors import SourceError
from polygym.frontend.c.sema.declarations import Declarations, DeclaredShape
from polygym.frontend.c.sema.symbols import DeclarationScope, ResolvedNames, Symbol, UseKind
from polygym.frontend.c.source.locations import SourceMap
from polygym.frontend.c.source.syntax import declaration, keeps_initializer, type_node, walk
from polygym.frontend.c.tokens.standard_headers import header_hint
from polygym.ir.types import ScalarType

# isl reads these words as operators or values, never as names; so do C's keywords in C.
_RESERVED = frozenset(
    "and or not exists implies mod floor ceil floord ceild fdiv_q cdiv_q tdiv_q pdiv_q pdiv_r "
    "zdiv_r min max infty infinity NaN rat true false True False domain context".split()
)


@dataclass(frozen=True, slots=True)
class LoopIterator:
    """The counter of a surrounding loop."""

    name: str
    type: ScalarType


@dataclass(frozen=True, slots=True)
class EnumeratorBinding:
    """An enumerator: ``node`` is its expression (None for 0), plus ``offset``."""

    node: Any
    offset: int


@dataclass(frozen=True, slots=True)
class AliasBinding:
    """A name for the value of an expression, converted to ``type``."""

    node: Any
    type: ScalarType
    environment: ExpressionEnvironment


@dataclass(frozen=True, slots=True)
class VariableBinding:
    """Something in memory: an array, or a scalar, which may also be fit to be a parameter."""

    symbol: Symbol
    shape: DeclaredShape


@dataclass(frozen=True, slots=True)
class KnownValue:
    """A variable whose value is known: a function of parameters and iterators."""

    symbol: Symbol
    value: Any
    type: ScalarType


Binding: TypeAlias = LoopIterator | EnumeratorBinding | AliasBinding | KnownValue | VariableBinding


class LazyValue:
    """A value that is computed once, when it is asked for; None where there is none."""

    def __init__(self, compute: Callable[[], Any]) -> None:
        """Keep how it is computed."""
        self._compute: Callable[[], Any] | None = compute
        self._value: Any = None

    def compute(self) -> Any:
        """Return the function, None if it is not known."""
        if self._compute is not None:
            compute, self._compute = self._compute, None
            self._value = compute()
        return self._value


@dataclass(frozen=True, slots=True, eq=False)
class ExpressionEnvironment:
    """What surrounds an expression.

    ``iterators`` are the surrounding loops' counters, outermost first; ``arguments`` the values of
    an inlined function's arguments; ``calls`` the functions being inlined. ``domain`` is the set of
    parameter and iterator values (all as isl parameters) for which the expression is evaluated.
    ``known_values`` has what integer variables hold
    here. ``role`` says in messages what the expression is. ``cache`` keeps what was computed here.
    ``is_data_dependent`` is true under a condition on data, so that it may be evaluated more rarely
    than ``domain`` says.
    """

    domain: Any
    iterators: Mapping[Symbol, LoopIterator] = field(default_factory=dict)
    arguments: Mapping[Symbol, AliasBinding] = field(default_factory=dict)
    calls: tuple[str, ...] = ()
    known_values: Mapping[Symbol, LazyValue] = field(default_factory=dict)
    role: str = "an expression"
    cache: dict[int, Any] = field(default_factory=dict)
    is_data_dependent: bool = False

    def restricted_to(self, condition: Any) -> ExpressionEnvironment:
        """Return the environment restricted to a condition."""
        return replace(self, domain=self.domain.intersect(condition).coalesce(), cache={})

    def under_data_condition(self, *others: ExpressionEnvironment) -> ExpressionEnvironment:
        """Return the same environment, under a condition on data if one of the others is."""
        is_dependent = not others or any(other.is_data_dependent for other in others)
        return replace(self, is_data_dependent=is_dependent)

    def with_role(self, role: str) -> ExpressionEnvironment:
        """Return the same environment for an expression of another role."""
        return replace(self, role=role)


class Bindings:
    """Decides what names stand for, and remembers which of them became parameters."""

    def __init__(
        self, context: Any, names: ResolvedNames, declarations: Declarations, source: SourceMap
    ) -> None:
        """Give every symbol of the function that is no loop counter a unique name."""
        self.context = context
        self.names = names
        self.declarations = declarations
        self.source = source
        self.parameters: dict[Symbol, ScalarType] = {}
        self.aliases: dict[Symbol, bool] = {}
        self.taken: set[str] = set()
        self.counters: set[str] = set()
        self._spelling: dict[Symbol, str] = {}
        self._shapes: dict[Symbol, DeclaredShape] = {}
        self._variables: dict[str, Any] = {}
        self._named: dict[str, Symbol] = {}  # whatever has been a parameter
        self._new: set[Symbol] = set()
        self._adopted: list[Any] = []  # an identity is only good while the object lives

        # Arguments keep their names before all others.
        for symbol in sorted(names.uses, key=lambda s: s.scope is not DeclarationScope.ARGUMENT):
            if not names.iterates_in_region(symbol):
                self._spelling[symbol] = self.unique_name(symbol.name)

    def unique_name(self, wanted: str) -> str:
        """Return a name like the wanted one that nothing else has, and take it."""
        name = self._free(wanted, self.counters)
        self.taken.add(name)
        return name

    def counter_name(self, wanted: str, enclosing_counters: Collection[str]) -> str:
        """Return a name for a loop's counter: counters of separate loops may share one."""
        name = self._free(wanted, enclosing_counters)
        self.counters.add(name)
        return name

    def _free(self, wanted: str, others: Collection[str]) -> str:
        """Return a name like the wanted one that is not taken and not among ``others``."""
        base = wanted.replace("$", "_")
        base = f"{base}_" if base in _RESERVED else base
        name, number = base, 0
        while name in self.taken or name in others:
            number += 1
            name = f"{base}_{number}"
        return name

    def name(self, symbol: Symbol) -> str:
        """Return the unique name of a symbol."""
        if symbol not in self._spelling:
            self._spelling[symbol] = self.unique_name(symbol.name)
        return self._spelling[symbol]

    def shape(self, symbol: Symbol, at: Any) -> DeclaredShape:
        """Return the type and sizes of a variable."""
        if symbol not in self._shapes:
            declaration = symbol.declaration
            if not isinstance(declaration, c_ast.Decl):
                raise self.source.error(at, f"{symbol.name} is not a variable")
            self._shapes[symbol] = self.declarations.shape(declaration.type, at, symbol.name)
        return self._shapes[symbol]

    def cast_type(self, node: Any) -> ScalarType:
        """Return the type that a value is cast to."""
        return self.declarations.scalar(node.to_type, node, "the result of a cast")

    def variable(self, name: str) -> Any:
        """Return the value of an isl parameter, as a function of the parameters alone."""
        if name not in self._variables:
            text = f"[{name}] -> {{ [] -> [{name}] }}"
            self._variables[name] = isl.PwAff.read_from_str(self.context, text)
        return self._variables[name]

    def binding(self, node: Any, environment: ExpressionEnvironment, affine: Any) -> Binding:
        """Return what an identifier stands for; ``affine`` reads affine expressions."""
        symbol = self.names.symbol_of(node)
        if symbol is None:
            hint = header_hint(node.name)
            if reason := self.source.reason(node.name):
                raise self.source.error(node, reason)
            raise self.source.error(node, f"{node.name} is not declared", hint)
        if symbol in environment.iterators:
            return environment.iterators[symbol]
        if symbol in environment.arguments:
            return environment.arguments[symbol]
        if isinstance(symbol.declaration, tuple):
            return self._enumerator(symbol)
        known = self._known(symbol, environment)
        if known is not None:
            return KnownValue(symbol, known, self.shape(symbol, node).type)
        if self.names.iterates_in_region(symbol):
            raise self.source.error(
                node,
                f"{environment.role} uses the counter {symbol.name} outside its loop, "
                "where its value is not known",
            )
        shape = self.shape(symbol, node)
        if self.is_alias(symbol, shape, environment, affine):
            return AliasBinding(symbol.initializer, shape.type, environment)
        return VariableBinding(symbol, shape)

    def _known(self, symbol: Symbol, environment: ExpressionEnvironment) -> Any:
        """Return the value of a variable, None if it is not known for all that is looked at."""
        if symbol not in environment.known_values:
            return None
        value = environment.known_values[symbol].compute()
        if value is None or not environment.domain.is_subset(value.domain()):
            return None
        for index in range(value.dim(isl.dim_type.param)):
            parameter = self._named.get(value.get_dim_name(isl.dim_type.param, index))
            if parameter is not None and value.involves_dims(isl.dim_type.param, index, 1):
                self.parameters[parameter] = self.shape(parameter, parameter.declaration).type
        return value

    def within_typical_sizes(self, like: Any) -> Any:
        """Return, as a set like another one, where unsigned parameters have their usual values.

        These are taken to be less than half of what the type holds. Types below ``int`` never wrap
        around in an expression, so all of their values are usual.
        """
        limits = isl.Set.universe(like.get_space())
        for symbol, scalar in self.parameters.items():
            if not scalar.is_signed and scalar.bits >= 32:
                name = self.name(symbol)
                text = f"[{name}] -> {{ [] : {name} <= {scalar.highest >> 1} }}"
                limits = limits.intersect(isl.Set.read_from_str(self.context, text))
        return limits

    def new_variable(self, name: str, like: Any) -> Any:
        """Return a mention of a new int variable of the region, at the place of a node."""
        declared = declaration(name, type_node("int", like), None, like)
        symbol = Symbol(name, DeclarationScope.REGION, declared)
        node = c_ast.ID(name, like.coord)
        self.names.symbols[id(node)] = symbol
        self._new.add(symbol)
        self._adopted.append(node)
        return node

    def is_introduced(self, node: Any) -> bool:
        """Whether a node is a variable that was put in."""
        return self.names.symbol_of(node) in self._new

    def bind_names(self, node: Any, symbol: Symbol) -> None:
        """Say what the names in a node mean that stand for a variable and have no meaning yet."""
        for name in walk(node, c_ast.ID):
            if name.name == symbol.name and self.names.symbol_of(name) is None:
                self.names.symbols[id(name)] = symbol
                self._adopted.append(name)

    def _enumerator(self, symbol: Symbol) -> EnumeratorBinding:
        """Return the constant of an enumerator: its own value, or one more than the previous."""
        offset = 0
        current: Symbol | None = symbol
        while current is not None:
            enumerator, previous = current.declaration
            if enumerator.value is not None:
                return EnumeratorBinding(enumerator.value, offset)
            offset += previous is not None
            current = previous
        return EnumeratorBinding(None, offset)

    def is_alias(
        self, symbol: Symbol, shape: DeclaredShape, environment: ExpressionEnvironment, affine: Any
    ) -> bool:
        """Whether a variable only ever has the value of its affine initialiser."""
        if symbol not in self.aliases:
            is_local = symbol.scope is not DeclarationScope.FILE
            self.aliases[symbol] = False  # an initialiser that mentions itself ends here
            self.aliases[symbol] = (
                shape.type.is_integer
                and not shape.sizes
                and not shape.is_pointer
                and symbol.initializer is not None
                and (is_local or keeps_initializer(symbol.declaration))
                and not self.names.assignments(symbol)
                and not self._changes(symbol, environment)
                and self.read_if_possible(affine, symbol.initializer, environment) is not None
            )
        return self.aliases[symbol]

    def _changes(self, symbol: Symbol, environment: ExpressionEnvironment) -> bool:
        """Whether what an initialiser reads may be another value later."""
        is_inside = symbol.scope is DeclarationScope.REGION
        modified = self._modified_in(symbol.initializer)
        return any(not (is_inside and read in environment.iterators) for read in modified)

    def _modified_in(self, node: Any) -> list[Symbol]:
        """Return the variables that an expression reads and that are assigned somewhere."""
        read = map(self.names.symbol_of, walk(node, c_ast.ID))
        return [symbol for symbol in read if symbol and self.names.assignments(symbol)]

    def reads_modified(self, symbol: Symbol) -> bool:
        """Whether an initialiser reads what may change: counters, and what is assigned."""
        return symbol.initializer is not None and bool(self._modified_in(symbol.initializer))

    def read_if_possible(self, reader: Any, node: Any, environment: ExpressionEnvironment) -> Any:
        """Return ``reader(node, environment)``, or None, without a trace, where it refuses."""
        before = dict(self.parameters)
        try:
            return reader(node, environment)
        except SourceError:
            self.parameters = before
            return None

    def parameter(self, variable: VariableBinding, node: Any, role: str) -> Any:
        """Make a variable a parameter and return its value, or say why it cannot be one."""
        symbol, shape = variable.symbol, variable.shape
        name = symbol.name
        if shape.sizes or shape.is_pointer:
            raise self.source.error(node, f"{role} depends on data: {name} is an array")
        if not shape.type.is_integer:
            raise self.source.error(
                node, f"{role} uses {name}, which is {shape.type.value}; only int and long can"
            )
        if symbol.scope is DeclarationScope.REGION:
            raise self.source.error(
                node,
                f"{role} depends on data: {name} is computed in the region",
                "an integer can be used whose value is an affine expression",
            )
        if changes := self.names.changes_between(symbol, node):
            place = self.source.location(changes[0].node)
            how = {
                UseKind.ADDRESS: "may change through its address",
                UseKind.ITERATE: "counts a loop outside the region",
                UseKind.CALL: "may change in a call",
            }.get(changes[0].kind, "is assigned")
            if self.names.precedes_region(symbol, node):
                # A size stands far from the assignment that spoils it.
                raise self.source.error(
                    changes[0].node,
                    f"{name} {how} here, and {role} in line {self.source.location(node).line} "
                    "depends on it",
                    "a parameter is an integer that does not change from there on; == compares",
                )
            raise self.source.error(
                node,
                f"{role} depends on data: {name} {how} in line {place.line}",
                "a parameter is an integer that the region never changes",
            )
        self.parameters[symbol] = shape.type
        self._named[self.name(symbol)] = symbol
        return self.variable(self.name(symbol))
