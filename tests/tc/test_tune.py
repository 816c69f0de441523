"""Tuning an operator: what is found is right, is used, and is kept."""

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from polygym.errors import InputError
from polygym.evaluation import Evaluator
from polygym.tc.cache import user_cache
from polygym.tc.comprehension import define
from polygym.tune import Progress

MM = "def mm(float(M,K) A, float(K,N) B) -> (C) { C(m,n) +=! A(m,k) * B(k,n) }"
A = np.arange(600, dtype=np.float32).reshape(20, 30) % 7
B = np.arange(300, dtype=np.float32).reshape(30, 10) % 5


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("POLYGYM_CACHE", str(tmp_path / "cache"))
    return tmp_path / "cache"


@pytest.mark.parametrize("search", ["genetic", "random"])
def test_what_is_found_is_used_and_kept(search: str) -> None:
    operator = define(MM)
    seen: list[Progress] = []
    found = operator.tune(A, B, generations=2, population=5, search=search, show=seen.append)
    assert found.best.is_ok
    assert found.wrong == 0
    assert found.tried == len(seen) >= 6
    assert (seen[0].generation, seen[-1].generation, seen[-1].generations) == (1, 2, 2)
    assert found.best.speedup >= found.start.speedup
    assert found.to_json()["gain"] == pytest.approx(found.gain)
    assert (operator(A, B) == A @ B).all()
    cache = user_cache()
    assert cache is not None
    (entry,) = [one for one in cache.entries() if one.seconds is not None]
    assert (entry.mapping, entry.schedule) == (str(found.best.mapping), str(found.best.schedule))
    other = define(MM)
    assert (other(A, B) == A @ B).all()
    assert other.compile(A, B).object_code == operator.compile(A, B).object_code


def test_another_process_uses_it_too() -> None:
    define(MM).tune(A, B, generations=1, population=3)
    text = (
        "import numpy as np, polygym.tc, polygym.tc.comprehension as c\n"
        "c.Comprehension._made = None\n"  # nothing is compiled here
        f"A, B = np.ones({A.shape}, np.float32), np.ones({B.shape}, np.float32)\n"
        f"assert (polygym.tc.define({MM!r})(A, B) == {A.shape[1]}).all()\n"
    )
    done = subprocess.run([sys.executable, "-c", text], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


def test_time_is_up() -> None:
    found = define(MM).tune(A, B, generations=1000, population=10, seconds=1.0)
    assert 1 <= found.tried < 5000
    assert found.best.is_ok


def test_ctrl_c_keeps_the_best() -> None:
    def show(progress: Progress) -> None:
        if progress.tried == 4:
            raise KeyboardInterrupt

    operator = define(MM)
    found = operator.tune(A, B, generations=5, population=6, show=show)
    assert found.interrupted
    assert found.tried == 4
    assert (operator(A, B) == A @ B).all()


def test_a_candidate_that_computes_something_else_never_counts(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    from dataclasses import replace

    from polygym.measure.outcome import Status

    evaluate = Evaluator.evaluate

    def wrong(self, schedule, mapping=None, **rest):  # type: ignore[no-untyped-def]
        found = evaluate(self, schedule, mapping, **rest)
        if mapping is not None and mapping.jam == 1:
            return replace(found, status=Status.WRONG_OUTPUT, speedup=0.0, samples=())
        return found

    monkeypatch.setattr(Evaluator, "evaluate", wrong)
    found = define(MM).tune(A, B, generations=1, population=40, search="random")
    assert found.wrong > 0
    assert found.best.mapping.jam != 1


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ({"search": "magic"}, "expected one of genetic, random, found 'magic'"),
        ({"generations": 0}, "at least one generation"),
        ({"population": 0}, "at least one generation"),
    ],
)
def test_what_makes_no_sense(arguments: dict[str, object], said: str) -> None:
    with pytest.raises(InputError, match=said):
        define(MM).tune(A, B, **arguments)  # type: ignore[arg-type]
    with pytest.raises(InputError, match="expected 2 arguments"):
        define(MM).tune(A)
