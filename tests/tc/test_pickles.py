"""Operators that other versions of polygym have pickled: refused in a sentence, never misread."""

import base64
import pickle
import zlib

import numpy as np
import pytest

import polygym.tc
from polygym.errors import InputError

# What version 0.1.0 made of `def f(float(N) A) -> (B) { B(i) = A(i) }`.
OF_0_1_0 = (
    "c-n1J(TdbC6t%iL;|Pl2E~~O?LB#gKg75A^2NkrKT^wIUGM(Edn5HF3Vap=u!$Jr0w(;})7n627+Y$4UaPB$h-"
    "dxVlo!@_M-sp~gSe2~Fn<7$al$J#$fB=`Y<VN55R`ZIc-"
    "x;jTr3v)o5tU({*EokrHeBH|OMVL(<y1N4r3rtTuU6q@hTPJ#Q!H=+3dE*j(a9pk3_D2gW~{`@T$s;}zJn}z<bjO"
    "7H*^LeN+GS{l;Lzln!HhPrjAYGC3khOg3Ql?&NM)wABX;{V?UUO{<%L7Xy_mLvAcd4Si<tcXfHP8(bZsw*5W>S(p"
    "TJ=C$*|-wP}Tr_U7C4gAskUP*_0${8~X?k_W?I=(h6dxKS)6&E4{}chv1-"
    "ZPDpF_K(}M!HvA$@_MoH8l%s9G~5CY|4ZHNQGGBhJ1tj`1CI(^Rg~vOPd{C~hG7zqeALqg!J<d?bk%TN(6pN$g>B"
    "m+gw}1lw!Zs=ue&3ugk4nL*yMbW?4)wRk=MWcq9^Zb*@sErUfQJa)W*=+wymwsVwRVJDpGU-"
    "s#vYcuA1y6d$2^xKBK>=uN71"
)


def test_one_of_the_first_version_is_refused_in_a_sentence() -> None:
    data = zlib.decompress(base64.b85decode(OF_0_1_0))
    assert b"polygym.tc.comprehension" in data
    with pytest.raises(InputError, match=r"found one of version 0\.1: define it again"):
        pickle.loads(data)


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
