"""Operators that other versions of polygym have pickled: refused in a sentence, never misread."""

import pickle

import numpy as np
import pytest

import polygym.tc
from polygym.errors import InputError


def test_one_of_another_version_is_refused_before_it_is_read(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    operator = polygym.tc.define("def f(float(N) A) -> (B) { B(i) = A(i) }")
    with monkeypatch.context() as patch:
        patch.setattr("polygym.tc.comprehension.__version__", "9.9.9")
        data = pickle.dumps(operator)
        assert pickle.loads(data).name == "f"
    with pytest.raises(InputError, match=r"found one of version 9\.9\.9: define it again"):
        pickle.loads(data)


def test_one_of_this_version_computes_the_same() -> None:
    text = "def g(int32(N,N) A) -> (B) { B(i) +=! A(i,j) * A(j,i) where j in 0:N }"
    for schedule in ("original", "isl fusion=minimum"):
        operator = polygym.tc.define(text, mapping="tile=4 sink=off", schedule=schedule)
        there = pickle.loads(pickle.dumps(operator))
        assert (there.mapping, there._strategy) == (operator.mapping, operator._strategy)
        numbers = np.arange(36, dtype=np.int32).reshape(6, 6)
        assert (there(numbers) == (numbers * numbers.T).sum(1)).all()
