"""Terms as C files: gcc's code of them, for sizes that are arguments, and the interpreter."""

from __future__ import annotations

import ctypes
import subprocess
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from polygym.errors import InputError
from polygym.frontend.c import parse_text
from polygym.programs.dtypes import DTYPES
from polygym.terms.code.arguments import bind_arguments, result_of, to_interpreter_value
from polygym.terms.code.c_file import c_file
from polygym.terms.code.c_values import C_TYPES
from polygym.terms.code.emitter import emit_code
from polygym.terms.language.derivatives import gradient
from polygym.terms.language.interpreter import evaluate
from polygym.terms.language.parser import parse_program, parse_programs
from polygym.terms.language.program import TermProgram
from polygym.terms.language.values import is_close
from tests.terms.loop_programs import loop_program

GATHER = parse_program(
    "(def g (Vec k Float) ((p : Vec k Integer) (v : Vec n Float)) "
    "(build k (lam i (mul 2.0 (index (index i p) v)))))"
)
ATTENTION = parse_program(
    """(def attention (Vec n (Vec d Float))
      ((q : Vec n (Vec d Float)) (k : Vec n (Vec d Float)) (v : Vec n (Vec d Float)))
      (let (w (build n (lam i (build n (lam j (exp
          (sumbuild d (lam l (mul (index l (index i q)) (index l (index j k)))))))))))
        (build n (lam i (let (t (sum (index i w))) (build d (lam l
          (div (sumbuild n (lam j (mul (index j (index i w)) (index l (index j v))))) t))))))))"""
)


def run_c(program: TermProgram, library: ctypes.CDLL, values: dict[str, Any]) -> Any:
    """Return what gcc's code of a program computes."""
    code = emit_code(program, {}, is_symbolic=True)
    sizes, arrays = bind_arguments(program, values)
    flat = [array for name, _ in program.parameters for array in arrays.get(name, ())]
    known = {c_name: sizes[name] for name, c_name in code.sizes}
    results = [
        np.full([_value(size, known) for size in its.extents], -1, DTYPES[C_TYPES[its.kind]])
        for its in code.results
    ]
    given: list[Any] = [ctypes.c_long(known[c_name]) for _, c_name in code.sizes]
    for array, its in zip(flat, code.inputs, strict=True):
        by_value = not its.extents
        given.append(ctypes.c_double(array.item()) if by_value else array.ctypes)
    getattr(library, code.name)(*given, *(array.ctypes for array in results))
    return to_interpreter_value(result_of(code.outline, results), program.result)


def _value(size: Any, known: dict[str, int]) -> int:
    if isinstance(size, int):
        return size
    return int(sum(factor * known[name] for name, factor in size.terms) + size.constant)


def random_value(kind: str, n: int, m: int, rng: np.random.Generator) -> Any:
    """Return a value of one of the types of these programs."""
    match kind:
        case "Float":
            return float(rng.uniform(-1, 1))
        case "(Vec n Float)":
            return rng.uniform(-1, 1, n)
        case "(Vec k Integer)":
            return rng.integers(0, n, m)
        case "(Tuple Float (Vec n Float))":
            return (0.5, rng.uniform(-1, 1, n))
        case _:
            return rng.uniform(-1, 1, (n, m))


def built(programs: list[TermProgram], folder: Path) -> ctypes.CDLL:
    """Return gcc's code of programs, with checks of what is read and written."""
    source, library = folder / "terms.c", folder / "terms.so"
    source.write_text(c_file(programs))
    flags = [
        "-O1",
        "-std=gnu11",
        "-shared",
        "-fPIC",
        "-Wall",
        "-Werror",
        "-Wno-unused-but-set-variable",
    ]
    subprocess.run(
        ["cc", *flags, "-Wno-unknown-pragmas", str(source), "-o", str(library), "-lm"], check=True
    )
    return ctypes.CDLL(str(library))


def test_gcc_computes_for_any_size_what_the_interpreter_does(tmp_path: Path) -> None:
    programs = [GATHER, ATTENTION, gradient(ATTENTION)]
    for seed in range(20, 32):
        programs += [loop_program(seed), gradient(loop_program(seed))]
    library = built(programs, tmp_path)
    rng = np.random.default_rng(0)
    for n, m in ((1, 1), (2, 3), (5, 2)):
        for program in programs:
            values = {name: random_value(str(kind), n, m, rng) for name, kind in program.parameters}
            expected = evaluate(program, values)
            assert is_close(run_c(program, library, values), expected), (program.name, n, m)


def test_the_c_front_end_reads_every_function(tmp_path: Path) -> None:
    text = c_file([GATHER, ATTENTION])
    for name, statements in (("g", 1), ("attention", 8)):
        scop = parse_text(text, file="<terms>", function=name)
        assert len(scop.statements) == statements
        assert [array.name for array in scop.arrays if array.live_out] == ["result"]


def test_a_size_may_be_a_number() -> None:
    assert "double v[8], double result[k]" in c_file([GATHER], {"n": 8})


def test_what_cannot_be_compiled_is_left_out_and_named() -> None:
    programs = parse_programs(
        "(def f (Vec _ Float) ((v : Vec n Float)) (build (mul n n) (lam i 1.0)))"
        "(def g Float ((v : Vec n Float)) (sum v))"
    )
    text = c_file(programs)
    assert "left out: f at root: cannot be compiled: expected a size that follows" in text
    assert "void g(" in text
    with pytest.raises(InputError, match="f at root: cannot be compiled"):
        c_file(programs[:1])
    with pytest.raises(InputError, match="expected a name in C that no other has, found a_b"):
        c_file(parse_programs("(def a$b Float ((x : Float)) x) (def a_b Float ((x : Float)) x)"))


def test_conditions_on_sizes_that_are_known_to_hold_are_left_out() -> None:
    text = c_file(
        [
            parse_program(
                """(def f (Vec _ Float) ((v : Vec n Float) (k : Integer))
          (build (if (gt n 0) n 5) (lam i
            (if (and (gte i 0) (lt i n)) (if (gt k 0) (index i v) 1.0) 2.0))))"""
            )
        ]
    )
    assert "double result[n]" in text
    assert "(k > 0) ? v[i1] : 1.0" in text
    assert "2.0" not in text


def test_names_of_the_c_library_are_left_to_it(tmp_path: Path) -> None:
    program = parse_program(
        "(def gamma (Vec n Float) ((free : Vec n Float) (malloc : Float) (sqrtf : Float)) "
        "(build n (lam ldiv (add (index ldiv free) (mul malloc sqrtf)))))"
    )
    file = tmp_path / "names.c"
    file.write_text(c_file([program], {}))
    made = subprocess.run(
        [
            "gcc",
            "-Werror",
            "-Wall",
            "-Wno-unknown-pragmas",
            "-c",
            str(file),
            "-o",
            str(tmp_path / "names.o"),
        ],
        capture_output=True,
        text=True,
    )
    assert made.returncode == 0, made.stderr
