"""What the Scop says, feature by feature: sets, accesses, parameters, arrays, order."""

from __future__ import annotations

import islpy as isl
import pytest

from polygym.errors import SourceError
from polygym.frontend.c import parse_text
from polygym.ir.expressions import (
    Binary,
    Cast,
    Conditional,
    FloatLiteral,
    IntegerLiteral,
    Load,
    walk,
)
from polygym.ir.scop import Parameter, Scop, StorageClass
from polygym.ir.types import ScalarType
from polygym.ir.verifier import verify

ARGUMENTS = "int n, int m, int k, double A[n][m], double x[n], int I[n]"


def scop_of(region: str, *, before: str = "", after: str = "", outside: str = "") -> Scop:
    text = (
        f"{outside}\nvoid f({ARGUMENTS}) {{\n{before}\n#pragma scop\n{region}\n"
        f"#pragma endscop\n{after}\n}}\n"
    )
    return verify(parse_text(text))


def same_set(actual: str, expected: str) -> bool:
    return bool(isl.Set(actual).is_equal(isl.Set(expected)))


def same_map(actual: str, expected: str) -> bool:
    return bool(isl.Map(actual).is_equal(isl.Map(expected)))


@pytest.mark.parametrize(
    ("region", "domain"),
    [
        ("for (int i = 0; i < n; i++) x[i] = 0;", "0 <= i < n"),
        ("for (int i = n - 1; i >= 0; i--) x[i] = 0;", "0 <= i < n"),
        ("for (int i = n - 1; 0 <= i; i -= 1) x[i] = 0;", "0 <= i < n"),
        ("for (int i = 0; n > i; i = 1 + i) x[i] = 0;", "0 <= i < n"),
        ("for (int i = 0; i != n; i++) x[i] = 0;", "0 <= i < n"),
        ("for (int i = 1; i < n; i += 3) x[i] = 0;", "1 <= i < n and i mod 3 = 1"),
        ("for (int i = n - 1; i > 0; i = i - 2) x[i] = 0;", "0 < i < n and (n - 1 - i) mod 2 = 0"),
        ("for (int i = k; i < n; i += 2) if (i >= 0) x[i] = 0;",
         "k <= i < n and i >= 0 and (i - k) mod 2 = 0"),
        ("for (int i = 0; i < n && i <= m; i++) x[i] = 0;", "0 <= i < n and i <= m"),
        ("for (int i = 0; 2 * i < n; i++) x[i] = 0;", "0 <= 2i < n"),
        ("for (int i = 0; i < n; i++) if (i % 2 == 0 || i == k) x[i] = 0;",
         "0 <= i < n and (i mod 2 = 0 or i = k)"),
        ("for (int i = 0; i < n; i++) if (!(i > 2 && i < m)) x[i] = 0;",
         "0 <= i < n and (i <= 2 or i >= m)"),
        ("for (int i = 0; i < n; i++) if (i - 2) x[i] = 0;", "0 <= i < n and i != 2"),
        ("for (int i = 0; i < n; i++) if (i > 4) {} else x[i] = 0;", "0 <= i < n and i <= 4"),
        ("for (int i = 0; i < min(n, m); i++) x[i] = 0;", "0 <= i < n and i < m"),
        ("for (int i = 0; i < (n < m ? n : m); i++) x[i] = 0;", "0 <= i < n and i < m"),
        ("for (int i = 0; i < n / 2; i++) x[i] = 0;", "0 <= i and 2i <= n - 2"),
        ("for (int i = 0; i < (n >> 2); i++) x[i] = 0;", "0 <= i and 4i <= n - 4"),
        ("for (int i = 0; i < n; i++) if ((i & 3) == 1) x[i] = 0;", "0 <= i < n and i mod 4 = 1"),
        ("for (int i = 0; i < n; i++) if (~i == k) x[i] = 0;", "0 <= i < n and i = -k - 1"),
        ("for (int i = 0; i < n; i++) if ((i == 1) + (i < 3) == 2) x[i] = 0;",
         "0 <= i < n and i = 1"),
    ],
)  # fmt: skip
def test_domains(region: str, domain: str) -> None:
    scop = scop_of(region)
    context = isl.Set(scop.context)
    instances = isl.Set(scop.statements[0].domain).intersect_params(context)
    expected = isl.Set(f"[n, m, k] -> {{ S0[i] : {domain} }}").intersect_params(context)
    assert instances.is_equal(expected)


def test_c_division_truncates() -> None:
    scop = scop_of("for (int i = -9; i < 9; i++) if (i / 2 == k && i % 2 == m) x[0] = 0;")
    expected = {(i, int(i / 2), i - 2 * int(i / 2)) for i in range(-9, 9)}
    instances = set()
    domain = isl.Set(scop.statements[0].domain)
    for k in range(-6, 7):
        for m in range(-2, 3):
            points: list[isl.Point] = []
            part = domain.intersect_params(
                isl.Set(f"[n, m, k] -> {{ : n = 1 and k = {k} and m = {m} }}")
            )
            part.foreach_point(points.append)
            for point in points:
                i = point.get_coordinate_val(isl.dim_type.set, 0).to_python()
                instances.add((i, k, m))
    assert instances == expected


def test_the_order_is_two_d_plus_one() -> None:
    scop = scop_of(
        "for (int i = 0; i < n; i++) {\nS: x[i] = 0;\n"
        "for (int j = m - 1; j >= 0; j--)\nT: x[i] += A[i][j];\n}\nx[0] = 1;"
    )
    assert scop.schedule == (
        "[n, m] -> { S[i] -> [0, i, 0, 0, 0]; T[i, j] -> [0, i, 1, -j, 0]; "
        "S2[] -> [1, 0, 0, 0, 0] }"
    )


def test_labels_and_numbers() -> None:
    scop = scop_of("x[0] = 0; first: x[0] = 1; x[0] = 2; S2: I[0] = 0; x: x[0] = 4; max: x[0] = 5;")
    names = [statement.name for statement in scop.statements]
    assert names == ["S0", "first", "S2_1", "S2", "x_1", "max_"]


def test_a_label_reaches_through_a_loop() -> None:
    scop = scop_of("fill: for (int i = 0; i < n; i++) { if (i > 1) x[i] = 0; }")
    assert [statement.name for statement in scop.statements] == ["fill"]


def test_a_label_names_a_group() -> None:
    scop = scop_of(
        "L: for (int i = 0; i < n; i++) { x[i] = 0; M: x[i] += 1; "
        "if (i > 1) x[0] = 1; else x[1] = 2;"
        " } L_1: x[0] = 2; N: { x[0] = 3; }"
    )
    names = [statement.name for statement in scop.statements]
    assert names == ["L_0", "M", "L_1_1", "L_2", "L_1", "N"]


def test_periodic_subscripts() -> None:
    scop = scop_of("for (int i = 0; i < n; i++) x[i] = I[(i + 1) % n] + I[(i - 1 + n) % n];")
    right, left = scop.statements[0].reads
    domain = isl.Set("[n] -> { S0[i] : 0 <= i < n }")
    expected = "[n] -> { S0[i] -> I[(i + 1) mod 5] : n = 5 and 0 <= i < n }"
    fixed = isl.Set("[n] -> { : n = 5 }")
    relation = isl.Map(right.relation).intersect_domain(domain).intersect_params(fixed)
    assert relation.is_equal(isl.Map(expected))
    assert isl.Map(left.relation).is_single_valued()


def test_reads_under_an_affine_condition() -> None:
    scop = scop_of(
        "for (int i = 0; i < n; i++) x[i] = i < n - 1 && I[i + 1] > 0 ? I[i + 1] : x[i];"
    )
    relations = [read.relation for read in scop.statements[0].reads]
    assert same_map(relations[0], "[n] -> { S0[i] -> I[i + 1] : i <= n - 2 }")


def test_parameters_and_values() -> None:
    scop = scop_of("for (int i = 0; i < n; i++) x[i] = k * n + m;")
    assert scop.parameters == (Parameter("n"),)
    assert scop.signature == ("n", "m", "k", "A", "x", "I")
    assert {a.name: a.storage_class for a in scop.arrays} == {
        "x": StorageClass.ARGUMENT, "k": StorageClass.VALUE, "m": StorageClass.VALUE,
    }  # fmt: skip
    body = scop.statements[0].body
    assert isinstance(body, Cast)
    loads = [node.access.array for node in walk(body) if isinstance(node, Load)]
    assert loads == ["k", "m"]


def test_locals_that_stand_for_affine_expressions() -> None:
    scop = scop_of(
        "for (int i = 0; i < half; i++) { const int q = 2 * i + B; x[q] = half; }",
        before="int half = n / 2; enum { B = 0 };",
    )
    assert [p.name for p in scop.parameters] == ["n"]
    assert [a.name for a in scop.arrays] == ["x"]
    assert same_map(scop.statements[0].write.relation, "[n] -> { S0[i] -> x[2i] }")


def test_constants_of_the_file() -> None:
    scop = scop_of(
        "for (int i = 0; i < SIZE; i++) T[i] = LAST;",
        outside="enum { A0, A1 = 7, LAST }; static const int SIZE = LAST - 1; float T[7];",
    )
    assert same_set(scop.statements[0].domain, "{ S0[i] : 0 <= i < 7 }")
    assert scop.arrays[0].storage_class is StorageClass.GLOBAL
    assert scop.arrays[0].live_out
    assert scop.parameters == ()


def test_live_out_and_initial_values() -> None:
    scop = scop_of(
        "for (int i = 0; i < n; i++) { double t = x[i]; seen += t * scale; lost = t; }",
        before="double seen = -1, lost = 2.5; float scale = 1.5 * 3;",
        after="x[0] = seen;",
    )
    facts = {a.name: (a.storage_class, a.live_out, a.initial) for a in scop.arrays}
    assert facts == {
        "x": (StorageClass.ARGUMENT, False, None),
        "t": (StorageClass.BLOCK, False, None),
        "seen": (StorageClass.LOCAL, True, -1.0),
        "lost": (StorageClass.LOCAL, False, 2.5),
        "scale": (StorageClass.LOCAL, False, 4.5),
    }


def test_const_variables_of_the_region() -> None:
    scop = scop_of(
        "for (int i = 0; i < n; i++) { const double v = x[i] * 2; const int h = 2;\n"
        "const double c = 0.5; x[i] = v + c * h; }"
    )
    assert [(a.name, a.storage_class) for a in scop.arrays] == [
        ("v", StorageClass.BLOCK), ("x", StorageClass.ARGUMENT), ("c", StorageClass.BLOCK),
    ]  # fmt: skip


def test_what_a_pointer_may_show_after_the_region_is_live() -> None:
    scop = scop_of("s = x[0]; t = 1;", before="double s, t; double *p = &s;", after="x[0] = *p;")
    assert {a.name: a.live_out for a in scop.arrays} == {"s": True, "x": False, "t": False}


def test_shadowed_names_are_kept_apart() -> None:
    scop = scop_of(
        "double t; t = 1;\nfor (int i = 0; i < n; i++) { double t; t = i;\n"
        "for (int i = 0; i < n; i++) x[i] = t; }\nx[0] = t;"
    )
    assert [a.name for a in scop.arrays] == ["t", "t_1", "x"]
    assert scop.statement("S2").iterators == ("i", "i_1")
    assert scop.statement("S2").write.relation == "[n] -> { S2[i, i_1] -> x[i_1] }"


def test_names_that_isl_would_misread() -> None:
    scop = parse_text(
        "void f(int max, double mod[max]) {\n#pragma scop\n"
        "for (int and = 0; and < max; and++) mod[and] = 0;\n#pragma endscop\n}"
    )
    assert [p.name for p in scop.parameters] == ["max_"]
    assert same_set(scop.statements[0].domain, "[max_] -> { S0[and_] : 0 <= and_ < max_ }")


def test_types_follow_c() -> None:
    scop = scop_of(
        "I[0] = x[0] + 1; x[0] = I[0] / 2 * 0.5f; I[0] += 0.5; x[0] = 1; x[0] = 1L << 3;"
    )
    first, second, third, fourth, fifth = (statement.body for statement in scop.statements)
    assert isinstance(first, Cast)
    assert isinstance(first.operand, Binary)
    assert first.operand.right == FloatLiteral(1.0, ScalarType.DOUBLE)
    assert isinstance(second, Cast)
    assert second.operand.type is ScalarType.FLOAT
    assert isinstance(third, Cast)
    assert third.operand.type is ScalarType.DOUBLE
    assert fourth == FloatLiteral(1.0)
    assert isinstance(fifth, Cast)
    assert fifth.operand.type is ScalarType.LONG


def test_logical_operators_are_conditionals() -> None:
    scop = scop_of("I[0] = x[0] > 1 && I[0];")
    body = scop.statements[0].body
    assert isinstance(body, Conditional)
    assert body.otherwise == IntegerLiteral(0)


def test_lower_bounds_that_accesses_need() -> None:
    scop = scop_of("x[2] = 0; A[0][1] = 0; I[n - 1] = 0;")
    assert scop.conditions == ("n >= 3", "m >= 2")
    assert same_set(scop.context, "[n, m] -> { : n >= 3 and m >= 2 }")


def test_loop_parameters_are_not_bounded() -> None:
    scop = scop_of("for (int t = 0; t < k; t++) x[0] += t;")
    assert same_set(scop.context, "[n, k] -> { : n >= 1 }")


def test_assumptions_join_the_context() -> None:
    scop = scop_of(
        "__builtin_assume(k >= 2); for (int i = 0; i < m; i++) x[i + k] = 0;",
        before="assert(n >= m + k); assert(x != 0);",
    )
    assert scop.conditions == ("n >= m + k", "k >= 2")
    assert same_set(scop.context, "[n, m, k] -> { : n >= 1 and n >= m + k and k >= 2 }")


def test_the_context_says_nothing_twice() -> None:
    scop = scop_of("for (int i = 0; i < n; i++) x[i] += C[i + m];",
                   before="double C[n + m + 3]; assert(m >= 0);")  # fmt: skip
    assert scop.context == "[n, m] -> {  : n > 0 and m >= 0 }"


def test_a_typedef_may_be_repeated() -> None:
    scop = scop_of("y[0] = 1;", before="T y[2];", outside="typedef float T; typedef T T;")
    assert scop.arrays[0].type is ScalarType.FLOAT


def test_division_of_floating_values_by_zero_is_c() -> None:
    scop = scop_of("x[0] = x[0] / 0; x[1] = I[0] / 0.0; x[2] = 1 / (2 / 2);")
    assert len(scop.statements) == 3


def test_pointers_to_one_element() -> None:
    scop = parse_text(
        "void f(double *p, float *q) {\n#pragma scop\n*p = q[0]; p[0] += 1;\n#pragma endscop\n}"
    )
    assert [(a.name, a.rank, a.storage_class, a.live_out) for a in scop.arrays] == [
        ("p", 0, StorageClass.ARGUMENT, True),
        ("q", 0, StorageClass.ARGUMENT, False),
    ]


def test_nested_macros_are_read_once() -> None:
    expression = "i"
    for number in range(12):
        expression = f"MIN({expression}, n + {number})"
    scop = scop_of(
        f"for (int i = 0; i < n; i++) x[{expression}] = 0;",
        outside="#define MIN(a, b) ((a) < (b) ? (a) : (b))",
    )
    assert same_map(
        scop.statements[0].write.relation,
        "[n] -> { S0[i] -> x[i] : i <= n; S0[i] -> x[n] : i > n }",
    )


def test_statements_that_never_run_are_left_out() -> None:
    scop = scop_of("x[0] = 1; if (n < 0) x[0] = 2; x[0] = 3;")
    assert [statement.name for statement in scop.statements] == ["S0", "S2"]


def test_contraction_is_the_programs() -> None:
    assert scop_of("x[0] = 1;").contraction
    assert not scop_of("x[0] = 1;", before="#pragma STDC FP_CONTRACT OFF").contraction
    inner = "#pragma STDC FP_CONTRACT OFF\n#pragma STDC FP_CONTRACT ON"
    assert scop_of("x[0] = 1;", outside=inner).contraction
    assert not scop_of("x[0] = 1;", outside="#pragma STDC FP_CONTRACT OFF").contraction
    closed = "void g(void) {\n#pragma STDC FP_CONTRACT OFF\n}"
    assert scop_of("x[0] = 1;", outside=closed).contraction


def test_unsigned_is_allowed_outside_the_region() -> None:
    scop = scop_of("x[0] = 1;", before="unsigned u = 3; char *s = 0; while (u) u--;")
    assert len(scop.statements) == 1


def test_sizes_of_local_arrays() -> None:
    scop = scop_of(
        "double w[2 * n]; for (int i = 0; i < n; i++) { w[2 * i + 1] = x[i]; B[i % 3][0] = 1; }",
        before="long B[3][1];",
    )
    array = scop.array("w")
    assert (array.c_extents, array.storage_class) == (("2 * n",), StorageClass.BLOCK)
    assert scop.array("B").c_extents == ("3", "1")
    assert isl.PwAff(array.extents[0]).is_equal(isl.PwAff("[n] -> { [(2n)] }"))


def test_an_array_of_no_elements_is_refused() -> None:
    with pytest.raises(SourceError, match="without elements"):
        scop_of("double w[0]; w[0] = 1;")
