"""A function of doubles as a list of operations without branches, recorded by Python's operators.

``x * x + 1`` on a :class:`Value` appends a product and a sum to its :class:`Steps`; each operation
becomes one instruction of LLVM and one statement of C. Where cases are distinguished all of them
are computed, and :meth:`Value.below` chooses.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from polygym.compiler.ir.expr import MathFunction


@dataclass(frozen=True, slots=True)
class Constant:
    """A number."""

    value: float


@dataclass(frozen=True, slots=True)
class Arithmetic:
    """``first operator second``, with one of ``+ - * /``; operands are numbers of earlier steps."""

    operator: str
    first: int
    second: int


@dataclass(frozen=True, slots=True)
class Selection:
    """``first < second ? then : otherwise``; with a NaN the comparison does not hold."""

    first: int
    second: int
    then: int
    otherwise: int


@dataclass(frozen=True, slots=True)
class Library:
    """A call of a function of ``math.h``."""

    function: MathFunction
    arguments: tuple[int, ...]


Step = Constant | Arithmetic | Selection | Library


@dataclass(slots=True)
class Steps:
    """The operations so far; those before number 0 are the argument, which is number -1."""

    listed: list[Step] = field(default_factory=list)

    @property
    def argument(self) -> Value:
        """The argument of the function."""
        return Value(self, -1)

    def append(self, step: Step) -> Value:
        """Append an operation and return its value; one that is there already is not repeated."""
        if step in self.listed:
            return Value(self, self.listed.index(step))
        self.listed.append(step)
        return Value(self, len(self.listed) - 1)


@dataclass(frozen=True, slots=True)
class Value:
    """The value of an operation.

    >>> steps = Steps()
    >>> value = steps.argument * 2
    >>> steps.listed
    [Constant(value=2.0), Arithmetic(operator='*', first=-1, second=0)]
    """

    steps: Steps
    number: int

    def __add__(self, other: Value | float) -> Value:
        return self._with("+", other)

    def __sub__(self, other: Value | float) -> Value:
        return self._with("-", other)

    def __mul__(self, other: Value | float) -> Value:
        return self._with("*", other)

    def __truediv__(self, other: Value | float) -> Value:
        return self._with("/", other)

    def __radd__(self, other: float) -> Value:
        return self.like(other) + self

    def __rsub__(self, other: float) -> Value:
        return self.like(other) - self

    def __rmul__(self, other: float) -> Value:
        return self.like(other) * self

    def __rtruediv__(self, other: float) -> Value:
        return self.like(other) / self

    def like(self, value: Value | float) -> Value:
        """Return a number, or a value, as a value."""
        if isinstance(value, Value):
            return value
        return self.steps.append(Constant(float(value)))

    def below(self, limit: Value | float, then: Value | float, otherwise: Value | float) -> Value:
        """Return ``then`` if this is smaller than a limit, ``otherwise`` if not, or with a NaN."""
        numbers = (self.like(one).number for one in (limit, then, otherwise))
        return self.steps.append(Selection(self.number, *numbers))

    def call(self, function: MathFunction, *others: Value | float) -> Value:
        """Return a function of this and of further arguments."""
        arguments = (self, *(self.like(one) for one in others))
        return self.steps.append(Library(function, tuple(one.number for one in arguments)))

    def _with(self, operator: str, other: Value | float) -> Value:
        return self.steps.append(Arithmetic(operator, self.number, self.like(other).number))
