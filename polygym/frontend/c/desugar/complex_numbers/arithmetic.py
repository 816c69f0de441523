"""Expressions of complex numbers as two expressions of reals, in C's semantics.

An operator with a real operand works on both parts alone: ``x * (c + di)`` is ``x * c + (x * d)i``,
without the terms of a zero imaginary part. ``I`` is ``0 + 1i``, so ``y * I`` has the real part
``y * 0``. Products of two complex numbers have the infinities of Annex G. Quotients by complex
numbers are refused: compilers scale them in different ways.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from pycparser import c_ast
from pycparser.c_generator import CGenerator

from polygym.frontend.c.desugar.complex_numbers.declarations import (
    ComplexVariable,
    complex_variable,
)
from polygym.frontend.c.desugar.complex_numbers.multiplication import product_texts, suffix_of
from polygym.frontend.c.sema.expression_types import ExpressionTypes
from polygym.frontend.c.sema.functions import argument_count_message
from polygym.frontend.c.source import syntax
from polygym.frontend.c.source.locations import SourceMap
from polygym.ir.types import ScalarType

_UNITS = frozenset({"I", "_Complex_I"})
_REAL_RESULTS = {"creal": "double", "cimag": "double", "cabs": "double", "carg": "double"} | {
    "crealf": "float", "cimagf": "float", "cabsf": "float", "cargf": "float",
}  # fmt: skip
_COMPLEX_RESULTS = {"conj": "double", "conjf": "float", "CMPLX": "double", "CMPLXF": "float"}
_REFUSED = frozenset(
    f"{name}{end}"
    for name in "cexp clog cpow csqrt csin ccos ctan csinh ccosh ctanh cproj cacos casin".split()
    for end in ("", "f")
)


@dataclass(frozen=True, slots=True)
class Pair:
    """A complex number: the type of its parts, and their texts in C."""

    kind: str
    real: str
    imaginary: str

    def declared_as(self, name: str) -> list[str]:
        """Return declarations of two variables that are set to both parts."""
        return [
            f"{self.kind} {name}_re = {self.real};",
            f"{self.kind} {name}_im = {self.imaginary};",
        ]


@dataclass(slots=True)
class ComplexReader:
    """Reads expressions.

    ``variables`` are the complex ones by name. ``new_name`` gives names to values that are used
    more than once; ``before`` are the statements that set them. ``is_certain`` says whether what is
    read is certainly evaluated.
    """

    source: SourceMap
    variables: Mapping[str, ComplexVariable]
    scalars: Mapping[str, ComplexVariable]
    types: ExpressionTypes
    new_name: Callable[[], str]
    before: list[str] = field(default_factory=list)
    kinds: set[str] = field(default_factory=set)
    is_certain: bool = True

    @property
    def typedefs(self) -> Mapping[str, Any]:
        """The types that the file names."""
        return self.types.typedefs

    def is_complex(self, node: Any) -> bool:
        """Whether an expression is a complex number."""
        match node:
            case c_ast.ID(name=name):
                return name in _UNITS or name in self.scalars or self._variable(node) is not None
            case c_ast.ArrayRef() | c_ast.UnaryOp(op="*"):
                return self._variable(node) is not None
            case c_ast.UnaryOp(op="+" | "-" | "~", expr=inner):
                return self.is_complex(inner)
            case c_ast.BinaryOp(op="+" | "-" | "*" | "/", left=left, right=right):
                return self.is_complex(left) or self.is_complex(right)
            case c_ast.TernaryOp(iftrue=left, iffalse=right):
                return self.is_complex(left) or self.is_complex(right)
            case c_ast.Cast(to_type=kind):
                return complex_variable(kind, self.typedefs) is not None
            case c_ast.FuncCall(name=c_ast.ID(name=name)):
                return name in _COMPLEX_RESULTS or name in _REFUSED
            case _:
                return False

    def mentions_complex(self, node: Any) -> bool:
        """Whether a complex number stands anywhere in an expression."""
        return any(self.is_complex(part) for part in syntax.walk(node))

    def element(self, node: Any) -> Pair:
        """Return both parts of a variable or an element.

        Raises:
            SourceError: It has not all of its subscripts.
        """
        if isinstance(node, c_ast.ID) and node.name in self.scalars:
            name, kind = node.name, self.scalars[node.name].kind
            return Pair(kind, f"{name}_re", f"{name}_im")
        variable = self._variable(node)
        if variable is None:
            raise self.source.error(node, "this complex number is not understood")
        base = node.expr if isinstance(node, c_ast.UnaryOp) else node
        text = self._subscripted(base)
        text += "[0]" if isinstance(node, c_ast.UnaryOp) else ""
        return Pair(variable.kind, f"{text}[0]", f"{text}[1]")

    def _subscripted(self, node: Any) -> str:
        if isinstance(node, c_ast.ID):
            return str(node.name)
        return f"{self._subscripted(node.name)}[{self.real(node.subscript)}]"

    def _variable(self, node: Any) -> ComplexVariable | None:
        """Return the variable that an expression is an element of."""
        rank = 0
        if isinstance(node, c_ast.UnaryOp):
            node, rank = node.expr, 1
        while isinstance(node, c_ast.ArrayRef):
            node, rank = node.name, rank + 1
        variable = self.variables.get(node.name) if isinstance(node, c_ast.ID) else None
        return variable if variable is not None and variable.rank == rank else None

    def as_truth(self, node: Any) -> Any:
        """Return a condition, of which a complex number is ``z != 0``."""
        if not self.is_complex(node):
            return node
        return c_ast.BinaryOp("!=", node, syntax.integer_node(0, node), node.coord)

    def as_number(self, node: Any, kind: Any) -> Any:
        """Return an expression that a type of numbers is set to: a condition for ``_Bool``."""
        return self.as_truth(node) if self.types.number(kind) is ScalarType.BOOL else node

    def real(self, node: Any) -> str:
        """Return the text of an expression that is no complex number."""
        if not self.mentions_complex(node) and not self._calls_parts(node):
            return str(CGenerator(reduce_parentheses=True).visit(node))
        match node:
            case c_ast.FuncCall(name=c_ast.ID(name=name)) if name in _REAL_RESULTS:
                return self._part(node, name)
            case c_ast.BinaryOp(op="==" | "!=", left=left, right=right) if self.is_complex(
                left
            ) or self.is_complex(right):
                one_side, other_side = self.pair(left), self.pair(right)
                joint = "&&" if node.op == "==" else "||"
                return (
                    f"({one_side.real} {node.op} {other_side.real} {joint} "
                    f"{one_side.imaginary} {node.op} {other_side.imaginary})"
                )
            case c_ast.BinaryOp(op=op, left=left, right=right) if not self.is_complex(node):
                is_conditional = op in ("&&", "||")
                first = self.real(left)
                return f"({first} {op} {self._conditional(right, is_conditional)})"
            case c_ast.TernaryOp(cond=condition, iftrue=yes, iffalse=no) if not self.is_complex(
                node
            ):
                shown = [self._conditional(part, True) for part in (yes, no)]
                return f"({self.real(condition)} ? {shown[0]} : {shown[1]})"
            case c_ast.UnaryOp(op="-" | "+" | "!", expr=inner) if not self.is_complex(node):
                return f"({node.op}{self.real(inner)})"
            case c_ast.Cast(to_type=kind, expr=inner) if not self.is_complex(node):
                value = self.as_number(inner, kind.type)
                text = self.pair(value).real if self.is_complex(value) else self.real(value)
                return f"(({CGenerator().visit(kind)}){text})"
            case c_ast.ArrayRef() if not self.is_complex(node):
                return self._subscripted(node)
            case c_ast.FuncCall(name=c_ast.ID(name=name), args=arguments) if arguments is not None:
                for operand in arguments.exprs:
                    if self.is_complex(operand):
                        raise self.source.error(operand, f"{name} is given a complex number")
                return f"{name}({', '.join(map(self.real, arguments.exprs))})"
            case _:
                raise self.source.error(node, "a complex number is not supported here")

    def _calls_parts(self, node: Any) -> bool:
        return any(
            isinstance(call.name, c_ast.ID) and call.name.name in _REAL_RESULTS
            for call in syntax.walk(node, c_ast.FuncCall)
        )

    def _conditional(self, node: Any, is_conditional: bool) -> str:
        """Return the text of an expression that may not be evaluated."""
        outer, self.is_certain = self.is_certain, self.is_certain and not is_conditional
        result = self.real(node)
        self.is_certain = outer
        return result

    def _part(self, call: Any, name: str) -> str:
        """Return ``creal`` and its like."""
        kind = _REAL_RESULTS[name]
        (operand,) = self._operands(call, name, 1)
        value = self.converted(self.pair(operand), kind)
        end = suffix_of(kind)
        match name.removesuffix("f"):
            case "creal":
                return value.real
            case "cimag":
                return value.imaginary
            case "cabs":
                return f"hypot{end}({value.real}, {value.imaginary})"
            case _:
                return f"atan2{end}({value.imaginary}, {value.real})"

    def _operands(self, call: Any, name: str, expected: int) -> Sequence[Any]:
        """Return the arguments of a call, which are so many."""
        operands = syntax.operands_of(call)
        if len(operands) != expected:
            message = argument_count_message(name, expected, len(operands))
            raise self.source.error(call, message)
        return operands

    def pair(self, node: Any) -> Pair:
        """Return both parts of an expression; a real number has the imaginary part 0."""
        if not self.is_complex(node):
            return Pair("double", f"({self.real(node)})", "0.0")
        match node:
            case c_ast.ID(name=name) if name in _UNITS:
                return Pair("float", "0.0f", "1.0f")
            case c_ast.ID() | c_ast.ArrayRef() | c_ast.UnaryOp(op="*"):
                return self.element(node)
            case c_ast.UnaryOp(op="+", expr=inner):
                return self.pair(inner)
            case c_ast.UnaryOp(op="-", expr=inner):
                value = self.pair(inner)
                return Pair(value.kind, f"(-{value.real})", f"(-{value.imaginary})")
            case c_ast.UnaryOp(op="~", expr=inner):
                value = self.pair(inner)
                return Pair(value.kind, value.real, f"(-{value.imaginary})")
            case c_ast.BinaryOp():
                return self._binary(node)
            case c_ast.Cast(to_type=kind, expr=inner):
                variable = complex_variable(kind, self.typedefs)
                assert variable is not None
                return self.converted(self.pair(inner), variable.kind)
            case c_ast.FuncCall(name=c_ast.ID(name="conj" | "conjf" as name)):
                (operand,) = self._operands(node, name, 1)
                value = self.converted(self.pair(operand), _COMPLEX_RESULTS[name])
                return Pair(value.kind, value.real, f"(-{value.imaginary})")
            case c_ast.FuncCall(name=c_ast.ID(name="CMPLX" | "CMPLXF" as name)):
                kind = _COMPLEX_RESULTS[name]
                parts = [f"(({kind})({self.real(o)}))" for o in self._operands(node, name, 2)]
                return Pair(kind, *parts)
            case c_ast.FuncCall(name=c_ast.ID(name=name)):
                raise self.source.error(node, f"{name} of complex numbers is not supported")
            case _:
                raise self.source.error(
                    node, "this expression of complex numbers is not supported",
                    "write it as an if statement",
                )  # fmt: skip

    def _binary(self, node: Any) -> Pair:
        """Return a sum, a difference, a product or a quotient."""
        op, left, right = node.op, node.left, node.right
        if op == "/" and self.is_complex(right):
            raise self.source.error(
                node,
                "a quotient by a complex number is not supported: compilers scale it differently",
                "divide by a real number, or multiply by conj(z) / (creal(z) * creal(z) + …)",
            )
        if not self.is_complex(left):
            value, real = self.pair(right), self._real_operand(left)
            kind = self._common(value.kind, left)
            first, second = f"({real} {op} {value.real})", f"({real} {op} {value.imaginary})"
            if op == "+":
                second = value.imaginary
            elif op == "-":
                second = f"(-{value.imaginary})"
            return Pair(kind, first, second)
        if not self.is_complex(right):
            value, real = self.pair(left), self._real_operand(right)
            kind = self._common(value.kind, right)
            second = f"({value.imaginary} {op} {real})" if op in "*/" else value.imaginary
            return Pair(kind, f"({value.real} {op} {real})", second)
        first_pair, second_pair = self.pair(left), self.pair(right)
        kind = "double" if "double" in (first_pair.kind, second_pair.kind) else "float"
        if op != "*":
            return Pair(
                kind,
                f"({first_pair.real} {op} {second_pair.real})",
                f"({first_pair.imaginary} {op} {second_pair.imaginary})",
            )
        self.kinds.add(kind)
        operands = [
            self._named(self.converted(pair, kind), part)
            for pair, part in ((first_pair, left), (second_pair, right))
        ]
        texts = [(pair.real, pair.imaginary) for pair in operands]
        return Pair(kind, *product_texts(kind, *texts))

    def _real_operand(self, node: Any) -> str:
        """Return a real operand, evaluated once."""
        text = f"({self.real(node)})"
        if any(syntax.is_modification(part) for part in syntax.walk(node)):
            raise self.source.error(node, "an assignment beside complex numbers is not supported")
        return text

    def _common(self, kind: str, real: Any) -> str:
        """Return the type of the parts of what a real number is combined with.

        Raises:
            SourceError: The type of the real number is open, and matters.
        """
        if kind == "double":
            return kind
        scalar = self.types.scalar(real)
        if scalar is None:
            raise self.source.error(
                real, "the type of this number beside a float complex is not known",
                "write a cast before it",
            )  # fmt: skip
        return "double" if scalar is ScalarType.DOUBLE else "float"

    def converted(self, value: Pair, kind: str) -> Pair:
        """Return a number with parts of another type."""
        if value.kind == kind:
            return value
        return Pair(kind, f"(({kind}){value.real})", f"(({kind}){value.imaginary})")

    def _named(self, value: Pair, node: Any) -> Pair:
        """Return a value that is used several times: a variable, or what one is set to."""
        if isinstance(node, c_ast.ID | c_ast.ArrayRef) or (
            isinstance(node, c_ast.UnaryOp) and node.op == "*"
        ):
            return value
        if not self.is_certain:
            raise self.source.error(
                node, "a product of complex numbers must not stand where it may not be evaluated",
                "write it as a statement, under an if",
            )  # fmt: skip
        name = self.new_name()
        self.before += value.declared_as(name)
        return Pair(value.kind, f"{name}_re", f"{name}_im")
