"""One region on its way to a Scop: the readers set up, and the steps in their order."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, TypeVar

import islpy as isl
from pycparser.c_generator import CGenerator

from polygym.compiler.frontend.c.accesses import Touch, c_text
from polygym.compiler.frontend.c.affine import Affine
from polygym.compiler.frontend.c.assemble import (
    Assembly,
    make_arrays,
    make_schedule,
    make_statements,
)
from polygym.compiler.frontend.c.assumptions import Assumption, read_assumptions
from polygym.compiler.frontend.c.bindings import Bindings, Environment
from polygym.compiler.frontend.c.bounds import Extents, check_bounds, least_elements
from polygym.compiler.frontend.c.declarations import Declarations
from polygym.compiler.frontend.c.division import constant_value
from polygym.compiler.frontend.c.expressions import Expressions
from polygym.compiler.frontend.c.extract import Draft, Extractor
from polygym.compiler.frontend.c.functions import Functions
from polygym.compiler.frontend.c.initial import initial_values
from polygym.compiler.frontend.c.live_in import inputs, with_inputs, without_unseen
from polygym.compiler.frontend.c.parse import Region
from polygym.compiler.frontend.c.places import SourceMap
from polygym.compiler.frontend.c.solutions import Value
from polygym.compiler.frontend.c.symbols import Home, Symbol, resolve
from polygym.compiler.frontend.c.values import Values
from polygym.compiler.frontend.c.wrapping import LARGE, where_wrapped, within_type
from polygym.compiler.ir.scop import Initial, Scop
from polygym.compiler.ir.types import ScalarType
from polygym.compiler.ir.verify import verify
from polygym.compiler.poly.isl_numbers import integer, isl_text
from polygym.errors import LimitError, PolygymError, SourceError

# The largest kernel of PolyBench needs less than 100,000 operations, about 70 for every token.
_MAXIMUM_OPERATIONS = 1_000_000
_OPERATIONS_FOR_A_TOKEN = 300

# What an array may have: where its sizes are constants, what a process can address; and at the
# least, where they are parameters, what many machines hold. Usual values are a thousand or two.
_MOST_BYTES = 2**47
_MOST_LEAST_BYTES = 2**33

_Result = TypeVar("_Result")


class Translation:
    """One region on its way to a Scop."""

    def __init__(self, source: SourceMap, tree: Any, region: Region, file: str) -> None:
        """Set up the readers, all on one isl context."""
        self.source, self.region, self.file = source, region, file
        self.context = isl.Context()
        self.context.set_on_error(isl.on_error.CONTINUE)
        self.names = resolve(tree, region)
        for declaration in self.names.redeclared:
            raise source.error(declaration, f"{declaration.name} is declared twice in one scope")
        self.bindings = Bindings(
            self.context, self.names, Declarations(self.names.typedefs, source), source
        )
        functions = Functions(self.bindings)
        self.affine = Affine(self.bindings, functions)
        self.expressions = Expressions(self.bindings, self.affine, functions)
        self.values = Values(self.bindings, self.affine)
        self.started: Mapping[Symbol, Value] = {}  # what is known where the region starts
        self.extractor = Extractor(self.bindings, self.affine, self.expressions, self.values)

    def run(self) -> Scop:
        """Translate; whatever isl refuses is a limit, at the place that was being read."""
        return self._bounded(self._run)

    def touched(self) -> tuple[Touch, ...]:
        """Return the accesses of the region, whether they leave their arrays or not."""

        def read() -> tuple[Touch, ...]:
            """Read as far as the accesses."""
            self._read()
            return tuple(self.expressions.touches)

        return self._bounded(read)

    def _bounded(self, work: Callable[[], _Result]) -> _Result:
        """Do some work within the bound on isl's."""
        most = _MAXIMUM_OPERATIONS + _OPERATIONS_FOR_A_TOKEN * len(self.source.tokens)
        self.context.set_max_operations(most)
        try:
            return work()
        except PolygymError:
            raise
        except isl.Error as error:
            node = self.extractor.current or self.region.begin
            raise LimitError(
                f"{self.source.place(node)}: the integer sets here are too large to be computed in "
                f"{most:,} operations"
            ) from error

    def _read(self) -> tuple[dict[Symbol, Extents], Any, tuple[Assumption, ...]]:
        """Read the region; return the sizes of its arrays, the domain, and what is assumed."""
        universe = isl.Set.universe(isl.Space.set_alloc(self.context, 0, 0))
        sizes, domain = self._declared_sizes(self._typed(universe))
        assumptions, items = read_assumptions(
            self.region, self.bindings, self.affine, Environment(domain)
        )
        for assumption in assumptions:
            domain = domain.intersect(assumption.condition).coalesce()
        if domain.is_empty():
            raise self.source.error(
                self.region.begin, "no values of the parameters satisfy what is assumed"
            )
        self.values.region(items)
        self.values.before_region(self.region.function.body, self.region.begin, Environment(domain))
        self.extractor.region(items, Environment(domain))
        for symbol in self.extractor.declared:
            sizes[symbol], domain = self._extents(symbol, domain)
        return sizes, domain, assumptions

    def _typed(self, domain: Any) -> Any:
        """Return the domain in which integers from outside have values of their types."""
        if not self.affine.is_narrow:
            return domain
        for symbol in self.names.uses:
            if symbol.home is Home.REGION or self.names.iterates_in_region(symbol):
                continue
            try:
                shape = self.bindings.shape(symbol, symbol.declaration)
            except SourceError:
                continue
            if shape.sizes or shape.pointer or not shape.type.is_integer:
                continue
            if shape.type not in (ScalarType.INT, ScalarType.LONG):
                name = self.bindings.name(symbol)
                domain = domain.intersect(within_type(name, shape.type, self.context))
        return domain

    def _run(self) -> Scop:
        """Translate the region."""
        sizes, domain, assumptions = self._read()
        drafts = self._running(self.extractor.drafts, domain)
        touches = [self.expressions.touches[index] for d in drafts for index in d.touches]
        for touch in touches:
            if touch.symbol not in sizes:
                sizes[touch.symbol] = Extents((), ())
        bounded = check_bounds(
            touches, sizes, domain, self.bindings.of_usual_size(domain), self.source
        )
        domain = bounded.context
        self.expressions.touches = [
            bounded.looked_at.get(touch, touch) for touch in self.expressions.touches
        ]
        self._refuse_endless_arrays(sizes, domain)
        drafts = self._running(drafts, domain)
        touches = [self.expressions.touches[index] for d in drafts for index in d.touches]
        functions = {symbol: extents.functions for symbol, extents in sizes.items()}
        assembly = Assembly(
            self.bindings, self.expressions.touches, functions, domain, self.expressions.value
        )
        stated = [text for one in assumptions for text in self._said(one, assembly)]
        conditions = tuple(dict.fromkeys([*stated, *bounded.conditions]))
        return self._scop(drafts, touches, sizes, assembly, conditions)

    def _said(self, assumption: Assumption, assembly: Assembly) -> list[str]:
        """Return what an assumption says of the parameters: all of it, or those parts that do.

        Of ``assert(n >= 2 && m <= 50)``, where there is no n, that is ``m <= 50``; of ``n > m && m
        > 3``, where there is no m, neither part says alone what both say together.
        """
        if not assembly.says_something(assumption.condition):
            return []
        telling = [part for part in assumption.parts if assembly.says_something(part[0])]
        together = assembly.known(assumption.condition)
        alone = isl.Set.universe(together.get_space())
        for condition, _ in telling:
            alone = alone.intersect(assembly.known(condition).align_params(alone.get_space()))
        if len(telling) < len(assumption.parts) and alone.is_subset(together):
            return [text for _, text in telling]
        return [assumption.text]

    def _refuse_endless_arrays(self, sizes: dict[Symbol, Extents], domain: Any) -> None:
        """Refuse arrays that are too large for all values of the parameters."""
        for symbol, extents in sizes.items():
            scalar = self.bindings.shape(symbol, symbol.declaration).type
            least = scalar.size * least_elements(extents, domain)
            is_constant = all(function.is_cst() for function in extents.functions)
            most = _MOST_BYTES if is_constant else _MOST_LEAST_BYTES
            if least <= most:
                continue
            found = f"{least:,} bytes"
            if not is_constant:
                found = f"at least {found} for all sizes that the conditions allow"
            raise self.source.error(
                symbol.declaration, f"{symbol.name} has {found}: expected at most {most:,}"
            )

    def _running(self, drafts: Sequence[Draft], domain: Any) -> list[Draft]:
        """Return the statements that run for some of the admitted parameter values."""
        running = [
            draft for draft in drafts if not draft.environment.domain.intersect(domain).is_empty()
        ]
        if not running:
            raise self.source.error(self.region.begin, "the region does nothing")
        return running

    def _scop(
        self,
        drafts: list[Draft],
        touches: list[Touch],
        sizes: dict[Symbol, Extents],
        assembly: Assembly,
        conditions: tuple[str, ...],
    ) -> Scop:
        """Put the Scop together."""
        touched = list(dict.fromkeys(touch.symbol for touch in touches))
        written = frozenset(
            self.expressions.touches[draft.touches.start].symbol for draft in drafts
        )
        statements = make_statements(assembly, drafts)
        parameters = assembly.parameters()
        initial = initial_values(touched, sizes, self.bindings, self.expressions)
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
            contraction=self.source.contraction(self.region.begin),
            unused_arguments=tuple((name, text) for name, text, used in arguments if not used),
        )
        lost = [s for s in touched if s not in initial and s not in self.bindings.parameters]
        functions = {symbol: extents.functions for symbol, extents in sizes.items()}
        found = inputs(scop, drafts, self.expressions.touches, lost, functions, self.bindings)
        unseen = [
            self.bindings.name(symbol)
            for symbol in touched
            if self.names.is_static(symbol)
            and symbol not in found
            and not self.names.mentioned_around(symbol)
        ]
        scop = with_inputs(without_unseen(scop, unseen), list(map(self.bindings.name, found)))
        return verify(scop)

    def _assigned_before(self, symbols: Iterable[Symbol]) -> dict[Symbol, Initial]:
        """Return the constants that code before the region has assigned to variables in memory."""
        found: dict[Symbol, Initial] = {}
        for symbol in symbols:
            value = self.started.get(symbol) if symbol.home is Home.FUNCTION else None
            function = value.get() if value is not None else None
            constant = constant_value(function) if function is not None else None
            if constant is not None and symbol not in self.bindings.parameters:
                found[symbol] = integer(constant)
        return found

    def _arguments(self, touched: list[Symbol]) -> list[tuple[str, str, bool]]:
        """Return the function's arguments: name, C declaration, whether the region uses them."""
        known = {*touched, *self.bindings.parameters}
        declared = self.region.function.decl.type.args
        found = [self.names.meaning.get(id(node)) for node in (declared.params if declared else ())]
        return [
            (
                self.bindings.name(symbol) if symbol in known else symbol.name,
                CGenerator().visit(symbol.declaration),
                symbol in known,
            )
            for symbol in found
            if symbol is not None
        ]

    def _declared_sizes(self, domain: Any) -> tuple[dict[Symbol, Extents], Any]:
        """Return the sizes of the arrays that the region mentions, and that all are positive."""
        sizes: dict[Symbol, Extents] = {}
        for symbol, uses in self.names.uses.items():
            inside = [u for u in uses if self.names.begin < u.position < self.names.end]
            if symbol.home is Home.REGION or not inside or isinstance(symbol.declaration, tuple):
                continue
            if not self.bindings.shape(symbol, inside[0].node).sizes:
                continue
            sizes[symbol], domain = self._extents(symbol, domain)
        return sizes, domain

    def _extents(self, symbol: Symbol, domain: Any) -> tuple[Extents, Any]:
        """Return the sizes of an array, and the domain in which they are positive."""
        environment = Environment(domain, role=f"the size of {symbol.name}")
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
        large = size.ge_set(self.affine.constant(LARGE)).intersect(domain)
        wrong = where_wrapped(size, large)
        if size.is_cst() or wrong.is_empty():
            return size, domain
        domain = domain.subtract(wrong).coalesce()
        usual = domain.intersect(self.bindings.of_usual_size(domain))
        return size.gist(usual).gist(usual).coalesce(), domain
