"""What must not end a user's process, or pass silently: zeros, forks, overlaps, lost digits."""

import os
import signal
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import polygym.tc
from polygym.errors import InputError
from polygym.tc.cache import (
    CacheEntry,
    CacheWarning,
    KernelCache,
    entries_from_text,
    text_of_entries,
)

I32 = np.int32


@pytest.mark.parametrize("text", ["A(i) / B(i)", "A(i) % B(i)"])
def test_a_division_by_zero_is_zero(text: str) -> None:
    divide = polygym.tc.define(f"def f(int(M) A, int(M) B) -> (C) {{ C(i) = {text} }}")
    first, second = np.array([7, -7, 5], I32), np.array([0, 2, 0], I32)
    expected = [0, -3, 0] if "/" in text else [0, -1, 0]
    assert divide(first, second).tolist() == expected


@pytest.mark.parametrize("text", ["A(i) / 0", "A(i) % 0", "A(i) / s"])
def test_zeros_everywhere(text: str) -> None:
    divide = polygym.tc.define(f"def f(int(M) A, int s) -> (C) {{ C(i) = {text} where i in 0:2 }}")
    result = divide(np.array([4, 5, 6], I32), 0)
    assert result.tolist() == [0, 0]


def test_a_division_that_is_defined_is_as_before() -> None:
    divide = polygym.tc.define("def f(int(M) A) -> (C) { C(i) = A(i) / 4 + A(i) % 3 }")
    assert divide(np.array([9, -9], I32)).tolist() == [2, -2]


THREADS_THEN_FORK = """
import os, sys, numpy as np, polygym.tc
from polygym.errors import InputError
double = polygym.tc.define("def f(float(M, N) A) -> (B) { B(i, j) = 2 * A(i, j) }", threads=2)
x = np.ones((400, 400), np.float32)
double(x)
child = os.fork()
if child == 0:
    try:
        double(x)
    except InputError as error:
        os._exit(7 if "forked" in str(error) else 8)
    os._exit(9)
print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
print(double(x).sum() == 2 * x.size)
"""


def test_threads_in_a_forked_child_are_refused_and_not_waited_for(tmp_path: Path) -> None:
    environment = {**os.environ, "POLYGYM_CACHE": str(tmp_path)}
    process = subprocess.run(
        [sys.executable, "-c", THREADS_THEN_FORK],
        capture_output=True, text=True, timeout=120, env=environment, check=False,
        preexec_fn=lambda: signal.alarm(100),
    )  # fmt: skip
    assert process.stdout.split() == ["7", "True"], process.stderr


def test_outputs_that_overlap_are_refused() -> None:
    two = polygym.tc.define("def t(float(M) A) -> (B, C) { B(i) = A(i) + 1\n C(i) = A(i) * 2 }")
    x, z = np.arange(5, dtype=np.float32), np.zeros(8, np.float32)
    for out in ((z[:5], z[:5]), (z[:5], z[3:])):
        with pytest.raises(InputError, match="overlap"):
            two(x, out=out)
    apart = np.zeros(10, np.float32)
    two(x, out=(apart[:5], apart[5:]))
    assert apart.tolist() == [*(x + 1), *(x * 2)]


@pytest.mark.parametrize(
    ("kind", "value"),
    [("int", 2.5), ("int8", 300), ("bool", 2), ("float", 1e300), ("int64", 2**70), ("uint8", -1)],
)
def test_numbers_that_do_not_fit_are_refused(kind: str, value: float) -> None:
    scale = polygym.tc.define(f"def f({kind} s, {kind}(M) A) -> (C) {{ C(i) = A(i) }}")
    with pytest.raises(InputError, match="f: s"):
        scale(value, [1, 0])
    with pytest.raises(InputError, match="f: A"):
        scale(1, [1, value])
    assert scale(1, [1, 0]).tolist() == [1, 0]


def test_numbers_may_be_rounded_to_the_precision() -> None:
    same = polygym.tc.define("def f(float(M) A) -> (C) { C(i) = A(i) }")
    assert same([0.1, 2]).tolist() == np.array([0.1, 2], np.float32).tolist()


def test_a_sum_that_is_too_long_is_refused() -> None:
    terms = " + ".join(["A(i)"] * 5000)
    with pytest.raises(InputError, match=r"deep|long|complicated"):
        polygym.tc.define(f"def f(float(M) A) -> (C) {{ C(i) = {terms} }}")(np.ones(3, np.float32))
    with pytest.raises(InputError, match="expected a text"):
        polygym.tc.define(None)  # type: ignore[arg-type]


def test_a_file_that_is_no_database_can_be_cleared(tmp_path: Path) -> None:
    cache = KernelCache(tmp_path / "comprehensions.sqlite")
    cache.path.write_text("junk" * 100)
    cache.path.chmod(0o600)
    entry = CacheEntry("key", "schedule", "label", "mapping", 0.5, "{}", b"code", 1.0)
    with pytest.warns(CacheWarning):
        assert not cache.put(entry)
    assert cache.clear() == 0
    assert cache.put(entry)
    assert cache.entries() == [entry]


@pytest.mark.parametrize("seconds", ["abc", -1, 0, float("nan")])
def test_times_that_are_none_are_not_imported(seconds: object) -> None:
    entry = CacheEntry("key", "schedule", "label", "mapping", seconds, "{}", b"code", 1.0)  # type: ignore[arg-type]
    with pytest.raises(InputError, match="time"):
        entries_from_text(text_of_entries([entry]), "here")


@pytest.mark.rotates
@pytest.mark.parametrize("length", [6, 7, 10, 15, 37, 39])
@pytest.mark.parametrize("rows", [8, 16])
@pytest.mark.parametrize("operator", ["max", "min"])
def test_extremes_of_several_rows_together(rows: int, length: int, operator: str) -> None:
    extreme = polygym.tc.define(f"def f(float(N, M) A) -> (O) {{ O(j) {operator}=! A(j, i) }}")
    given = np.random.default_rng(1).uniform(-2, 2, (rows, length)).astype(np.float32)
    assert (extreme(given) == getattr(given, operator)(1)).all()


@pytest.mark.rotates
@pytest.mark.parametrize("length", [1, 9, 16, 17, 33, 65])
@pytest.mark.parametrize("kind", ["int8", "int16", "uint8"])
def test_narrowed_elements_stay_inside_of_their_array(kind: str, length: int) -> None:
    narrow = polygym.tc.define(f"def f(int(N, M) A) -> (O) {{ O(i, j) = {kind}(A(i, j)) }}")
    given = np.arange(3 * length, dtype=I32).reshape(3, length)
    whole = np.full(3 * length + 64, 77, kind)
    narrow(given, out=whole[: 3 * length].reshape(3, length))
    assert (whole[: 3 * length].reshape(3, length) == given.astype(kind)).all()
    assert (whole[3 * length :] == 77).all()


def test_loops_of_one_iteration_are_no_directions() -> None:
    pointwise = polygym.tc.define(
        "def f(float(N, C, H, W) I, float(F, C, 1, 1) K) -> (O)"
        "{ O(n, f, h, w) +=! I(n, c, h + p, w + q) * K(f, c, p, q) }",
        schedule="original",
    )
    rng = np.random.default_rng(2)
    image, kernel = rng.random((2, 3, 5, 20), np.float32), rng.random((4, 3, 1, 1), np.float32)
    expected = np.einsum("nchw,fcpq->nfhw", image, kernel)
    np.testing.assert_allclose(pointwise(image, kernel), expected, rtol=1e-5)
