"""A function of doubles as a list of operations without branches, recorded by Python's operators.

``x * x + 1`` on a :class:`TracedValue` appends a product and a sum to its :class:`OperationList`;
each operation becomes one instruction of LLVM and one statement of C. Where cases are distinguished
all of them are computed, and :meth:`TracedValue.select_below` chooses.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from polygym.ir.expressions import MathFunction


@dataclass(frozen=True, slots=True)
class ConstantOperation:
    """A number."""

    value: float


@dataclass(frozen=True, slots=True)
class BinaryOperation:
    """``first operator second``, with one of ``+ - * /``; operands are numbers of earlier steps."""

    operator: str
    first: int
    second: int


@dataclass(frozen=True, slots=True)
class SelectOperation:
    """``first < second ? then : otherwise``; with a NaN the comparison does not hold."""

    first: int
    second: int
    then: int
    otherwise: int


@dataclass(frozen=True, slots=True)
class CallOperation:
    """A call of a function of ``math.h``."""

    function: MathFunction
    arguments: tuple[int, ...]


SpecialOperation = ConstantOperation | BinaryOperation | SelectOperation | CallOperation


@dataclass(slots=True)
class OperationList:
    """The operations so far; those before number 0 are the argument, which is number -1."""

    operations: list[SpecialOperation] = field(default_factory=list)

    @property
    def argument(self) -> TracedValue:
        """The argument of the function."""
        return TracedValue(self, -1)

    def append(self, step: SpecialOperation) -> TracedValue:
        """Append an operation and return its value; one that is there already is not repeated."""
        if step in self.operations:
            return TracedValue(self, self.operations.index(step))
        self.operations.append(step)
        return TracedValue(self, len(self.operations) - 1)


@dataclass(frozen=True, slots=True)
class TracedValue:
    """The value of an operation.

    >>> operations = OperationList()
    >>> function = operations.argument * 2
    >>> operations.operations
    [ConstantOperation(value=2.0), BinaryOperation(operator='*', first=-1, second=0)]
    """

    operations: OperationList
    number: int

    def __add__(self, other: TracedValue | float) -> TracedValue:
        return self._with("+", other)

    def __sub__(self, other: TracedValue | float) -> TracedValue:
        return self._with("-", other)

    def __mul__(self, other: TracedValue | float) -> TracedValue:
        return self._with("*", other)

    def __truediv__(self, other: TracedValue | float) -> TracedValue:
        return self._with("/", other)

    def __radd__(self, other: float) -> TracedValue:
        return self.constant(other) + self

    def __rsub__(self, other: float) -> TracedValue:
        return self.constant(other) - self

    def __rmul__(self, other: float) -> TracedValue:
        return self.constant(other) * self

    def __rtruediv__(self, other: float) -> TracedValue:
        return self.constant(other) / self

    def constant(self, value: TracedValue | float) -> TracedValue:
        """Return a number, or a value, as a value."""
        if isinstance(value, TracedValue):
            return value
        return self.operations.append(ConstantOperation(float(value)))

    def select_below(
        self, limit: TracedValue | float, then: TracedValue | float, otherwise: TracedValue | float
    ) -> TracedValue:
        """Return ``then`` if this is smaller than a limit, ``otherwise`` if not, or with a NaN."""
        numbers = (self.constant(operand).number for operand in (limit, then, otherwise))
        return self.operations.append(SelectOperation(self.number, *numbers))

    def call(self, function: MathFunction, *others: TracedValue | float) -> TracedValue:
        """Return a function of this and of further arguments."""
        arguments = (self, *(self.constant(other) for other in others))
        return self.operations.append(
            CallOperation(function, tuple(argument.number for argument in arguments))
        )

    def _with(self, operator: str, other: TracedValue | float) -> TracedValue:
        return self.operations.append(
            BinaryOperation(operator, self.number, self.constant(other).number)
        )
