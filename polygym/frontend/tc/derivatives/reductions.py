"""Derivatives of the ways in which a statement combines values: =, +=, *=, min= and max=.

Of ``T(s) += v`` and ``T(s) = v`` each v gets d_T(s). Of ``*=`` it gets d_T(s) times the product of
all other factors, which are multiplied again for each one: that is exact where factors are 0, and
has derivatives itself. Of ``max=`` and ``min=`` the values that are equal to the result share
d_T(s) evenly, as with PyTorch's amax and amin; a NaN counts as the largest, and the least.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field

from polygym.errors import SourceError
from polygym.frontend.tc.derivatives import arithmetic
from polygym.frontend.tc.derivatives.analysis import IndexRange, TensorFacts, wide_type
from polygym.frontend.tc.derivatives.emission import StatementEmitter
from polygym.frontend.tc.derivatives.partials import Partial, PartialDerivatives
from polygym.frontend.tc.derivatives.versions import VersionedStatement, is_version, neutral_element
from polygym.frontend.tc.syntax import tree
from polygym.frontend.tc.syntax.tree import AssignKind, ElementType, Expression
from polygym.frontend.tc.syntax.where_values import substitute_values

EXTREMES = (AssignKind.MINIMUM, AssignKind.MAXIMUM)
_EXACT_CALLS = frozenset({"max", "min", "fmax", "fmin", "abs", "fabs"})


@dataclass
class ReductionTerms:
    """One statement, and what its derivatives need beside its value."""

    emitter: StatementEmitter
    statement: VersionedStatement
    tensor: TensorFacts
    _count: str = ""
    _extreme: str = ""
    _product: str = ""
    _value: Expression = field(init=False)

    def __post_init__(self) -> None:
        """Start with the value as it stands."""
        self._value = self.statement.value

    def partials(self, partials: PartialDerivatives, derivative: Expression) -> Iterator[Partial]:
        """Yield the derivatives with respect to what the value reads."""
        assign, value = self.statement.facts.assign, self.statement.value
        match assign:
            case AssignKind.SET:
                is_wide = self.tensor.type in (ElementType.FLOAT, ElementType.DOUBLE)
                result = self._element(self.statement.after) if is_wide else None
                yield from partials.of(value, derivative, result)
            case AssignKind.ADD:
                yield from partials.of(value, derivative, None)
            case AssignKind.MULTIPLY:
                if partials.depends(value):
                    others = arithmetic.times(derivative, self._other_factors())
                    yield from partials.of(value, others, None)
            case AssignKind.MINIMUM | AssignKind.MAXIMUM:
                if partials.depends(value):
                    tie = self._tie()
                    share = arithmetic.infix(
                        "/", derivative, self._count_at(self.statement.subscripts)
                    )
                    yield from partials.of(value, share, None, (tie,))

    def carry(self, name: str, adjoint: str) -> None:
        """Emit the derivative with respect to the version before, as far as it is kept."""
        facts = self.statement.facts
        begins = facts.begins
        before, after = self.statement.before or "", self.statement.after
        if begins:
            hit = self._assigned_elements()

            def value(e: tuple[Expression, ...]) -> Expression:
                is_hit = arithmetic.infix(">", arithmetic.element(hit, e), arithmetic.ZERO)
                return arithmetic.choice(is_hit, arithmetic.ZERO, arithmetic.element(adjoint, e))

        elif facts.assign is AssignKind.MULTIPLY:
            product = self._all_factors()

            def value(e: tuple[Expression, ...]) -> Expression:
                return arithmetic.times(
                    arithmetic.element(adjoint, e), arithmetic.element(product, e)
                )

        elif facts.assign in EXTREMES:
            self._tie()
            extreme = self._extreme

            def value(e: tuple[Expression, ...]) -> Expression:
                share = arithmetic.infix("/", arithmetic.element(adjoint, e), self._count_at(e))
                tie = _equal(arithmetic.element(before, e), arithmetic.element(extreme or after, e))
                return arithmetic.choice(tie, share, arithmetic.ZERO)

        else:

            def value(e: tuple[Expression, ...]) -> Expression:
                return arithmetic.element(adjoint, e)

        self.emitter.fill(name, facts.tensor, value)

    def _element(self, tensor: str) -> Expression:
        return arithmetic.element(tensor, self.statement.subscripts)

    def _count_at(self, subscripts: tuple[Expression, ...]) -> Expression:
        """Return for how many values an element is the extreme one, as a real number."""
        count = arithmetic.element(self._count, subscripts)
        return tree.ConvertExpression(wide_type(self.tensor.type), count, arithmetic.NOWHERE)

    def _every_instance(
        self, name: str, assign: AssignKind, value: Expression, start: Expression | None
    ) -> None:
        """Emit a reduction of a value, for every instance, at the elements it assigns."""
        facts, statement = self.statement.facts, self.statement
        begins = start is arithmetic.ZERO and facts.is_whole and assign is AssignKind.ADD
        if start is not None and not begins:
            self.emitter.fill(name, facts.tensor, lambda _: start)
        self.emitter.add(
            name,
            statement.subscripts,
            assign,
            value,
            facts.ranges,
            statement.conditions,
            initializes=begins,
        )

    def _assigned_elements(self) -> str:
        name = self.emitter.new_name("assigned")
        self._every_instance(name, AssignKind.MAXIMUM, arithmetic.ONE, arithmetic.ZERO)
        return name

    def _tie(self) -> Expression:
        """Return the condition that the value is the extreme one; count for how many it is."""
        statement = self.statement
        if not self._count:
            if not _is_exact(statement.value):
                self._recompute_extreme()
            self._count = self.emitter.new_name(f"count_{statement.facts.tensor}")
            self._count_ties()
        return _equal(self._value, self._element(self._extreme or statement.after))

    def _count_ties(self) -> None:
        statement, extreme = self.statement, self._extreme or self.statement.after
        before = statement.before if statement.keeps and not statement.facts.initializes else None

        def start(e: tuple[Expression, ...]) -> Expression:
            tie = _equal(arithmetic.element(before or "", e), arithmetic.element(extreme, e))
            return arithmetic.choice(tie, arithmetic.ONE, arithmetic.ZERO)

        if before is not None:
            self.emitter.fill(self._count, statement.facts.tensor, start)
        tie = _equal(self._value, self._element(extreme))
        value = arithmetic.choice(tie, arithmetic.ONE, arithmetic.ZERO)
        zero = arithmetic.ZERO if before is None else None
        self._every_instance(self._count, AssignKind.ADD, value, zero)

    def _recompute_extreme(self) -> None:
        """Emit the values, and the extreme of them: rounded once, they compare as they did.

        Code that computes a value again may round it otherwise.
        """
        statement = self.statement
        facts = statement.facts
        indices = tuple(map(arithmetic.name, facts.ranges))
        values = self.emitter.new_name(f"values_{facts.tensor}")
        converted = tree.ConvertExpression(self.tensor.type, statement.value, arithmetic.NOWHERE)
        ranges, conditions = facts.ranges, statement.conditions
        self.emitter.add(values, indices, AssignKind.SET, converted, ranges, conditions)
        self._value = arithmetic.element(values, indices)
        self._extreme = self.emitter.new_name(f"extreme_{facts.tensor}")
        neutral = neutral_element(facts.assign)
        before = statement.before if statement.keeps and not facts.initializes else None

        def start(e: tuple[Expression, ...]) -> Expression:
            found = neutral if before is None else arithmetic.element(before, e)
            return tree.ConvertExpression(self.tensor.type, found, arithmetic.NOWHERE)

        self.emitter.fill(self._extreme, facts.tensor, start)
        self._every_instance(self._extreme, facts.assign, self._value, None)

    def _all_factors(self) -> str:
        """Emit the product of all values."""
        if not self._product:
            self._product = self.emitter.new_name(f"factors_{self.statement.facts.tensor}")
            one = tree.ConvertExpression(self.tensor.type, arithmetic.ONE, arithmetic.NOWHERE)
            self._every_instance(self._product, AssignKind.MULTIPLY, self.statement.value, one)
        return self._product

    def _other_factors(self) -> Expression:
        """Return the product of all that a value is multiplied with."""
        statement = self.statement
        facts = statement.facts
        before: Expression = arithmetic.ONE
        if statement.before is not None and not facts.initializes:
            before = self._element(statement.before)
        left = [part.name for part in statement.subscripts if isinstance(part, tree.NameUse)]
        reduced = [index for index in facts.ranges if index not in left]
        if not reduced:
            return before
        if len(set(left)) != len(statement.subscripts):
            raise SourceError(
                self.emitter.facts.definition.location,
                f"{facts.tensor}: expected indices on the left of *= for its derivative, found "
                "other subscripts",
                "assign the factors to a tensor first",
            )
        copies = {index: self.emitter.new_name(index) for index in reduced}
        names = {index: arithmetic.name(copy) for index, copy in copies.items()}
        same = arithmetic.all_of(
            arithmetic.infix("==", arithmetic.name(index), names[index]) for index in reduced
        )
        assert same is not None
        value = arithmetic.choice(same, arithmetic.ONE, substitute_values(statement.value, names))
        ranges: dict[str, IndexRange] = dict(facts.ranges)
        ranges |= {copy: facts.ranges[index] for index, copy in copies.items()}
        conditions = [substitute_values(part, names) for part in statement.conditions]
        conditions += statement.conditions
        name = self.emitter.new_name(f"others_{facts.tensor}")
        indices = tuple(map(arithmetic.name, facts.ranges))
        self.emitter.add(
            name, indices, AssignKind.MULTIPLY, value, ranges, conditions, initializes=True
        )
        return arithmetic.times(before, arithmetic.element(name, indices))


def _equal(value: Expression, extreme: Expression) -> Expression:
    """Return the condition that a value is the extreme one; NaN is."""
    return arithmetic.infix(
        "||", arithmetic.infix("==", value, extreme), arithmetic.infix("!=", value, value)
    )


def _is_exact(value: Expression) -> bool:
    """Whether code that computes a value anew gets the same: what it reads, or one of these."""
    match value:
        case tree.NameUse() | tree.NumberLiteral():
            return True
        case tree.ElementOrCall(name, arguments):
            return is_version(name) or (name in _EXACT_CALLS and all(map(_is_exact, arguments)))
        case tree.ConvertExpression(_, operand) | tree.PrefixExpression(_, operand):
            return _is_exact(operand)
        case tree.ConditionalExpression(_, then, otherwise):
            return _is_exact(then) and _is_exact(otherwise)
        case _:
            return False
