"""Classic examples: sequences of steps with the loops, or the verdict, that textbooks give."""

from __future__ import annotations

import pytest

from polygym.errors import InputError
from polygym.mapping.mapping import parse_mapping
from polygym.text_interface.program_text import program_text
from polygym.transformations.parsing import parse_step
from polygym.transformations.state import IllegalStepError, TransformState
from polygym.transformations.steps import Store
from tests.transformations.by_force import c_function, start_of


def state_of(body: str, arguments: str) -> TransformState:
    return start_of(c_function(body, arguments), mapping=parse_mapping("threads=2"))


def after(state: TransformState, *texts: str) -> TransformState:
    for text in texts:
        state = state.after(parse_step(text))
    return state


def is_illegal(state: TransformState, text: str) -> bool:
    with pytest.raises(IllegalStepError, match="must come first"):
        after(state, text)
    return True


def code(state: TransformState) -> list[str]:
    """Return the lines of the loops without indentation and closing brackets."""
    lines = [line.strip() for line in program_text(state).splitlines()]
    return [line.removesuffix(" {") for line in lines if line != "}"]


def test_interchange_of_a_triangle() -> None:
    """The bounds change places: i <= j becomes a bound of i."""
    state = state_of(
        "for (int i = 0; i < n; i++)\n  for (int j = i; j < n; j++)\nS0:    A[i][j] = 1.0;",
        "int n, double A[n][n]",
    )
    assert code(after(state, "interchange L1 L2"))[:2] == [
        "L2: for (j = 0; j <= n - 1; j++)", "L1: for (i = 0; i <= j; i++)",
    ]  # fmt: skip


def test_fusion_with_a_shift() -> None:
    """The second loop reads two elements ahead, so that it must be two iterations late."""
    state = state_of(
        "for (int i = 0; i < n; i++)\nS0:  A[i] = i;\n"
        "for (int i = 0; i < n - 2; i++)\nS1:  B[i] = A[i + 2];",
        "int n, double A[n], double B[n]",
    )
    assert is_illegal(state, "fuse L1 L2")
    assert is_illegal(state, "fuse L1 L2 shift 1")
    (loop,) = after(state, "fuse L1 L2 shift 2").tree.loops
    assert [row.constant for row in loop.rows] == [0, 2]


def test_distribution_for_vectors() -> None:
    """A recurrence and a statement that uses it: apart, the second one runs in vectors."""
    state = state_of(
        "for (int i = 1; i < n; i++) {\nS0:  A[i] = A[i - 1] + 1.0;\nS1:  B[i] = 2.0 * A[i];\n}",
        "int n, double A[n], double B[n]",
    )
    assert is_illegal(state, "vectorize L1 256")
    apart = after(state, "distribute L1 before S1")
    assert is_illegal(apart, "vectorize L1 256")
    second = apart.tree.loops[1].name
    assert after(apart, f"vectorize {second} 256").marks


def test_distribution_of_a_cycle_is_illegal() -> None:
    state = state_of(
        "for (int i = 1; i < n; i++) {\nS0:  A[i] = B[i - 1];\nS1:  B[i] = A[i];\n}",
        "int n, double A[n], double B[n]",
    )
    assert is_illegal(state, "distribute L1 before S1")


GAUSS_SEIDEL = (
    "for (int i = 1; i < n; i++)\n  for (int j = 1; j < n; j++)\n"
    "S0:    A[i][j] = A[i - 1][j] + A[i][j - 1];"
)


def test_skew_and_interchange_make_a_wavefront() -> None:
    """No loop is parallel; skewed and interchanged, the inner one is."""
    state = state_of(GAUSS_SEIDEL, "int n, double A[n][n]")
    assert is_illegal(state, "parallel L1")
    assert is_illegal(state, "parallel L2")
    front = after(state, "skew L2 L1 1", "interchange L1 L2")
    assert [str(row.iterators) for loop in front.tree.loops for row in loop.rows] == [
        "(1, 1)", "(1, 0)",
    ]  # fmt: skip
    assert is_illegal(front, "parallel L2")
    assert after(front, "parallel L1").mapping != front.mapping
    assert after(front, "vectorize L1").mapping != front.mapping


def test_reversal() -> None:
    """Legal where nothing is carried; it turns (1, -1) into (1, 1), which may be interchanged."""
    state = state_of(
        "for (int i = 1; i < n; i++)\n  for (int j = 0; j < n - 1; j++)\n"
        "S0:    A[i][j] = A[i - 1][j + 1];",
        "int n, double A[n][n]",
    )
    assert is_illegal(state, "interchange L1 L2")
    assert is_illegal(state, "reverse L1")
    assert after(state, "reverse L2", "interchange L1 L2").tree.loops[0].name == "L2"


def test_a_loop_alone_is_strip_mined_whatever_it_carries() -> None:
    state = state_of("for (int i = 1; i < n; i++)\nS0:  A[i] = A[i - 1];", "int n, double A[n]")
    assert str(after(state, "tile L1 8").mapping) == "threads=2 S0:tile=8x1"
    assert is_illegal(state, "reverse L1")


def test_an_index_set_is_split_at_the_diagonal() -> None:
    """Reads of the transpose cross the diagonal: its sides are apart, and each is parallel."""
    state = state_of(
        "for (int i = 0; i < n; i++)\n  for (int j = 0; j < n; j++)\nS0:    A[i][j] = A[j][i];",
        "int n, double A[n][n]",
    )
    assert is_illegal(state, "parallel L1")
    divided = after(state, "split S0: i = j")
    assert [name for name, _ in divided.tree.iterators] == ["S0_0", "S0_1", "S0_2"]
    apart = after(divided, "distribute L1 before S0_1")
    assert len(apart.tree.nests) == 2
    for nest in apart.tree.nests:
        assert after(apart, f"parallel {nest.name}").mapping != apart.mapping


def test_a_scalar_is_expanded_or_private() -> None:
    """The scalar is written and read in each iteration: memory alone keeps them in order."""
    text = c_function(
        "for (int i = 0; i < n; i++) {\nS0:  w = A[i];\nS1:  B[i] = w * w;\n}",
        "int n, double A[n], double B[n]",
    ).replace("{\n#pragma", "{\n  double w;\n#pragma", 1)
    state = start_of(text, mapping=parse_mapping("threads=2"))
    assert is_illegal(state, "parallel L1")
    assert is_illegal(state, "distribute L1 before S1")
    for entry in ("w=expand:i", "w=private:i"):
        stored = state.after(Store(entry))
        assert after(stored, "parallel L1").mapping != stored.mapping
    apart = after(state, "store w=expand:i", "distribute L1 before S1")
    assert len(apart.tree.nests) == 2


def test_an_expanded_array_is_contracted() -> None:
    text = c_function(
        "for (int i = 0; i < n; i++) {\nS0:  w = A[i];\nS1:  B[i] = w * w;\n}",
        "int n, double A[n], double B[n]",
    ).replace("{\n#pragma", "{\n  double w;\n#pragma", 1)
    state = start_of(text)
    with pytest.raises(InputError, match="expected an array that is expanded"):
        after(state, "contract")
    both = after(state, "store w=expand:i", "contract")
    assert both.storage.has_contraction
    assert both.schedule == after(state, "store w=expand:i").schedule


def test_unroll_and_jam_of_a_product() -> None:
    state = state_of(
        "for (int i = 0; i < n; i++)\n  for (int j = 0; j < n; j++)\n"
        "    for (int k = 0; k < n; k++)\nS0:      C[i][j] += A[i][k] * B[k][j];",
        "int n, double A[n][n], double B[n][n], double C[n][n]",
    )
    for loop in ("L1", "L2"):
        assert "S0:unroll_jam=4" in str(after(state, f"unroll_jam {loop} 4").mapping)
    stencil = state_of(
        "for (int i = 1; i < n; i++)\n  for (int j = 0; j < n - 1; j++)\n"
        "S0:    A[i][j] = A[i - 1][j + 1];",
        "int n, double A[n][n]",
    )
    assert is_illegal(stencil, "unroll_jam L1 2")


def test_tiles_of_a_triangular_nest() -> None:
    """A triangular product is permutable; Gauss and Seidel's sweep over time needs two skews."""
    state = state_of(
        "for (int i = 0; i < n; i++)\n  for (int j = 0; j <= i; j++)\n"
        "    for (int k = 0; k < n; k++)\nS0:      C[i][j] += A[i][k] * A[j][k];",
        "int n, double A[n][n], double C[n][n]",
    )
    tiled = after(state, "tile L1 L2 L3 32 32 32")
    assert "S0:tile=32x32x32" in str(tiled.mapping)
    sweep = state_of(
        "for (int t = 0; t < n; t++)\n  for (int i = 1; i < n - 1; i++)\n"
        "S0:    A[i] = A[i - 1] + A[i + 1];",
        "int n, double A[n]",
    )
    assert is_illegal(sweep, "tile L1 L2 16 16")
    assert after(sweep, "skew L2 L1 1", "tile L1 L2 16 16").mapping != sweep.mapping


def test_parallel_after_a_skew() -> None:
    """A[i][j] = A[i-1][j-1] is carried by i alone; i - j is constant along each dependence."""
    state = state_of(
        "for (int i = 1; i < n; i++)\n  for (int j = 1; j < n; j++)\n"
        "S0:    A[i][j] = A[i - 1][j - 1];",
        "int n, double A[n][n]",
    )
    assert is_illegal(state, "parallel L1")
    diagonal = after(state, "skew L2 L1 -1", "interchange L1 L2")
    assert after(diagonal, "parallel L2").mapping != diagonal.mapping
