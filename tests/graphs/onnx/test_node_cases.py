"""ONNX's own tests of operators: every case passes, or is refused with a sentence."""

from __future__ import annotations

from collections import Counter

import pytest

pytest.importorskip("onnx")

from benchmarks.onnx_study.node_cases import NodeCase, installed_cases, run_case

CHUNKS = 60
LEAST_SHARE = 0.9


def _cases() -> list[NodeCase]:
    return [case for case in installed_cases() if case.opset and 13 <= case.opset <= 27]


@pytest.mark.rotates
@pytest.mark.parametrize("chunk", range(CHUNKS))
def test_cases_pass_or_are_refused(chunk: int) -> None:
    statuses: Counter[str] = Counter()
    for case in _cases()[chunk::CHUNKS]:
        outcome = run_case(case)
        assert outcome.status in ("passed", "refused"), f"{case.name}: {outcome}"
        is_counted = case.is_floating and case.opset is not None and case.opset <= 21
        if outcome.status == "refused":
            assert outcome.reason, case.name
            assert "\n" not in outcome.reason, case.name
        if is_counted:
            statuses[outcome.status] += 1
    assert statuses["passed"] >= LEAST_SHARE * statuses.total() - 1
