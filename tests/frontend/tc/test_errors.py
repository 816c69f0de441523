"""What is no comprehension: refused at a place, with what to do."""

import time

import pytest

from polygym.errors import SourceError
from polygym.frontend.tc import lower_definition, parse_definitions

REFUSED = [
    # syntax
    ("", "expected a definition, found an empty text"),
    ("def", "expected the name of the definition"),
    ("def f() -> () {}", "expected at least one output"),
    ("def f(float A) -> (B) {}", "expected at least one statement"),
    ("def f(float A) -> (B) { B = A ", "expected '}' to end the definition, found the end"),
    ("def f(half A) -> (B) { B = A }", "hint: half precision is float16"),
    ("def f(float(N A) -> (B) { B = A }", "expected ',' or ')' after a size"),
    ("def f(float(N) A) -> (B) { B(i) == A(i) }", "expected one of ="),
    ("def f(float(N) A) -> (B) { B(i) = A(i) ยง }", "expected a name, a number or an operator"),
    ("def f(float(N) A) -> (B) { B(i) = (A(i) }", "expected ')' to close '('"),
    ("def f(float(N) A) -> (B) { B() = A(i) }", "expected a reduction such as"),
    ("def f(float(N) A) -> (B) { B(i) = A(i) } def f(float A) -> (B) { B = A }", "defined twice"),
    ("def f(float(N) A) -> (B) { B(i) = A[i] }", "hint: subscripts and sizes stand in parenth"),
    ("def f(float(N) A) -> (B) { B(i) = A(i) where i }", "hint: a range is i in 0:..., a con"),
    ("  \n", "expected a definition, found an empty text"),
    ("def f(float(3000000000) A) -> (B) { B(i) = A(i) }", "from 1 to 2,147,483,647, found 3000"),
    ("def f(float(N) A) -> (B) { B(i) = (int)A(i) }", "hint: a conversion is int(x)"),
    ("def f(float(N) A) -> (B) { B(i) = (int)(A(i)) }", "hint: a conversion is int(x)"),
    ("def f(float(N) A) -> (B) { B(i) = A(i)**2 }", "hint: a power is pow(x, y)"),
    ("def f(float(N) A) -> (B) { B(i) -= A(i) }", "hint: to subtract is to add what is negated"),
    ("def f(float(N) A) -> (B) { B(i) /= A(i) }", "hint: a quotient is assigned: C(i) = C(i) /"),
    ("def f(float(N) A) -> (B) { // twice\n B(i) = A(i) }", "hint: a comment begins with #"),
    ("def f(float(N) A) -> (B) { B(i) = A(i) > 0 and A(i) < 3 }", "hint: both hold is x && y"),
    ("def f(float(N) A) -> (B) { B(i) = not A(i) }", "hint: the opposite is !x"),
    ("def f(float(N) A) -> (B) { for i in 0:N { B(i) = A(i) } }", "hint: an index runs by itself"),
    ("def f(float(N) A) -> (B) { B(i) = A(i) == True }", "hint: a truth value is 1"),
    (
        "def f(float(N) A) -> (B) { B(i) = A(i) <=> A(i) }",
        "A is a tensor: expected the name of a fu",
    ),
    ("def f(float(N) A) -> (B) { B(i) = A(i) <=> B(i) }", "hint: a comparison is <, <=, >, >=, =="),
    ("def f(float(N) A) -> (T, B) { T(i) = A(i) B(i) = A(i) <=> T(i) }", "T is a tensor: expected"),
    ("def f(float(N) A) -> (B) { B(i) = A(i) <=> 3 }", "expected the name of what computes the sa"),
    (
        "def f(float(N) A) -> (B) { B(i) = A(i) <=> g A }",
        "expected '(' and what it is given, found",
    ),
    (
        "def f(float(N) A) -> (B) { B(i) = A(i) <=> g(A(i) }",
        "expected ',' or ')' after an argument",
    ),
    ("def f(float(N) A) -> (B) { B(i) = (A(i) <=> g(i)) }", "expected ')' to close '('"),
    # names
    ("def f(float(N) A, float(N) A) -> (B) { B(i) = A(i) }", "A is a parameter already"),
    ("def f(float(N) A, int N) -> (B) { B(i) = A(i) }", "N is a size already"),
    ("def f(float(N) A) -> (B, B) { B(i) = A(i) }", "B is returned twice"),
    ("def f(float(N) A) -> (B) { B(N) = A(N) }", "N is a size, no index"),
    ("def f(float(N) A) -> (B) { B(i) = A(i) + X(i) }", "X is neither a tensor nor a function"),
    ("def f(float(N) A) -> (B) { B(i) = sqr(A(i)) }", "did you mean sqrt?"),
    ("def f(float(N) A) -> (B) { B(i) = pow(A(i)) }", "expected 2 argument(s), found 1"),
    ("def f(float(N) A) -> (B) { B(i) = A(i) where k in 0:2 }", "k has a range and is not used"),
    ("def f(float(N) A) -> (B) { B(i) = A(i) where i in 0:2, i in 0:3 }", "is given twice"),
    ("def f(float(N) A) -> (B) { B(i) = A(i) where exists X(k) }", "X is neither a tensor nor a"),
    ("def f(float(N) A) -> (B) { B(i) = A(i) where exists B(k) }", "B is read before it has"),
    ("def f(float(N) A) -> (B) { B(i) = A(i) where exists A(i,k) }", "is used with 2 subscript"),
    ("def f(float(N) A) -> (B) { B(i) = A(i) where exists A(i) + foo(i) }", "foo is neither"),
    ("def f(float(N) A) -> (B) { B(i) = A(i) where exists A(i) % 2 }", "% is for integers"),
    ("def f(float(N) A) -> (B) { B(i) = A(i) where exists m < 3 }", "exists: expected an access"),
    ("def f(float(N) A) -> (B) { B(i) = A(i) where exists i }", "found i"),
    ("def f(float(N) A, int s) -> (B) { B(i) = A(i) where exists s }", "exists: expected an"),
    ("def f(float(N) A) -> (B) { B(i) = A(i) where exists sqrt(i) }", "found sqrt(i)"),
    # values
    ("def f(float(N) A) -> (B) { B(i) = A(i) where y = Q(m) }", "Q is neither a tensor nor"),
    ("def f(float(N) A) -> (B) { B(i) = A(i) where y = z + 1 }", "z is neither an index of the"),
    ("def f(float(N) A) -> (B) { B(i) = A(i) where y = A(i,i) }", "is used with 2 subscript"),
    ("def f(float(N) A) -> (B) { B(i) = A(i) where y = A(i) % 2 }", "% is for integers"),
    ("def f(float(N) A) -> (B) { B(i) = A(i) where y = pow(A(i)) }", "expected 2 argument(s)"),
    ("def f(float(N) A) -> (B) { B(i) = y where y = z, z = y }", "y and z are values of each"),
    ("def f(float(N) A) -> (B) { B(i) = y where y = x, x = z, z = y }", "y and x are values of"),
    ("def f(float(N) A) -> (B) { B(i) = y where y = y + A(i) }", "y stands in its own value"),
    ("def f(float(N) A) -> (B) { B(i) = y where y = z, z = A(i) }", "put z = ... before it"),
    ("def f(float(N) A) -> (B) { B(i) = A(i) where i in 0:n, n = N }", "n has its value only"),
    # calls
    ("def f(float(N) A) -> (C) { C = g(A) }", "nor a definition that stands before"),
    (
        "def gf(float(N) A) -> (C) { C(i) = A(i) } def f(float(N) A) -> (C) { C = fg(A, 1) }",
        "nor a definition that stands before",
    ),
    ("def f(float(N) A) -> (C) { C = f(A) }", "f calls itself"),
    (
        "def f(float(N) A) -> (C) { C = g(A) } def g(float(N) A) -> (C) { C(i) = A(i) }",
        "expected a definition that stands before, found 'g'",
    ),
    (
        "def g(float(N) A) -> (C) { C(i) = A(i) } def f(float(N) A) -> (C) { C(i) = g(A) }",
        "g is a definition: expected a tensor or a function",
    ),
    (
        "def g(float(N) A, uint8 s) -> (C) { C(i) = A(i) * s } "
        "def f(float(N) A) -> (C) { C = g(A, -1) }",
        "g: s = -1 does not fit uint8",
    ),
    # numbers of C
    ("def f(int(N) A) -> (B) { B(i) = A(i) + 0x7f }", "say 127"),
    ("def f(int(N) A) -> (B) { B(i) = A(i) + 0b101 }", "say 5"),
    ("def f(int(N) A) -> (B) { B(i) = A(i) + 3u }", "say 3, or uint32(3)"),
    ("def f(int(N) A) -> (B) { B(i) = A(i) + 3LL }", "say 3, or int64(3)"),
    ("def f(int(N) A) -> (B) { B(i) = A(i) + 0777 }", "say 777, or 511 if it was to be octal"),
    ("def f(int(N) A) -> (B) { B(i) = A(i) + 089 }", "found 089"),
    ("def f(int(0" + "7" * 5000 + ") A) -> (B) { B(i) = A(i) }", "expected a decimal number"),
    ("def f(float(N) A) -> (B) { B(i) = A(i) + 1e }", "expected a number or a name, found 1e"),
    ("def f(float(N) A, float alpha) -> (B) { B(i) = alhpa * A(i) }", "did you mean alpha?"),
    # use
    ("def f(float(N) A) -> (B) { B(i) = C(i) C(i) = A(i) }", "C is read before it has values"),
    ("def f(float(N) A) -> (B) { C(i) = A(i) }", "the output B is never assigned"),
    ("def f(float(N) A) -> (C) { C(i) = 2 * C(i) }", "is a parameter too"),
    ("def f(float(N) A) -> (C) { C(i) += A(i) }", "+=! begins with the neutral element"),
    ("def f(float(N) A) -> (C) { C(i) *= A(i) }", "that could be multiplied"),
    ("def f(float(N) A) -> (C) { C(i) max= A(i) }", "of which the maximum could be taken"),
    ("def f(float(N) A) -> (B) { A(i) = 2 * A(i) B(i) = A(i) }", "A is an input"),
    ("def f(float(N,K) A) -> (B) { B(i) = A(i,k) }", "k is not on the left: expected a reduction"),
    ("def f(float(N) A) -> (B) { B(i) = A(i,j) }", "A has 1 dimension(s) and is used with 2"),
    ("def f(float(N) A) -> (B) { B(i) = A }", "A has 1 dimension(s) and is used with 0"),
    ("def f(float(N) A) -> (B) { B(i) = A(i) B(i,j) += A(i) * A(j) }", "is assigned with 2"),
    ("def f(float(N) A) -> (B) { B(i) = A(i) B(i) = 2 * A(i) }", "B has values already"),
    (
        "def f(float(N) A) -> (B) { B(i) +=! B(i) * A(i) }",
        "read before it has values",
    ),
    # types
    ("def f(double(N) A) -> (float(N) B) { B(i) = A(i) }", "would narrow it"),
    ("def f(float(N) A) -> (int(N) B) { B(i) = A(i) }", "convert it: int"),
    ("def f(float(N) A) -> (int(N) B) { B(i) = 0.5 }", "would narrow it"),
    (
        "def f(float(N) A) -> (float(N) B) { t(i) = 4.0 where exists A(i) B(i) = sqrt(t(i)) }",
        "t is float64 by the literal 4.0 alone; 4.0f makes it float32",
    ),
    (
        "def f(double(N) A) -> (float(N) B) { t(i) = 4.0 where exists A(i) B(i) = t(i) * A(i) }",
        "convert it: float",
    ),
    ("def f(float(N) A) -> (B) { B(i) = A(i) % 2 }", "% is for integers"),
    ("def f(double(N) A) -> (B) { B(i) = sqrtf(A(i)) }", "sqrtf: expected float"),
    ("def f(float(N) A) -> (double(N) A) { A(i) = 2 * A(i) }", "float as a parameter and double"),
    ("def f(int8(N) A) -> (int8(N) B) { B(i) = A(i) + 1 }", "convert it: int8(...)"),
    ("def f(int(N) A) -> (uint32(N) B) { B(i) = A(i) }", "convert it: uint32(...)"),
    ("def f(int64(N) A) -> (int(N) B) { B(i) = A(i) }", "the value int64: that would narrow"),
    ("def f(int(N) A) -> (bool(N) B) { B(i) = A(i) }", "B is bool and the value int"),
    ("def f(int8(N) A) -> (int8(N) B) { B(i) = 128 where exists A(i) }", "holds -128 to 127"),
    ("def f(uint8(N) A) -> (uint8(N) B) { B(i) = A(i) > 3 ? 0 : -1 }", "-1 does not fit uint8"),
    ("def f(uint32(N) A) -> (B) { B(i) = A(i) > -1 }", "holds 0 to 4294967295"),
    ("def f(bool(N) A) -> (bool(N) B) { B(i) = 2 where exists A(i) }", "holds 0 to 1"),
    ("def f(uint8(N) A) -> (B) { B(i) = A(i) / 0.5f + A(i) % 2.0 }", "% is for integers"),
    (
        "def g(uint8 s, int(N) A) -> (B) { B(i) = A(i) * s } "
        "def f(int(N) A) -> (B) { B = g(300, A) }",
        "g: s = 300 does not fit uint8, which holds 0 to 255",
    ),
    # ranges
    ("def f(float(N) A) -> (B) { B(i) = 0 }", "the range of i cannot be inferred"),
    ("def f(float(N) A) -> (B) { B(i) +=! A(i + k) }", "the range of i is ambiguous"),
    ("def f(float(H,W) A) -> (B) { B(i,j) max=! A(2 * i + k, 2 * j + l) }", "where i in 0:..."),
    (
        "def f(float(3) A, float(5) K) -> (B) { B(i) +=! A(i + k) * K(k) }",
        "the range of i is empty",
    ),
    ("def f(float(N) A) -> (B) { B(i) = A(0 - i - 1) }", "is empty"),
    ("def f(float(N) A) -> (B) { B(i) = A(i * i) }", "is not affine"),
    ("def f(float(N) A) -> (B) { B(i) = A(i + 1) where i in 0:N }", "leaves its tensor"),
    ("def f(float(N) A) -> (B) { B(i) = A(i) where i in -1:N }", "begins below 0"),
    ("def f(float(N) A) -> (B) { B(i) = A(i) where i in 3:2 }", "the range of i is empty"),
    ("def f(float(N) A) -> (B) { B(i,j) = A(i) where j in 0:i }", "a sum of sizes and numbers"),
    ("def f(float(N) A) -> (B) { B(i,j) = A(i) where j in 0:i + 1 }", "is a condition: where j < "),
    ("def f(float(N) A) -> (B) { B(i,j) = A(i) where j in 0:3000000000 }", "below 2,147,483,648"),
    (
        f"def f(float(N) A) -> (B) {{ B(i) = A(i) where i in 0:{' + '.join(['N / 7'] * 40)} }}",
        "expected at most 4 quotients",
    ),
    ("def f(float(N) A) -> (B) { B(i) = A(i) where i in 0:N / 0 }", "a sum of sizes and numbers"),
    ("def f(float(N) A) -> (B) { B(i) = A(i + N) }", "no value keeps i + N of A(i + N) in 0:N"),
    (
        "def f(float(N) I, float(3) W) -> (O) { "
        "O(x) +=! (x + k >= 1 && x + k <= N ? I(x + k - 1) : 0) * W(k) }",
        "such as: where x in 0:N",
    ),
    (
        "def f(float(3) A, float(4) B, float(5) C) -> (D) { D(i,j) = A(i) * B(j) * C(i + j) }",
        "C(i + j) leaves its tensor, whatever the sizes are",
    ),
    # a first statement whose range the second one says, were it right
    (
        "def f(float(N) A, float(M) B) -> (O) { O(n) = 0 O(n) += A(n + m) * B(k + m) }",
        "in A(n + m) it stands beside m",
    ),
    # names of other libraries
    ("def f(float(N) A) -> (B) { B(i) = relu(A(i)) }", "hint: relu(x) is max(x, 0)"),
    ("def f(float(N) A) -> (B) { B(i) = sigmoid(A(i)) }", "hint: sigmoid(x) is 1 / (1 + exp(-x))"),
    ("def f(float(N) A) -> (B) { B(i) = half(A(i)) }", "hint: half precision is float16"),
    ("def f(float(N) A) -> (B) { B(i) = A(i) < inf ? 1 : 0 }", "hint: infinity is INFINITY"),
    ("def f(int s, float(N) A) -> (B) { B(i) = A(s * i) }", "s must be known"),
    ("def f(int s, float(N) A) -> (B) { B(i) = A(z * i) where y = s, z = y }", "s must be known"),
    ("def f(int s, float(N) A) -> (s) { B(i) = A(s * i) }", "s cannot be returned"),
    # gathers
    ("def f(float(N) X, float(M) I) -> (Z) { Z(i) = X(I(i)) }", "convert it: int(I(i))"),
    ("def f(float(N) X, int(M) I) -> (Z) { Z(I(i)) +=! X(i) }", "the size of Z is not known"),
    ("def f(float(N) X, int(M) I) -> (Z) { Z(i) = X(I(0)) }", "i cannot be inferred"),
    ("def f(float(N) X, int(M) I) -> (Z) { Z(i) = X(I(0) + i) }", "say it: where i in 0:..."),
    ("def f(float(N) X, int(M) I) -> (Z) { Z(i) = X(I(i), i) }", "X has 1 dimension(s)"),
    ("def f(float(N) X, int(M,K) I) -> (Z) { Z(i) = X(I(i)) }", "I has 2 dimension(s)"),
    ("def f(float(N) X, int(M) I) -> (Z) { Z(i) = X(I(i) + i * i) Z(i) += W(i) }", "W is neither"),
    ("def f(float(N) a, int(N) I) -> (a) { a(i) = a(I(i)) }", "may be read where i = 0"),
    ("def f(int(N) a) -> (a) { a(i) = a(a(i)) }", "a(a(i)) may be read where"),
    (
        "def f(float(M,K) A, float(K) x) -> (C) { C(i) = 0 C(i) += A(i,k,k) * x(k) }",
        "A has 2 dimension(s) and is used with 3",
    ),
    # in place
    ("def f(float(N,N) a) -> (a) { a(i,j) = a(j,i) }", "a(j, i) is read where i = 0, j = 1"),
    ("def f(float(N) a) -> (a) { a(i) = a(i - 1) }", "assign to another tensor"),
    ("def f(float(N) a, float(N,K) B) -> (a) { a(i) += a(i) * B(i,k) }", "a(i) is read where"),
    ("def f(float(N) a) -> (a) { a(i) +=! a(i) }", "has begun it anew"),
]


def lower_all(text):
    for definition in parse_definitions(text, "a.tc"):
        lower_definition(definition)


@pytest.mark.parametrize(("text", "said"), REFUSED, ids=[text[:60] for text, _ in REFUSED])
def test_refusals(text, said):
    with pytest.raises(SourceError) as refusal:
        lower_all(text)
    assert said in str(refusal.value)
    assert str(refusal.value).startswith("a.tc:")
    assert "^" in str(refusal.value)


def test_what_is_missing_at_the_end_has_a_caret_too() -> None:
    with pytest.raises(SourceError) as refusal:
        parse_definitions("def f(float A) -> (B) {\n  B = A\n\n  ", "a.tc")
    place, line, caret = str(refusal.value).splitlines()
    assert place.startswith("a.tc:2:8: error: expected '}'")
    assert caret.index("^") == len(line)


def test_lines_may_end_as_those_of_windows() -> None:
    with pytest.raises(SourceError) as refusal:
        parse_definitions("def f(float A) -> (B) {\r\n  B = \r\n}\r\n", "a.tc")
    assert "\r" not in str(refusal.value)
    assert "\\r" not in str(refusal.value)


def doubled(value: str, count: int, first: str = "x(i)") -> str:
    """Return a definition in which every name stands for two of the one before."""
    values = ", ".join(f"y{k + 1} = y{k} + y{k}" for k in range(count))
    return f"def f(float(N) x) -> (B) {{ B(i) = {value} where y0 = {first}, {values}, j in 0:4 }}"


@pytest.mark.parametrize(
    "text",
    [
        doubled("y60 + j", 60),
        doubled("x(i) + j", 60),
        "def f0(float(N) A) -> (B) { B(i) = A(i) } "
        + " ".join(
            f"def f{k + 1}(float(N) A) -> (B) {{ T = f{k}(A) B = f{k}(T) }}" for k in range(60)
        ),
    ],
    ids=["values", "not used", "calls"],
)
def test_what_doubles_is_refused_before_it_is_large(text: str) -> None:
    began = time.perf_counter()
    with pytest.raises(SourceError, match=r"(y11|f8).*(5,000|500)"):
        lower_all(text)
    assert time.perf_counter() - began < 2


def test_what_repeats_a_little_is_not() -> None:
    lower_all(doubled("y6", 6).replace(", j in 0:4", ""))
