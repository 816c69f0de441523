"""Turned copies of arrays: which reads get one, and that the copy is the array."""

from dataclasses import replace
from itertools import product

import numpy as np
import pytest

from polygym.codegen.c import print_c
from polygym.codegen.llvm.core import memory_allocation
from polygym.codegen.loopir.ir import Block, Loop, LoopProgram
from polygym.codegen.pipeline import lower
from polygym.codegen.transforms.vectorization import statements_in
from polygym.frontend.c import parse_text
from polygym.ir.scop import StorageClass
from polygym.mapping.machine import Machine
from polygym.mapping.mapping import Mapping, parse_mapping
from polygym.poly.evaluation import evaluate_extent
from polygym.poly.legality import LegalSchedule
from polygym.poly.scheduling.baselines import isl_schedule, original_schedule
from polygym.programs import load_program
from polygym.runtime.evaluation import EvaluationOptions, Evaluator
from polygym.runtime.evaluation.compilation import compile_problem, compile_schedule
from polygym.runtime.worker.outcome import Ok, OutcomeStatus, OutOfMemory
from polygym.runtime.worker.worker import Worker
from tests.oracles.compiled_runs import random_arrays, run_natively
from tests.oracles.loops import events, value
from tests.oracles.threads import every_loop_shared
from tests.oracles.tuning import use_machine

PRODUCT = """
void f(int n, int m, double C[n][n], {types}) {{
#pragma scop
  for (int i = 0; i < n; i++)
    for (int j = 0; j < n; j++)
      for (int k = 0; k < m; k++)
        C[i][j] += {read};
#pragma endscop
}}
"""


def lowered(text: str, mapping: str = "", **sizes: int) -> LoopProgram:
    scop = parse_text(text)
    legal = LegalSchedule(scop, original_schedule(scop))
    return lower(legal, parse_mapping(mapping), sizes or None)


def packed(program: LoopProgram) -> list[tuple[str, tuple[str, ...]]]:
    """Return the copies: the array that is read and the sizes of the copy."""
    return [
        (program.scop.statement(array.name).reads[0].array, array.c_extents)
        for array in program.scop.arrays
        if array.storage_class is StorageClass.SCRATCH
    ]


@pytest.mark.parametrize(
    ("types", "read", "expected"),
    [
        ("double A[n][m]", "A[i][k] * A[j][k]", [("A", ("m", "n"))]),
        ("double A[n][m], double B[n][m]", "A[i][k] * B[j][k]", [("B", ("m", "n"))]),
        ("double A[n][m], double B[m][n]", "A[i][k] * B[k][j]", []),
        ("double A[n][m][n]", "A[j][k][i]", [("A", ("m", "n", "n"))]),
        ("double A[m][n][n]", "A[k][j][i]", [("A", ("m", "n", "n"))]),
        # as many loops as dimensions: each element is read once
        ("double A[n][m][n]", "A[j][k][i] * A[i][k][j]", []),
        # not written by itself, but C is
        ("double A[n][m]", "A[i][k] * C[j][i]", []),
        ("double A[n + n][m]", "A[2 * j][k]", []),
        ("double A[n + n][m + n]", "A[i + j][k + j]", []),
    ],
)
def test_which_reads_are_packed(
    types: str, read: str, expected: list[tuple[str, tuple[str, ...]]]
) -> None:
    text = PRODUCT.format(types=types, read=read)
    if read == "A[j][k][i]" or read == "A[k][j][i]":
        # four loops around three dimensions
        text = text.replace("for (int k", "for (int l = 0; l < m; l++)\n for (int k")
    assert packed(lowered(text)) == expected
    assert packed(lowered(text, "pack=off")) == []
    assert packed(lowered(text, "sequential")) == []


@pytest.mark.rotates
@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize("sizes", list(product((1, 15, 16, 17, 40), (1, 33))))
@pytest.mark.parametrize("dimension", [0, 1])
def test_a_copy_has_every_element_once(
    sizes: tuple[int, int], threads: int, dimension: int
) -> None:
    read = ("A[j][k][i]", "A[k][j][i]")[dimension]
    text = PRODUCT.format(types=f"double A[{'nmn' if not dimension else 'mnn'}]", read=read)
    text = text.replace("A[nmn]", "A[n][m][n]").replace("A[mnn]", "A[m][n][n]")
    text = text.replace("for (int k", "for (int l = 0; l < m; l++)\n for (int k")
    n, m = sizes
    n = min(n, 18)
    program = lowered(text, f"threads={threads}")
    ((name, _),) = packed(program)
    assert name == "A"
    body = program.body
    assert isinstance(body, Block)
    copied = list(events(body.children[0], {"n": n, "m": m}))
    extents = (n, m, n) if not dimension else (m, n, n)
    assert len(copied) == n * m * n
    assert {event.reads[0] for event in copied} == set(product(*map(range, extents)))
    order = (1, 2, 0) if not dimension else (0, 2, 1)
    assert all(event.write == tuple(event.reads[0][k] for k in order) for event in copied)


@pytest.mark.parametrize(
    ("f", "c", "k", "order"),
    [
        # 85 of b make 255 elements of a filter that follow each other: five blocks of those, and
        # three of filters
        (40, 400, 3, ["b", "f"]),
        (100, 86, 3, ["f", "b"]),
        (33, 20, 15, ["f", "b"]),
        # a filter's rows are long enough
        (33, 20, 16, ["b_", "b__", "q", "f"]),
    ],
)
def test_short_rows_are_copied_together(
    f: int, c: int, k: int, order: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Every element once, in blocks: whatever is contiguous on either side stays together."""
    machine = Machine(vector_bits=512, registers=32)
    use_machine(monkeypatch, machine)
    sizes = {"N": 1, "C": c, "H": 6, "W": 6 + k, "F": f, "KH": 1, "KW": k}
    layer = load_program("tc:conv2d", parameters=sizes)
    legal = LegalSchedule(layer.scop, isl_schedule(layer.scop))
    mapping = parse_mapping("default vector_bits=512 threads=2")
    program = lower(legal, mapping, dict(layer.parameters))
    copies = [array for array in program.scop.arrays if array.storage_class is StorageClass.SCRATCH]
    assert [copy_.name for copy_ in copies] == ["K_packed"]
    body = program.body
    assert isinstance(body, Block)
    copied = list(events(body.children[0], {}))
    assert sorted(event.reads[0] for event in copied) == sorted(
        product(range(f), range(c), range(1), range(k))
    )
    assert all(event.write == (*event.reads[0][1:], event.reads[0][0]) for event in copied)
    names = {"K_packed_0_block": "f", "K_packed_1_block": "b", "K_packed_3_block": "q"}
    names |= {"K_packed_1": "b_", "K_packed_2": "b__"}
    loops, node = [], body.children[0]
    while isinstance(node, Loop):
        loops.append(names.get(node.variable, "-"))
        node = node.body
    assert loops[: len(order)] == order
    # 16 filters at a time, and each of them along what follows in memory
    before = [event.reads[0] for event in copied[:16]]
    assert {index[0] for index in before} == set(range(16))
    assert len({index[1:] for index in before}) == 1


def test_one_copy_serves_all_reads_and_names_do_not_clash() -> None:
    text = """
void f(int n, double A[n][n], double A_packed[n][n], double C[n][n], double D[n][n]) {
#pragma scop
  for (int i = 0; i < n; i++)
    for (int j = 0; j < n; j++)
      for (int k = 0; k < n; k++) {
        C[i][j] += A[j][k] * A[i][k];
        D[i][j] += A[j][k] * A_packed[j][n - 1 - k];
      }
#pragma endscop
}
"""
    program = lowered(text)
    assert [name for name, _ in packed(program)] == ["A", "A_packed"]
    names = [array.name for array in program.scop.arrays]
    assert len(set(names)) == len(names) == 6
    assert "__builtin_free(A_packed_);" in print_c(program)


def test_memory_that_is_not_there_is_an_outcome(monkeypatch: pytest.MonkeyPatch) -> None:
    # Arrays that begin so far behind their memory that there is none.
    monkeypatch.setattr(memory_allocation, "staggered_offset", lambda place, count: 1 << 62)
    program = load_program("syrk", parameters={"n": 40, "m": 30})
    compiled = compile_schedule(program, original_schedule(program.scop), Mapping())
    with Worker() as worker:
        session = worker.open(compile_problem(program))
        assert isinstance(session.measure(compiled), OutOfMemory)
        monkeypatch.undo()
        compiled = compile_schedule(program, original_schedule(program.scop), Mapping())
        assert isinstance(session.measure(compiled), Ok)


def test_at_known_sizes_a_copy_has_to_pay() -> None:
    few = PRODUCT.format(types="double A[n][m]", read="A[i][k] * A[j][k]")
    assert packed(lowered(few, n=600, m=50)) == [("A", ("m", "n"))]
    assert packed(lowered(few, n=200, m=50)) == []  # one tile of rows, which has its own
    assert packed(lowered(few, n=4, m=5000)) == []
    assert packed(lowered(few, n=40_000, m=40_000)) == []  # 12 GB
    batched = """
void f(int b, int n, double y[b][n], double A[n][n], double x[b][n]) {
#pragma scop
  for (int k = 0; k < b; k++)
    for (int i = 0; i < n; i++)
      for (int j = 0; j < n; j++)
        y[k][i] += A[i][j] * x[k][j];
#pragma endscop
}
"""
    assert [name for name, _ in packed(lowered(batched))] == ["A"]
    assert packed(lowered(batched, b=2, n=400)) == []
    assert [name for name, _ in packed(lowered(batched, b=600, n=400))] == ["A"]


def test_copies_are_made_in_one_thread_where_loops_are() -> None:
    text = PRODUCT.format(types="double A[n][m]", read="A[i][k] * A[j][k]")
    for mapping, expected in (("threads=4", True), ("threads=4 parallel=off", False)):
        program = lowered(text, mapping)
        assert ("#pragma omp" in print_c(program)) == expected
        assert packed(program)


def test_counters_of_a_copy_hide_nothing() -> None:
    text = """
void f(int A_packed_0, int m, double C[A_packed_0][A_packed_0], double A[A_packed_0][m]) {
#pragma scop
  for (int i = 0; i < A_packed_0; i++)
    for (int j = 0; j < A_packed_0; j++)
      for (int k = 0; k < m; k++)
        C[i][j] += A[i][k] * A[j][k];
#pragma endscop
}
"""
    assert "long A_packed_0_ =" in print_c(lowered(text))


def test_the_fast_way_is_taken_and_computes_the_same() -> None:
    program = load_program("syrk", parameters={"n": 130, "m": 70})
    with Evaluator(program, EvaluationOptions(threads=2)) as evaluator:
        for mapping in ("default", "threads=2 tile=8x16x32", "vector_copies=1 unroll_jam=1"):
            chosen = replace(parse_mapping(mapping), threads=2)
            loops = lower(
                LegalSchedule(program.scop, original_schedule(program.scop)),
                chosen,
                dict(program.parameters),
            )
            assert [name for name, _ in packed(loops)] == ["A"]
            assert (
                evaluator.evaluate(original_schedule(program.scop), chosen).status
                is OutcomeStatus.OK
            )


SCALED = """
void f(int n, int m, double C[n][n], double A[n][m], double s[m]) {
#pragma scop
  for (int i = 0; i < n; i++)
    for (int k = 0; k < m; k++)
      A[i][k] *= s[k];
  for (int i = 0; i < n; i++)
    for (int j = 0; j < n; j++)
      for (int k = 0; k < m; k++)
        C[i][j] += A[i][k] * A[j][k];
  for (int i = 0; i < n; i++)
    A[i][0] = C[i][i];
  for (int i = 0; i < n; i++)
    for (int j = 0; j < n; j++)
      for (int k = 0; k < m; k++)
        C[i][j] -= A[i][k] * A[j][k];
  for (int i = 0; i < n; i++)
    for (int j = 0; j < n; j++)
      for (int k = 0; k < m; k++)
        C[j][i] += A[j][k] * A[i][k];
#pragma endscop
}
"""


def fills(program: LoopProgram) -> list[bool]:
    """Return for every part of a program whether it fills a copy."""
    copies = {a.name for a in program.scop.arrays if a.storage_class is StorageClass.SCRATCH}
    assert isinstance(program.body, Block)
    return [bool(statements_in(part) & copies) for part in program.body.children]


def test_what_is_written_between_two_parts_is_copied_anew() -> None:
    program = lowered(SCALED, "tile=off")
    assert [name for name, _ in packed(program)] == ["A"]
    filled = fills(program)
    assert filled.count(True) == 2, "before the first product, and after A has changed"
    first = filled.index(True)
    assert first > 0, "not before A is scaled"
    assert not any(filled[-2:]), "the last product finds the copy up to date"


@pytest.mark.parametrize("text", ["tile=off", "default", "threads=2", "threads=2 separate=on"])
def test_copies_in_between_change_no_result(text: str) -> None:
    scop = parse_text(SCALED)
    program = lowered(SCALED, text)
    assert packed(program)
    sizes = {"n": 37, "m": 21}
    arrays = random_arrays(scop, sizes, np.random.default_rng(1))
    with every_loop_shared():
        runs = []
        for mapping in ("sequential", text):
            runs.append({name: values.copy() for name, values in arrays.items()})
            run_natively(scop, original_schedule(scop), sizes, runs[-1], parse_mapping(mapping))
    expected, actual = runs
    assert any(not np.array_equal(expected[name], arrays[name]) for name in expected)
    for name, values in expected.items():
        assert np.array_equal(values, actual[name]), name


def test_what_the_same_nest_writes_is_not_packed() -> None:
    """With all of it in one nest over time, no copy would be up to date."""
    text = SCALED.replace("#pragma scop", "#pragma scop\n  for (int t = 0; t < m; t++) {")
    assert packed(lowered(text.replace("#pragma endscop", "  }\n#pragma endscop"))) == []


@pytest.mark.parametrize(
    ("read", "sizes", "expected"),
    [
        ("A[i][k] * A[j][k]", {"n": 192, "m": 80}, [("A", ("m", "n + 8"))]),
        ("A[i][k] * A[j][k]", {"n": 200, "m": 80}, [("A", ("m", "n"))]),
        # nothing to turn, but rows that fall into the same sets of a cache
        ("A[i][k] * B[k][j]", {"n": 128, "m": 80}, [("B", ("m", "n + 8"))]),
        ("A[i][k] * B[k][j]", {"n": 100, "m": 80}, []),
        # few rows do not crowd anything
        ("A[i][k] * B[k][j]", {"n": 128, "m": 50}, []),
    ],
)
def test_rows_of_copies_do_not_crowd_a_cache(
    read: str, sizes: dict[str, int], expected: list[tuple[str, tuple[str, ...]]]
) -> None:
    text = PRODUCT.format(types="double A[n][m], double B[m][n]", read=read)
    mapping = "tile=64x128x256"  # more tiles of rows than have copies of their own
    program = lowered(text, mapping, **sizes)
    assert packed(program) == expected
    for array, extents in zip(program.scop.arrays, program.extents, strict=True):
        if array.storage_class is StorageClass.SCRATCH:
            at = dict(sizes)
            assert [value(extent, at) for extent in extents] == [
                evaluate_extent(extent, at) for extent in array.extents
            ]
    scop = parse_text(text)
    arrays = random_arrays(scop, sizes, np.random.default_rng(3))
    result = {name: values.copy() for name, values in arrays.items()}
    run_natively(scop, original_schedule(scop), sizes, arrays)
    run_natively(
        scop, original_schedule(scop), sizes, result, parse_mapping(mapping), is_known=True
    )
    assert result["C"].tobytes() == arrays["C"].tobytes()
