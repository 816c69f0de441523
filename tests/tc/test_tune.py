"""Tuning an operator: what is found is right, is used, and is kept."""

import subprocess
import sys
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from polygym.errors import IllegalScheduleError, InputError
from polygym.mapping.mapping import DEFAULT_MAPPING, parse_mapping
from polygym.mdp.episode import Episode
from polygym.mdp.policies.registry import Policy
from polygym.poly.scheduling.baselines import isl_schedule, original_schedule
from polygym.poly.scheduling.strategy import Fusion, IslOptions
from polygym.runtime.evaluation import Evaluation, Evaluator
from polygym.runtime.evaluation.evaluator import MappedSchedule
from polygym.runtime.worker.outcome import OutcomeStatus, WrongOutput
from polygym.search import Candidate, SearchProgress, read_choice
from polygym.search.result import gain_over
from polygym.tc.cache import user_cache
from polygym.tc.comprehension import define

MM = "def mm(float(M,K) A, float(K,N) B) -> (C) { C(m,n) +=! A(m,k) * B(k,n) }"
A = np.arange(600, dtype=np.float32).reshape(20, 30) % 7
B = np.arange(300, dtype=np.float32).reshape(30, 10) % 5


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("POLYGYM_CACHE", str(tmp_path / "cache"))
    return tmp_path / "cache"


def first_allowed(episode: Episode, generator: np.random.Generator) -> int:
    """Choose any action that is allowed: a policy of the caller's."""
    allowed = [action for action, is_allowed in enumerate(episode.mask()) if is_allowed]
    return allowed[int(generator.integers(len(allowed)))]


@pytest.mark.parametrize("search", ["genetic", first_allowed])
def test_what_is_found_is_used_and_kept(search: str | Policy) -> None:
    operator = define(MM)
    seen: list[SearchProgress] = []
    result = operator.tune(
        A, B, generations=2, population=5, strategy=search, on_progress=seen.append
    )
    assert result.best.is_ok
    assert result.wrong == 0
    assert result.tried == len(seen) >= 6
    assert (seen[0].tried, seen[-1].tried) == (1, result.tried) == (1, seen[-1].total)
    assert result.best.speedup >= result.initial.speedup
    assert result.to_json()["gain"] == pytest.approx(result.gain)
    assert result.gain == pytest.approx(result.best.speedup / result.initial.speedup)
    apart = replace(result.initial, speedup=3 * result.initial.speedup)
    assert (
        gain_over(apart, result.initial) == 1
    )  # the original was slower when it ran beside the best
    assert (operator(A, B) == A @ B).all()
    cache = user_cache()
    assert cache is not None
    (entry,) = [cache_entry for cache_entry in cache.entries() if cache_entry.seconds is not None]
    assert (entry.mapping, entry.schedule) == (str(result.best.mapping), str(result.best.schedule))
    other = define(MM)
    assert (other(A, B) == A @ B).all()
    assert other.compile(A, B).object_code == operator.compile(A, B).object_code


def test_another_process_uses_it_too() -> None:
    define(MM).tune(A, B, generations=1, population=3)
    text = (
        "import numpy as np, polygym.tc, polygym.tc.comprehension as c\n"
        "c.KernelBuilder._compiled = None\n"  # nothing is compiled here
        f"A, B = np.ones({A.shape}, np.float32), np.ones({B.shape}, np.float32)\n"
        f"assert (polygym.tc.define({MM!r})(A, B) == {A.shape[1]}).all()\n"
    )
    done = subprocess.run([sys.executable, "-c", text], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize(("gain", "is_faster"), [(1.02, False), (1.05, True)])
def test_noise_is_no_reason_to_leave_the_start(
    gain: float, is_faster: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    operator = define(MM)
    usual = isl_schedule(operator.scop())
    together = Evaluator.evaluate_interleaved

    def nearly_the_same(
        self: Evaluator, choices: Sequence[MappedSchedule], rounds: int
    ) -> tuple[Evaluation, ...]:
        others = {choice: 1.0 if choice == (usual, DEFAULT_MAPPING) else gain for choice in choices}
        return tuple(
            replace(evaluation, speedup=2 * others[choice], seconds=1 / others[choice])
            for choice, evaluation in zip(choices, together(self, choices, rounds), strict=True)
        )

    monkeypatch.setattr(Evaluator, "evaluate_interleaved", nearly_the_same)
    result = operator.tune(A, B, generations=1, population=5)
    assert result.is_faster is is_faster
    assert (result.gain > 1) is is_faster
    assert ((result.best.schedule, result.best.mapping) != (usual, DEFAULT_MAPPING)) is is_faster


def test_time_is_up() -> None:
    result = define(MM).tune(A, B, generations=1000, population=10, time_limit=1.0)
    assert 1 <= result.tried < 5000
    assert result.best.is_ok


def test_ctrl_c_keeps_the_best() -> None:
    def show(progress: SearchProgress) -> None:
        if progress.tried == 4:
            raise KeyboardInterrupt

    operator = define(MM)
    result = operator.tune(A, B, generations=5, population=6, on_progress=show)
    assert result.interrupted
    assert result.tried == 4
    assert (operator(A, B) == A @ B).all()


def test_a_candidate_that_computes_something_else_never_counts(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    evaluate = Evaluator.evaluate

    def wrong(self, schedule, mapping=None, **rest):  # type: ignore[no-untyped-def]
        evaluation = evaluate(self, schedule, mapping, **rest)
        if mapping is not None and mapping.unroll_jam == 1:
            return replace(
                evaluation,
                status=OutcomeStatus.WRONG_OUTPUT,
                error_type=WrongOutput.__name__,
                speedup=0.0,
                samples=(),
            )
        return evaluation

    monkeypatch.setattr(Evaluator, "evaluate", wrong)
    result = define(MM).tune(A, B, generations=1, population=40, strategy="random")
    assert result.wrong > 0
    assert result.best.mapping.unroll_jam != 1


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (
            {"strategy": "magic"},
            "expected one of learned, uniform, .* genetic, .* found 'magic'",
        ),
        ({"strategy": "policy:magic"}, "or a policy, found 'policy:magic'"),
        ({"strategy": 3}, "or a policy, found 3"),
        ({"generations": 0}, "budget: expected a number from 1 on, found 0"),
        ({"population": 0.5}, "expected a number from 1 on, found"),
        ({"seed": -1}, "seed: expected 0 to [0-9]+, found -1"),
        ({"time_limit": float("nan")}, "time_limit: expected a number from 0 on, found nan"),
    ],
)
def test_what_makes_no_sense(arguments: dict[str, object], said: str) -> None:
    with pytest.raises(InputError, match=said):
        define(MM).tune(A, B, **arguments)  # type: ignore[arg-type]
    with pytest.raises(InputError, match="expected 2 arguments"):
        define(MM).tune(A)


def test_what_was_found_is_saved_and_used_again(tmp_path: Path) -> None:
    operator = define(MM)
    result = operator.tune(A, B, generations=1, population=4, strategy="random", seed=3)
    path = tmp_path / "mm.json"
    result.save(path)
    best = result.best
    scop = operator.scop()
    assert read_choice(path, scop) == (best.schedule, best.mapping)
    for tuned in (result, path, str(path)):
        other = define(MM)
        kernel = other.compile(A, B, tuned=tuned)
        assert kernel.object_code == operator.compile(A, B).object_code
        assert other.compile(A, B) is kernel
        assert (other(A, B) == A @ B).all()
        assert (other(A[:7], B) == A[:7] @ B).all()  # other sizes as usual


@pytest.mark.parametrize(
    ("contents", "said"),
    [
        (None, "x.json: cannot be read: No such file or directory"),
        ("nothing", "found something else: Expecting value"),
        ("[]", "expected a JSON object, found list"),
        ("{}", "with the text of its schedule, found nothing"),
        ('{"schedule": 3, "mapping": "default"}', "with the text of its schedule, found int"),
        ('{"schedule": "{ S[i] -> [i] }", "mapping": "default"}', "the statements of mm are"),
        ('{"schedule": "SCHEDULE", "mapping": "fast"}', "mapping: expected default"),
        ('{"schedule": "SCHEDULE"}', "with the text of its mapping, found nothing"),
        ("[" * 100_000, "found something else: "),
    ],
)
def test_files_that_are_none(contents: str | None, said: str, tmp_path: Path) -> None:
    operator, path = define(MM), tmp_path / "x.json"
    if contents is not None:
        path.write_text(contents.replace("SCHEDULE", str(original_schedule(operator.scop()))))
    with pytest.raises(InputError, match=said):
        operator.compile(A, B, tuned=path)


def test_what_a_file_would_hold_will_do(tmp_path: Path) -> None:
    operator = define(MM)
    choice = {"schedule": str(original_schedule(operator.scop())), "mapping": "default"}
    assert operator.compile(A, B, tuned=choice) is operator.compile(A, B)
    with pytest.raises(InputError, match="tuned: expected what a tuner has saved, with the text"):
        operator.compile(A, B, tuned={"schedule": choice["schedule"]})
    with pytest.raises(InputError, match="tuned: expected what a tuner has found, or the path"):
        operator.compile(A, B, tuned=3)  # type: ignore[arg-type]


def test_tuning_starts_from_what_was_asked_for() -> None:
    operator = define(MM, schedule="isl fusion=minimum", mapping="tile=8")
    result = operator.tune(A, B, generations=1, population=1)
    assert result.initial.schedule == isl_schedule(operator.scop(), IslOptions(Fusion.MINIMUM))
    assert result.initial.mapping == parse_mapping("tile=8")


def test_options_of_a_compilation() -> None:
    operator = define(MM, schedule="isl fusion=minimum", mapping="tile=8 threads=2")
    assert operator.mapping == parse_mapping("tile=8 threads=2")
    kernel = operator.compile(A, B)
    cache = user_cache()
    assert cache is not None
    by_minimum = str(isl_schedule(operator.scop(), IslOptions(Fusion.MINIMUM)))
    (entry,) = cache.entries()
    assert (entry.schedule, entry.mapping) == (by_minimum, "threads=2 tile=8")
    for options in (
        {"schedule": "original", "mapping": "sequential"},
        {"schedule": "isl skew=off"},
        {"schedule": str(original_schedule(operator.scop()))},
        {"schedule": original_schedule(operator.scop()), "mapping": "unroll_jam=2"},
        {"schedule": IslOptions(negative=False)},
    ):
        other = operator.compile(A, B, **options)  # type: ignore[arg-type]
        assert other is not kernel
        assert operator.compile(A, B) is other
        assert (operator(A, B) == A @ B).all()
    assert define(MM).compile(A, B).object_code  # what was asked for once is not the usual


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"schedule": "isl skew=sometimes"}, "on or off for skew"),
        ({"schedule": "fast"}, "a schedule: expected isl text"),
        ({"mapping": "tile=x"}, "sizes such as 32x64"),
        ({"mapping": 3}, "mapping: expected one such as"),
        ({"tuned": "x.json", "mapping": "default"}, "neither schedule nor mapping beside it"),
    ],
)
def test_options_that_are_none(options: dict[str, object], said: str) -> None:
    with pytest.raises(InputError, match=said):
        define(MM).compile(A, B, **options)  # type: ignore[arg-type]
    with pytest.raises(InputError, match="schedule: expected a strategy"):
        define(MM, schedule=3)  # type: ignore[arg-type]


def test_a_schedule_that_changes_the_result_is_refused() -> None:
    scan = "def f(float(N) A) -> (B) { T(i) = A(i) B(i) = T(i) }"
    operator = define(scan)
    wrong = "{ S0[i] -> [1, i]; S1[i] -> [0, i] }"
    with pytest.raises(IllegalScheduleError, match="must come first"):
        operator.compile(A[0], schedule=wrong)
    assert (operator(A[0]) == A[0]).all()


def test_what_did_well_for_similar_kernels_is_tried_first() -> None:
    result = define(MM).tune(A, B, generations=1, population=9, strategy="random")
    names = "def f(double(I,J) X, double(J,L) Y) -> (Z) { Z(a,b) +=! X(a,c) * Y(c,b) }"
    operator, seen = define(names, threads=2), list[SearchProgress]()
    arrays = (A[:10].astype(float), B.astype(float))
    operator.tune(*arrays, generations=1, population=1, on_progress=seen.append)
    assert result.best.mapping in [
        replace(progress.proposal.mapping, threads=1)
        for progress in seen
        if isinstance(progress.proposal, Candidate)
    ]
