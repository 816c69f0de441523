"""The loader, on objects that are harmless enough to be called in this process."""

import ctypes

import pytest

from polygym.compiler.codegen.llvm.loader import LoadError, load
from tests.measure.worker import objects


def test_loaded_program_runs_and_is_given_back():
    data = (ctypes.c_double * 4)(1.0, 2.0, 3.0, 4.0)
    count, nanoseconds = ctypes.c_int64(4), ctypes.c_int64(-1)
    block = (ctypes.c_void_p * 2)(ctypes.addressof(data), ctypes.addressof(count))
    program = load(objects.doubled())
    assert program.call(ctypes.addressof(block), ctypes.addressof(nanoseconds)) == 0
    assert list(data) == [2.0, 4.0, 6.0, 8.0]
    assert nanoseconds.value >= 0
    program.close()


def test_same_object_loads_again():
    for _ in range(3):
        load(objects.doubled()).close()


@pytest.mark.parametrize(
    "code", [b"", b"not an object", b"\x7fELF", objects.doubled()[:200], objects.calls_unknown()]
)
def test_bad_object_is_refused(code):
    with pytest.raises(LoadError, match="object code: "):
        load(code)


def test_object_without_the_entry_point_is_refused():
    code = objects.compile_text("define i32 @something_else() {\n  ret i32 0\n}")
    with pytest.raises(LoadError, match="polygym_run"):
        load(code)
