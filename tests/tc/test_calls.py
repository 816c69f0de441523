"""Calling a comprehension: arguments, results, memory, threads."""

import copy
import pickle
import threading

import numpy as np
import pytest

import polygym
from polygym.errors import InputError, SourceError
from polygym.tc import arguments

MM = "def mm(float(M,K) A, float(K,N) B) -> (C) { C(m,n) +=! A(m,k) * B(k,n) }"
A = np.arange(12, dtype=np.float32).reshape(3, 4)
B = np.arange(8, dtype=np.float32).reshape(4, 2)


@pytest.fixture(scope="module")
def mm():
    return polygym.tc.define(MM)


def test_results_are_the_caller_s(mm):
    first = mm(A, B)
    assert (first == A @ B).all()
    assert first.flags.owndata
    second = mm(A, B)
    second[...] = 0
    assert (first == A @ B).all()


def test_compiled_once_for_each_size(mm):
    kernel = mm.compile(A, B)
    assert mm.compile(A + 1, B) is kernel
    assert mm.compile(A[:2], B) is not kernel
    assert (mm(A[:2], B) == A[:2] @ B).all()


def test_arrays_that_are_not_contiguous(mm):
    wide = np.arange(48, dtype=np.float32).reshape(6, 8)
    part = wide[::2, ::2]
    assert (mm(part, B) == part @ B).all()
    assert (mm(A, B.T.copy().T) == A @ B).all()
    assert (mm(A[::-1], B[:, ::-1]) == A[::-1] @ B[:, ::-1]).all()


def test_numbers_and_lists_take_the_declared_type():
    scale = polygym.tc.define("def f(float s, float(N) A) -> (B) { B(i) = s * A(i) }")
    assert scale(2, [1.0, 2.0]).tolist() == [2.0, 4.0]
    assert scale(0.5, np.ones(3, np.float32)).tolist() == [0.5] * 3


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ((A,), r"mm: expected 2 arguments \(A, B\), found 1"),
        ((A, B, B), "expected 2 arguments"),
        ((A.astype(np.float64), B), "A: expected elements of type float32, found float64"),
        ((A[0], B), r"A: expected 2 dimension\(s\), found 1"),
        ((A, B[:3]), "dimension 0 of B: expected 4, which is K of dimension 1 of A, found 3"),
        (("text", B), "A: expected elements of type float32"),
        (([["x"]], B), "A: could not convert"),
        (([[1.0], [2.0, 3.0]], B), "A: "),
        ((None, B), "A: expected elements of type float32, found object"),
    ],
)
def test_arguments_that_do_not_fit(mm, arguments, said):
    with pytest.raises(InputError, match=said):
        mm(*arguments)


def test_sizes_for_which_a_range_is_empty():
    conv = polygym.tc.define("def f(float(M) I, float(N) K) -> (O) { O(i) +=! K(x) * I(i + x) }")
    array1_d = np.ones(3, np.float32)
    assert conv(array1_d, array1_d).tolist() == [3.0]
    with pytest.raises(InputError, match=r"M = 3, N = 4: it needs M >= N|N <= M"):
        conv(array1_d, np.ones(4, np.float32))


def test_memory_for_the_result(mm):
    out = np.full((3, 2), 7, np.float32)
    assert mm(A, B, out=out) is out
    assert (out == A @ B).all()
    for wrong in (np.empty((2, 3), np.float32), np.empty((3, 2))):
        with pytest.raises(InputError, match="out: "):
            mm(A, B, out=wrong)
    with pytest.raises(InputError, match=r"out: expected 1 array\(s\), found 2"):
        mm(A, B, out=[out, out])


def test_memory_for_a_result_that_a_literal_makes_double():
    fill = polygym.tc.define("def f(float(N) A) -> (B) { B(i) = 0.5 where exists A(i) }")
    with pytest.raises(InputError, match=r"found float32 .* 0\.5 alone; 0\.5f makes it float32\)$"):
        fill(A[0].copy(), out=np.empty(len(A[0]), np.float32))
    with pytest.raises(InputError, match=r"found int32 of shape \(\d+,\)$"):
        fill(A[0].copy(), out=np.empty(len(A[0]), np.int32))


def test_memory_that_is_an_argument_s():
    square = polygym.tc.define("def f(float(N,N) A) -> (B) { B(i,j) +=! A(i,k) * A(k,j) }")
    matrix = np.arange(9, dtype=np.float32).reshape(3, 3)
    expected = matrix @ matrix
    assert square(matrix, out=matrix) is matrix
    assert (matrix == expected).all()


def test_updates_leave_the_argument_unless_it_is_the_result():
    add = polygym.tc.define("def f(float(N) A, float(N) B) -> (A) { A(i) += B(i) }")
    a, b = np.ones(3, np.float32), np.full(3, 2, np.float32)
    assert add(a, b).tolist() == [3.0] * 3
    assert a.tolist() == [1.0] * 3
    assert add(a, b, out=a) is a
    assert a.tolist() == [3.0] * 3


def test_several_outputs_and_temporaries():
    both = polygym.tc.define(
        "def f(float(N) A) -> (B, s) { T(i) = 2 * A(i) B(i) = T(i) + 1 s +=! T(i) }"
    )
    array, total = both(np.ones(4, np.float32))
    assert array.tolist() == [3.0] * 4
    assert (total.shape, float(total)) == ((), 8.0)


def test_elements_that_nothing_assigns_are_zero():
    shifted = polygym.tc.define("def f(float(N) A) -> (B) { B(i) = A(i - 2) }")
    for _ in range(3):
        assert shifted(np.ones(2, np.float32)).tolist() == [0, 0, 1, 1]
        out = np.full(4, 9, np.float32)
        assert shifted(np.ones(2, np.float32), out=out).tolist() == [0, 0, 1, 1]


@pytest.mark.parametrize("size", ["N", "6"])
@pytest.mark.parametrize(
    ("body", "expected"),
    [
        ("(C) { C(i) = A(i) where i in 1:N  C(i) += A(i) }", [1, 4, 6, 8, 10, 12]),
        ("(C) { C(i) = A(i) where i in 1:N  C(i) min= A(i) }", [0, 2, 3, 4, 5, 6]),
        ("(C) { C(i) = -A(i) where i in 1:N  C(i) max= -A(i) }", [0, -2, -3, -4, -5, -6]),
        ("(D) { T(i) = A(i) where i in 1:N  T(i) += A(i)  D(i) = T(i) }", [1, 4, 6, 8, 10, 12]),
        (
            "(D) { T(i) = A(i) where i in 2:N  D(i) = T(i) where i in 0:N  T(i) *= A(i) }",
            [0, 0, 3, 4, 5, 6],
        ),
        (
            "(float(N) C) { C(i) +=! A(i) where i in 0:2  C(i) += A(i) where i in 0:N }",
            [2, 4, 3, 4, 5, 6],
        ),
    ],
)
@pytest.mark.parametrize("threads", [1, 2])
def test_elements_that_are_read_before_they_are_assigned_are_zero(size, body, expected, threads):
    text = f"def f(float(N) A) -> {body}".replace("N", size)
    f = polygym.tc.define(text, threads=threads)
    line = np.arange(1, 7, dtype=np.float32)
    for value in (np.nan, 1e30, -1e30):
        assert f(line).tolist() == expected
        assert f(line, out=np.full(6, value, np.float32)).tolist() == expected


def test_addresses_are_those_that_numpy_says():
    line = np.arange(24, dtype=np.int16)
    arrays = [line, line[5:], line[::-1], line.reshape(4, 6)[1:, 2], np.array(1.0), A.T, B]
    assert [arguments.address_by_field(array) for array in arrays] == [
        arguments.address_by_interface(array) for array in arrays
    ]
    assert arguments.address_of is arguments.address_by_field


def test_scalars_that_subscripts_depend_on():
    strided = polygym.tc.define("def f(int s, float(N) A) -> (B) { B(i) = A(s * i) }")
    line = np.arange(7, dtype=np.float32)
    assert strided(2, line).tolist() == [0, 2, 4, 6]
    assert strided(3, line).tolist() == [0, 3, 6]
    with pytest.raises(SourceError, match="cannot be inferred"):
        strided(0, line)


def test_one_of_several_definitions():
    text = MM + " def twice(float(N) A) -> (B) { B(i) = 2 * A(i) }"
    assert polygym.tc.define(text, "twice").name == "twice"
    with pytest.raises(InputError, match="expected a name, one of mm, twice"):
        polygym.tc.define(text)
    with pytest.raises(InputError, match="found 'thrice'"):
        polygym.tc.define(text, "thrice")
    assert repr(polygym.tc.define(MM)) == "<comprehension mm(A, B) -> (C)>"


def test_copies_compute_the_same_and_are_tuned_apart(mm):
    mm(A, B)
    for other in (copy.copy(mm), copy.deepcopy([mm])[0], pickle.loads(pickle.dumps(mm))):
        assert (other(A, B) == A @ B).all()
        assert (other.name, other.mapping) == (mm.name, mm.mapping)
        kernel = mm.compile(A, B)
        assert other.compile(A, B, mapping="sequential") is not kernel
        assert mm.compile(A, B) is kernel


def test_options_and_gradients_are_pickled():
    operator = polygym.tc.define("tc:softmax", threads=2, schedule="isl skew=off")
    there = pickle.loads(pickle.dumps(operator))
    assert there.mapping.threads == 2
    assert there._strategy == operator._strategy
    assert [part.tensors for part in there.gradient_parts(("I",), [A])] == [("I",)]


def test_a_mask_is_not_overlooked(mm):
    with pytest.raises(InputError, match=r"mm: A: expected an array without a mask"):
        mm(np.ma.masked_greater(A, 3), B)


def test_numbers_that_do_not_fit_are_named():
    operator = polygym.tc.define("def f(int8(N) A) -> (B) { B(i) = A(i) }")
    with pytest.raises(InputError, match=r"f: A: expected numbers that int8 holds, found 200"):
        operator([1, 200, 300])


def test_threads_share_an_operator():
    operator = polygym.tc.define(MM, threads=2)
    wrong = []

    def work(seed: int) -> None:
        rng = np.random.default_rng(seed)
        for _ in range(20):
            m, k, n = rng.integers(1, 6, 3)
            a = rng.integers(-3, 4, (m, k)).astype(np.float32)
            b = rng.integers(-3, 4, (k, n)).astype(np.float32)
            with np.errstate(all="ignore"):  # OpenBLAS computes in lanes that nobody asks for
                expected = a @ b
            if not (operator(a, b) == expected).all():
                wrong.append((m, k, n))

    workers = [threading.Thread(target=work, args=(seed,)) for seed in range(4)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    assert wrong == []


def test_what_leaves_a_tensor_is_said_of_these_sizes() -> None:
    operator = polygym.tc.define(
        "def f(float(N) A, float(K) x) -> (B) { B(i) = x(i + 2) + A(i) where i in 0:N }"
    )
    five = np.ones(5, np.float32)
    with pytest.raises(InputError, match=r"leaves its tensor for these sizes") as caught:
        operator(five, five)
    assert "whatever" not in str(caught.value)
    assert operator(five, np.ones(7, np.float32)).shape == (5,)
