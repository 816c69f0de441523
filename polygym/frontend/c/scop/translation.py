"""One region on its way to a Scop: the readers set up, and the steps in their order."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, TypeVar

import islpy as isl
from pycparser.c_generator import CGenerator

from polygym.errors import LimitError, PolygymError, SourceError
from polygym.frontend.c.scop import live_in
from polygym.frontend.c.scop.assembly import (
    AssemblyInputs,
    make_arrays,
    make_schedule,
    make_statements,
)
from polygym.frontend.c.scop.bounds_check import check_bounds, min_elements
from polygym.frontend.c.scop.extraction import StatementDraft, StatementExtractor
from polygym.frontend.c.scop.value_tracking import ValueTracker
from polygym.frontend.c.scop.violations import Extents
from polygym.frontend.c.sema.accesses import SourceAccess, c_text
from polygym.frontend.c.sema.affine import AffineReader
from polygym.frontend.c.sema.assumptions import Assumption, read_assumptions
from polygym.frontend.c.sema.bindings import Bindings, ExpressionEnvironment, LazyValue
from polygym.frontend.c.sema.declarations import Declarations
from polygym.frontend.c.sema.expressions import ExpressionReader
from polygym.frontend.c.sema.functions import ExpressionInliner
from polygym.frontend.c.sema.integer_arithmetic import (
    LARGE_VALUE,
    constant_of_function,
    values_of_type,
    wrapped_domain,
)
from polygym.frontend.c.sema.symbols import DeclarationScope, Symbol, resolve_names
from polygym.frontend.c.source.locations import SourceMap
from polygym.frontend.c.source.parser import ScopRegion
from polygym.frontend.c.source.syntax import arguments_of
from polygym.ir.scop import InitialValue, Scop
from polygym.ir.types import ScalarType
from polygym.ir.verifier import verify
from polygym.poly.isl_values import isl_text, to_int

# The largest kernel of PolyBench needs less than 100,000 operations, about 70 for every token.
_MAX_OPERATIONS = 1_000_000
_OPERATIONS_PER_TOKEN = 300

# What an array may have: where its sizes are constants, what a process can address; and at the
# least, where they are parameters, what many machines hold. Usual values are a thousand or two.
_MAX_BYTES = 2**47
_MAX_MIN_BYTES = 2**33

_Result = TypeVar("_Result")


class Translation:
    """One region on its way to a Scop."""

    def __init__(self, source: SourceMap, tree: Any, region: ScopRegion, file: str) -> None:
        """Set up the readers, all on one isl context."""
        self.source, self.region, self.file = source, region, file
        self.context = isl.Context()
        self.context.set_on_error(isl.on_error.CONTINUE)
        self.names = resolve_names(tree, region)
        for declaration in self.names.redeclared:
            raise source.error(declaration, f"{declaration.name} is declared twice in one scope")
        declarations = Declarations(self.names.typedefs, source)
        self.bindings = Bindings(self.context, self.names, declarations, source)
        functions = ExpressionInliner(self.bindings)
        self.affine = AffineReader(self.bindings, functions)
        self.expressions = ExpressionReader(self.bindings, self.affine, functions)
        self.values = ValueTracker(self.bindings, self.affine)
        self.started: Mapping[Symbol, LazyValue] = {}  # what is known where the region starts
        readers = (self.bindings, self.affine, self.expressions, self.values)
        self.extractor = StatementExtractor(*readers)

    def run(self) -> Scop:
        """Translate; whatever isl refuses is a limit, at the place that was being read."""
        return self._with_operation_limit(self._run)

    def accesses(self) -> tuple[SourceAccess, ...]:
        """Return the accesses of the region, whether they leave their arrays or not."""
        self._with_operation_limit(self._read)
        return tuple(self.expressions.touches)

    def _with_operation_limit(self, work: Callable[[], _Result]) -> _Result:
        """Do some work within the bound on isl's."""
        most = _MAX_OPERATIONS + _OPERATIONS_PER_TOKEN * len(self.source.tokens)
        self.context.set_max_operations(most)
        try:
            return work()
        except PolygymError:
            raise
        except isl.Error as error:
            node = self.extractor.current or self.region.begin
            raise LimitError(
                f"{self.source.location(node)}: the integer sets here are too large to be "
                f"computed in {most:,} operations"
            ) from error

    def _read(self) -> tuple[dict[Symbol, Extents], Any, tuple[Assumption, ...]]:
        """Read the region; return the sizes of its arrays, the domain, and what is assumed."""
        universe = isl.Set.universe(isl.Space.set_alloc(self.context, 0, 0))
        sizes, domain = self._declared_sizes(self._typed(universe))
        assumptions, items = read_assumptions(
            self.region, self.bindings, self.affine, ExpressionEnvironment(domain)
        )
        for assumption in assumptions:
            domain = domain.intersect(assumption.condition).coalesce()
        if domain.is_empty():
            raise self.source.error(
                self.region.begin, "no values of the parameters satisfy what is assumed"
            )
        self.values.enter_region(items)
        self.values.enter_function(
            self.region.function.body, self.region.begin, ExpressionEnvironment(domain)
        )
        self.extractor.region(items, ExpressionEnvironment(domain))
        for symbol in self.extractor.declared:
            sizes[symbol], domain = self._extents(symbol, domain)
        return sizes, domain, assumptions

    def _typed(self, domain: Any) -> Any:
        """Return the domain in which integers from outside have values of their types."""
        if not self.affine.is_narrow:
            return domain
        for symbol in tuple(self.names.uses):
            if symbol.scope is DeclarationScope.REGION or self.names.iterates_in_region(symbol):
                continue
            try:
                shape = self.bindings.shape(symbol, symbol.declaration)
            except SourceError:
                continue
            if shape.sizes or shape.is_pointer or not shape.type.is_integer:
                continue
            if shape.type not in (ScalarType.INT, ScalarType.LONG):
                name = self.bindings.name(symbol)
                domain = domain.intersect(values_of_type(name, shape.type, self.context))
        return domain

    def _run(self) -> Scop:
        """Translate the region."""
        sizes, domain, assumptions = self._read()
        drafts = self._executed(self.extractor.drafts, domain)
        accesses = self._accesses_of(drafts)
        for access in accesses:
            sizes.setdefault(access.symbol, Extents((), ()))
        usual = self.bindings.within_typical_sizes(domain)
        bounded = check_bounds(accesses, sizes, domain, usual, self.source)
        domain = bounded.context
        self.expressions.touches = [
            bounded.runtime_checks.get(access, access) for access in self.expressions.touches
        ]
        self._refuse_endless_arrays(sizes, domain)
        drafts = self._executed(drafts, domain)
        functions = {symbol: extents.functions for symbol, extents in sizes.items()}
        assembly = AssemblyInputs(
            self.bindings, self.expressions.touches, functions, domain, self.expressions.value
        )
        stated = [
            text
            for assumption in assumptions
            for text in self._restrictive_text(assumption, assembly)
        ]
        conditions = tuple(dict.fromkeys([*stated, *bounded.conditions]))
        return self._scop(drafts, sizes, assembly, conditions)

    def _accesses_of(self, drafts: Sequence[StatementDraft]) -> list[SourceAccess]:
        """Return the accesses of some statements."""
        accesses = self.expressions.touches
        return [accesses[index] for draft in drafts for index in draft.source_accesses]

    def _restrictive_text(self, assumption: Assumption, assembly: AssemblyInputs) -> list[str]:
        """Return what an assumption says of the parameters: all of it, or those parts that do.

        Of ``assert(n >= 2 && m <= 50)``, where there is no n, that is ``m <= 50``; of ``n > m && m
        > 3``, where there is no m, neither part says alone what both say together.
        """
        if not assembly.is_restrictive(assumption.condition):
            return []
        telling = [part for part in assumption.parts if assembly.is_restrictive(part[0])]
        together = assembly.over_parameters(assumption.condition)
        alone = isl.Set.universe(together.get_space())
        for condition, _ in telling:
            own = assembly.over_parameters(condition)
            alone = alone.intersect(own.align_params(alone.get_space()))
        if len(telling) < len(assumption.parts) and alone.is_subset(together):
            return [text for _, text in telling]
        return [assumption.text]

    def _refuse_endless_arrays(self, sizes: dict[Symbol, Extents], domain: Any) -> None:
        """Refuse arrays that are too large for all values of the parameters."""
        for symbol, extents in sizes.items():
            scalar = self.bindings.shape(symbol, symbol.declaration).type
            least = scalar.size * min_elements(extents, domain)
            is_constant = all(function.is_cst() for function in extents.functions)
            most = _MAX_BYTES if is_constant else _MAX_MIN_BYTES
            if least <= most:
                continue
            size = f"{least:,} bytes"
            if not is_constant:
                size = f"at least {size} for all sizes that the conditions allow"
            raise self.source.error(
                symbol.declaration, f"{symbol.name} has {size}: expected at most {most:,}"
            )

    def _executed(self, drafts: Sequence[StatementDraft], domain: Any) -> list[StatementDraft]:
        """Return the statements that run for some of the admitted parameter values."""
        running = [
            draft for draft in drafts if not draft.environment.domain.intersect(domain).is_empty()
        ]
        if not running:
            raise self.source.error(self.region.begin, "the region does nothing")
        return running

    def _scop(
        self,
        drafts: list[StatementDraft],
        sizes: dict[Symbol, Extents],
        assembly: AssemblyInputs,
        conditions: tuple[str, ...],
    ) -> Scop:
        """Put the Scop together."""
        touched = list(dict.fromkeys(access.symbol for access in self._accesses_of(drafts)))
        written = frozenset(
            self.expressions.touches[draft.source_accesses.start].symbol for draft in drafts
        )
        statements = make_statements(assembly, drafts)
        parameters = assembly.parameters()
        initial = live_in.initial_constants_of(touched, sizes, self.bindings, self.expressions)
        initial |= self._assigned_before(s for s in touched if s not in initial)
        arrays = make_arrays(assembly, touched, written, sizes, initial)
        arguments = self._arguments(touched)
        scop = Scop(
            name=self.region.function.decl.name,
            file=self.file,
            parameters=parameters,
            signature=tuple(name for name, _, _ in arguments),
            context=isl_text(assembly.restricted()),
            conditions=conditions,
            arrays=arrays,
            statements=statements,
            schedule=make_schedule(parameters, statements, drafts),
            contraction=self.source.allows_contraction(self.region.begin),
            unused_arguments=tuple((name, text) for name, text, used in arguments if not used),
        )
        lost = [s for s in touched if s not in initial and s not in self.bindings.parameters]
        symbols = live_in.live_in_variables(
            scop, drafts, self.expressions.touches, lost, assembly.sizes, self.bindings
        )
        unseen = [
            self.bindings.name(symbol)
            for symbol in touched
            if self.names.is_static(symbol)
            and symbol not in symbols
            and not self.names.is_used_around(symbol)
        ]
        scop = live_in.without_dead_outputs(scop, unseen)
        return verify(live_in.with_live_in(scop, list(map(self.bindings.name, symbols))))

    def _assigned_before(self, symbols: Iterable[Symbol]) -> dict[Symbol, InitialValue]:
        """Return the constants that code before the region has assigned to variables in memory."""
        values: dict[Symbol, InitialValue] = {}
        for symbol in symbols:
            value = self.started.get(symbol) if symbol.scope is DeclarationScope.FUNCTION else None
            function = value.compute() if value is not None else None
            constant = constant_of_function(function) if function is not None else None
            if constant is not None and symbol not in self.bindings.parameters:
                values[symbol] = to_int(constant)
        return values

    def _arguments(self, used_symbols: list[Symbol]) -> list[tuple[str, str, bool]]:
        """Return the function's arguments: name, C declaration, whether the region uses them."""
        known = {*used_symbols, *self.bindings.parameters}
        symbols = map(self.names.symbol_of, arguments_of(self.region.function))
        return [
            (
                self.bindings.name(symbol) if symbol in known else symbol.name,
                CGenerator().visit(symbol.declaration),
                symbol in known,
            )
            for symbol in symbols
            if symbol is not None
        ]

    def _declared_sizes(self, domain: Any) -> tuple[dict[Symbol, Extents], Any]:
        """Return the sizes of the arrays that the region mentions, and that all are positive."""
        sizes: dict[Symbol, Extents] = {}
        for symbol, uses in tuple(self.names.uses.items()):  # sizes may mention further symbols
            inside = [u for u in uses if self.names.begin < u.position < self.names.end]
            is_own = symbol.scope is DeclarationScope.REGION
            if is_own or not inside or isinstance(symbol.declaration, tuple):
                continue
            if self.bindings.shape(symbol, inside[0].node).sizes:
                sizes[symbol], domain = self._extents(symbol, domain)
        return sizes, domain

    def _extents(self, symbol: Symbol, domain: Any) -> tuple[Extents, Any]:
        """Return the sizes of an array, and the domain in which they are positive."""
        environment = ExpressionEnvironment(domain, role=f"the size of {symbol.name}")
        functions, texts = [], []
        nodes = self.bindings.shape(symbol, symbol.declaration).sizes
        for node in nodes:
            size = self.affine.expression(node, environment)
            size, domain = self._without_wrapped(size, domain)
            domain = domain.intersect(size.ge_set(self.affine.constant(1)))
            if domain.is_empty():
                raise self.source.error(
                    symbol.declaration, f"{symbol.name} has a dimension without elements"
                )
            functions.append(size)
            texts.append(c_text(node))
        return Extents(tuple(functions), tuple(texts)), domain.coalesce()

    def _without_wrapped(self, size: Any, domain: Any) -> tuple[Any, Any]:
        """Return a size and a domain in which it has not wrapped around: ``n - 1`` of no n."""
        large = size.ge_set(self.affine.constant(LARGE_VALUE)).intersect(domain)
        wrong = wrapped_domain(size, large)
        if size.is_cst() or wrong.is_empty():
            return size, domain
        domain = domain.subtract(wrong).coalesce()
        usual = domain.intersect(self.bindings.within_typical_sizes(domain))
        return size.gist(usual).gist(usual).coalesce(), domain
