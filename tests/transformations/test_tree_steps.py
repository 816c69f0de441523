"""Steps by hand, as a textbook has them: the tree afterwards, and whether it is legal."""

from __future__ import annotations

import pytest

from polygym.mapping.mapping import parse_mapping
from polygym.transformations.parsing import parse_step
from polygym.transformations.state import IllegalStepError, TransformState
from polygym.transformations.tree_steps import UnavailableStepError, apply_tree_step
from tests.transformations.by_force import (
    c_function,
    check_tree,
    check_violation,
    pairs_by_force,
    start_of,
)


def tree_text(text: str) -> str:
    """Return the text of a tree without the indentation of this file."""
    lines = text.strip("\n").splitlines()
    indent = len(lines[0]) - len(lines[0].lstrip())
    return "\n".join(line[indent:] for line in lines).rstrip()


def check_legal(state: TransformState, text: str, expected: str) -> TransformState:
    """Check that a step is legal, also by force, and what it makes of the tree."""
    step = parse_step(text)
    after = state.after(step)
    assert after.tree.text() == tree_text(expected)
    check_tree(after.tree)
    assert pairs_by_force(state.scop, 4).is_legal(after.schedule)
    assert after.steps == (*state.steps, step)
    return after


def check_illegal(state: TransformState, text: str, *pair: str) -> IllegalStepError:
    """Check that a step is illegal, also by force, and which statements its example names."""
    step = parse_step(text)
    with pytest.raises(IllegalStepError) as caught:
        state.after(step)
    tree = apply_tree_step(state.tree, step, state.version.edge_rows)
    assert not pairs_by_force(state.scop, 4).is_legal(tree.schedule)
    violation = caught.value.violation
    assert violation is not None
    check_violation(state.scop, tree.schedule, violation)
    if pair:
        assert (violation.dependence.source, violation.dependence.sink) == pair
    return caught.value


def nest_of(body: str, depth: int = 2, first: int = 1) -> str:
    """Return a program with one perfect nest over an array of so many dimensions."""
    names = "ijk"[:depth]
    loops = "".join(f"for (int {v} = {first}; {v} < n - 1; {v}++)\n" for v in names)
    extents = "[n]" * depth
    return c_function(f"{loops}S: {body}", f"int n, double A{extents}, double B{extents}")


# Interchange


@pytest.mark.parametrize(
    ("body", "is_legal"),
    [
        ("A[i][j] = A[i - 1][j - 1];", True),  # (1, 1)
        ("A[i][j] = A[i - 1][j];", True),  # (1, 0)
        ("A[i][j] = A[i][j - 1];", True),  # (0, 1)
        ("A[i][j] = B[i][j];", True),
        ("A[i][j] = A[i - 1][j + 1];", False),  # (1, -1)
        ("A[i][j] = A[i + 1][j - 1];", False),  # (1, -1), the read first
        ("A[i][j] = A[i - 1][j - 1] + A[i - 1][j + 1];", False),
        ("A[i][j] = A[j][i];", False),  # (d, -d)
    ],
)
def test_interchange(body: str, is_legal: bool) -> None:
    state = start_of(nest_of(body))
    expected = """
        L2 (S: j)
          L1 (S: i)
            S
    """
    if not is_legal:
        error = check_illegal(state, "interchange L1 L2", "S", "S")
        source, sink = error.violation.source_instance, error.violation.sink_instance
        first, second = (b - a for a, b in zip(source, sink, strict=True))
        assert first > 0 > second
        assert "interchange L1 L2: the schedule breaks the" in str(error)
        return
    after = check_legal(state, "interchange L1 L2", expected)
    assert after.after(parse_step("interchange L2 L1")).tree == state.tree


def test_interchange_over_a_loop_between() -> None:
    state = start_of(nest_of("A[i][j][k] = B[k][j][i];", 3))
    expected = """
        L3 (S: k)
          L2 (S: j)
            L1 (S: i)
              S
    """
    check_legal(state, "interchange L1 L3", expected)
    # (1, 0, -1): as the outermost two they do not mind, k outermost does.
    state = start_of(nest_of("A[i][j][k] = A[i - 1][j][k + 1];", 3))
    check_illegal(state, "interchange L1 L3", "S", "S")
    check_legal(state, "interchange L1 L2", "L2 (S: j)\n  L1 (S: i)\n    L3 (S: k)\n      S")


# Skewing


def test_skew_makes_an_interchange_legal() -> None:
    """The distances (1, -1) are (1, 0) afterwards."""
    state = start_of(nest_of("A[i][j] = A[i - 1][j + 1];"))
    check_illegal(state, "interchange L1 L2")
    skewed = check_legal(state, "skew L2 L1 1", "L1 (S: i)\n  L2 (S: i + j)\n    S")
    check_legal(skewed, "interchange L1 L2", "L2 (S: i + j)\n  L1 (S: i)\n    S")
    back = skewed.after(parse_step("skew L2 L1 -1"))
    assert back.tree == state.tree


def test_a_wavefront() -> None:
    """With (1, 0) and (0, 1) no loop runs in parallel; after skew and interchange one does."""
    state = start_of(
        nest_of("A[i][j] = A[i - 1][j] + A[i][j - 1];"), mapping=parse_mapping("threads=2")
    )
    for loop in ("L1", "L2"):
        with pytest.raises(IllegalStepError):
            state.after(parse_step(f"parallel {loop}"))
        check_illegal(state, f"reverse {loop}")
    skewed = check_legal(state, "skew L2 L1 1", "L1 (S: i)\n  L2 (S: i + j)\n    S")
    wave = check_legal(skewed, "interchange L1 L2", "L2 (S: i + j)\n  L1 (S: i)\n    S")
    with pytest.raises(IllegalStepError):
        wave.after(parse_step("parallel L2"))
    assert wave.after(parse_step("parallel L1")).mapping.threads == 2
    check_legal(wave, "reverse L1", "L2 (S: i + j)\n  L1 (S: -i)\n    S")
    check_illegal(wave, "reverse L2")


def test_skewing_the_outer_loop() -> None:
    """By an inner loop it may be illegal: (1, -1) becomes (0, -1), and (1, -2) even (-1, -2)."""
    state = start_of(nest_of("A[i][j] = A[i - 1][j + 1];"))
    check_illegal(state, "skew L1 L2 1")
    check_legal(state, "skew L1 L2 -1", "L1 (S: i - j)\n  L2 (S: j)\n    S")


# Reversal


@pytest.mark.parametrize(
    ("body", "outer", "inner"),
    [
        ("A[i][j] = B[i][j];", True, True),
        ("A[i][j] = A[i - 1][j];", False, True),
        ("A[i][j] = A[i][j - 1];", True, False),
        ("A[i][j] = A[i - 1][j - 1];", False, True),  # the outer loop carries it
        ("A[i][j] = A[i - 1][j + 1] + A[i][j + 1];", False, False),
    ],
)
def test_reversal(body: str, outer: bool, inner: bool) -> None:
    state = start_of(nest_of(body))
    for loop, is_legal, expected in (
        ("L1", outer, "L1 (S: -i)\n  L2 (S: j)\n    S"),
        ("L2", inner, "L1 (S: i)\n  L2 (S: -j)\n    S"),
    ):
        if is_legal:
            after = check_legal(state, f"reverse {loop}", expected)
            assert after.after(parse_step(f"reverse {loop}")).tree == state.tree
        else:
            check_illegal(state, f"reverse {loop}")


# Fusion


def two_loops(first: str, second: str, low: int = 0) -> str:
    """Return a program with two loops, one behind the other."""
    return c_function(
        f"for (int i = {low}; i < n - 2; i++)\nS: {first}\n"
        f"for (int k = {low}; k < n - 2; k++)\nT: {second}",
        "int n, double A[n], double B[n], double C[n]",
    )


@pytest.mark.parametrize(
    ("reads", "least"), [("A[k]", 0), ("A[k + 1]", 1), ("A[k + 2]", 2), ("A[k - 2]", 0)]
)
def test_fusion_with_a_shift(reads: str, least: int) -> None:
    """T needs what S computes so many iterations later; so much later T has to run."""
    state = start_of(two_loops("A[i] = C[i];", f"B[k] = {reads};", 2))
    for shift in range(4):
        text = f"fuse L1 L2 shift {shift}" if shift else "fuse L1 L2"
        row = f"k + {shift}" if shift else "k"
        if shift < least:
            check_illegal(state, text, "S", "T")
        else:
            check_legal(state, text, f"L1 (S: i, T: {row})\n  S\n  T")


def test_fusion_is_undone_by_distribution() -> None:
    state = start_of(two_loops("A[i] = C[i];", "B[k] = A[k];"))
    fused = state.after(parse_step("fuse L1 L2"))
    apart = check_legal(fused, "distribute L1 before T", "L1 (S: i)\n  S\nL3 (T: k)\n  T")
    assert apart.tree.shape == state.tree.shape
    assert apart.tree.next_number == 4


def test_fusion_at_a_depth() -> None:
    state = start_of(
        c_function(
            "for (int i = 0; i < n; i++)\n  for (int j = 0; j < n; j++)\nS:    A[i][j] = i;\n"
            "for (int i = 0; i < n; i++)\n  for (int j = 0; j < n; j++)\nT:    B[i][j] = A[i][j];",
            "int n, double A[n][n], double B[n][n]",
        )
    )
    outer = """
        L1 (S: i, T: i)
          L2 (S: j)
            S
          L4 (T: j)
            T
    """
    once = check_legal(state, "fuse L1 L3", outer)
    both = "L1 (S: i, T: i)\n  L2 (S: j, T: j)\n    S\n    T"
    check_legal(once, "fuse L2 L4", both)
    check_legal(state, "fuse L1 L3 depth 2", both)
    shifted = "L1 (S: i, T: i + 1)\n  L2 (S: j, T: j)\n    S\n    T"
    check_legal(state, "fuse L1 L3 depth 2 shift 1", shifted)
    with pytest.raises(UnavailableStepError, match="a depth up to 2"):
        state.after(parse_step("fuse L1 L3 depth 3"))


def test_fusion_of_transposed_nests_is_illegal_inside() -> None:
    """T(i, j) needs S(j, i), of a later i; the loops cannot be joined as they are."""
    state = start_of(
        c_function(
            "for (int i = 0; i < n; i++)\n  for (int j = 0; j < n; j++)\nS:    A[i][j] = i;\n"
            "for (int i = 0; i < n; i++)\n  for (int j = 0; j < n; j++)\nT:    B[i][j] = A[j][i];",
            "int n, double A[n][n], double B[n][n]",
        )
    )
    check_illegal(state, "fuse L1 L3", "S", "T")
    turned = state.after(parse_step("interchange L3 L4"))
    check_legal(turned, "fuse L1 L4 depth 2", "L1 (S: i, T: j)\n  L2 (S: j, T: i)\n    S\n    T")


def sum_from(first: int) -> str:
    """Return a program with a sum over a loop, a statement before it and one behind it."""
    return c_function(
        f"S: s[0] = 1;\nfor (int i = {first}; i < n; i++)\nT:  s[0] += A[i];\nU: A[0] = s[0];",
        "int n, double A[n], double s[1]",
    )


def test_fusion_of_statements_with_the_first_and_the_last_iteration() -> None:
    state = start_of(sum_from(0))
    first = check_legal(state, "fuse S L1", "L1 (S: 0, T: i)\n  S\n  T\nU")
    last = "L1 (S: 0, T: i, U: n - 1)\n  S\n  T\n  U"
    both = check_legal(first, "fuse L1 U", last)
    check_legal(both, "distribute L1 before T", "S\nL2 (T: i, U: n - 1)\n  T\n  U")
    check_legal(both, "distribute L1 before U", "L1 (S: 0, T: i)\n  S\n  T\nU")


def test_fusion_with_a_loop_that_may_be_empty() -> None:
    """From 2 to n - 1 there is nothing for n = 1, and the last iteration is before the first."""
    state = start_of(sum_from(2)).after(parse_step("fuse S L1"))
    assert state.tree.text() == "L1 (S: 2, T: i)\n  S\n  T\nU"
    # Of 2 and n - 1 the larger one is none of the affine functions: the row is 0, and illegal.
    with pytest.raises(IllegalStepError, match=r"runs U\[\] before S\[\].*example with n = 1"):
        state.after(parse_step("fuse L1 U"))
    tree = apply_tree_step(state.tree, parse_step("fuse L1 U"), state.version.edge_rows)
    assert tree.text() == "L1 (S: 2, T: i, U: 0)\n  S\n  T\n  U"
    check_legal(start_of(sum_from(2)), "fuse L1 U", "S\nL1 (T: i, U: n - 1)\n  T\n  U")


def test_fusion_of_statements_in_a_triangle() -> None:
    """The first iteration of the inner loop is i + 1, the last one n - 1."""
    state = start_of(
        c_function(
            "for (int i = 0; i < n - 1; i++) {\nS: B[i] = 1;\n"
            "  for (int j = i + 1; j < n; j++)\nT:    B[i] += A[i][j];\nU: C[i] = B[i];\n}",
            "int n, double A[n][n], double B[n], double C[n]",
        )
    )
    first = """
        L1 (S: i, T: i, U: i)
          L2 (S: i + 1, T: j)
            S
            T
          U
    """
    after = check_legal(state, "fuse S L2", first)
    last = """
        L1 (S: i, T: i, U: i)
          L2 (S: i + 1, T: j, U: n - 1)
            S
            T
            U
    """
    perfect = check_legal(after, "fuse L2 U", last)
    # Now it is a perfect nest; U would run before the sums of other columns with j outermost.
    check_legal(perfect, "interchange L1 L2", """
        L2 (S: i + 1, T: j, U: n - 1)
          L1 (S: i, T: i, U: i)
            S
            T
            U
    """)  # fmt: skip


def test_fusion_with_a_loop_that_runs_backwards() -> None:
    """The first iteration of a reversed loop has the counter -(n - 1)."""
    state = start_of(
        c_function(
            "S: s[0] = 1;\nfor (int i = 0; i < n; i++)\nT:  A[i] = s[0];",
            "int n, double A[n], double s[1]",
        )
    )
    turned = state.after(parse_step("reverse L1"))
    check_legal(turned, "fuse S L1", "L1 (S: -n + 1, T: -i)\n  S\n  T")


def test_fusion_with_the_first_iteration_of_two_loops() -> None:
    state = start_of(
        c_function(
            "S: s[0] = 1;\nfor (int i = 1; i < n; i++)\n  for (int j = 3; j < n; j++)\n"
            "T:    A[i][j] = s[0];",
            "int n, double A[n][n], double s[1]",
        )
    )
    check_legal(state, "fuse S L1 depth 2", "L1 (S: 1, T: i)\n  L2 (S: 3, T: j)\n    S\n    T")
    # The loop later by one is the statement earlier by one; later by one it is too late.
    check_legal(state, "fuse S L1 shift 1", "L1 (S: 0, T: i)\n  S\n  L2 (T: j)\n    T")
    check_illegal(state, "fuse S L1 shift -1", "S", "T")


def test_a_nest_sinks_into_a_loop_as_a_whole() -> None:
    """The nest L1 runs in the first iteration of L2, or L2 in the last one of L1."""
    state = start_of(two_loops("A[i] = C[i];", "B[k] = A[n - 1 - k];"))
    check_illegal(state, "fuse L1 L2", "S", "T")
    first = """
        L2 (S: 0, T: k)
          L1 (S: i)
            S
          T
    """
    check_legal(state, "fuse L1 L2 sink L1", first)
    last = """
        L1 (S: i, T: n - 3)
          S
          L2 (T: k)
            T
    """
    state = start_of(two_loops("A[i] = C[i];", "B[k] = A[n - 1 - k];"))
    error = check_illegal(state, "fuse L1 L2 sink L2 shift -n", "S", "T")
    assert "fuse L1 L2 shift -n sink L2: the schedule breaks" in str(error)
    check_legal(state, "fuse L1 L2 sink L2", last)


def test_fusion_with_a_shift_of_parameters_and_counters() -> None:
    """T needs all of S; a statement moves to an iteration that depends on the loops around."""
    state = start_of(two_loops("A[i] = C[i];", "B[k] = A[n - 3 - k];"))
    check_illegal(state, "fuse L1 L2 shift n-4", "S", "T")
    check_legal(state, "fuse L1 L2 shift n-3", "L1 (S: i, T: k + n - 3)\n  S\n  T")
    state = start_of(
        c_function(
            "for (int i = 0; i < n; i++) {\n  for (int j = 0; j < n; j++)\nS:    A[i][j] = i;\n"
            "T:  B[i] = A[i][i];\n}",
            "int n, double A[n][n], double B[n]",
        )
    )
    last = """
        L1 (S: i, T: i)
          L2 (S: j, T: n - 1)
            S
            T
    """
    check_legal(state, "fuse L2 T", last)
    diagonal = """
        L1 (S: i, T: i)
          L2 (S: j, T: i)
            S
            T
    """
    check_legal(state, "fuse L2 T shift L1-n+1", diagonal)
    check_illegal(state, "fuse L2 T shift L1-n", "S", "T")


# Distribution and order


def one_loop(first: str, second: str) -> str:
    """Return a program with one loop around two statements."""
    return c_function(
        f"for (int i = 1; i < n - 1; i++) {{\nS: {first}\nT: {second}\n}}",
        "int n, double A[n], double B[n], double C[n]",
    )


@pytest.mark.parametrize(
    ("first", "second", "is_legal"),
    [
        ("A[i] = C[i];", "B[i] = A[i];", True),
        ("A[i] = C[i];", "B[i] = A[i - 1];", True),
        ("A[i] = B[i - 1];", "B[i] = C[i];", False),  # S needs T of the iteration before
        ("A[i] = B[i + 1];", "B[i] = C[i];", True),  # S reads what T overwrites later
        ("A[i] = C[i];", "B[i] = A[i + 1];", False),  # T reads what S overwrites later
        ("A[i] = B[i - 1];", "B[i] = A[i];", False),  # a recurrence
    ],
)
def test_distribution(first: str, second: str, is_legal: bool) -> None:
    state = start_of(one_loop(first, second))
    if is_legal:
        check_legal(state, "distribute L1 before T", "L1 (S: i)\n  S\nL2 (T: i)\n  T")
    else:
        check_illegal(state, "distribute L1 before T", "T", "S")


def test_distribution_of_two_loops_at_once() -> None:
    state = start_of(
        c_function(
            "for (int i = 0; i < n; i++) {\nR: C[i] = i;\n  for (int j = 0; j < n; j++) {\n"
            "S: A[i][j] = C[i];\nT: B[i][j] = A[i][j];\n}\nU: C[i] = A[i][i];\n}",
            "int n, double A[n][n], double B[n][n], double C[n]",
        )
    )
    deep = """
        L1 (R: i, S: i)
          R
          L2 (S: j)
            S
        L3 (T: i, U: i)
          L4 (T: j)
            T
          U
    """
    check_legal(state, "distribute L1 before T", deep)
    before_a_loop = """
        L1 (R: i)
          R
        L3 (S: i, T: i, U: i)
          L2 (S: j, T: j)
            S
            T
          U
    """
    check_legal(state, "distribute L1 before L2", before_a_loop)
    # S is the first one in L2, so L2 is not divided.
    assert state.after(parse_step("distribute L1 before S")).tree.text() == tree_text(before_a_loop)
    inner = """
        L1 (R: i, S: i, T: i, U: i)
          R
          L2 (S: j)
            S
          L3 (T: j)
            T
          U
    """
    check_legal(state, "distribute L2 before T", inner)


@pytest.mark.parametrize(
    ("first", "second", "is_legal"),
    [
        ("A[i] = C[i];", "B[i] = C[i];", True),
        ("A[i] = C[i];", "B[i] = A[i - 1];", True),  # of another iteration
        ("A[i] = C[i];", "B[i] = A[i];", False),
        ("A[i] = B[i];", "B[i] = C[i];", False),
        ("A[i] = C[i];", "A[i] = B[i];", False),
    ],
)
def test_reorder(first: str, second: str, is_legal: bool) -> None:
    state = start_of(one_loop(first, second))
    if is_legal:
        after = check_legal(state, "reorder S T", "L1 (T: i, S: i)\n  T\n  S")
        assert after.after(parse_step("reorder T S")).tree == state.tree
    else:
        check_illegal(state, "reorder S T", "S", "T")


def test_reorder_over_nodes_between() -> None:
    """U moves before S and T, which keep their order."""
    text = "for (int i = 1; i < n; i++) {{\nS: A[i] = {0};\nT: B[i] = {0};\nU: C[i] = {1};\n}}"
    arguments = "int n, double A[n], double B[n], double C[n], double D[n]"
    state = start_of(c_function(text.format("D[i]", "A[i - 1] + B[i - 1]"), arguments))
    check_legal(state, "reorder S U", "L1 (U: i, S: i, T: i)\n  U\n  S\n  T")
    state = start_of(c_function(text.format("D[i]", "B[i]"), arguments))
    check_illegal(state, "reorder S U", "T", "U")
    check_legal(state, "reorder S T", "L1 (T: i, S: i, U: i)\n  T\n  S\n  U")


def test_reorder_of_loops() -> None:
    state = start_of(two_loops("A[i] = C[i];", "B[k] = C[k];"))
    check_legal(state, "reorder L1 L2", "L2 (T: k)\n  T\nL1 (S: i)\n  S")
    check_illegal(start_of(two_loops("A[i] = C[i];", "B[k] = A[0];")), "reorder L1 L2", "S", "T")


# Shifting


@pytest.mark.parametrize(
    ("second", "later", "earlier"),
    [
        ("B[i] = C[i];", True, True),
        ("B[i] = A[i];", True, False),
        ("B[i] = A[i - 1];", True, True),
        ("B[i] = A[i + 1];", False, True),  # T reads before S writes: no later than now
    ],
)
def test_shift(second: str, later: bool, earlier: bool) -> None:
    state = start_of(one_loop("A[i] = C[i];", second))
    for amount, is_legal in ((1, later), (-1, earlier)):
        text = f"shift T L1 {amount}"
        if is_legal:
            row = "i + 1" if amount == 1 else "i - 1"
            after = check_legal(state, text, f"L1 (S: i, T: {row})\n  S\n  T")
            assert after.after(parse_step(f"shift T L1 {-amount}")).tree == state.tree
        else:
            check_illegal(state, text)


def test_a_shift_of_a_nest_moves_all_its_statements() -> None:
    state = start_of(
        c_function(
            "for (int i = 0; i < n; i++) {\nR: C[i] = i;\n  for (int j = 0; j < n; j++) {\n"
            "S: A[i][j] = C[i];\nT: B[i][j] = A[i][j];\n}\n}",
            "int n, double A[n][n], double B[n][n], double C[n]",
        )
    )
    check_legal(state, "shift L2 L1 3", """
        L1 (R: i, S: i + 3, T: i + 3)
          R
          L2 (S: j, T: j)
            S
            T
    """)  # fmt: skip


# What is unavailable


FIVE = c_function(
    "for (int i = 0; i < n; i++) {\nR: C[i] = i;\n  for (int j = 0; j < n; j++) {\n"
    "S: A[i][j] = C[i];\nT: B[i][j] = A[i][j];\n}\n}\nfor (int k = 0; k < n; k++)\nU: C[k] = 1;\n"
    "V: C[0] = 2;",
    "int n, double A[n][n], double B[n][n], double C[n]",
)


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("interchange L1 L2", "expected a perfect nest with L1 around L2.* L1 has no loop"),
        ("interchange L2 L1", "expected a perfect nest with L2 around L1"),
        ("interchange L1 L1", "expected a perfect nest"),
        ("interchange L1 S", "S: expected a loop, found a statement"),
        ("interchange L1 L9", "L9: expected one of L1, R, L2, S, T, L3, U, V"),
        ("fuse L1 V", "expected neighbours in one body; behind L1 stands L3"),
        ("fuse L3 L1", "expected neighbours in one body; behind L3 stands V"),
        ("fuse V L1", "expected neighbours in one body; behind V stands nothing"),
        ("fuse L3 L3", "expected neighbours in one body"),
        ("fuse S T", "expected a loop among them, found two statements"),
        ("fuse L1 L3 depth 2", "expected a depth up to 1"),
        ("distribute L1 before U", "U: expected a loop or statement in L1"),
        ("distribute L1 before L1", "L1: expected a loop or statement in L1"),
        ("distribute L1 before R", "expected a loop or statement with something before it in L1"),
        ("distribute L2 before S", "expected a loop or statement with something before it in L2"),
        ("distribute U before U", "U: expected a loop, found a statement"),
        ("reorder R S", "expected nodes of one body, the second behind.*behind R stands L2"),
        ("reorder S R", "expected nodes of one body, the second behind.*behind S stands T"),
        ("reorder L3 L1", "expected nodes of one body, the second behind.*L3 stands V"),
        ("reorder R R", "expected nodes of one body, the second behind.*R stands L2"),
        ("fuse L1 L3 sink L2", "expected sink L1 or sink L3"),
        ("fuse L3 V sink L3", "expected a loop that L3 can be moved into"),
        ("fuse L1 L3 shift m", "a shift of loops around both and parameters, n; found m"),
        ("fuse R L2 shift L3", "a shift of loops around both and parameters, L1, n; found L3"),
        ("fuse L1 L3 shift 300", "expected numbers up to 256 in the schedule, found 300"),
        ("fuse L1 L3 depth 2 sink L3", "expected a depth up to 1"),
        ("reorder X R", "X: expected one of"),
        ("skew L1 L2 1", "expected a loop L2 with all statements of L1, which has R, S, T; L2 has"),
        ("skew L1 L3 1", "expected a loop L3 with all statements of L1"),
        ("skew L1 L1 1", "expected a loop L1 with all statements"),
        ("skew L2 L1 0", "expected a factor other than 0"),
        ("skew S L1 1", "S: expected a loop, found a statement"),
        ("skew L2 L1 300", "expected numbers up to 256 in the schedule, found 300"),
        ("reverse R", "R: expected a loop, found a statement"),
        ("shift S L3 1", "expected S to stand in L3"),
        ("shift L1 L1 1", "expected L1 to stand in L1"),
        ("shift U L3 1", "expected a part of L3 and an amount other than 0"),
        ("shift R L1 0", "expected a part of L1 and an amount other than 0"),
        ("shift L1 R 1", "R: expected a loop, found a statement"),
        ("shift R L1 500", "expected numbers up to 256 in the schedule, found 500"),
    ],
)
def test_unavailable_steps_have_a_reason(text: str, reason: str) -> None:
    state = start_of(FIVE)
    with pytest.raises(UnavailableStepError, match=reason):
        state.after(parse_step(text))
    (verdict,) = state.verdicts([parse_step(text)])
    assert (verdict.is_allowed, verdict.is_illegal, verdict.state) == (False, False, None)


def test_a_step_that_changes_nothing_is_unavailable() -> None:
    """L1 and L2 have the same rows: exchanged they are the same order."""
    state = start_of(nest_of("A[i][j] = B[i][j];")).after(
        parse_step("schedule { S[i, j] -> [i, i, j] }")
    )
    with pytest.raises(UnavailableStepError, match="it would change nothing"):
        state.after(parse_step("interchange L3 L4"))
