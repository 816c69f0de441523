"""Machine code of terms: what the interpreter computes, or an error that says why not."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from polygym.errors import InputError, OutOfRangeError
from polygym.poly.scheduling.strategy import ORIGINAL
from polygym.terms.code.arguments import to_interpreter_value
from polygym.terms.code.compiled_term import CompiledTerm, compile
from polygym.terms.code.emitter import emit_code
from polygym.terms.code.kernel_build import CodeOptions
from polygym.terms.language.derivatives import gradient
from polygym.terms.language.interpreter import evaluate
from polygym.terms.language.nodes import free_variables
from polygym.terms.language.parser import parse_program
from polygym.terms.language.program import TermProgram
from polygym.terms.language.types import BOOL, FLOAT, INTEGER, BaseType, TupleType, Type, VectorType
from polygym.terms.language.values import EvaluationFailure, is_close
from polygym.terms.library import programs
from polygym.terms.rules.random_terms import random_term, random_value

QUICK = CodeOptions(schedule=ORIGINAL)
KINDS: tuple[Type, ...] = (
    FLOAT,
    INTEGER,
    BOOL,
    VectorType(FLOAT),
    VectorType(VectorType(FLOAT)),
    TupleType((FLOAT, VectorType(FLOAT))),
    VectorType(TupleType((FLOAT, INTEGER))),
)
SIZES = {"k": 2, "l": 3, "kn": 3, "n": 8, "m": 4, "o": 2}


def agrees(program: TermProgram, values: dict[str, Any], options: CodeOptions = QUICK) -> bool:
    result = to_interpreter_value(compile(program, options=options)(**values), program.result)
    return is_close(result, evaluate(program, values), 1e-9)


def value_of(kind: Type, rng: np.random.Generator) -> Any:
    match kind:
        case VectorType(inner, size):
            count = SIZES[size] if isinstance(size, str) else size
            return [value_of(inner, rng) for _ in range(count or 3)]
        case TupleType(parts):
            return tuple(value_of(part, rng) for part in parts)
        case BaseType() if kind == BOOL:
            return bool(rng.integers(2))
        case _:
            return float(rng.random()) if kind == FLOAT else int(rng.integers(2))


@pytest.mark.parametrize("seed", range(4))
def test_random_terms_are_what_the_interpreter_computes(seed: int) -> None:
    """What has no value is refused or found out; nothing has another value."""
    done, refused = 0, 0
    for number in range(16):
        rng = np.random.default_rng([seed, number])
        kind = KINDS[int(rng.integers(len(KINDS)))]
        body = random_term(kind, (), rng, 5)
        program = TermProgram("it", tuple(free_variables(body).items()), kind, body)
        values = {name: random_value(type_, rng) for name, type_ in program.parameters}
        wanted = evaluate(program, values)
        try:
            computed = to_interpreter_value(compile(program, options=QUICK)(**values), kind)
        except (InputError, OutOfRangeError) as why:
            refused += isinstance(wanted, EvaluationFailure) or "leaves dimension" in str(why)
            continue
        assert is_close(computed, wanted, 1e-9), str(program)
        done += 1
    assert done + refused == 16
    assert done >= 12


@pytest.mark.parametrize(
    "program",
    [
        term_program
        for name in ("gemm", "linear-algebra", "convolution-train")
        for term_program in programs(name)
        if term_program.name not in ("rev$matrix_multiply", "rev$expensivepool", "rev$expensive")
    ],
    ids=lambda program: program.name,
)
def test_the_papers_programs_are_what_the_interpreter_computes(program: TermProgram) -> None:
    rng = np.random.default_rng(3)
    values = {name: value_of(kind, rng) for name, kind in program.parameters}
    assert agrees(program, values)


@pytest.mark.nightly
def test_the_gradient_of_a_convolution_is_what_the_interpreter_computes() -> None:
    (program,) = programs("convolution")
    rng = np.random.default_rng(4)
    values = {name: value_of(kind, rng) for name, kind in program.parameters}
    assert agrees(program, values)


def test_isl_orders_what_is_affine() -> None:
    (program,) = programs("gemm")
    rng = np.random.default_rng(5)
    values = {name: value_of(kind, rng) for name, kind in program.parameters}
    assert agrees(program, values, CodeOptions())


def function(text: str) -> CompiledTerm:
    return compile(text, options=QUICK)


def test_arguments_are_numbers_arrays_lists_and_tuples() -> None:
    pairs = function(
        "(def f (Vec n (Tuple Float Integer)) ((v : Vec n (Tuple Float Integer)) (p : (Tuple Float"
        " Bool Integer))) (build n (lam i (let (w (index i v)) (tuple (if (select 1 p) (add"
        " (select 0 w) (select 0 p)) 0.0) (add (select 1 w) (select 2 p)))))))"
    )
    rows = [(1.0, 2), (3.0, 4)]
    columns = (np.array([1.0, 3.0]), np.array([2, 4]))
    for value in (rows, columns):
        floats, whole = pairs(value, (0.5, True, 7))
        assert floats.tolist() == [1.5, 3.5]
        assert whole.tolist() == [9, 11]
    scaled = function("(def f (Vec _ Float) ((v : Vec _ Float) (a : Float)) (mul a v))")
    assert scaled([1, 2], a=np.float32(3)).tolist() == [3.0, 6.0]
    assert scaled(np.arange(8.0)[::2], 1).tolist() == [0.0, 2.0, 4.0, 6.0]
    assert repr(scaled) == "<compiled f(v: (Vec _ Float), a: Float) -> (Vec _ Float)>"


@pytest.mark.parametrize(
    ("values", "message"),
    [
        (((1.0, 2.0), 3), r"f: v: expected 1 dimension\(s\) of Float, found 0"),
        (([1.0],), "f: expected a value of k, found none"),
        (([1.0], 2.5), "f: k: expected an Integer, found 2.5"),
        (([1.0], True), "f: k: expected an Integer, found True"),
        (([1.0], 1, 2), "f: expected at most 2 arguments, found 3"),
        ((["a"], 1), r"f: v: expected 1 dimension\(s\) of Float, found 1 of <U1"),
        (([[1.0]], 1), r"f: v: expected 1 dimension\(s\) of Float, found 2"),
        (([], 1), "f: expected a size of 1 or more, found n = 0"),
    ],
)
def test_arguments_that_do_not_fit_are_refused(values: tuple[Any, ...], message: str) -> None:
    if isinstance(values[0], tuple):
        values = (1.0, *values[1:])
    with pytest.raises(InputError, match=message):
        function("(def f Float ((v : Vec n Float) (k : Integer)) (index k v))")(*values)


def test_sizes_have_to_agree() -> None:
    both = function("(def f (Vec n Float) ((v : Vec n Float) (w : Vec n Float)) (add v w))")
    with pytest.raises(InputError, match="f: expected n = 2, found 3"):
        both([1.0, 2.0], [1.0, 2.0, 3.0])
    with pytest.raises(InputError, match="expected v once, found twice"):
        both([1.0], v=[1.0])
    with pytest.raises(InputError, match="expected no value of z, found one"):
        both([1.0], [2.0], z=1)
    three = function("(def f (Vec 3 Float) ((v : Vec 3 Float)) v)")
    with pytest.raises(InputError, match="f: v: expected 3, found 2"):
        three([1.0, 2.0])


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (
            "(def f (Vec _ Float) ((v : Vec n Integer)) (build (index 0 v) (lam i 1.0)))",
            r"f at root: cannot be compiled: expected a size that follows from the sizes of "
            r"arguments and from counters, found one that depends on data",
        ),
        (
            "(def f (Vec n Float) ((v : Vec n Integer)) (let (w (build n (lam i (build i (lam j "
            "1.0))))) (build n (lam i (sum (index i w))))))",
            r"f at 0: cannot be compiled: expected elements of one size, found vectors whose size "
            "depends on the counter",
        ),
        (
            "(def f (Vec n Float) ((v : Vec n Integer)) (build n (lam i (sumbuild (sub i 1) (lam j "
            "1.0)))))",
            r"expected a size of 0 or more, found counter1 - 1, which may be negative",
        ),
        (
            "(def f (Vec n Float) ((v : Vec n Integer)) (sumbuild n (lam i (sumbuild i "
            "(lam j (constVec n 1.0))))))",
            "expected elements to add, found i1 of them, which may be none",
        ),
        (
            "(def f Float ((v : Vec n Integer)) (apply (if (eq (index 0 v) 1) (lam (x : Float) x)"
            " (lam (x : Float) 1.0)) 2.0))",
            "f at 0: cannot be compiled: expected a function that is known, found a choice",
        ),
        (
            "(def f (Vec _ Float) ((v : Vec n Integer)) (add (constVec 2 1.0) (constVec n 1.0)))",
            "f at root: cannot be compiled: expected vectors of one size, found 2 and 3",
        ),
        (
            "(def f (Vec _ Float) ((v : Vec n Integer)) (build (sub 2 n) (lam i 1.0)))",
            "expected a size of 0 or more, found -1",
        ),
        (
            "(def f (Vec _ Float) ((v : Vec n Integer)) (sumbuild 0 (lam i (constVec n 1.0))))",
            "expected elements to add, found none",
        ),
        (
            "(def f Integer ((v : Vec n Integer)) (index 3 v))",
            r"(?s)f: cannot be compiled: <f in C>.*v\[3\] leaves dimension 1 of v\[3\]",
        ),
        (
            "(def f Integer ((v : Vec n Integer)) (div n (sub n 3)))",
            "expected a divisor other than 0, found 0",
        ),
    ],
)
def test_what_cannot_be_compiled_is_named(text: str, message: str) -> None:
    with pytest.raises(InputError, match=message):
        function(text)([1, 2, 0])


def test_functions_of_parameters_are_refused() -> None:
    with pytest.raises(InputError, match="expected data, found"):
        function("(def f Float ((g : (-> Float Float))) (apply g 1.0))")(1.0)


def test_what_has_no_value_is_found_out_as_it_runs() -> None:
    read = function("(def f Float ((v : Vec n Float) (w : Vec m Integer)) (index (index 0 w) v))")
    assert read([1.0, 2.0], [1]) == 2.0
    for wrong in (-1, 2, 2**62):
        with pytest.raises(OutOfRangeError):
            read([1.0, 2.0], [wrong])
    divided = function("(def f Integer ((w : Vec 2 Integer)) (div (index 0 w) (index 1 w)))")
    assert divided([-7, 2]) == -3
    assert divided([-(2**63), -1]) == -(2**63)
    with pytest.raises(OutOfRangeError):
        divided([1, 0])
    delta = function(
        "(def f (Vec n Float) ((v : Vec n Float) (w : Vec 1 Integer))"
        " (deltaVec n (index 0 w) (index 0 v)))"
    )
    assert delta([5.0, 6.0], [1]).tolist() == [0.0, 5.0]
    with pytest.raises(OutOfRangeError):
        delta([5.0, 6.0], [2])


def test_special_numbers_are_ieees() -> None:
    """Of two that are equal the first; NaN wherever there is one."""
    both = function(
        "(def f (Tuple Float Float Float) ((x : Float) (y : Float))"
        " (tuple (max x y) (min x y) (div x y)))"
    )
    for one, other in ((0.0, -0.0), (np.inf, -np.inf), (np.nan, 1.0), (1.0, np.nan), (1.0, 0.0)):
        array = np.array(both(one, other))
        wanted = np.array(evaluate(both.program, {"x": one, "y": other}))
        assert np.array_equal(array, wanted, equal_nan=True)
        assert np.array_equal(np.signbit(array), np.signbit(wanted)) or np.isnan(wanted).any()


def test_integers_go_round() -> None:
    text = "(def f Integer ((w : Vec 1 Integer)) (mul 3 (add (index 0 w) 9223372036854775807)))"
    assert agrees(parse_program(text), {"w": [2**62]})


def test_names_that_c_does_not_have() -> None:
    text = "(def for Float ((if_ : Float) (d$r : Float) (d_r : Float)) (sub if_ (mul d$r d_r)))"
    assert function(text)(9.0, 2.0, 3.0) == 3.0


def test_a_term_that_is_deep_is_compiled() -> None:
    text = "x"
    for number in range(600):
        text = f"(add (mul {text} 0.5) y)" if number % 3 else f"(let (t {text}) (sub t y))"
    program = parse_program(text)
    assert agrees(program, {"x": 3.0, "y": 2.0})


def test_nothing_is_fused() -> None:
    """A vector that is only built to be read is built."""
    text = (
        "(def f (Vec n Float) ((v : Vec n Float))"
        " (build n (lam i (index i (build n (lam j (exp (index j v))))))))"
    )
    code = emit_code(parse_program(text), {"n": 5}).text
    assert code.count("for (") == 2
    assert "double vector[5];" in code
    assert compile(text).code(n=5) == code


def test_machine_code_is_kept(tmp_path: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("POLYGYM_CACHE", str(tmp_path))
    text = "(def f Float ((x : Float)) (add x 1.0))"
    assert function(text)(1.0) == 2.0
    monkeypatch.setattr("polygym.terms.code.kernel_build.scop_of", None)
    assert function(text)(2.0) == 3.0


TRIANGULAR = {
    "cumsum": "(build n (lam i (sumbuild (add i 1) (lam j (index j v)))))",
    "cumsum of vectors": """(let (w (build n (lam i (sumbuild (add i 2) (lam j (constVec n
        (to_float j))))))) (build n (lam i (mul (index i v) (index i (index i w))))))""",
    "sum before": "(build n (lam i (sumbuild i (lam j (mul (index j v) (index i v))))))",
    "rows behind": "(build n (lam i (sum (build (sub n i) (lam j (index (add i j) v))))))",
    "vectors before": """(sumbuild n (lam i (if (gt i 0)
        (sumbuild i (lam j (deltaVec n j (index i v)))) (constVec n 0.0))))""",
    "other arm": """(sumbuild n (lam i (if (gt 1 i) (constVec n 0.0)
        (sumbuild i (lam j (deltaVec n j (index i v)))))))""",
    "pairs": """(let (w (sumbuild n (lam i (tuple (index i v)
        (deltaVec n i (index (sub (sub n 1) i) v)))))) (mul (select 0 w) (select 1 w)))""",
}


@pytest.mark.parametrize("body", TRIANGULAR.values(), ids=TRIANGULAR)
def test_loops_whose_extent_is_a_counter_compute_what_the_interpreter_does(body: str) -> None:
    program = parse_program(f"(def f (Vec n Float) ((v : Vec n Float)) {body})")
    for size in (1, 2, 7):
        v = np.random.default_rng(size).uniform(-1, 1, size)
        assert is_close(
            to_interpreter_value(compile(program)(v), program.result), evaluate(program, {"v": v})
        )


def test_a_scan_adds_one_value_to_each_element_in_the_order_of_the_sums() -> None:
    program = parse_program(
        "(def f (Vec n Float) ((v : Vec n Float)) "
        "(build n (lam i (sumbuild (add i 1) (lam j (index j v))))))"
    )
    v = np.random.default_rng(0).uniform(-1e9, 1e-9, 50)
    assert compile(program)(v).tolist() == evaluate(program, {"v": v})
    assert compile(program).code(n=50).count("for (") == 2


def test_a_gradients_sums_of_vectors_are_added_where_they_stand() -> None:
    program = gradient(
        parse_program("(def f Float ((v : Vec n Float)) (sumbuild n (lam i (exp (index i v)))))")
    )
    text = compile(program).code(n=5)
    assert text.count("for (") == 2
    assert "vector" not in text


def test_a_call_with_known_shapes_still_looks_at_its_arguments() -> None:
    scaled = function(
        "(def f (Vec n Float) ((a : Float) (v : Vec n Float)) "
        "(build n (lam i (mul a (index i v)))))"
    )
    v = np.array([1.0, 2.0, 3.0, 4.0])
    for _ in range(2):
        assert scaled(2.0, v).tolist() == [2.0, 4.0, 6.0, 8.0]
        assert scaled(2.0, v[::2]).tolist() == [2.0, 6.0]
        assert scaled(2, v.astype(np.int64)).tolist() == [2.0, 4.0, 6.0, 8.0]
        assert scaled(np.array(3.0), v[:2]).tolist() == [3.0, 6.0]
        assert scaled(2.0, v=[1.0]).tolist() == [2.0]
    with pytest.raises(InputError, match="expected 1 dimension"):
        scaled(2.0, np.ones((2, 2)))
    with pytest.raises(InputError, match="expected 0 dimension"):
        scaled(v, v)
