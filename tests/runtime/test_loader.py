"""The loader, on objects that are harmless enough to be called in this process."""

import numpy as np
import pytest

from polygym.foreign.calls import time_cell
from polygym.runtime.loader import LoadError, load_object
from tests.runtime.worker import objects


def test_loaded_program_runs_and_is_given_back():
    data, count, time = np.arange(4.0), np.array(4), time_cell()
    program = load_object(objects.doubled())
    assert program.call([data.ctypes.data, count.ctypes.data], time) == 0
    assert list(data) == [0.0, 2.0, 4.0, 6.0]
    assert time[0] >= 0
    program.close()


def test_same_object_loads_again():
    for _ in range(3):
        load_object(objects.doubled()).close()


@pytest.mark.parametrize(
    "code", [b"", b"not an object", b"\x7fELF", objects.doubled()[:200], objects.calls_unknown()]
)
def test_bad_object_is_refused(code):
    with pytest.raises(LoadError, match="object code: "):
        load_object(code)


def test_object_without_the_entry_point_is_refused():
    code = objects.compile_text("define i32 @something_else() {\n  ret i32 0\n}")
    with pytest.raises(LoadError, match="polygym_run"):
        load_object(code)
