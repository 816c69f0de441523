"""Mathematical functions: their digits against mpmath's, their special values, and printed C."""

from __future__ import annotations

import ctypes
import math
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from polygym.codegen.c import print_c
from polygym.codegen.common.special_functions.definitions import SPECIAL_FUNCTIONS
from polygym.codegen.pipeline import lower as loops_of
from polygym.frontend.tc import lower_definition, parse_definitions
from polygym.frontend.tc.semantics.functions import function_named
from polygym.mapping.mapping import SEQUENTIAL_MAPPING
from polygym.poly.legality import LegalSchedule
from polygym.poly.scheduling.baselines import original_schedule
from polygym.runtime.evaluation.c_compilers import compiler_path
from polygym.tc.comprehension import Comprehension, define

TYPES = {"double": np.float64, "float": np.float32}
INF, NAN, LEAST = math.inf, math.nan, 5e-324

NAMES = """
    acos acosh asin asinh atan2 atan atanh cbrt ceil copysign cos cosh cospi cyl_bessel_i0
    cyl_bessel_i1 erfc erfcinv erfcx erf erfinv exp10 exp2 exp expm1 fabs fdim fdivide floor fma
    fmax fmin fmod hypot j0 j1 lgamma log10 log1p log2 logb log nextafter norm3d norm4d normcdf
    normcdfinv pow rcbrt remainder rhypot rnorm3d rnorm4d round rsqrt sin sinh sinpi sqrt tan tanh
    tgamma trunc y0 y1
""".split()


def operator(name: str, type_name: str, arity: int = 1) -> Comprehension:
    parameters = ", ".join(f"{type_name}(N) A{k}" for k in range(arity))
    arguments = ", ".join(f"A{k}(i)" for k in range(arity))
    return define(f"def f({parameters}) -> (B) {{ B(i) = {name}({arguments}) }}")


def spread(least: float, greatest: float, count: int = 40) -> np.ndarray:
    return np.random.default_rng(7).uniform(least, greatest, count)


def magnitudes(least: float, greatest: float, count: int = 40) -> np.ndarray:
    return 10 ** spread(least, greatest, count)


def inverse(of: Callable[[Any], Any], slope: Callable[[Any], Any], start: Any, target: Any) -> Any:
    """Return the x with of(x) = target, by Newton's steps from a start; the last one shows."""
    for _ in range(60):
        step = (of(start) - target) / slope(start)
        start -= step
        if abs(step) <= abs(start) * 1e-30:
            return start
    raise AssertionError(f"no inverse at {target}")


def references() -> dict[str, tuple[Callable[[Any], Any], np.ndarray]]:
    """Return each function of one argument in 200 bits, and where it is looked at."""
    mp = pytest.importorskip("mpmath").mp
    mp.prec = 200
    root, two = mp.sqrt(2), mp.mpf(2)

    def tail(c: Any) -> Any:
        def logarithm(x: Any) -> Any:
            return mp.log(mp.erfc(x))

        def slope(x: Any) -> Any:
            return -2 / mp.sqrt(mp.pi) * mp.exp(-x * x) / mp.erfc(x)

        return inverse(logarithm, slope, mp.mpf(0), mp.log(c))

    def erfcinv(c: Any) -> Any:
        return tail(c) if c < 1 else -tail(two - c)

    return {
        "rsqrt": (lambda x: 1 / mp.sqrt(x), magnitudes(-300, 300)),
        "rcbrt": (lambda x: mp.sign(x) / mp.cbrt(abs(x)), -magnitudes(-300, 300)),
        "exp10": (lambda x: mp.power(10, x), np.r_[spread(-307, 308), spread(-1, 1)]),
        "sinpi": (mp.sinpi, np.r_[spread(-3, 3), spread(-1e6, 1e6), 1 + spread(-1e-9, 1e-9)]),
        "cospi": (mp.cospi, np.r_[spread(-3, 3), spread(-1e6, 1e6), 0.5 + spread(-1e-9, 1e-9)]),
        "normcdf": (lambda x: mp.erfc(-x / root) / 2, np.r_[spread(-37, 8), spread(-1, 1)]),
        "normcdfinv": (lambda p: -root * erfcinv(2 * p), np.r_[magnitudes(-300, -1), spread(0, 1)]),
        "erfcx": (
            lambda x: mp.exp(x * x) * mp.erfc(x),
            np.r_[spread(-26, 30), 9.9 + spread(0, 0.2)],
        ),
        "erfinv": (
            lambda y: mp.sign(y) * tail(1 - abs(y)),
            np.r_[spread(-1, 1), 1 - magnitudes(-15, -1), magnitudes(-30, -1)],
        ),
        "erfcinv": (erfcinv, np.r_[magnitudes(-323, -1), spread(0, 2), 0.49 + spread(0, 0.02)]),
        "cyl_bessel_i0": (lambda x: mp.besseli(0, x), np.r_[spread(-40, 40), spread(-700, 700, 9)]),
        "cyl_bessel_i1": (lambda x: mp.besseli(1, x), np.r_[spread(-40, 40), spread(-700, 700, 9)]),
        "j0": (lambda x: mp.besselj(0, x), spread(-2, 2)),
        "j1": (lambda x: mp.besselj(1, x), spread(-3, 3)),
        "y0": (lambda x: mp.bessely(0, x), spread(0, 0.8)),
        "y1": (lambda x: mp.bessely(1, x), spread(0, 2)),
    }


@pytest.mark.parametrize("type_name", TYPES)
def test_digits(type_name: str) -> None:
    """Within six units in the last place in double, and in float rounded from there."""
    kind = TYPES[type_name]
    for name, (reference, places) in references().items():
        with np.errstate(over="ignore", under="ignore"):
            x = places.astype(kind)
        x = x[np.isfinite(x) & (x != 0)]
        x = x[(abs(x) < 1) if name in ("erfinv", "normcdfinv") else (abs(x) > 0)]
        limit = 6 if kind is np.float64 else 1.01 if name == "rsqrt" else 0.501
        for argument, value in zip(x, operator(name, type_name)(x), strict=True):
            exact = reference(type(reference(0.25))(float(argument)))
            with np.errstate(over="ignore", under="ignore"):
                nearest = kind(float(exact))
            if np.isinf(nearest):
                assert value == nearest, (name, argument)
                continue
            units = abs(float(value) - exact) / float(np.spacing(abs(nearest)))
            assert units <= limit, (name, argument, value, float(units))


@pytest.mark.parametrize("type_name", TYPES)
def test_norms(type_name: str) -> None:
    numbers = np.random.default_rng(1).normal(size=(4, 50)).astype(TYPES[type_name])
    for arity, name in ((2, "hypot"), (3, "norm3d"), (4, "norm4d")):
        wide = numbers[:arity].astype(np.longdouble)
        norm = np.sqrt((wide * wide).sum(0))
        relative = float(3 * np.finfo(TYPES[type_name]).eps)
        for called, exact in ((name, norm), (f"r{name}", 1 / norm)):
            result = operator(called, type_name, arity)(*numbers[:arity])
            np.testing.assert_allclose(result, exact, rtol=relative, err_msg=called)


def test_norms_neither_overflow_nor_vanish() -> None:
    for scale in (1e300, 1e-300):
        array = np.array([scale])
        assert operator("norm3d", "double", 3)(array, array, array) == pytest.approx(scale * 3**0.5)
        assert operator("norm4d", "double", 4)(array, array, array, array) == pytest.approx(
            scale * 2
        )
        assert operator("rnorm4d", "double", 4)(array, array, array, array) == pytest.approx(
            0.5 / scale
        )


SINGLE: dict[str, list[tuple[float, float]]] = {
    "rsqrt": [(0, INF), (-0.0, -INF), (INF, 0), (-1, NAN), (-INF, NAN), (4, 0.5)],
    "rcbrt": [(0, INF), (-0.0, -INF), (INF, 0), (-INF, -0.0), (-8, -0.5)],
    "exp10": [
        (INF, INF),
        (-INF, 0),
        (-0.0, 1),
        (400, INF),
        (-400, 0),
        (2, 100),
        (-1, 0.1),
        (10, 1e10),
    ],
    "sinpi": [
        (0, 0),
        (-0.0, -0.0),
        (INF, NAN),
        (1, 0),
        (-1, -0.0),
        (0.5, 1),
        (1.5, -1),
        (-0.5, -1),
        (2, 0),
        (1e30, 0),
    ],
    "cospi": [(0, 1), (0.5, 0), (-0.5, 0), (1, -1), (1.5, 0), (2, 1), (-INF, NAN), (1e30, 1)],
    "normcdf": [(-INF, 0), (INF, 1), (0, 0.5), (-0.0, 0.5), (-40, 0), (10, 1)],
    "normcdfinv": [(0, -INF), (1, INF), (0.5, 0), (-1, NAN), (2, NAN)],
    "erfcx": [(INF, 0), (-INF, INF), (-26.7, INF), (-28.3, INF), (-29.9, INF), (0, 1), (-0.0, 1)],
    "erfinv": [(0, 0), (-0.0, -0.0), (1, INF), (-1, -INF), (2, NAN), (-INF, NAN)],
    "erfcinv": [(0, INF), (-0.0, INF), (2, -INF), (1, 0), (-1, NAN), (3, NAN), (INF, NAN)],
    "cyl_bessel_i0": [(0, 1), (-0.0, 1), (INF, INF), (-INF, INF), (800, INF)],
    "cyl_bessel_i1": [(0, 0), (-0.0, -0.0), (INF, INF), (-INF, -INF), (-800, -INF)],
    "logb": [(0, -INF), (-0.0, -INF), (INF, INF), (-INF, INF), (1, 0), (8, 3), (-0.3, -2)],
    "j0": [(0, 1), (INF, 0)],
    "j1": [(0, 0), (INF, 0)],
    "y0": [(0, -INF), (INF, 0), (-1, NAN)],
    "y1": [(0, -INF), (INF, 0), (-1, NAN)],
}
SEVERAL: dict[str, list[tuple[tuple[float, ...], float]]] = {
    "fdim": [((2, 1), 1), ((1, 2), 0), ((INF, INF), 0), ((1, NAN), NAN), ((1, -INF), INF)],
    "remainder": [((5, 2), 1), ((3, 2), -1), ((-4, 2), -0.0), ((1, 0), NAN), ((1, INF), 1)],
    "nextafter": [((1, 1), 1), ((-0.0, 0), 0), ((INF, INF), INF), ((1, NAN), NAN)],
    "fdivide": [((1, 0), INF), ((-1, INF), -0.0), ((0, 0), NAN), ((1, 4), 0.25)],
    "rhypot": [((INF, NAN), 0), ((3, 4), 0.2), ((0, -0.0), INF), ((NAN, 1), NAN)],
    "norm3d": [((2, 3, 6), 7), ((NAN, 1, -INF), INF), ((0, 0, -0.0), 0)],
    "rnorm3d": [((2, 3, 6), 1 / 7), ((NAN, 1, -INF), 0), ((0, 0, 0), INF)],
    "norm4d": [((1, 1, 1, 1), 2), ((1, NAN, 1, INF), INF)],
    "rnorm4d": [((1, 1, 1, 1), 0.5), ((1, NAN, 1, INF), 0)],
}


@pytest.mark.parametrize("type_name", TYPES)
def test_special_values(type_name: str) -> None:
    """Zeros have their signs, infinities are infinite, and NaN is NaN."""
    kind = TYPES[type_name]
    for name, values in SINGLE.items():
        x = np.array([*(argument for argument, _ in values), NAN], kind)
        expected = np.array([*(value for _, value in values), NAN], kind)
        same(name, operator(name, type_name)(x), expected)
    for name, cases in SEVERAL.items():
        columns = np.array([arguments for arguments, _ in cases], kind).T.copy()
        computed = operator(name, type_name, len(columns))(*columns)
        same(name, computed, np.array([value for _, value in cases], kind))


def same(name: str, computed: np.ndarray, expected: np.ndarray) -> None:
    np.testing.assert_array_equal(computed, expected, err_msg=name)
    known = ~np.isnan(expected)
    np.testing.assert_array_equal(
        np.signbit(computed)[known], np.signbit(expected)[known], err_msg=f"signs of {name}"
    )


@pytest.mark.parametrize("type_name", TYPES)
def test_subnormal_numbers(type_name: str) -> None:
    kind = TYPES[type_name]
    least = np.array([np.finfo(kind).smallest_subnormal])
    assert operator("logb", type_name)(least) == (-1074 if kind is np.float64 else -149)
    assert operator("nextafter", type_name, 2)(0 * least, least + 1) == least
    assert operator("nextafter", type_name, 2)(least, -least) == 0
    assert operator("sinpi", type_name)(least) == 3 * least
    assert operator("erfinv", type_name)(-least) == -least
    assert operator("cyl_bessel_i1", type_name)(4 * least) == 2 * least
    assert operator("fdim", type_name, 2)(3 * least, least) == 2 * least
    assert operator("remainder", type_name, 2)(3 * least, 2 * least) == -least
    assert operator("rsqrt", type_name)(least) == 1 / np.sqrt(least)
    assert operator("normcdf", type_name)(least) == 0.5


def test_in_vectors() -> None:
    """A normalisation with rsqrt has the bits of NumPy's quotient."""
    x = np.random.default_rng(3).uniform(0.1, 9, (17, 33)).astype(np.float32)
    result = define("def f(float(N,M) A) -> (B) { B(i,j) = A(i,j) * rsqrt(A(i,j) + 0.5f) }")(x)
    np.testing.assert_array_equal(result, x * (np.float32(1) / np.sqrt(x + np.float32(0.5))))


@pytest.mark.parametrize("name", NAMES)
def test_every_builtin_of_the_first_implementation_is_there(name: str) -> None:
    single, plain = function_named(f"{name}f"), function_named(name)
    assert plain is not None
    assert single is not None
    assert single.arity == plain.arity
    assert single.result_type is not None


def test_names_of_functions_may_be_indices_and_tensors() -> None:
    text = "def f(float(N,M) A) -> (y0, y1) { y0(j0) +=! A(j0, j1) y1(i) = y0(i) + j0(y0(i)) }"
    y0, y1 = define(text)(np.zeros((2, 3), np.float32))
    assert (y0.tolist(), y1.tolist()) == ([0, 0], [1, 1])
    text = "def f(float(N,M) A) -> (s) { s +=! A(j0, y1) * j0 }"
    assert define(text)(np.ones((3, 2), np.float32)) == 6


def test_integers_are_converted() -> None:
    result = define("def f(int(N) A) -> (B) { B(i) = rsqrt(A(i)) + norm3d(A(i), 0, 0) }")(
        np.array([1, 4], np.int32)
    )
    assert result.dtype == np.float64
    assert result.tolist() == [2, 4.5]


@pytest.mark.skipif(compiler_path("gcc") is None, reason="no gcc")
def test_printed_c_has_the_same_bits(tmp_path: Path) -> None:
    """With every function that the C library has not, in both types."""
    names = sorted(function.value.removeprefix("polygym_") for function in SPECIAL_FUNCTIONS)
    outputs = [f"B{k}" for k in range(2 * len(names))]
    lines = [
        f"B{2 * k}(i) = {name}(A(i)) B{2 * k + 1}(i) = {name}f(float(A(i)))"
        for k, name in enumerate(names)
    ]
    text = f"def f(double(N) A) -> ({', '.join(outputs)}) {{ {' '.join(lines)} }}"
    x = np.r_[np.linspace(-3, 3, 61), spread(-40, 40), INF, -INF, NAN, -0.0, 1e-310]
    scop = lower_definition(parse_definitions(text)[0])
    path = tmp_path / "f.c"
    path.write_text(print_c(loops_of(LegalSchedule(scop, original_schedule(scop)))))
    gcc = compiler_path("gcc")
    assert gcc is not None
    flags = ["-O2", "-ffp-contract=off", "-Wall", "-Werror", "-shared", "-fPIC"]
    subprocess.run([gcc, *flags, path, "-o", tmp_path / "f.so", "-lm"], check=True)
    results = define(text, mapping=SEQUENTIAL_MAPPING)(x)
    by_gcc = [np.empty_like(result) for result in results]
    pointers = [array.ctypes.data_as(ctypes.c_void_p) for array in (x, *by_gcc)]
    ctypes.CDLL(str(tmp_path / "f.so")).f(ctypes.c_int(len(x)), *pointers)
    for name, computed, expected in zip(outputs, results, by_gcc, strict=True):
        np.testing.assert_array_equal(computed, expected, err_msg=name)
