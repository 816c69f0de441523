"""Gathers: subscripts that are computed, in whatever order, and out of range."""

import itertools
import json
import os
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from polygym.cli import dispatch
from polygym.codegen.c import print_c
from polygym.codegen.pipeline import lower as loops_of
from polygym.errors import InputError, LimitError, OutOfRangeError
from polygym.frontend.tc import lower_definition, parse_definitions
from polygym.ir.gathers import computed_subscripts
from polygym.ir.scop import Scop
from polygym.mapping.mapping import Mapping as MachineMapping
from polygym.poly.dependences import dependences
from polygym.poly.evaluation import evaluate_extent
from polygym.poly.index_ranges import valid_index_ranges
from polygym.poly.innermost import AccessStride, InnermostLoop, access_stride, displacement
from polygym.poly.legality import LegalSchedule
from polygym.poly.scheduling.baselines import isl_schedule, original_schedule
from polygym.programs.dtypes import DTYPES
from polygym.runtime.evaluation.c_compilers import compiler_path
from polygym.tc.comprehension import define
from polygym.tc.kernel import compile_kernel
from tests.codegen.mapped_programs import random_mapping
from tests.oracles.compiled_runs import run_natively
from tests.oracles.interpreter import interpret as run_scop
from tests.oracles.random_schedules import random_legal_schedule
from tests.oracles.threads import every_loop_shared
from tests.tc.oracle.interpreter import interpret
from tests.tc.programs import TEXTS, arguments, definition_of, sizes_for

GATHERS = [name for name in TEXTS if name.startswith(("gather", "tables"))]
ROWS = "def f(float(M,N) X, int(K) I) -> (Z) { Z(i,j) = X(I(i) + 1, j) }"
X = np.arange(12, dtype=np.float32).reshape(4, 3)


def rows(*numbers: int) -> np.ndarray:
    return np.array(numbers, np.int32)


def with_all(
    scop: Scop, sizes: Mapping[str, int], given_arrays: Mapping[str, np.ndarray]
) -> dict[str, np.ndarray]:
    """Return all arrays of a program: copies of those that are given, others with zeros."""
    arrays = {key: value.copy() for key, value in given_arrays.items()}
    for array in scop.arrays:
        shape = tuple(evaluate_extent(extent, sizes) for extent in array.extents)
        arrays.setdefault(array.name, np.zeros(shape, DTYPES[array.type]))
    return arrays


@pytest.mark.parametrize("name", GATHERS)
def test_random_mappings_of_random_schedules(name: str) -> None:
    """The same bits as the meaning, in any order, in vectors, by several threads."""
    definition = definition_of(name)
    scop = lower_definition(definition)
    outputs = [tc_output.name for tc_output in definition.outputs]
    named = [parameter.name for parameter in definition.parameters]
    refused = 0
    for seed in range(8):
        rng = np.random.default_rng([seed, len(name)])
        sizes = sizes_for(name, definition)
        given_arrays = arguments(definition, sizes, {}, seed)
        expected = interpret(definition, given_arrays, {})
        rows_count = int(rng.integers(0, 4))
        schedule = random_legal_schedule(scop, rng, rows=rows_count) if seed else isl_schedule(scop)
        mapping = random_mapping(rng)
        own = {parameter.name: sizes[parameter.name] for parameter in scop.parameters}
        try:
            with every_loop_shared():
                if seed % 2:
                    kernel = compile_kernel(scop, own, mapping, named, outputs, schedule)
                    arrays = dict(zip(outputs, kernel(list(given_arrays.values())), strict=True))
                else:
                    arrays = with_all(scop, own, given_arrays)
                    run_natively(scop, schedule, own, arrays, mapping)
        except LimitError:
            refused += 1
            continue
        for output in outputs:
            said = f"{schedule} under {mapping}"
            np.testing.assert_array_equal(arrays[output], expected[output], err_msg=said)
    assert refused < 4


@pytest.mark.parametrize("name", GATHERS)
def test_the_program_means_the_same(name: str) -> None:
    """The Scop alone, interpreted, against the comprehension, interpreted."""
    definition = definition_of(name)
    scop, sizes = lower_definition(definition), sizes_for(name, definition)
    given_arrays = arguments(definition, sizes, {}, 5)
    expected = interpret(definition, given_arrays, {})
    arrays = with_all(scop, sizes, given_arrays)
    run_scop(scop, sizes, arrays)
    for output in expected:
        np.testing.assert_array_equal(arrays[output], expected[output])


@pytest.mark.rotates
@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize(
    "mapping",
    [
        MachineMapping(vector_bits=bits, unroll_jam=jam)
        for bits, jam in ((None, 1), (256, 1), (0, 1), (512, 2))
    ],
    ids=str,
)
@pytest.mark.parametrize("wrong", [-2, 3, 2**31 - 1, -(2**31)])
def test_out_of_range(threads: int, mapping: MachineMapping, wrong: int) -> None:
    """An error that names the access, however the code is made; and the next call works."""
    f = define(ROWS, mapping=mapping, threads=threads)
    with every_loop_shared():
        for place in (0, 7, 20):
            numbers = rows(*range(-1, 3)).repeat(6)[:21].copy()
            assert (f(X, numbers) == X[numbers + 1]).all()
            numbers[place] = wrong
            with pytest.raises(OutOfRangeError, match=r"X\(I\(i\) \+ 1, j\) leaves X: .* size 4"):
                f(X, numbers)


def test_it_is_an_index_error_and_an_input_error() -> None:
    with pytest.raises(IndexError):
        define(ROWS)(X, rows(9))
    with pytest.raises(InputError, match="expected a subscript from 0 to 3 in dimension 0"):
        define(ROWS)(X, rows(9))


def test_lanes_of_their_own() -> None:
    """Vectors in which each lane has a subscript of its own, with masked lanes at the end."""
    f = define("def f(double(M) X, int64(N) I) -> (Z) { Z(i) = 2 * X(I(i)) }")
    x = np.arange(10.0)
    for count in range(1, 40):
        numbers = np.arange(count, dtype=np.int64) * 7 % 10
        assert (f(x, numbers) == 2 * x[numbers]).all()
        for wrong in (-1, 10, 2**62, -(2**63)):
            numbers[count // 2] = wrong
            with pytest.raises(OutOfRangeError):
                f(x, numbers)


def test_the_first_in_the_text_is_named() -> None:
    f = define("def f(float(M) X, int(N) I, int(N) J) -> (Z) { Z(i) = X(I(J(i))) + X(J(i)) }")
    x = np.zeros(3, np.float32)
    assert [site.text for site in computed_subscripts(f.scop())] == [
        "X(I(J(i)))",
        "I(J(i))",
        "X(J(i))",
    ]
    for numbers, others, said in [
        (rows(7, 0), rows(0, 1), r"X\(I\(J\(i\)\)\) leaves X"),
        (rows(0, 0), rows(0, 2), r"I\(J\(i\)\) leaves I"),
        (rows(0, 0, 0, 0), rows(0, 0, 0, 3), r"X\(J\(i\)\) leaves X"),
    ]:
        with pytest.raises(OutOfRangeError, match=said):
            f(x, numbers, others)


def test_what_is_not_evaluated_is_not_out_of_range() -> None:
    f = define("def f(float(M) X, int(N) I) -> (Z) { Z(i) = I(i) < 0 || I(i) >= M ? -1 : X(I(i)) }")
    assert f(X[:, 0], rows(0, -5, 3, 4)).tolist() == [0, -1, 9, -1]


def test_in_place_where_it_is_harmless() -> None:
    comprehension = define("def f(float(1) a, int(1) I) -> (a) { a(i) = 2 * a(I(i)) }")
    assert comprehension(np.ones(1, np.float32), rows(0)).tolist() == [2]


def test_a_second_process_knows_the_message(tmp_path: Path) -> None:
    text = f"""
import numpy, polygym.tc
f = polygym.tc.define({ROWS!r})
try:
    f(numpy.zeros((4, 3), numpy.float32), numpy.full(2, 3, numpy.int32))
except polygym.errors.OutOfRangeError as error:
    print(error)
"""
    environment = {**os.environ, "POLYGYM_CACHE": str(tmp_path)}
    said = [
        subprocess.run(
            [sys.executable, "-c", text], env=environment, capture_output=True, text=True
        ).stdout
        for _ in range(2)
    ]
    assert "X(I(i) + 1, j) leaves X" in said[0]
    assert said[0] == said[1]


def test_measured_programs_say_so(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "bad.tc"
    file.write_text("def f(float(M) X, int(M) I) -> (Z) { J(i) = I(i) * I(i) Z(i) = X(J(i)) }")
    assert dispatch.run(["run", str(file), "-p", "M=9", "--json"]) == 1
    data = json.loads(capsys.readouterr().out)
    assert data["status"] == "out of range"
    assert "X(J(i)) leaves X" in json.dumps(data)
    assert dispatch.run(["optimize", str(file), "-p", "M=9", "--json"]) == 1
    assert "X(J(i)) leaves X" in json.loads(capsys.readouterr().out)["error"]


@pytest.mark.skipif(compiler_path("gcc") is None, reason="no gcc")
@pytest.mark.parametrize(("second", "code"), [(2, 0), (3, 1), (-2, 1)])
def test_printed_c(tmp_path: Path, second: int, code: int) -> None:
    scop = lower_definition(parse_definitions(ROWS)[0])
    program = tmp_path / "program.c"
    program.write_text(
        print_c(loops_of(LegalSchedule(scop, original_schedule(scop))))
        + f"""
int main(void)
{{
  float x[4][3] = {{{{0, 1, 2}}, {{3, 4, 5}}, {{6, 7, 8}}, {{9, 10, 11}}}}, z[2][3];
  int rows[2] = {{-1, {second}}};
  f(4, 3, 2, x, rows, z);
  for (int j = 0; j < 3; j++)
    printf("%g %g ", z[0][j], z[1][j]);
  return 0;
}}
"""
    )
    gcc = compiler_path("gcc")
    assert gcc is not None
    flags = ["-Wall", "-Werror", "-Wno-unused", "-o", str(tmp_path / "program")]
    subprocess.run([gcc, str(program), *flags], check=True)
    done = subprocess.run([tmp_path / "program"], capture_output=True, text=True)
    assert done.returncode == code
    if code:
        assert done.stderr == (
            "X(I(i) + 1, j), dimension 0 of X: expected a subscript from 0 to 3, found "
            f"{second + 1}\n"
        )
    else:
        assert done.stdout == "0 9 1 10 2 11 "


@pytest.mark.skipif(compiler_path("gcc") is None, reason="no gcc")
def test_other_compilers_get_it_as_c(capsys: pytest.CaptureFixture[str]) -> None:
    assert dispatch.run(["bench", "tc:2LUT", "-d", "mini", "--against", "gcc", "--json"]) == 0
    data = json.loads(capsys.readouterr().out)
    assert [entry["status"] for entry in data["entries"]] == ["ok"] * 4


def test_dependences_hold_whatever_may_be_read() -> None:
    scop = lower_definition(definition_of("gather_temporary"))
    (flow,) = [dependence for dependence in dependences(scop) if dependence.source == "S0"]
    assert flow.arrays == ("Y",)
    assert "S0[i] -> S1[i']" in flow.relation
    assert "i' = i" not in flow.relation  # any element of Y, for each i'


def test_how_gathers_move() -> None:
    scop = lower_definition(
        parse_definitions("def f(float(E,D) T, int(B,L) I) -> (O) { O(b,d) +=! T(I(b,l), d) }")[0]
    )
    statement = scop.statements[1]
    assert statement.iterators == ("b", "d", "l")
    gather = statement.reads[1]
    along = {
        name: InnermostLoop(tuple(int(name == other) for other in statement.iterators), 1)
        for name in statement.iterators
    }
    assert displacement(statement, gather, along["d"]) == (0, 1)
    assert displacement(statement, gather, along["l"]) is None
    strides = {name: access_stride(statement, gather, loop) for name, loop in along.items()}
    assert strides == {"b": AccessStride.FAR, "d": AccessStride.UNIT, "l": AccessStride.FAR}


SUBSCRIPT = st.lists(
    st.sampled_from(
        ["I(i)", "J(i)", "J(k)", "-I(i)", "2 * I(k)", "-3 * J(i)", "i", "-k", "N", "4"]
    ),
    min_size=1,
    max_size=4,
).map(" + ".join)


@settings(max_examples=120, deadline=None, suppress_health_check=list(HealthCheck))
@given(SUBSCRIPT, st.integers(1, 9), st.integers(1, 4))
def test_valid_indices_are_valid(text: str, size: int, count: int) -> None:
    """All values in the ranges keep the subscript inside, whatever the indices."""
    if "(" not in text:
        return
    program = "def f(float(M) X, int(N) I, int(N) J) -> (Z) {{ Z(i) +=! X({}) + I(i) * J(k) }}"
    scop = lower_definition(parse_definitions(program.format(text))[0])
    sizes = {"M": size, "N": count}
    ranges = valid_index_ranges(scop)
    ends = {
        name: [evaluate_extent(end.to_str(), sizes) for end in (values.lowest, values.highest)]
        for name, values in ranges.items()
    }
    if any(low > high for low, high in ends.values()):
        return
    for values in itertools.product(*(ends[name] for name in ends), *(ends[name] for name in ends)):
        # Two elements of each tensor, since those at i and at k may differ.
        half = len(ends)
        for i, k in itertools.product(range(count), repeat=2):
            at = {"i": i, "k": k, "N": count}
            for place, name in enumerate(ends):
                at[f"{name}(i)"] = values[place]
                at[f"{name}(k)"] = values[place] if i == k else values[half + place]
            total = eval_sum(text, at)
            assert 0 <= total < size, (text, sizes, ends, at)


def eval_sum(text: str, at: dict[str, int]) -> int:
    for name in sorted(at, key=len, reverse=True):
        text = text.replace(name, f"({at[name]})")
    return int(eval(text))


def test_valid_indices_through_what_is_computed() -> None:
    text = """def f(float(M) X, int(N) I) -> (Z) {
      J(i, k) = 2 * I(i) + k where k in 0:3
      H(i) = J(i, 1) - i
      Z(i) = X(H(i) + 1)
    }"""
    values = valid_index_ranges(lower_definition(parse_definitions(text)[0]))["I"]
    ends = [
        evaluate_extent(end.to_str(), {"M": 20, "N": 4}) for end in (values.lowest, values.highest)
    ]
    # 2 * v + k - i + 1 with 0 <= k < 3 and 0 <= i < 4 lies in 0 .. 19.
    assert ends == [1, 8]


def test_there_are_valid_indices_where_there_is_room() -> None:
    scop = lower_definition(
        parse_definitions("def f(float(M) X, int(N) I) -> (Z) { Z(i) = X(2 * I(i) + 1) }")[0]
    )
    values = valid_index_ranges(scop)["I"]
    ends = [
        evaluate_extent(end.to_str(), {"M": 10, "N": 3}) for end in (values.lowest, values.highest)
    ]
    assert ends == [0, 4]
