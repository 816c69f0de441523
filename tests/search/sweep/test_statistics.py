"""Means, curves and counts, against what can be worked out by hand."""

from dataclasses import replace
from pathlib import Path

import pytest

from polygym.runtime.evaluation.evaluation_results import Defects
from polygym.runtime.worker.outcome import OutcomeStatus
from polygym.search.sweep.reader import SweepContents, read_sweep
from polygym.search.sweep.report.figures import curve_kernels, curves, passes, sweep_figures
from polygym.search.sweep.report.page import ReportPage, page_html
from polygym.search.sweep.rows import (
    ISL,
    LIMIT,
    BackgroundLoadRow,
    BaselineTiming,
    Confirmation,
    EpisodeRow,
    ReferenceTiming,
)
from polygym.search.sweep.statistics import (
    background_load_note,
    geometric_mean,
    mean_best,
    mean_of_limit,
    mean_over,
    other_compilers,
    summaries,
)
from polygym.search.sweep.store import STORE_FILE, create_or_open, open_store
from tests.search.sweep.fakes import SETTING, fill, timing


def by_hand(folder: Path) -> SweepContents:
    """Two programs, of which one is explored by two policies."""
    with create_or_open(folder, SETTING) as store:
        store.add_kernels(("a", "b", "c"))
        store.set_error("c", "does not open")
        measured = store.add_measured(EpisodeRow("a", "p", 0, None), "a0", timing(0.5))
        store.add_measured(EpisodeRow("a", "p", 1, None), "a1", timing(8.0))
        store.add_measured(
            EpisodeRow("a", "p", 2, None), "a2", timing(0, OutcomeStatus.WRONG_OUTPUT)
        )
        store.add_episode(EpisodeRow("a", "p", 3, measured))
        store.add_measured(EpisodeRow("b", "p", 0, None), "b0", timing(0, OutcomeStatus.TIMEOUT))
        number = store.add_measured(EpisodeRow("b", "p", 1, None), "b1", timing(2.0))
        store.add_episode(EpisodeRow("b", "p", 2, None, "no schedule"))
        for name, speedup in (("a", 2.0), ("b", 0.5)):
            store.set_reference(ReferenceTiming(name, "mini", ISL, timing(speedup)))
        store.set_confirmations(
            [Confirmation(number, "b", "small", timing(3.0))],
            [ReferenceTiming("b", "small", ISL, timing(1.5))],
        )
        for moment, seconds in enumerate((1.0, 1.5, 1.2)):
            store.add_baseline(BaselineTiming("a", "mini", moment, (seconds, 2.0)))
    return read_sweep(folder)


def test_crashes_are_counted(tmp_path: Path) -> None:
    with create_or_open(tmp_path, SETTING) as store:
        store.add_kernels(("a", "b"))
        store.add_measured(EpisodeRow("a", "p", 0, None), "a0", timing(0, OutcomeStatus.CRASH))
        store.add_measured(EpisodeRow("a", "p", 1, None), "a1", timing(2.0))
    a, b = summaries(read_sweep(tmp_path))
    assert (a.defects, b.defects) == (Defects(wrong=0, crashed=1), Defects())
    assert a.to_json()["crashed"] == 1


def test_what_is_known_of_each_program(tmp_path: Path) -> None:
    a, b, c = summaries(by_hand(tmp_path))
    assert (a.best, a.best_schedule, a.is_confirmed, a.dataset) == (8.0, "a1", False, "mini")
    assert (a.explored, a.distinct, a.ok, a.defects.wrong) == (4, 3, 2, 1)
    assert a.speedup_over_isl == 4.0
    assert a.drift == pytest.approx(1.5)
    assert (b.best, b.best_schedule, b.is_confirmed, b.dataset) == (3.0, "b1", True, "small")
    assert (b.references, b.search_references) == ({ISL: 1.5}, {ISL: 0.5})
    assert (b.statuses, b.unscheduled, b.speedups) == ({"timeout": 1, "ok": 1}, 1, (2.0,))
    assert (c.best, c.error, c.explored, c.speedup_over_isl, c.drift) == (
        None, "does not open", 0, None, None,
    )  # fmt: skip
    assert mean_best((a, b, c)) == pytest.approx((8 * 3) ** 0.5)
    assert mean_over((a, b, c), ISL) == pytest.approx((4 * 2) ** 0.5)
    assert mean_over((c,), ISL) is None


def test_the_mean_of_the_best_so_far(tmp_path: Path) -> None:
    contents = by_hand(tmp_path)
    assert curve_kernels(contents) == ("a", "b")
    # After one: 0.5, and 0.1 (cut off) for b; after two: 8 and 2, which is where it stays.
    (curve,) = curves(contents).values()
    assert [number for number, _ in curve] == [1, 2, 4]
    assert [mean for _, mean in curve] == pytest.approx([0.05**0.5, 4.0, 4.0])
    assert passes(curve, 1.0) == 2
    assert passes(curve, 5.0) is None


def test_a_policy_that_has_not_seen_a_program_is_not_compared_there(tmp_path: Path) -> None:
    by_hand(tmp_path)
    with create_or_open(tmp_path, SETTING) as store:
        store.add_measured(EpisodeRow("b", "q", 0, None), "b9", timing(4.0))
    contents = read_sweep(tmp_path)
    assert curve_kernels(contents) == ("b",)
    assert curves(contents)["q"] == ((1, pytest.approx(4.0)),)


def test_means_of_nothing() -> None:
    assert geometric_mean([]) is None


def test_a_sweep_that_has_just_begun(tmp_path: Path) -> None:
    create_or_open(tmp_path, SETTING).close()
    contents = read_sweep(tmp_path)
    assert summaries(contents) == ()
    assert curves(contents) == {}


def test_the_seed_of_isls_is_among_the_best_even_if_others_were_confirmed(tmp_path: Path) -> None:
    setting = replace(SETTING, initial_schedules=("original", "isl"))
    with create_or_open(tmp_path, setting) as store:
        store.add_kernels(("a",))
        store.add_measured(EpisodeRow("a", "p", 0, None), "original", timing(1.0))
        store.add_measured(EpisodeRow("a", "p", 1, None), "isl's", timing(0.5))
        number = store.add_measured(EpisodeRow("a", "p", 2, None), "best at mini", timing(2.0))
        store.set_confirmations(
            [Confirmation(number, "a", "small", timing(3.0))],
            [ReferenceTiming("a", "small", ISL, timing(60.0))],
        )
    contents = read_sweep(tmp_path)
    (summary,) = summaries(contents)
    assert (summary.best, summary.best_schedule, summary.speedup_over_isl) == (60.0, "isl's", 1.0)
    (unseeded,) = summaries(replace(contents, setting=SETTING))
    assert (unseeded.best, unseeded.best_schedule) == (3.0, "best at mini")


def test_what_else_the_machine_did_is_said(tmp_path: Path) -> None:
    fill(tmp_path, ("mvt", "gemm", "lu"), episodes=2)
    assert background_load_note(summaries(read_sweep(tmp_path))) == ""
    with open_store(tmp_path / STORE_FILE) as store:
        for kernel, others, stolen in (("gemm", 0.5, 0.0), ("gemm", 0.9, 0.3), ("lu", 0.2, 0.0)):
            store.add_background_load(BackgroundLoadRow(kernel, "small", 1.0, 60.0, others, stolen))
    kernel_summaries = summaries(read_sweep(tmp_path))
    assert [summary.background_load for summary in kernel_summaries] == pytest.approx(
        [0.0, 1.2, 0.2]
    )
    assert [
        kernel_summary.to_json()["foreign_cores"] for kernel_summary in kernel_summaries
    ] == pytest.approx([0.0, 1.2, 0.2])
    assert "while programs were measured: gemm 1.2, lu 0.2. Times" in background_load_note(
        kernel_summaries
    )
    many = [
        replace(kernel_summaries[1], label=f"p{index}", background_load=9.0 - index)
        for index in range(8)
    ]
    assert "p0 9.0, p1 8.0, p2 7.0, p3 6.0, p4 5.0 and 3 more. Times" in background_load_note(many)


def test_the_limit_is_no_reference_and_says_how_much_is_reached(tmp_path: Path) -> None:
    """Of a, whose best is 8 times as fast and isl's 2, code at the limit would be 10 times."""
    by_hand(tmp_path)
    with open_store(tmp_path / STORE_FILE) as store:
        store.set_reference(
            ReferenceTiming("a", "mini", LIMIT, replace(timing(10.0), detail="memory"))
        )
        failed = replace(timing(0, OutcomeStatus.DOES_NOT_COMPILE), detail="too long")
        store.set_reference(ReferenceTiming("b", "small", LIMIT, failed))
    contents = read_sweep(tmp_path)
    a, b, _ = kernel_summaries = summaries(contents)
    assert (a.limit, a.bound_by) == (pytest.approx(10.0), "memory")
    assert (a.share_of_limit, a.isl_of_limit) == (pytest.approx(0.8), pytest.approx(0.2))
    assert (b.share_of_limit, b.missing_compilers) == (None, {LIMIT: "does not compile: too long"})
    assert set(a.references) == {ISL}
    assert other_compilers(kernel_summaries) == ()
    assert mean_of_limit(kernel_summaries) == pytest.approx(0.8)
    assert mean_of_limit((b,)) is None
    drawn = sweep_figures(contents, kernel_summaries)
    assert [figure.name for figure in drawn] == ["distribution", "best", "policies", "limits"]
    assert "80 %" in drawn[-1].caption
    page = page_html(ReportPage(contents.setting, ("p",), kernel_summaries, drawn, contents.runs))
    assert '<th scope="col">of limit</th>' in page
    assert "<td>80 %</td><td>memory</td>" in page
